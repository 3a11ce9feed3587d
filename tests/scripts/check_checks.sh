#!/usr/bin/env bash
# Proves that the checks of the tree can fail: plants one violation of each kind into a small tree of
# its own, requires check_layers.sh, check_symbols.sh or check_recorder.sh to report it, and nothing without it.
set -euo pipefail

HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
CC=${CC:-gcc}
WORK=$(mktemp -d)
trap 'rm -rf -- "$WORK"' EXIT
TREE="$WORK/a tree" # a blank in the path must not matter
OBJECTS="$WORK/objects"
bad=0
done_checks=0
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE # of a hook that runs the tests

# A tree without findings.
fresh_tree() {
    rm -rf -- "$TREE" "$OBJECTS"
    mkdir -p -- "$TREE"/{alloc/{base,program,engine,strategies/six,sources},cuda,cmd/{ui,stats},tests/unit,scripts}
    mkdir -p -- "$TREE"/traces/{input,lower,formats/seven,profiles}
    cd -- "$TREE"
    cp -- "$HERE/../../alloc/base/banned.h" alloc/base/
    echo 'enum tp_status { TP_OK = 0 };' >alloc/base/err.h
    printf '#include "alloc/base/err.h"\nstruct tp_strategy { const char *name; };\n' >alloc/strategy.h
    echo 'struct tp_source_ops { const char *name; };' >alloc/source.h
    echo 'struct tp_program;' >alloc/program/program.h
    echo 'void tp_play(void);' >alloc/engine/engine.h
    printf '#include "alloc/engine/engine.h"\nvoid tp_play(void) {}\n' >alloc/engine/engine.c
    printf '%s\n' '#include "alloc/strategy.h"' '#include <stdint.h>' \
        '/* printf("in a comment") is none */ // stdout' \
        'const struct tp_strategy tp_strategy_one = {.name = "exit(1) and stderr"};' \
        >alloc/strategies/one.c
    echo 'void tp_six_grow(void);' >alloc/strategies/six/six_grow.h
    printf '#include "alloc/strategies/six/six_grow.h"\nvoid tp_six_grow(void) {}\n' \
        >alloc/strategies/six/six_grow.c
    printf '#include "alloc/strategy.h"\nconst struct tp_strategy tp_strategy_six = {"six"};\n' \
        >alloc/strategies/six/six.c
    printf '#include "alloc/source.h"\nconst struct tp_source_ops tp_source_two = {"two"};\n' \
        >alloc/sources/two.c
    printf '#include "alloc/program/program.h"\nstruct tp_format { const char *name; };\n' >traces/format.h
    printf '#include "traces/format.h"\nconst struct tp_format tp_format_three = {"three"};\n' \
        >traces/formats/three.c
    printf '#include "traces/format.h"\nconst struct tp_format tp_format_seven = {"seven"};\n' \
        >traces/formats/seven/seven.c
    printf '#include "alloc/program/program.h"\nstruct tp_profile { const char *name; };\n' \
        >traces/profile.h
    printf '#include "traces/profile.h"\nconst struct tp_profile tp_profile_four = {"four"};\n' \
        >traces/profiles/four.c
    printf '#include "alloc/source.h"\nvoid tp_load(void);\n' >cuda/loader.h
    printf '#include "cuda/loader.h"\nvoid tp_load(void) {}\n' >cuda/loader.c
    printf '#include "cuda/loader.h"\nconst struct tp_source_ops tp_source_five = {"five"};\n' \
        >cuda/source_five.c
    echo 'void tp_measure(void);' >cmd/stats/measure.h
    echo 'void tp_show(void);' >cmd/ui/show.h
    printf '#include "alloc/engine/engine.h"\n#include <stdio.h>\nint main(void) { puts("x"); }\n' >cmd/main.c
    printf '#include <stdio.h>\nint main(void) { puts("x"); }\n' >tests/unit/test_x.c
    touch README.md CMakeLists.txt
}

build_tree() { # [FLAG...]
    local source
    while read -r source; do
        mkdir -p -- "$OBJECTS/x.dir/${source%/*}"
        "$CC" "$@" -fPIE -I. -c "$source" -o "$OBJECTS/x.dir/$source.o" </dev/null
    done < <(find alloc traces cuda -name '*.c')
}

