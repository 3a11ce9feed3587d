"""Replays the workloads of tests/published and writes their figures beside the published ones: see published.sh.

The section "Published figures" of README.md is made from the same rows."""
import csv
import difflib
import functools
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap

UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "bytes": 1, "%": 0.01}
ROOT = pathlib.Path(__file__).resolve().parent.parent
PLUGINS = ROOT / "scripts/plugin-example"
SECTION = re.compile(r"(?<=## Published figures\n\n).*?(?=\n## )", re.S)


class Skipped(Exception):
    """A row that this machine cannot replay; its line in results.csv stays."""


@functools.cache
def trace_of(folder, words, work):
    """The path of a trace: a file, named from the folder, or what trace.py prints."""
    if (folder / words).is_file():
        return folder / words
    path = work / f"{folder.name}-{words.replace(' ', '-')}.jsonl"
    with open(path, "w", encoding="utf-8") as out:
        subprocess.run([sys.executable, "-S", "-E", folder / "trace.py", *shlex.split(words)], stdout=out, check=True)
    return path


@functools.cache
def plugin(name, tapool, work):
    """The path of an example plug-in, compiled against the headers of this tapool."""
    folder = pathlib.Path(tapool).resolve().parent
    headers = [f / "include" for f in (folder, folder.parent) if (f / "include/tapool/strategy.h").is_file()]
    if not headers:
        sys.exit(f"the headers for plug-ins are not beside {tapool}")
    compiler, made = os.environ.get("CC", "cc"), work / f"{name}.so"
    if not shutil.which(compiler):
        raise Skipped(f"no compiler for {name}.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-I", headers[0], PLUGINS / f"{name}.c", "-o", made], check=True)
    return str(made)


@functools.cache
def run_of(tapool, trace, options, work):
    """The run of a replay, from its JSON. No figure here is a time, so one replay is enough."""
    options = re.sub(r"plugin:(\w+)\.so", lambda found: "plugin:" + plugin(found[1], tapool, work), options)
    words = [tapool, "replay", trace, "--min-time", "0", "--json", *shlex.split(options)]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "TAPOOL_CONFIG": ""}, check=False)
    if "lib:" in options and re.search("is not on this machine|sanitizer", done.stderr):
        raise Skipped(done.stderr.partition("\n")[0])
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)["runs"][0]


def member(run, path):
    """A member of the JSON; of "A / B" the ratio."""
    above, _, below = path.partition(" / ")
    value = functools.reduce(lambda value, key: value[key], above.split("."), run)
    return value / member(run, below) if below else value


def difference(published, figure):
    if published.startswith("< "):
        return "holds" if figure < float(published[2:]) else "exceeds"
    return "exact" if figure == float(published) else f"{100 * (figure / float(published) - 1):+.2f}%"


def result(row, folder, tapool, work):
    unit = row["quantity"].rpartition(", ")[2]
    run = run_of(tapool, trace_of(folder, row["trace"], work), row["options"], work)
    library = run["strategy"].get("library", "")
    if library not in row["note"]:
        raise Skipped(f"the row is of another version than {library}")
    value = member(run, row["figure"]) / UNITS.get(unit, 1)
    if unit == "%":
        value = round(value, len(row["published"].partition(".")[2]))
    return [row["source"], row["quantity"], row["published"], f"{value:.12g}",
            difference(row["published"], value), row["note"]]


def results(folder, tapool, work, old):
    """The rows of a folder; of those that cannot be replayed here, the lines of results.csv."""
    with open(folder / "rows.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                yield result(row, folder, tapool, work)
            except Skipped as why:
                print(f"skipped: {row['source']}, {row['quantity']}: {why}", file=sys.stderr)
                yield from [line for line in old if line[:3] == [row["source"], row["quantity"], row["published"]]]


def agrees(difference):
    return difference in ("exact", "holds") or difference.endswith("%") and abs(float(difference[:-1])) <= 1


def summary(rows):
    """What README.md says of them."""
    differences = [row[4] for row in rows]
    misses = [f"{source}, {quantity.rpartition(', ')[0] or quantity} ({difference})"
              for source, quantity, _, _, difference, _ in rows if not agrees(difference)]
    return textwrap.fill(
        f"[{len(rows)} figures](tests/published/results.csv) that {len({row[0] for row in rows})} issues, repositories and "
        "manuals state, replayed from [their text or their data](tests/published/README.md): "
        f"{sum(map(agrees, differences))} agree within 1%, {differences.count('exact')} of them exactly and "
        f"{differences.count('holds')} by staying below a stated limit. The others, with the reason beside each: "
        + "; ".join(misses) + ".", 120, break_on_hyphens=False, break_long_words=False) + "\n"


def compare(path, old, new):
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), path.name, "now", n=0))
    return old == new


def main():
    tapool, folder, check = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:] == ["--check"]
    path = folder / "results.csv"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [["source", "quantity", "published", "tapool", "difference", "note"]]
    with tempfile.TemporaryDirectory() as work:
        for rows in sorted(folder.glob("*/rows.csv")):
            lines += results(rows.parent, tapool, pathlib.Path(work), list(csv.reader(old.splitlines())))
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(lines)
    files = [(path, old, made.getvalue())]
    if folder.resolve() == ROOT / "tests/published":
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        told, sections = SECTION.subn(lambda _: summary(lines[1:]), readme)
        if sections != 1:
            sys.exit("README.md has no section 'Published figures'")
        files.append((ROOT / "README.md", readme, told))
    if check:
        sys.exit(not all([compare(*file) for file in files]))
    for path, _, new in files:
        path.write_text(new, encoding="utf-8")


main()
