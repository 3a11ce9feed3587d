"""What the table of sizes of the section "The trace" must hold, from the figures of the trace in the data of the page."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import rounding as text  # noqa: E402
from page_tables import whole  # noqa: E402


def size_names(sizes):
    limits = [None if row["up_to_bytes"] is None else text.size(whole(row["up_to_bytes"])) for row in sizes]
    return ["> " + low if limit is None else low + " - " + limit if low else "<= " + limit
            for low, limit in zip([None] + limits, limits)]


def size_rows(sizes, size):
    """The rows as texts, with bytes as `size` writes them; bytes that are not known are None."""
    rows = []
    objects, known = sum(whole(row["objects"]) for row in sizes), all(row["bytes"] is not None for row in sizes)
    all_bytes = known and sum(whole(row["bytes"]) for row in sizes)
    for row, limit in zip(sizes, size_names(sizes)):
        if row["objects"]:
            rows.append([limit, text.count(row["objects"]), text.percent(whole(row["objects"]) / objects),
                         size(whole(row["bytes"])) if known else None,
                         text.percent(whole(row["bytes"]) / all_bytes if all_bytes else 0) if known else None])
    return rows


class Trace:
    def __init__(self, document, runs):
        self.rows = size_rows(runs[0]["page"]["trace"]["sizes"], text.size)

    def see(self, table):
        good = len(self.rows) == len(table["rows"]) and \
            table["heads"] == ["Sizes", "allocs", "share of allocations", "allocated", "share of bytes"]
        return [] if good else ["trace: %d rows of %s, and there are %d" % (
            len(table["rows"]), table["heads"], len(self.rows))]

    def expected(self, table, row, column):
        return {self.rows[row][column], "  " + self.rows[row][column]}