clean() { # WHAT COMMAND...
    local what=$1 out
    shift
    done_checks=$((done_checks + 1))
    if ! out=$("$@" 2>&1); then
        echo "not ok: $what is reported: $out"
        bad=$((bad + 1))
    fi
}

# The command must fail and its output must hold the words.
caught() { # WORDS COMMAND...
    local words=$1 out status=0
    shift
    done_checks=$((done_checks + 1))
    out=$("$@" 2>&1) || status=$?
    if [ "$status" -ne 1 ] || [[ $out != *"$words"* ]]; then
        echo "not ok: expected '$words', status 1; got status $status: $out"
        bad=$((bad + 1))
    fi
}

layers() { "$HERE/check_layers.sh" "$TREE" "$@"; } # [CHECK...]
symbols() { "$HERE/check_symbols.sh" "$OBJECTS" "$TREE"; }

# Adds a line to a file of a fresh tree: the check must name the file and say the words.
plant() { # PATH LINE WORDS
    fresh_tree
    printf '%s\n' "$2" >>"$1"
    caught "$3" layers includes calls
}

fresh_tree
clean "the tree without a violation" layers

may_not='may not be included from here'
plant alloc/strategies/one.c '#include "alloc/engine/engine.h"' "one.c:5: \"alloc/engine/engine.h\" $may_not"
plant alloc/strategies/one.c '#include "alloc/strategies/six/six_grow.h"' "six_grow.h\" $may_not"
plant alloc/strategies/six/six.c '#include "alloc/engine/engine.h"' "\"alloc/engine/engine.h\" $may_not"
plant alloc/strategies/one.c '#  include <cjson/cJSON.h>' "<cjson/cJSON.h> $may_not"
plant alloc/sources/two.c '#include "alloc/strategies/six/six_grow.h"' "six_grow.h\" $may_not"
plant alloc/base/err.h '#include "alloc/strategy.h"' "err.h:2: \"alloc/strategy.h\" $may_not"
plant alloc/program/program.h '#include "alloc/engine/engine.h"' "\"alloc/engine/engine.h\" $may_not"
plant alloc/engine/engine.c '#include "traces/format.h"' "\"traces/format.h\" $may_not"
plant alloc/engine/engine.c '#include <sqlite3.h>' "<sqlite3.h> $may_not"
plant traces/formats/three.c '#include "alloc/strategy.h"' "\"alloc/strategy.h\" $may_not"
plant traces/formats/seven/seven.c '#include "alloc/strategy.h"' "\"alloc/strategy.h\" $may_not"
plant traces/formats/three.c '#include <cuda.h>' "<cuda.h> $may_not"
plant traces/formats/three.c '#include <sqlite3.h>' "<sqlite3.h> $may_not"
plant traces/profiles/four.c '#include <cjson/cJSON.h>' "<cjson/cJSON.h> $may_not"
plant traces/input/bytes.h '#include "traces/format.h"' "\"traces/format.h\" $may_not"
plant cuda/device.c '#include "traces/format.h"' "\"traces/format.h\" $may_not"
plant cuda/device.c '#include "alloc/engine/engine.h"' "\"alloc/engine/engine.h\" $may_not"
plant cmd/ui/show.h '#include "cmd/stats/measure.h"' "\"cmd/stats/measure.h\" $may_not"
plant cmd/main.c '#include "main.h"' '"main.h" is not written from the root'
plant cmd/main.c '#include "cmd/../alloc/base/err.h"' 'is not written from the root'

fresh_tree
mkdir cmd/attic
echo '#include "alloc/base/err.h"' >cmd/attic/a.h
caught 'cmd/attic/a.h: the folder is no room' layers includes

fresh_tree
echo '#include "cmd/ui/there.h"' >>cmd/ui/show.h
echo 'void tp_there(void);' >cmd/ui/there.h
echo '#include "cmd/ui/show.h"' >cmd/ui/there.c
caught 'a circle of files' layers includes

fresh_tree
for floor in 2 3 4 5 6; do
    printf '#include "cmd/ui/%s.h"\n' "$([ $floor = 2 ] && echo show || echo floor$((floor - 1)))" \
        >cmd/ui/floor$floor.h
