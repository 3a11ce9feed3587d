# usage: awk -f texts.awk texts.txt TEXT
#
# TEXT is what c_text.awk prints with keep_strings: `path:line:text` without comments. Reads the texts in double
# quotes, adjacent ones as one, and finds in them the words that texts.txt replaces and sentences that begin
# with a relative clause. Prints the findings, and each exception of texts.txt that its file does not need.
# Known weakness: a text in single quotes or backquotes is not read, and a macro such as PRIu64 splits a text.

function trim(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }

function excepted(text,    i)
{
    for (i = 1; i <= exceptions; i++)
        if (except_path[i] == text_path && index(text, except_text[i])) {
            except_used[i] = 1
            return 1
        }
    return 0
}

function find(what) { print text_path ":" text_line ": " what }

# A text without a blank between its words is a name.
function judge(text,    plain, i, found)
{
    if (text !~ /[^ ] +[^ ]/) return
    plain = " " tolower(text) " "
    gsub(/\\"[a-z_]+\\"/, "", plain)
    gsub(/\\[nt]/, " ", plain)
    gsub(/there is no /, "", plain)
    gsub(/is no (longer|more|less|fewer|larger|smaller) /, "", plain)
    found = ""
    for (i = 1; found == "" && i <= words; i++)
        if (match(plain, "[^a-z_.-]" word[i] "[^a-z_-]"))
            found = "'" trim(substr(plain, RSTART + 1, RLENGTH - 2)) "': " instead[i]
    if (found == "" && (text ~ /^(What|Who|That which|what|who|that which|And|and) / ||
                        text ~ /[.!?]( |\\n)+(What|Who|That which|And) /))
        found = "a sentence begins with a relative clause or with \"and\""
    if (found != "" && !excepted(text)) find(found)
}

function ended()
{
    if (text_path != "") judge(joined)
    text_path = ""
    joined = ""
}

FILENAME != ARGV[2] {
    if ($0 ~ /^(#|$)/) next
    at = index($0, " | ")
    left = trim(substr($0, 1, at - 1))
    right = trim(substr($0, at + 3))
    at = index(left, " ")
    kind = substr(left, 1, at - 1)
    left = trim(substr(left, at + 1))
    if (kind == "word") { word[++words] = left; instead[words] = right }
    else if (kind == "except") {
        at = index(left, " ")
        except_path[++exceptions] = substr(left, 1, at - 1)
        except_text[exceptions] = trim(substr(left, at + 1))
    } else print "texts.txt:" FNR ": neither word nor except"
    next
}

{
    match($0, /^[^:]*:[0-9]*:/)
    place = substr($0, 1, RLENGTH - 1)
    text = substr($0, RLENGTH + 1)
    split(place, part, ":")
    if (part[1] != path) { ended(); path = part[1]; seen[path] = 1 }
    if (text ~ /^[ \t]*#[ \t]*include/) next
    while (match(text, /"([^"\\]|\\.)*"/)) {
        before = trim(substr(text, 1, RSTART - 1))
        quoted = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        if (before != "") ended()
        if (text_path == "") { text_path = path; text_line = part[2] }
        joined = joined quoted
    }
    if (trim(text) !~ /^\\?$/) ended()
}

END {
    ended()
    for (i = 1; i <= exceptions; i++)
        if (except_path[i] in seen && !(i in except_used))
            print except_path[i] ": the exception for \"" except_text[i] "\" is not needed"
}
