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

    def means(self, index, table, row, column):
        mean = next(m for m in self.of["geometric_means"] if m["label"] == row[0])["metrics"][table["heads"][column]]
        return near(row[column].strip("()"), mean["ratio"])

    def figures(self, index, table, row, column):
        """The Pick as its sentence begins, and changes of one row against its base."""
        label, said = row
        if label in ("Pick", "Smallest"):
            return re.match(re.escape(label) + ":? " + re.escape(said) + r"(?=[:,.]? |$)", self.of["tables"][index]["pick_text"])
        rows = self.of["tables"][index]["rows"]
        metric = next(m for m in self.of["metrics"] if label.startswith(self.page["heads"][index].get(m["name"], "?") + ", "))
        name = next(name for name, row in self.rows(index).items() if any(label.endswith(
            ", %s vs %s" % (name, base)) and of is rows[row["base"]] for base, of in self.rows(index).items()))
        return change_of(self.rows(index)[name]["metrics"][metric["name"]], said)

    def count(self, index, table):
        """How many rows a table must have; None: any number."""
        return len(self.runs(index)) if table["section"] == "answer" else None

    def check(self, index, table, row, column):
        return getattr(self, table["section"])(index, table, row, column)


# ---- check ----

class Check:
    def __init__(self, page, of):
        self.of, self.rows, self.of_cell = of, len(page["findings"]), {}

    def finding(self, row):
        """The finding of a row, which names its cell and its figure."""
        cell = tuple(row[1:4])
        if cell not in self.of_cell:
            self.of_cell[cell] = [f for f in self.of["findings"] if all(map(is_name, cell, (f["trace"], f["strategy"], f["source"])))]
        for f in self.of_cell[cell]:
            if f["metric"] + ("[%d]" % f["device"] if "[" in row[4] else "") == row[4]:
                return f
        raise KeyError(row[:5])

    def findings(self, table, row, column):
        f, head, said = self.finding(row), table["heads"][column], row[column]
        d, side = f["difference"] or {}, "p_better" if f["verdict"] == "better" else "p_worse"
        percent = {n: None if d.get(n) is None else d[n] - 1 for n in ("low", "high")}
        if column == 0:
            return said == f["verdict"]
        if f["unit"] is None: # an option: its note has both values
            return not re.search(r"\d", said) or said in f["note"]
        values, _, note = said.partition("; ")
        return {"metric": lambda: True, "trace": lambda: True, "strategy": lambda: True, "source": lambda: True,
                "base -> now": lambda: self.pair(f, values) and note == f["note"],
                "change": lambda: self.change(f, said), "allowed": lambda: self.allowed(f, said),
                "95% CI": lambda: interval(said, percent["low"], percent["high"]),
                "p raw": lambda: probability(said, d.get(side)),
                "p adjusted": lambda: probability(said, d.get("adjusted_" + side)),
                "pairs": lambda: said == self.pairs(d)}[head]()

    @staticmethod
    def pairs(d):
        return "%d pair%s%s" % (d["pairs"], "s" * (d["pairs"] != 1), " in %d sets" % d["sets"] * (d["sets"] > 1)) if d else ""

    def change(self, f, said):
        if f["base"] is None or f["now"] is None:
            return not re.search(r"\d", said)
        by = float(f["now"]) - float(f["base"])
        if said.split()[0] == "0":
            return by == 0 or (f["class"] == "N" and abs(f["change"]) < 0.0006)
        if " points" in said:
            return abs(float(said.split()[0]) - 100 * by) <= 0.06
        if said.split(" paired")[0].endswith("%"):
            return f["change"] is not None and near(said, 100 * f["change"])
        return near(said, by)

    def allowed(self, f, said):
        number = re.match(r"([+-]?[\d.,]+)", said)
        share = f["class"] != "E" or f["unit"] == "share"
        wanted = 100 * f["allowed"] if share else f["allowed"]
        return said == "0" if not f["allowed"] else bool(number) and (
            near(said.lstrip("+-"), wanted) or abs(abs(float(number.group(1).replace(",", ""))) - wanted) <= 5e-3 * wanted)

    def pair(self, f, said):
        found = re.search(r"([\d.,e+-]+)(?: ?(\w+))? -> ([\d.,e+-]+)(?: ?(\S+))?$", said)
        if not found:
            return said == f["note"] or None in (f["unit"], f["base"], f["now"]) and not re.search(r"\d", said)
        unit = found.group(4) or ""
        return amount("%s %s" % (found.group(1), found.group(2) or unit), f["base"], f["unit"]) and amount(
            "%s %s" % (found.group(3), unit), f["now"], f["unit"])

    def large(self):
        moved = [finding["verdict"] for finding in self.of["findings"]]
        least = re.search(r"; minimum detectable slowdown (.*)", self.of["verdict"])
        return [["verdict", re.match("[A-Z]+", self.of["verdict"]).group()], ["values worse", text.count(moved.count("regression"))],
                ["better", text.count(moved.count("better"))], ["cells", re.search("; (.* of .*) cells?", self.of["verdict"]).group(1)]] + (
                    [["min detectable slowdown", least.group(1)]] if least else [])

    def figures(self, table, row, column):
        return row in self.large()

    def classes(self, table, row, column):
        of, head = next(c for c in self.of["classes"] if c["name"] == row[0]), table["heads"][column]
        if head in ("cells", "values"):
            return row[column] == (text.count(of[head]) if of["checked"] else "")
        return head == "class" or of["reason"] in row[column] and (not of["checked"] or row[column].split("; ")[0] == of["against"])

    def count(self, index, table):
        return {"findings": self.rows, "figures": len(self.large()),
                "classes": len(self.of["classes"])}.get(table["section"])

    def check(self, index, table, row, column):
        return getattr(self, table["section"])(table, row, column)