done
clean "a file on the sixth floor" layers includes
echo '#include "cmd/ui/floor6.h"' >>cmd/main.c
caught 'cmd/main: on floor 7, above 6: cmd/main cmd/ui/floor6 ' layers includes

may_print='only cmd/ may print or exit'
plant alloc/engine/engine.c 'void tp_a(void) { printf("x"); }' "engine.c:3: $may_print"
plant alloc/engine/engine.c 'void tp_a(void) { fputs("x", stderr); }' "$may_print"
plant alloc/engine/engine.c 'void tp_a(void) { abort(); }' "$may_print"
plant traces/formats/three.c 'void tp_a(void) { exit (1); }' "three.c:3: $may_print"
plant traces/formats/three.c '/* a */ void tp_a(void) { puts("/*"); }' "$may_print"
plant traces/formats/three.c "void tp_a(void) { char c = '\"'; puts(&c); }" "$may_print"

fresh_tree
cp -- alloc/engine/engine.h tests/unit/engine.h
caught 'engine.h : name used twice' layers names

fresh_tree
echo 'struct tp_twice { int a; };' >alloc/engine/twice.c
printf 'static void f(void)\n{\n    enum tp_twice { TWICE };\n}\n' >cmd/ui/twice_again.c
caught 'tag "tp_twice" used twice, also in alloc/engine/twice.c:1' layers tags
printf 'union tp_twice\n{\n    int a;\n};\n' >cmd/ui/twice_again.c
caught 'cmd/ui/twice_again.c:1: tag "tp_twice" used twice' layers tags
printf 'struct tp_twice;\nstruct tp_twice\n*tp_f(struct tp_twice *a) { return a; }\n' >cmd/ui/twice_again.c
clean 'a tag that is only used' layers tags

fresh_tree
yes '/* long */' | head -n 801 >alloc/long.c || true
caught 'alloc/long.c: 801 lines, above 800' layers lengths

fresh_tree
{ printf 'void tp_play(void)\n{\n'; yes '    ;' | head -n 61; echo '}'; } >alloc/engine/engine.c || true
caught 'alloc/engine/engine.c:2: a function of 61 lines, above 60' layers lengths

if command -v pmccabe >/dev/null; then
    fresh_tree
    {
        printf 'void tp_tangle(int n);\nvoid tp_tangle(int n)\n{\n'
        printf 'if (n == %d) n++;\n' {1..20}
        printf '}\n'
    } >alloc/engine/tangle.c
    caught 'alloc/engine/tangle.c:2: tp_tangle branches too often: McCabe 21, above 20' layers branches
fi

fresh_tree
echo 'static int take(int class)' >alloc/engine/words.c
caught 'alloc/engine/words.c:1: a word of C++' layers words
caught 'alloc/engine/words.c:1: a name that does not say of what' layers words
echo 'int class;' >tests/unit/words.c
caught 'tests/unit/words.c:1: a word of C++' layers words
rm tests/unit/words.c
echo '    *(newer ? &newer->older : &first) = older; /* class */' >alloc/engine/words.c
caught 'alloc/engine/words.c:1: stores into a choice' layers words

# Puts text into a file of a fresh tree, and requires the words.
TEXTS=$WORK/texts.txt
export TEXTS
text_at() { # PATH TEXT WORDS
    fresh_tree
    mkdir -p -- "${1%/*}"
    printf '%s\n' "$2" >"$1"
    grep '^word ' "$HERE/texts.txt" >"$TEXTS"
    caught "$1:$3" layers texts
}
text_at alloc/engine/texts.c 'const char *a = "a good policy";' "1: 'policy': strategy"
text_at cuda/texts.c $'const char *a = "it is "\n                "no device";' "1: 'is no': is not a"
text_at traces/texts.h '#define A "Read it. What follows is lost."' '1: a sentence begins with a relative clause'
text_at cmd/page/assets/texts.js $'// is no text\nsay("who holds memory");' "2: 'who holds': allocation site"
text_at cmd/ui/texts.schema.json '"a": {"description": "fits in 4 GiB", "type": "policy"}' "1: 'fits in': min capacity"
text_at cmd/ui/texts.schema.json '"a": {"description": "what it is"}' '1: a sentence begins with a relative clause'
text_at scripts/texts.sh 'echo "and so on"' '1: a sentence begins with a relative clause or with "and"'
text_at cmd/ui/texts.c 'const char *a[] = {"which is no a", "that is no b"};' "1: 'is no': is not a"
echo 'const char *a[] = {"policy", "there is no b"}; /* "no policy here" */' >cmd/ui/texts.c
clean 'names, comments, and what may be said' layers texts
echo 'except cmd/ui/texts.c that is no b | it is quoted' >>"$TEXTS"
caught 'cmd/ui/texts.c: the exception for "that is no b" is not needed' layers texts
echo 'const char *a[] = {"a", "that is no b"};' >cmd/ui/texts.c
clean 'a text that is excepted' layers texts
unset TEXTS

