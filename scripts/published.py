"""Replays the workloads of tests/published and writes their figures beside the published ones: see published.sh."""
import csv
import difflib
import functools
import io
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "bytes": 1}


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
def run_of(tapool, trace, options):
    """The run of a replay, from its JSON. No figure here is a time, so one replay is enough."""
    words = [tapool, "replay", trace, "--min-time", "0", "--json", *shlex.split(options)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, "TAPOOL_CONFIG": ""})
    return json.loads(done.stdout)["runs"][0]


def difference(published, figure):
    if published.startswith("< "):
        return "holds" if figure < float(published[2:]) else "exceeds"
    return "exact" if figure == float(published) else f"{100 * (figure / float(published) - 1):+.2f}%"


def result(row, folder, tapool, work):
    value = run_of(tapool, trace_of(folder, row["trace"], work), row["options"])
    for key in row["figure"].split("."):
        value = value[key]
    value /= UNITS.get(row["quantity"].rpartition(", ")[2], 1)
    return [row["source"], row["quantity"], row["published"], f"{value:.12g}",
            difference(row["published"], value), row["note"]]


def main():
    tapool, folder, check = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:] == ["--check"]
    lines = [["source", "quantity", "published", "tapool", "difference", "note"]]
    with tempfile.TemporaryDirectory() as work:
        for rows in sorted(folder.glob("*/rows.csv")):
            with open(rows, encoding="utf-8", newline="") as file:
                lines += [result(row, rows.parent, tapool, pathlib.Path(work)) for row in csv.DictReader(file)]
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerows(lines)
    new, path = made.getvalue(), folder / "results.csv"
    if not check:
        path.write_text(new, encoding="utf-8")
        return
    old = path.read_text(encoding="utf-8")
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "results.csv", "now", n=0))
    sys.exit(old != new)


main()
