"""Every number in the tables of a page of compare or check against the JSON of the same run.

A getter says whether a cell is right; page_tables.py says what happens where there is none.
"""
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import rounding as text  # noqa: E402
from page_tables import NoGetters, check_table, is_name  # noqa: E402


def near(cell, value, unit=1):
    """Whether a cell begins with the number, as far as its digits go."""
    found = text.read(cell)
    if value is None or not found:
        return value is None and not re.search(r"\d", cell)
    said, step, _ = found
    return abs(said - unit * float(value)) <= 0.501 * step + 1e-6 * unit


def amount(cell, value, unit):
    """A value in the unit of its metric."""
    return near(cell, value, 100 if unit == "share" else 1)


def interval(cell, low, high):
    """A change's interval in percent; "-" or nothing where there is none."""
    if low is None or high is None:
        return cell in ("", "-")
    ends = re.fullmatch(r"\[(.*), (.*)\](?: %)?", cell)
    return bool(ends) and all(re.match(r"[+-]\d{1,3}(,\d{3})*(\.\d)?$", said) and near(said, 100 * value)
                              for said, value in zip(ends.groups(), (low, high)))


def probability(cell, p):
    if p is None:
        return cell in ("", "-")
    return cell == "<0.001" if p < 0.001 and cell.startswith("<") else near(cell, p, 1) or cell == "%.2g" % p


# ---- compare ----

def nanoseconds(ns):
    return text.digits(ns) if ns >= 1000 else "%.*f" % (0 if ns >= 100 else 1 if ns >= 10 else 2, ns)


def value_of(cell, said, metric):
    """The value of a cell of the comparison, with its interval where the page has one."""
    value, bound = cell["value"], re.match(r"(<=|~)(\d+)$", said)
    if value is None:
        return said in ("-", "(a)", "(c)")
    if bound:
        return value <= 1.5 * int(bound.group(2))
    if metric["unit"] == "ns" and "[" in said:
        wanted = [text.texts(nanoseconds, cell[name]) for name in ("value", "low", "high")]
        return said in {"%s [%s, %s]" % (a, b, c) for a in wanted[0] for b in wanted[1] for c in wanted[2]}
    return amount(said, value, metric["unit"])


def change_of(cell, said):
    """What the first table says of a change."""
    words = {"none": "-", "base": "base", "same": "~"}
    if cell["mark"] in words or cell["change"] is None:
        return said in (words.get(cell["mark"], "from 0"), "")
    texts = text.texts(text.change, cell["change"])
    if cell["mark"] == "untested":
        return said in {"(%s)" % t for t in texts}
    return said in (texts if cell["change"] else {"same"})


def estimate_of(cell, said):
    return said in text.texts(text.change, cell["change"]) if cell["change"] is not None else change_of(cell, said)


class Compare:
    """`page` has the names of heads and the rounds, `of` the figures."""

    def __init__(self, page, of):
        self.page, self.of = page["page"], of

    def runs(self, index):
        return [r for r in self.page["runs"] if r["table"] == index]

    def rows(self, index):
        """The rows of a table and their metrics, by the name that the page gives them."""
        return {run["strategy"]["label"]: self.of["tables"][index]["rows"][run["row"]] for run in self.runs(index)}

    def metric(self, index, head):
        return next(m for m in self.of["metrics"] if self.page["heads"][index][m["name"]] == head)

    def answer(self, index, table, row, column):
        metric = self.metric(index, table["heads"][column if column % 2 else column - 1])
        cell = self.rows(index)[row[0]]["metrics"][metric["name"]]
        return value_of(cell, row[column], metric) if column % 2 else change_of(cell, row[column])

    def changes(self, index, table, row, column):
        metric, here = self.metric(index, row[1]), self.rows(index)[row[0]]
        cell = here["metrics"][metric["name"]]
        base = self.of["tables"][index]["rows"][here["base"]]["metrics"][metric["name"]]
        return {"figure": lambda said: True, "base": lambda said: value_of(base, said, metric),
                "here": lambda said: value_of(cell, said, metric), "change": lambda said: estimate_of(cell, said),
                "95 % interval": lambda said: interval(said, cell["change_low"], cell["change_high"]),
                "p": lambda said: probability(said, cell["p"]),
                "what that says": lambda said: said == self.page["marks"][cell["mark"]]}[table["heads"][column]](row[column])

    def rounds(self, index, table, row, column):
        metric = self.metric(index, table["about"].replace(" in each round", ""))
        run = next(r for r in self.runs(index) if r["strategy"]["label"] == table["heads"][column])
        return near(row[column], run["rounds"][metric["name"]][int(row[0]) - 1])

    def means(self, index, table, row, column):
        mean = next(m for m in self.of["geometric_means"] if m["label"] == row[0])["metrics"][table["heads"][column]]
        return near(row[column].strip("()"), mean["ratio"])

    def origin(self, index, table, row, column):
        return fact(self.of, table, row, column)

    def count(self, index, table):
        """How many rows a table must have; None: any number."""
        return {"answer": len(self.runs(index)), "rounds": len(next(iter(self.runs(index)[0]["rounds"].values()), []))
                if self.runs(index) and "rounds" in self.runs(index)[0] else None}.get(table["section"])

    def check(self, index, table, row, column):
        return getattr(self, table["section"])(index, table, row, column)