DOCUMENTS = {"tapool.compare/2": Compare, "tapool.check/2": Check}


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
            return column == 0 and table["section"] not in ("findings", "figures") or bool(self.of.check(self.index, table, cells, column))
        except (KeyError, AttributeError, StopIteration, IndexError, ValueError, TypeError):
            return False if table["section"] == "figures" else None


def getters(index, table, data, document):
    of = DOCUMENTS[document["schema"]](data, document)
    return Cells(of, index) if hasattr(of, table["section"]) else NoGetters()


def took(ns):
    seconds = math.floor(ns / 1e9 + 0.5)
    return "%.1f s" % (ns / 1e9) if ns < 59950000000 else "%d min %02d s" % divmod(seconds, 60)


def machine_of(document):
    """The lines that say where it was measured; None: in several files."""
    known = document["machine"]
    facts = {"system": known["os"], "machine": known["arch"], "CPU": known["cpu"], "cores": text.count(known["cores"]),
             "memory": text.size(int(known["memory_bytes"])), "C library": known["libc"]}
    return None if document.get("files") else ["%s %s" % (name, said or "not known") for name, said in facts.items()]


def check_sentences(articles, document):
    """What is wrong with what is said beside the tables."""
    picks = [" ".join(article["picks"][0].split()) for article in articles if article["picks"]]
    right = [" ".join(table["pick_text"].split()) for table in document.get("tables", [])]
    found, said = [], articles[-1]["words"]["origin"][0].strip().split("\n")
    if document["schema"] == "tapool.check/2":
        right = ["%s %s, exit %d" % (document["verdict"], took(int(document["wall_ns"])), document["exit_code"])]
        changes = "".join(articles[0]["words"].get("causes", []))
        found += ["not said: " + c["text"] for c in document["causes"][:40] if c["text"] not in changes]
    found += [] if machine_of(document) in (None, said) else ["measured on %s, not %s" % (said, machine_of(document))]
    return found + ([] if picks == right else ["the Picks are %s, not %s" % (picks, right)])


def check(articles, page, document):
    """Findings, and how many figures were compared."""
    found, compared = check_sentences(articles, document), 0
    for index, article in enumerate(articles):
        for table in article["tables"]:
            more, n = check_table(table, getters(index, table, page, document))
            found, compared = found + more, compared + n
    return found, compared
