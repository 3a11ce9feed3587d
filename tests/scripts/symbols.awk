# usage: awk -f symbols.awk SOURCES OBJECTS INSTRUMENTED DEFINED
#
# Judges what the objects of a build define, as check_symbols.sh says. OBJECTS: `source object` with a
# tab; DEFINED: nm -A -f sysv. Prints findings, or one line that begins with `ok`.

BEGIN {
    prefix["alloc/strategies"] = "tp_strategy_"
    prefix["alloc/sources"] = "tp_source_"
    prefix["traces/formats"] = "tp_format_"
    prefix["traces/profiles"] = "tp_profile_"
}

# The plug-in that a source belongs to, "" for none: its folder of plug-ins goes into `kind`.
function plugin_of(source,    room, rest)
{
    kind = ""
    if (source ~ /^cuda\/source_/) { kind = "tp_source_"; return source }
    for (room in prefix)
        if (index(source, room "/") == 1) {
            kind = prefix[room]
            rest = substr(source, length(room) + 2)
            sub(/\/.*/, "", rest)
            return rest ~ /^(common|cache)$/ ? "" : room "/" rest
        }
    return ""
}

function own_name(plugin) { sub(/.*\//, "", plugin); sub(/\.c$/, "", plugin); return plugin }
function say(text) { print text; findings++ }

FILENAME == ARGV[1] { sources[++source_count] = $0; next }
FILENAME == ARGV[2] { split($0, pair, "\t"); object[pair[1]] = pair[2]; source_of[pair[2]] = pair[1]; next }
FILENAME == ARGV[3] { instrumented[$0] = 1; next }

{
    bar = index($0, "|")
    if (!bar) next
    colon = bar
    while (colon > 1 && substr($0, colon, 1) != ":") colon--
    path = substr($0, 1, colon - 1)
    count = split(substr($0, colon + 1), field, "|")
    if (count < 7) next
    for (i = 1; i <= 7; i++) gsub(/[ \t]/, "", field[i])
    name = field[1]; class = field[3]; section = field[7]
    if (name ~ /^(__|_)?(asan|odr_asan|tsan|ubsan|gcov|llvm|sanitizer|sancov|start|stop)_?/ || name ~ /^\.L/)
        next
    source = source_of[path]
    plugin = plugin_of(source)
    if (class ~ /^[A-Z]$/ && class !~ /[UWV]/) {
        if (name !~ /^tp_/)
            say(source ": exports " name ", which does not start with tp_")
        else if (plugin != "" && index(name, kind) == 1) {
            constants[plugin]++
            if (section !~ /^\.(rodata|data\.rel\.ro)/)
                say(source ": " name " is not constant data (section " section ")")
        } else if (plugin != "" && kind == "tp_format_" && index(name, "tp_writer_") == 1) {
        } else if (plugin != "" && index(name, "tp_" own_name(plugin) "_") != 1)
            say(source ": exports " name ", which does not start with " kind " or tp_" own_name(plugin) "_")
        else if (plugin ~ /\.c$/)
            say(source ": exports " name " beside its constant")
    }
    if (!(path in instrumented) && section !~ /^\.data\.rel\.ro/ && section ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/)
        say(source ": " name " is mutable data at file scope (section " section ")")
}

END {
    for (i = 1; i <= source_count; i++) {
        plugin = plugin_of(sources[i])
        if (!(sources[i] in object)) {
            # cuda/ is built only where the toolkit is, and of traces/symbols/ one file of two
            if (sources[i] !~ /^(cuda|traces\/symbols)\//) say(sources[i] ": has no object in the build")
            continue
        }
        if (plugin == "" || plugin in met) continue
        met[plugin] = 1
        plugins++
        if (kind == "tp_format_" ? constants[plugin] < 1 : constants[plugin] != 1)
            say(plugin ": exports " constants[plugin] + 0 " constants " kind "* instead of one")
    }
    if (!plugins) say("no plug-in found")
    if (!findings) print "ok " plugins " plug-ins in order"
}
