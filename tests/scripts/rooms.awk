# usage: awk -f rooms.awk rooms.txt TEXT
#
# TEXT is what c_text.awk prints of all files: `path:line:text` without comments. Prints one line per
# include that the table does not allow, that is not written from the root, or that closes a circle
# in the product, and one per file of cmd/ that stands on more than FLOORS floors: the longest chain
# of includes from it on, within cmd/, is longer.
# A .c and the .h of its name are one file here: they are one thing.

function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
function stem(path) { sub(/\.[^.\/]*$/, "", path); return path }

# The row of a folder: its own, that of all folders beside it, or one for all below a folder.
function row_of(room,    up)
{
    if (room in rooms) return room
    up = room
    if (sub(/\/[^\/]*$/, "", up) && (up "/*") in rooms) return up "/*"
    for (up = room; ; )
        if ((up "/**") in rooms) return up "/**"
        else if (!sub(/\/[^\/]*$/, "", up)) return ""
}

function library(name)
{
    if (name ~ /^(cjson\/)?cJSON\.h$/) return "cjson"
    if (name ~ /^zstd(_errors)?\.h$/) return "zstd"
    if (name ~ /^nettle\//) return "nettle"
    if (name ~ /^ini\.h$/) return "inih"
    if (name ~ /^sqlite3\.h$/) return "sqlite"
    if (name ~ /^(cuda[A-Za-z0-9_]*|nvml|cupti[a-z0-9_]*)\.h$/) return "cuda"
    if (name ~ /^zlib\.h$/) return "zlib"
    if (name ~ /^elfutils\//) return "libdw"
    return "?"
}

function judge(path, line, what,    name, room, row, to)
{
    name = substr(what, 2, length(what) - 2)
    room = folder(path)
    row = row_of(room)
    if (row == "") {
        if (!(room in unknown)) print path ": the folder is no room (tests/scripts/rooms.txt)"
        unknown[room] = 1
        return
    }
    if (what ~ /^</) {
        to = name ~ libc ? "libc" : library(name)
        if (to != "libc" && !(row in any) && index(libraries[row], " " to " ") == 0)
            print path ":" line ": " what " may not be included from here"
        return
    }
    if (!(name in there) || name ~ /\.\./) {
        print path ":" line ": " what " is not written from the root"
        return
    }
    to = folder(name)
    if (to != room && !(row in any) && index(rooms[row], " " to " ") == 0)
        print path ":" line ": " what " may not be included from here"
    if (path ~ /^(alloc|cuda|traces|cmd)\// && stem(path) != stem(name) && !((stem(path), stem(name)) in edge)) {
        edge[stem(path), stem(name)] = 1
        next_of[stem(path)] = next_of[stem(path)] " " stem(name)
        if (!(stem(path) in seen)) { seen[stem(path)] = 1; units[++unit_count] = stem(path) }
    }
}

# Depth first; `state` 1: on the way, 2: done. `floor`: of its chain, `below`: what it goes on with.
function walk(unit, way,    list, count, i)
{
    state[unit] = 1
    floor[unit] = 1
    count = split(next_of[unit], list, " ")
    for (i = 1; i <= count; i++) {
        if (state[list[i]] == 1)
            print unit ": a circle of files:" substr(way " " unit " " list[i],
                                                     index(way " " unit " ", " " list[i] " "))
        else if (!state[list[i]])
            walk(list[i], way " " unit)
        if (list[i] ~ /^cmd\// && floor[list[i]] + 1 > floor[unit]) {
            floor[unit] = floor[list[i]] + 1
            below[unit] = list[i]
        }
    }
    state[unit] = 2
}

function judge_floor(unit,    chain, at)
{
    if (unit !~ /^cmd\// || floor[unit] <= FLOORS) return
    for (at = unit; at != ""; at = below[at])
        chain = chain " " at
    print unit ": on floor " floor[unit] ", above " FLOORS ":" chain
}

BEGIN { FLOORS = 6 }

FNR == NR {
    if (/^#/ || !/:/) next
    room = $0; sub(/:.*/, "", room)
    right = $0; sub(/^[^:]*:/, "", right)
    split(right, half, "|")
    rooms[room] = " " half[1] " "
    libraries[room] = " " half[2] " "
    gsub(/  +/, " ", rooms[room]); gsub(/  +/, " ", libraries[room])
    if (rooms[room] ~ / any /) any[room] = 1
    next
}

{
    path = $0; sub(/:.*/, "", path)
    if (!(path in there)) { there[path] = 1; paths[++path_count] = path }
    rest = substr($0, length(path) + 2)
    text = rest; sub(/^[0-9]+:/, "", text)
    if (text !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) next
    line = rest; sub(/:.*/, "", line)
    what = text; sub(/^[ \t]*#[ \t]*include[ \t]*/, "", what); sub(/[ \t].*/, "", what)
    includes[++include_count] = path SUBSEP line SUBSEP what
}

END {
    for (i = 1; i <= include_count; i++) {
        split(includes[i], part, SUBSEP)
        judge(part[1], part[2], part[3])
    }
    for (i = 1; i <= unit_count; i++)
        if (!state[units[i]]) walk(units[i], "")
    for (i = 1; i <= unit_count; i++)
        judge_floor(units[i])
}