def took(ns):
    seconds = math.floor(ns / 1e9 + 0.5)
    return "%.1f s" % (ns / 1e9) if ns < 59950000000 else "%d min %02d s" % divmod(seconds, 60)


def fact(of, table, row, column):
    """A row of what is known of the machine, or of a file."""
    if table["heads"][0] == "file":
        file = next(f for f in of["files"] if f["path"] == row[0])
        known = {"tapool": "version", "machine": "arch", "CPU": "cpu", "C library": "libc"}
        head = table["heads"][column]
        return head == "partial" or row[column] == (file[known.get(head, head)] or "unknown")
    machine = of["machine"]
    wanted = {"system": machine["os"], "machine": machine["arch"], "CPU": machine["cpu"], "C library": machine["libc"],
              "cores": text.count(machine["cores"]), "memory": text.size(int(machine["memory_bytes"])),
              "pinned to core": str(of.get("core")), "baseline": of.get("baseline"), "cells in it": of.get("written"),
              "seed": str(of.get("seed")), "exit code": str(of.get("exit_code"))}
    if "rule" in of:
        wanted["a slowdown counts from"] = text.percent(of["rule"]["effect"])
        wanted["and with p below"] = "%g" % of["rule"]["alpha"]
        wanted["took"] = took(int(of["wall_ns"]))
        wanted.update({c["name"]: c["against"] for c in of["classes"]})
    return row[column] == (wanted[row[0]] or "not known")


# ---- check ----

def is_cell(said, of):
    """Whether a text names the cell of a finding or of a cause."""
    return any(is_name(said, ", ".join(parts)) for parts in (
        (of["trace"], of["strategy"]), (of["trace"], of["strategy"], of["source"])))