within='a conditional within a conditional'
# Puts lines into a file of a fresh tree: the check must report the conditional at this line.
nested_at() { # PATH LINE TEXT...
    local path=$1 line=$2
    shift 2
    fresh_tree
    printf '%s\n' "$@" >"$path"
    caught "$path:$line: $within" layers nested
}
nested_at alloc/engine/nested.c 1 'int a = b ? 1 : c ? 2 : 3;'
nested_at traces/formats/nested.h 1 'int a = b ? (c ? 1 : 2) : 3;'
nested_at cmd/nested.c 1 'int a = b ? c : (d ? 1 : 2);'
nested_at cuda/nested.c 1 'int a = (b ? c : d) > 1 ? 2 : 3;'
nested_at tests/unit/nested.c 1 'int a = b ? 1 : c ? 2 : 3;'
nested_at alloc/base/nested.h 3 '#define A(b, c) \' '    ((b) ? 1 : \' '     (c) ? 2 : 3)' 'int a;'
nested_at traces/nested.c 4 'int f(void)' '{' '    return b' '               ? g(1, c ? 2 : 3)' '               : 4;' '}'
nested_at alloc/nested.c 2 'struct tp_a a = {.b = c ? 1 : 2,' '                 .d = c >= 3 ? e[f ? 1 : 2] : 5};'

fresh_tree
cat >alloc/nested.c <<'END'
/* a ? b : c ? d : e */
int a = f(b ? 1 : 2, c ? 3 : 4) + (d ? 5 : 6) * (e ? 7 : 8); // a ? b : c ? d : e
const char *s = g ? "? x : y ? z" : "b", q = '?', i[] = {h ? 1 : 2, h ? 3 : 4};
#define ONE(b) (b) ? 1 : 2
#define TWO(b) (b) ? 1 : 2
int f(void)
{
    if (a ? b : c)
        b ? g() : h();
    for (i[a ? 1 : 2] = b ? 3 : 4; c ? d : e; f ? g() : h())
        *(a ? &b : &c) = d <= 1 ? e : f;
    switch (a ? b : c) {
    case 1:
        return b ? 1 : 2;
    }
    return (struct tp_a){.b = c ? 1 : 2}.b;
}
END
clean 'conditionals beside each other' layers nested

fresh_tree
echo 'struct tp_other { struct tp_unknown member; };' >alloc/other.h
caught 'alloc/other.h: does not compile alone' layers headers
fresh_tree
echo 'struct tp_other { struct tp_unknown member; };' >cuda/other.h
caught 'cuda/other.h: does not compile alone' layers headers

fresh_tree
touch notes.txt
caught 'notes.txt: does not belong in the top folder' layers top

if command -v git >/dev/null; then
    fresh_tree
    git init -q . && touch notes.txt && git add alloc README.md
    clean "a file that git does not track" layers top
    git add notes.txt
    caught 'notes.txt: does not belong in the top folder' layers top
fi

fresh_tree
rm -rf alloc traces cuda cmd tests
caught 'no *.c or *.h found' layers

fresh_tree
build_tree
clean "a build without a violation" symbols
fresh_tree
build_tree -g -fsanitize=address,undefined
clean "a build with sanitizers" symbols
fresh_tree
build_tree -g -fsanitize=thread
clean "a build with the thread sanitizer" symbols
fresh_tree
build_tree --coverage
clean "a build with coverage" symbols

# Adds a line to a source of a fresh tree, builds, and requires the words.
plant_symbol() { # PATH LINE WORDS [FLAG...]
    local path=$1 line=$2 words=$3
    shift 3
    fresh_tree
    printf '%s\n' "$line" >>"$path"
    build_tree "$@"
    caught "$words" symbols
}

