#!/usr/bin/env bats
# tapool doctor: its structure, its values against /proc, and the tools that it looks for. What it says
# of this machine is not for a golden file; the verdicts are tested in tests/unit/cmd/test_doctor.c.

# shellcheck disable=SC2154,SC2030,SC2031,SC2153 # out, err, rc and SAMPLES come from common.bash
load common

doctor() { "$TAPOOL" doctor "$@"; }

# examine: the JSON in $out. value NAME, verdict NAME, advice NAME: of a check. number NAME.
examine() { ok "$@" --json; }
of_check() {
    python3 -S -E -c 'import json, sys
checks = {c["name"]: c for c in json.load(open(sys.argv[1]))["checks"]}
print(checks[sys.argv[2]][sys.argv[3]])' "$out" "$1" "$2"
}
verdict() { [ "$(of_check "$1" verdict)" = "$2" ] || fail "$1: $(of_check "$1" verdict), not $2: $(of_check "$1" value)"; }
value() { of_check "$1" value | grep -qE -- "$2" || fail "$1 is '$(of_check "$1" value)', not '$2'"; }
number() {
    local got
    got=$(python3 -S -E -c 'import json, sys; print(json.load(open(sys.argv[1]))["values"][sys.argv[2]])' "$out" "$1")
    [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

@test "the text and the JSON have the same checks, verdicts and values" {
    ok doctor
    cp "$out" text
    tool width 100 <text
    harmless text
    examine doctor
    cp "$out" doctor.json
    python3 - doctor.json text <<'END'
import json, re, sys
d, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
assert list(d) == ["schema", "tool", "machine", "clock", "values", "cuda", "checks"], list(d)
assert d["schema"] == "tapool.doctor/2"
lines = text.split("\n")
assert re.fullmatch(r"tapool \d+\.\d+\.\d+ on this machine", lines[0]), lines[0]
rows = [re.match(r"  (\w+) +(ok|warning|missing) +(\S.*)", line) for line in lines]
rows = [m.groups() for m in rows if m]
assert [r[0] for r in rows] == [c["name"] for c in d["checks"]]
assert len(rows) >= 20 and len({r[0] for r in rows}) == len(rows)
changing = {"load", "memory", "clock", "temporary"}
for (name, verdict, value), c in zip(rows, d["checks"]):
    assert set(c) == {"name", "verdict", "value", "advice"}, c
    assert c["value"]
    if name not in changing:
        assert verdict == c["verdict"], (name, verdict, c)
        assert c["value"].startswith(value), (name, value, c)
    # what is not in order says what it means or what to do
    assert c["verdict"] != "warning" or c["advice"], c
count = {v: sum(r[1] == v for r in rows) for v in ("ok", "warning", "missing")}
last = "%d ok, %d warning%s, %d missing. Warnings are about times" % (
    count["ok"], count["warning"], "" if count["warning"] == 1 else "s", count["missing"])
assert any(line.startswith(last) for line in lines[-3:-1]) and lines[-1] == "", lines[-3:]
END
    ok doctor --format json
    python3 -m json.tool "$out" >/dev/null
}

@test "values are those of /proc and of the tools that know" {
    examine doctor
    number cores_allowed "$(nproc)"
    number max_map_count "$(cat /proc/sys/vm/max_map_count)"
    number overcommit_memory "$(cat /proc/sys/vm/overcommit_memory)"
    value kernel "^Linux $(uname -r | sed 's/[+.]/./g'), glibc [0-9.]+$"
    value cpu "^$(uname -m)"
    value cores "^$(getconf _NPROCESSORS_ONLN) online, $(nproc) allowed"
    value huge_pages "$(sed 's/[][]/./g' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null || echo no)"
    python3 - "$out" <<'END'
import json, os, sys
d = json.load(open(sys.argv[1]))
info = {l.split(":")[0]: int(l.split()[1]) << 10 for l in open("/proc/meminfo")}
assert d["machine"]["memory_bytes"] == info["MemTotal"]
assert 0 < d["values"]["memory_available_bytes"] <= info["MemTotal"]
assert 0 <= d["values"]["load_1min"] < 10000
assert d["clock"]["step_ns"] > 0 and d["clock"]["stamp_ns"] > 0
limit = d["clock"]["step_ns"] >= 1
clock = [c for c in d["checks"] if c["name"] == "clock"][0]
assert clock["verdict"] == ("warning" if limit else "ok"), clock
END
}

@test "the build: release or not" {
    examine doctor
    if "$TAPOOL" --version | grep -q '(release,'; then verdict build ok; else verdict build warning; fi
}

@test "one core is a warning" {
    command -v taskset >/dev/null || skip "taskset is not installed"
    examine taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')" "$TAPOOL" doctor
    number cores_allowed 1
    verdict cores warning
    value cores ', 1 allowed to tapool$'
}

# bats test_tags=nightly
@test "valgrind: found in PATH, asked directly, and given up where it does not answer" {
    mkdir bin empty
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/sh\n[ "$#$1$2" = 2--tool=callgrind--version ] && echo "valgrind-9.8.7 x"\n' >bin/valgrind
    chmod +x bin/valgrind
    examine env PATH="$PWD/empty:$PWD/bin:$PATH" "$TAPOOL" doctor
    verdict valgrind ok
    value valgrind "^valgrind-9\.8\.7, $PWD/bin/valgrind; callgrind counts instructions$"
    examine env PATH="$PWD/empty" "$TAPOOL" doctor
    verdict valgrind missing
    examine env PATH=":bin:." "$TAPOOL" doctor # only absolute folders
    verdict valgrind missing
    examine env -u PATH "$TAPOOL" doctor
    verdict valgrind missing
    strange="$PWD/a; touch gone \$(touch gone)"
    mkdir "$strange"
    cp bin/valgrind "$strange/valgrind"
    examine env PATH="$strange" "$TAPOOL" doctor
    verdict valgrind ok
    [ ! -e gone ]
    printf '#!/bin/sh\nexec sleep 1000\n' >bin/valgrind
    examine env PATH="$PWD/bin:$PATH" "$TAPOOL" doctor
    verdict valgrind warning
    printf '#!/bin/sh\nprintf "\\033]0;x\\007"; head -c 100000 /dev/zero | tr "\\0" x\n' >bin/valgrind
    examine env PATH="$PWD/bin:$PATH" "$TAPOOL" doctor
    harmless "$out"
    verdict valgrind warning
}

built() { ! "$TAPOOL" doctor | grep -q 'built without the CUDA Toolkit'; }

@test "CUDA: no driver, and what is none" {
    examine "$TAPOOL" doctor
    verdict cuda missing
    number cuda_devices 0
    of_check cuda advice | grep -q 'source virtual'
    python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["cuda"] is None' "$out"
    built || { value cuda '^built without the CUDA Toolkit$'; skip "built without the CUDA Toolkit"; }
    value cuda '^/nonexistent was not found$'
    command -v gcc >/dev/null || skip "gcc is not installed"
    echo 'int nothing;' | gcc -shared -fPIC -x c -o other.so -
    examine env TAPOOL_CUDA_DRIVER="$PWD/other.so" "$TAPOOL" doctor
    verdict cuda missing
    value cuda '^no CUDA driver: .*/other\.so has no '
    examine env TAPOOL_CUDA_DRIVER="$TAPOOL" "$TAPOOL" doctor
    verdict cuda missing
}

@test "samples and the temporary folder" {
    mkdir mine
    touch mine/a.json mine/b.json mine/c.txt mine/.d.json
    examine env TAPOOL_SAMPLES="$PWD/mine" "$TAPOOL" doctor
    verdict samples ok
    value samples "^2 in $PWD/mine(; |$)"
    examine env TMPDIR="$PWD/mine" "$TAPOOL" doctor
    value temporary "^$PWD/mine, [0-9.,]+ [KMGT]iB free$"
    examine env TMPDIR="$PWD/nonesuch" "$TAPOOL" doctor
    verdict temporary missing
    value temporary "^$PWD/nonesuch: No such file or directory$"
    number temporary_free_bytes None
}

@test "sources are those of the registry; the output is described" {
    examine doctor
    value sources '^compiled in: host, virtual.*; wrappers: limit, fault, shuffle$'
    value output '^no terminal, 100 columns$'
    ok tool pty 90 "$TAPOOL" doctor
    matches "$out" '^  output +ok +a terminal, 90 columns$'
    ok tool fits 80 "$TAPOOL" doctor
}

@test "a wrong command line: exit 2; a full disk: exit 4" {
    refused 2 "^tapool: doctor takes no argument$" doctor me
    refused 2 "^tapool: unknown option '--verbose'$" doctor --verbose
    refused 2 "^tapool: option 'format' is 'xml'" doctor --format xml
    full() { "$@" >/dev/full; }
    refused 4 "^tapool: standard output could not be written" full "$TAPOOL" doctor
    refused 4 "^tapool: standard output could not be written" full "$TAPOOL" doctor --json
}
