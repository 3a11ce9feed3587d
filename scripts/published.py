"""Replays the workloads of tests/published and writes their figures beside the published ones: see published.sh."""
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

UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "bytes": 1, "%": 0.01}
PLUGINS = pathlib.Path(__file__).parent / "plugin-example"


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
    headers = next(f / "include" for f in (folder, folder.parent) if (f / "include/tapool/strategy.h").is_file())
    compiler, made = os.environ.get("CC", "cc"), work / f"{name}.so"
    if not shutil.which(compiler):
        raise Skipped(f"no compiler for {name}.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-I", headers, PLUGINS / f"{name}.c", "-o", made], check=True)
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
    new = made.getvalue()
    if not check:
        path.write_text(new, encoding="utf-8")
        return
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "results.csv", "now", n=0))
    sys.exit(old != new)


main()
