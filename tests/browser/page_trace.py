"""What the tables of the section "The trace" must hold, from the figures of the trace in the data of the page."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import rounding as text  # noqa: E402

KEYS = ("allocations", "allocated_bytes", "frees", "remote_frees", "peak_requested_bytes", "left_bytes")
ROWS = 64
SHARE = ["allocations", "bytes", "frees"]
HEADS = {
    "kind": ["events", "share"], "bytes": ["blocks", "share", "in all", "share of it"], "freed within": ["blocks", "share"],
    "thread": SHARE + ["of another's"], "stream": SHARE, "device": SHARE + ["peak", "at the end"],
    "phase": ["times", "first event", "events", "time", "peak", "at event"],
}


def ranked(rows):
    """The rows that a table has: of more than 64 those with most allocations, and the others as one."""
    if len(rows) <= ROWS:
        return rows
    rows = sorted(rows, key=lambda row: (-int(row["allocations"]), row["index"] is None, row["index"]))
    rest = {key: sum(int(row.get(key, 0)) for row in rows[ROWS:]) for key in KEYS}
    return rows[:ROWS] + [{**rest, "index": "others"}]


class Trace:
    """Rows by the first head of a table, which tells what it is of."""

    def __init__(self, document, runs):
        trace = runs[0]["page"]["trace"]
        count, size = text.count, text.size
        done = [(name, int(n)) for name, n in trace["operations"].items() if n]
        all_done = sum(n for _, n in done)
        all_objects = sum(int(row["objects"]) for row in trace["size_powers"])
        all_bytes = sum(int(row["bytes"]) for row in trace["size_powers"])
        self.rows = {
            "kind": sorted([name, count(n), text.percent(n / all_done)] for name, n in done),
            "bytes": [["<= " + size(row["up_to_bytes"]), count(row["objects"]), text.percent(row["objects"] / all_objects),
                       size(row["bytes"]), text.percent(int(row["bytes"]) / all_bytes)] for row in trace["size_powers"]],
            "phase": [[row["name"][:100], count(row["begun"]), count(row["first_event"]), count(row["events"]),
                       text.duration(row["duration_ns"]), size(row["peak_requested_bytes"]), count(row["peak_requested_event"])]
                      for row in trace["phases"]],
            "events": self.lives(trace["lifetime_doublings"]["events"], count),
            "ns": self.lives(trace["lifetime_doublings"]["ns"], text.duration),
            **{name: [self.share(name, row, keys) for row in ranked(trace[name + "s"])]
               for name, keys in (("thread", KEYS[:4]), ("stream", KEYS[:3]))},
            "device": [self.share("device", row, KEYS[:3] + KEYS[4:]) for row in trace["devices"]],
        }

    @staticmethod
    def lives(rows, shown):
        whole = sum(int(row[1]) for row in rows)
        return [[">= " + shown(2 ** 39) if below is None else "< " + shown(below), text.count(n), text.percent(n / whole)] for below, n in rows]

    @staticmethod
    def share(name, row, keys):
        first = {"others": "others", None: "later ones"}.get(row["index"], "%s %s" % (name, row["index"]))
        return [first] + [(text.size if key.endswith("_bytes") else text.count)(row[key]) for key in keys]

    def of(self, table):
        head = table["heads"][0]
        timed = head == "freed within" and table["rows"][0][0].endswith("s")
        rows = self.rows["ns" if timed else "events" if head == "freed within" else head]
        return [r for cells in table["rows"] for r in rows if r[0] == cells[0]] if head == "kind" else rows

    def see(self, table):
        if HEADS.get(table["heads"][0]) != table["heads"][1:]:
            return ["trace: no getters for the table of %s" % table["heads"]]
        rows = self.of(table)
        good = len(rows) == len(table["rows"]) and (table["heads"][0] != "kind" or len(rows) == len(self.rows["kind"]))
        return [] if good else ["trace: %d rows of %s, and there are %d" % (
            len(table["rows"]), table["heads"], len(rows))]

    def expected(self, table, row, column):
        return {self.of(table)[row][column]}
