#!/usr/bin/env bats
# What tapool check writes for other tools, read by other tools: tests/data/gate holds the output of
# the writers to the letter (test_gate_writers compares), hostile names included.

# shellcheck disable=SC2154 # out, err and rc come from common.bash
load common

GATE=$TAPOOL_ROOT/tests/data/gate
CHECK=$TAPOOL_ROOT/cmd/gate/check.schema.json

@test "JUnit files are well-formed, and their counts are those of their elements" {
    python3 -S -E - "$GATE"/*.xml <<'END'
import sys
import xml.etree.ElementTree as tree

def check(path):
    root = tree.parse(path).getroot()
    assert root.tag == "testsuites"
    total = dict(tests=0, failures=0, errors=0)
    for suite in root:
        assert suite.tag == "testsuite"
        cases = suite.findall("testcase")
        found = dict(tests=len(cases), errors=sum(c.find("error") is not None for c in cases),
                     failures=sum(c.find("failure") is not None for c in cases),
                     skipped=sum(c.find("skipped") is not None for c in cases))
        for name, n in found.items():
            assert suite.attrib[name] == str(n), (path, suite.attrib, found)
            if name in total:
                total[name] += n
        for case in cases:
            assert case.attrib["name"] and case.attrib["classname"].startswith("tapool.")
            assert len([c for c in case if c.tag != "system-out"]) <= 1
            for c in case:
                assert c.tag == "system-out" or c.attrib["message"], path
        order = [e.tag for e in suite]
        ranks = [["properties", "testcase", "system-out"].index(t) for t in order]
        assert ranks == sorted(ranks), order
    assert all(root.attrib[k] == str(v) for k, v in total.items()), path
    return root

roots = {p.rsplit("/", 1)[1]: check(p) for p in sys.argv[1:]}
assert len(roots) == 6
errors = {n: r.attrib["errors"] for n, r in roots.items() if r.attrib["errors"] != "0"}
assert errors == {"aborted.xml": "1", "lost.xml": "3"}, errors
kvstore = [c for c in roots["failing.xml"].iter("testcase") if c.attrib["classname"] == "tapool.kvstore_tpt.arena@host"]
text = kvstore[0].find("failure").text
for part in ("medians 14.9 -> 16.4 ns", "+10.1%", "[+8.1, +12.1]", "raw", "adjusted", "n = 20", "threshold +5%",
             "seed: 90210", "rerun: tapool check"):
    assert part in text, (part, text)
END
}

@test "JSON files follow their schema, which shares its words with that of results" {
    schema shape "$CHECK"
    schema valid "$CHECK" "$GATE"/*.json
    schema covered "$CHECK" "$GATE"/*.json
    schema mutants "$CHECK" "$GATE/failing.json"
    "$python" - "$CHECK" "$TAPOOL_ROOT/cmd/results/result.schema.json" <<'END'
import json, sys
a, b = (json.load(open(p))["$defs"] for p in sys.argv[1:])
both = a.keys() & b.keys()
assert {"tool", "machine", "text", "count", "flag", "bytes"} <= both, both
assert all(a[name] == b[name] for name in both)
END
}

@test "Markdown tables have as many cells in every row, whatever the names hold" {
    python3 -S -E - "$GATE"/*.md <<'END'
import re, sys
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    assert text.startswith("## tapool check: "), path
    assert " p " not in text.partition("<details>")[0], path
    assert text.count("<details>") == text.count("</details>") == (0 if "ABORTED" in text else 1)
    width = rows = 0
    seen = True
    for line in text.split("\n"):
        seen = seen and not line.startswith("<details>")
        if not line.startswith("|"):
            width = rows = 0
            continue
        cells = len(re.sub(r"\\.", "", line).split("|"))
        width = width or cells
        rows += 1
        # of what is seen without opening anything: 6 columns, 5 rows below a head of two lines
        assert not seen or (cells <= 6 + 2 and rows <= 5 + 2), (path, line)
        assert cells == width, (path, line)
        outside = re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", line)
        assert not re.search(r"<|(?<!\\)\[[a-z]", outside) and "@e" not in outside, (path, line, outside)
END
}

@test "workflow commands are one line each, with nothing that begins another" {
    python3 -S -E - "$GATE"/*.github <<'END'
import re, sys
for path in sys.argv[1:]:
    kinds = {}
    for line in open(path, encoding="utf-8", newline="\n"):
        m = re.match(r"::(error|warning) title=([^:,]*)::([^\r\n]*)\n$", line)
        assert m, (path, line)
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", line), line
        kinds[m[1]] = kinds.get(m[1], 0) + 1
    assert max(kinds.values()) <= 10, path
END
}

@test "no file holds what steers a terminal" {
    for file in "$GATE"/*; do
        harmless "$file" || return 1
    done
}

@test "what trackers read: BMF as Bencher's schema has it, and the list of github-action-benchmark" {
    python3 -S -E - "$GATE/failing.bmf" "$GATE/failing.benchmarks" "$GATE/failing.json" <<'END'
import json, sys
bmf, benchmarks, check = (json.load(open(p)) for p in sys.argv[1:])
cells = {f["trace"] + ", " + f["strategy"] + " on " + f["source"] for f in check["findings"] if f["now"] is not None}
assert len(bmf) == len(cells) > 1, (len(bmf), len(cells))
for name, measures in bmf.items():
    assert name and measures
    for measure, figures in measures.items():
        assert 0 < len(measure) <= 64 and set(figures) == {"value"} and type(figures["value"]) in (int, float)
known = [f for f in check["findings"] if f["now"] is not None]
assert sum(len(m) for m in bmf.values()) == len(known)
assert len(benchmarks) == sum(f["better"] == "less" for f in known)
names = [b["name"] for b in benchmarks]
assert len(set(names)) == len(names)
assert all(set(b) == {"name", "unit", "value", "extra"} for b in benchmarks)
assert all(type(b["value"]) in (int, float) and b["unit"] for b in benchmarks)
END
}