class Check:
    def __init__(self, page, of):
        self.of, self.rows, self.of_cell = of, len(page["findings"]), {}

    def finding(self, row):
        """The finding of a row, which names it by its cell and its figure."""
        if row[0] not in self.of_cell:
            self.of_cell[row[0]] = [f for f in self.of["findings"] if is_cell(row[0], f)]
        for f in self.of_cell[row[0]]:
            if f["metric"] + ("[%d]" % f["device"] if "[" in row[1] else "") == row[1]:
                return f
        raise KeyError(row[:2])

    def findings(self, table, row, column):
        f, head, said = self.finding(row), table["heads"][column], row[column]
        d = f["difference"] or {}
        percent = {n: None if d.get(n) is None else d[n] - 1 for n in ("low", "high")}
        side = "adjusted_p_better" if f["verdict"] == "better" else "adjusted_p_worse"
        if f["unit"] is None: # an option: its note has both values
            return not re.search(r"\d", said) or said in f["note"]
        return {"figure": lambda: True, "class": lambda: said == f["class"], "note": lambda: said == f["note"],
                "base": lambda: amount(said, f["base"], f["unit"]), "now": lambda: amount(said, f["now"], f["unit"]),
                "change": lambda: self.change(f, said), "verdict": lambda: said == f["verdict"],
                "95 % interval in %": lambda: interval(said, percent["low"], percent["high"]),
                "p": lambda: probability(said, d.get(side)), "allowed": lambda: self.allowed(f, said)}[head]()

    def change(self, f, said):
        if f["base"] is None or f["now"] is None:
            return not re.search(r"\d", said)
        by = float(f["now"]) - float(f["base"])
        if said.split()[0] == "0":
            return by == 0 or (f["class"] == "N" and abs(f["change"]) < 0.0006)
        if " points" in said:
            return abs(float(said.split()[0]) - 100 * by) <= 0.06
        if said.split(" paired")[0].endswith(" %"):
            return f["change"] is not None and near(said, 100 * f["change"])
        return near(said, by)

    def allowed(self, f, said):
        number = re.match(r"([+-]?[\d.,]+)", said)
        share = f["class"] != "E" or f["unit"] == "share"
        wanted = 100 * f["allowed"] if share else f["allowed"]
        return said == "0" if not f["allowed"] else bool(number) and (
            near(said.lstrip("+-"), wanted) or abs(abs(float(number.group(1).replace(",", ""))) - wanted) <= 5e-3 * wanted)

    def causes(self, table, row, column):
        """What is said of a cause is what the JSON says of it, and of its first finding."""
        head, said = table["heads"][column], row[column]
        cause = next((c for c in self.of["causes"] if c["text"] == row[2] and is_cell(row[0], c)), None)
        if head == "what changed":
            return cause is not None or row[1] == "inconclusive"
        list_ = [self.of["findings"][i] for i in cause["findings"]] if cause else [self.finding([row[0], row[2]])]
        if head == "change":
            return any(self.change(f, said) for f in list_)
        if head == "allowed":
            return any(self.allowed(f, said) for f in list_)
        if head == "base -> now":
            return any(self.pair(f, said) for f in list_)
        if head == "95 % interval in %, p":
            return any(self.proof(f, said) for f in list_)
        if head == "verdict":
            return said == list_[0]["verdict"]
        return head == "with it" and self.folded(cause, said)

    @staticmethod
    def proof(f, said):
        """An interval with its probability; nothing where there is none."""
        d, found = f["difference"] or {}, re.fullmatch(r"(\[.*\])(?: p(=|<)(.*))?", said)
        if d.get("low") is None or d.get("high") is None:
            return said == ""
        p = d.get("adjusted_p_better" if f["verdict"] == "better" else "adjusted_p_worse")
        right = p is None or p >= 0.001 and "%.2g" % p == (found and found.group(3)) or p < 0.001 and found and found.group(2, 3) == ("<", "0.001")
        return bool(found and right) and interval(found.group(1), d["low"] - 1, d["high"] - 1)

    def folded(self, cause, said):
        """The figures behind the first one of a cause, each with its change, and how many more there are."""
        rest = [self.of["findings"][i] for i in cause["findings"][1:]] if cause else []
        more = re.search(r" and ([\d,]+) more$", said)
        items = re.split(r", (?=[a-z])", said[:more.start()] if more else said) if said else []
        left = len(rest) - len(items)
        if more and text.count(left) != more.group(1) or not more and left:
            return False
        return all(item.startswith(f["metric"]) and (" " not in item or self.change(f, item.split(" ", 1)[1]))
                   for item, f in zip(items, rest))

    def pair(self, f, said):
        found = re.search(r"([\d.,e+-]+)(?: (\w+))? -> ([\d.,e+-]+)(?: ?(\S+))?$", said)
        if not found:
            return said == f["note"] or None in (f["unit"], f["base"], f["now"]) and not re.search(r"\d", said)
        unit = found.group(4) or ""
        return amount("%s %s" % (found.group(1), found.group(2) or unit), f["base"], f["unit"]) and amount(
            "%s %s" % (found.group(3), unit), f["now"], f["unit"])

    def classes(self, table, row, column):
        of, head = next(c for c in self.of["classes"] if c["name"] == row[0]), table["heads"][column]
        if head in ("cells", "values"):
            return row[column] == (text.count(of[head]) if of["checked"] else "-")
        return row[column] == (of["against"] if of["checked"] else "-") if head == "compared" else of["reason"] in row[column]

    def origin(self, table, row, column):
        return fact(self.of, table, row, column)

    def count(self, index, table):
        return {"findings": self.rows,
                "classes": len(self.of["classes"])}.get(table["section"])

    def check(self, index, table, row, column):
        return getattr(self, table["section"])(table, row, column)


DOCUMENTS = {"tapool.compare/1": Compare, "tapool.check/1": Check}


class Cells:
    """The cells of one table. A row is found by its name, so that another name is found by the cells behind it."""

    def __init__(self, of, index):
        self.of, self.index = of, index

    def see(self, table):
        rows = self.of.count(self.index, table)
        return [] if rows in (None, len(table["rows"])) else \
            ["%s: %d rows, and not %d" % (table["section"], len(table["rows"]), rows)]

    def expected(self, table, row, column):
        cells = table["rows"][row]
        try:
            return column == 0 or bool(self.of.check(self.index, table, cells, column))
        except (KeyError, AttributeError, StopIteration, IndexError, ValueError, TypeError):
            return None


def getters(index, table, data, document):
    of = DOCUMENTS[document["schema"]](data, document)
    return Cells(of, index) if hasattr(of, table["section"]) else NoGetters()


def check(articles, page, document):
    """Findings, and how many figures were compared."""
    found, compared = [], 0
    for index, article in enumerate(articles):
        for table in article["tables"]:
            more, n = check_table(table, getters(index, table, page, document))
            found, compared = found + more, compared + n
    if document["schema"] == "tapool.check/1" and document["verdict"] not in [" ".join(p.split()) for p in articles[0]["picks"]]:
        found.append("the verdict is %s, not %s" % (articles[0]["picks"], document["verdict"]))
    for table, article in zip(document.get("tables", []), articles):
        if " ".join(article["picks"][0].split()) != " ".join(table["pick_text"].split()):
            found.append("the Pick is '%s', not '%s'" % (article["picks"][0], table["pick_text"]))
    return found, compared