plant_symbol alloc/strategies/one.c 'void tp_help(void) {}' 'one.c: exports tp_help, which does not start with tp_strategy_'
plant_symbol alloc/strategies/one.c 'void tp_help(void) {}' 'one.c: exports tp_help' \
    -fsanitize=address,undefined
plant_symbol alloc/sources/two.c 'int tp_source_count;' 'two.c: exports 2 constants tp_source_* instead of one'
plant_symbol traces/profiles/four.c 'void tp_help(void) {}' 'four.c: exports tp_help'
plant_symbol alloc/strategies/six/six_grow.c 'void tp_other(void) {}' 'six_grow.c: exports tp_other'
plant_symbol alloc/strategies/six/six.c 'const struct tp_strategy tp_strategy_eight = {"eight"};' \
    'six: exports 2 constants tp_strategy_* instead of one'
plant_symbol traces/formats/seven/seven.c 'void tp_eight(void) {}' 'seven.c: exports tp_eight'
plant_symbol cuda/source_five.c 'void tp_help(void) {}' 'five.c: exports tp_help'
plant_symbol cuda/loader.c 'static int calls; void tp_a(void) { calls++; }' \
    'loader.c: calls is mutable data at file scope'
plant_symbol cuda/loader.c 'void load(void) {}' 'exports load, which does not start with tp_'
plant_symbol alloc/engine/engine.c 'void play(void) {}' 'exports play, which does not start with tp_'
plant_symbol alloc/engine/engine.c 'static int calls; void tp_a(void) { calls++; }' \
    'engine.c: calls is mutable data at file scope'
plant_symbol alloc/engine/engine.c 'void tp_a(void) { static int calls = 1; calls++; }' \
    'is mutable data at file scope'

fresh_tree
sed -i 's/tp_strategy_one/tp_one/' alloc/strategies/one.c
build_tree
caught 'one.c: exports tp_one, which does not start with tp_strategy_' symbols

fresh_tree
sed -i 's/^const //' traces/formats/three.c
build_tree
caught 'three.c: tp_format_three is not constant data' symbols

fresh_tree
sed -i 's/^const struct/static const struct/' alloc/sources/two.c
build_tree
caught 'two.c: exports 0 constants tp_source_* instead of one' symbols

fresh_tree
build_tree
rm -- "$OBJECTS/x.dir/alloc/sources/two.c.o"
caught 'alloc/sources/two.c: has no object' symbols

fresh_tree
build_tree
echo 'TP_API int tp_wanted(void);' >>alloc/base/err.h
echo 'void tp_left(void) {} int main(void) { return 0; }' | "$CC" -x c - -rdynamic -o "$OBJECTS/tapool"
caught 'tp_wanted is TP_API, and not exported' symbols
caught 'tp_left is exported, and not TP_API' symbols

fresh_tree
echo 'void tp_there(void); void tp_here(void) { tp_there(); }' >>alloc/engine/engine.c
echo 'void tp_here(void); void tp_there(void) { tp_here(); }' >alloc/engine/there.c
build_tree
caught 'files call each other in a circle:' symbols

recorder() { "$HERE/check_recorder.sh" "$OBJECTS/recorder.so"; }
# Links a library as a recorder is, with these words for the linker.
link_recorder() { # FLAG...
    echo 'int tp_changed = 1; int tp_code(void); int tp_code(void) { return tp_changed; }' |
        "$CC" -x c - -shared -fPIC -o "$OBJECTS/recorder.so" "$@"
}
link_recorder -Wl,-z,separate-code -Wl,-z,max-page-size=65536
clean "a recorder with code on pages of its own" recorder
link_recorder -Wl,-z,noseparate-code -Wl,-z,max-page-size=65536
caught 'recorder.so: code and data share a page of 65536 bytes' recorder
link_recorder -Wl,-z,separate-code -Wl,-z,max-page-size=4096
caught 'recorder.so: a segment is aligned to 4096 bytes, not to 65536' recorder

if [ "$bad" -gt 0 ]; then
    echo "$bad of $done_checks checks of the checks failed"
    exit 1
fi
echo "$done_checks checks of the checks passed"
