"""usage: info_page_figures.py PAGE.html FILE.json

Compares a page of `tapool info` with the JSON that the same run wrote: the data of the page has all of its members
(curves aside, which the page has at less length), and its tables have their figures. Prints what differs."""
import html.parser
import json
import re
import sys

SIZES = dict(B=1, KiB=2**10, MiB=2**20, GiB=2**30, TiB=2**40)
TIMES = dict(ns=1, us=1e3, ms=1e6, s=1e9)
found = []


def expect(good, *what):
    if not good:
        found.append(" ".join(map(str, what)))


class Tables(html.parser.HTMLParser):
    """tables: heading -> rows of texts."""

    def __init__(self):
        super().__init__()
        self.tables, self.heading, self.tag, self.row = {}, "", "", []

    def handle_starttag(self, tag, attributes):
        self.tag = tag
        if tag in ("h2", "h3"):
            self.heading = ""
        elif tag == "tr":
            self.row = []
        elif tag in ("td", "th"):
            self.row.append("")

    def handle_endtag(self, tag):
        if tag == "tr":
            self.tables.setdefault(self.heading, []).append(self.row)
        self.tag = ""

    def handle_data(self, text):
        if self.tag in ("h2", "h3"):
            self.heading += text
        elif self.tag in ("td", "th"):
            self.row[-1] += text


def number(text):
    match = re.match(r"(?:[<>]=? )?([\d,]*\.?\d+)(?: (\w+))?$", text)
    expect(match, "'%s' is no figure" % text)
    return float(match[1].replace(",", "")) * {**SIZES, **TIMES}.get(match[2], 1) if match else 0


def close(text, value, *what):
    """Four digits of a figure."""
    value = float(value)
    expect(abs(number(text) - value) <= 0.0006 * abs(value), *what, "is", text, "and", value)


def compare(tables, name, rows, columns):
    """rows: of the JSON; columns: of the table, a function of a row each, by their index."""
    table = tables.get(name, [[]])[1:]
    expect(len(table) == len(rows), name, "has", len(table), "rows, not", len(rows))
    for cells, row in zip(table, rows):
        for index, value in columns.items():
            if value(row) is None:
                expect(cells[index] == "-", name, cells, "is not -")
            else:
                close(cells[index], value(row), name, cells)


def shares(tables, name, rows, more=()):
    """Tables of more than 64 rows have those with most allocations, and the others as one."""
    keys = ("allocations", "allocated_bytes", "frees", *more)
    if len(rows) < 2:
        rows = []
    elif len(rows) > 64:
        rows = sorted(rows, key=lambda row: -row["allocations"])
        rest = {key: sum(row.get(key, 0) for row in rows[64:]) for key in keys}
        rows = rows[:64] + [rest]
    compare(tables, name, rows, {i + 1: lambda row, key=key: row[key] for i, key in enumerate(keys)})


def check_one(data, tables):
    trace = data["page"]["runs"][0]["page"]["trace"]
    for name, value in trace.items():
        if name == "devices":
            value = [{**device, **row} for device, row in zip(data["devices"], value)]
        elif name == "phases":
            expect([{**row, "name": 0} for row in value] == [{**row, "name": 0} for row in data[name]], name)
            continue
        expect(value == data[name], "the data of the charts differs in", name)
    if data.get("nothing"):
        return
    done = {name: n for name, n in data["operations"].items() if n}
    expect({row[0]: number(row[1]) for row in tables.get("Operations", [])[1:]} == done, "operations:", done)
    compare(tables, "Sizes", data["size_powers"],
            {0: lambda r: r["up_to_bytes"], 1: lambda r: r["objects"], 3: lambda r: r["bytes"]})
    for name, unit in (("Lifetimes in events", "events"), ("Lifetimes in time", "ns")):
        compare(tables, name, data["lifetime_doublings"][unit], {0: lambda r: r[0], 1: lambda r: r[1]})
    expect(sum(r["objects"] for r in data["size_powers"]) == data["allocated"]["objects"], "sizes do not add up")
    expect(sum(r[1] for r in data["lifetime_doublings"]["events"]) == data["freed_objects"], "lives do not add up")
    if data["threads"]:
        expect(sum(r["remote_frees"] for r in data["threads"]) == data["remote_frees"], "remote frees do not add up")
    shares(tables, "Threads", data["threads"], ("remote_frees",))
    shares(tables, "Streams", data["streams"])
    shares(tables, "Devices", data["devices"], ("peak_requested_bytes", "left_bytes"))
    compare(tables, "Phases", data["phases"], {
        1: lambda r: r["begun"], 2: lambda r: r["first_event"], 3: lambda r: r["events"],
        4: lambda r: r["duration_ns"], 5: lambda r: r["peak_requested_bytes"], 6: lambda r: r["peak_requested_event"]})
    for device, drawn in zip(data["devices"], data["page"]["runs"][0]["page"]["devices"]):
        highest = value = 0
        for change in drawn.get("program", {}).get("requested", []):
            value += change
            highest = max(highest, value)
        expect(highest == device["peak_requested_bytes"], "the curve's peak is", highest)


def check_two(data, tables):
    rows = [row for row in data["figures"] if any(row["values"])]
    sizes = [{"values": row["objects"]} for row in data["sizes"] if any(row["objects"])]
    compare(tables, "What differs", rows + sizes, {1: lambda r: r["values"][0], 2: lambda r: r["values"][1]})
    expect([run["requested"] for run in data["page"]["runs"]] == ["first: requested", "second: requested"], "lines")


def without_curves(value):
    if isinstance(value, dict):
        return {name: without_curves(of) for name, of in value.items() if name != "curve"}
    return [without_curves(of) for of in value] if isinstance(value, list) else value


def main():
    text, written = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    tables = Tables()
    tables.feed(text)
    for name, value in without_curves(written).items():
        expect(without_curves(data.get(name)) == value, "the page's data differs in", name)
    (check_one if data["schema"] == "tapool.info/1" else check_two)(data, tables.tables)
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
