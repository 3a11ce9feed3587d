"""Every figure on a page of `tapool info` against the JSON of the same run: tables, the sentences between them, and what
stands there as on the screen (page_prose.py); the data of its charts too."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import rounding as text  # noqa: E402
from page_figures import Sites  # noqa: E402
from page_prose import Prose, Screen, exact_size  # noqa: E402
from page_tables import Large, NoGetters, another, check_table, same, whole  # noqa: E402
from page_trace import Trace, size_names  # noqa: E402


# ---- the large figures ----

def large_of_one(document):
    peaks, sites = [whole(row["peak_requested_bytes"]) for row in document["devices"]], document.get("sites") or document.get("peak_sites")
    yield "largest peak requested" if len(peaks) > 1 else "peak requested", {text.size(max(peaks))}
    yield "events", {text.count(document["trace"]["events"])}
    yield "allocations", {text.count(document["allocated"]["objects"])}
    if sites and sites["by"] == "line":
        yield "allocation sites", {text.count(sites["count"])}


def large_of_two(document):
    values = next([whole(v) for v in row["values"]] for row in document["figures"] if row["name"] == "peak_requested")
    return [("peak requested, first", Pair.value("bytes", values, 0)), ("peak requested, second", Pair.value("bytes", values, 1)),
            ("difference", Pair.difference(*values))]


# ---- one trace ----

def drawn(data):
    return data["page"]["runs"][0]["page"]


def run_of(data, document):
    """What the checkers of a replay's tables take: phases have the names of the page, which are shorter."""
    phases = [{**row, "name": named["name"]} for row, named in zip(document["phases"], drawn(data)["trace"]["phases"])]
    return {**document, "page": {"trace": {**document, "phases": phases}}}


def getters(index, table, data, document):
    if table["section"] == "figures":
        return Large(large_of_two(document) if "figures" in document else large_of_one(document))
    if table["section"] == "answer":
        return Pair(document)
    of = {"trace": Trace, "sites": Sites}.get(table["section"])
    return of(document, [run_of(data, document)]) if of else NoGetters()


def check_charts(data, document):
    """The data of the charts, and that the rows of the tables add up to their wholes."""
    charts, found = drawn(data)["trace"], []
    for name, value in charts.items():
        right = document[name]
        if name == "devices":
            right = [{**{key: row[key] for key in value[0]}} for row in right]
        if name == "phases":
            value, right = ([{**row, "name": row["name"][:20]} for row in rows] for rows in (value, right))
        found += [of for of in [same(value, right, ".the charts." + name)] if of]
    sums = {"sizes": (sum(whole(row["objects"]) for row in document["size_powers"]), document["allocated"]["objects"]),
            "lives": (sum(whole(row[1]) for row in document["lifetime_doublings"]["events"]), document["freed_objects"])}
    if document["threads"]:
        sums["remote frees"] = sum(whole(row["remote_frees"]) for row in document["threads"]), document["remote_frees"]
    for device, curves in zip(document["devices"], drawn(data)["devices"]):
        value, highest = 0, 0
        for change in curves.get("program", {}).get("requested", []):
            value, highest = value + change, max(highest, value + change)
        sums["the curve of device %d" % device["index"]] = highest, device["peak_requested_bytes"]
    return found + ["%s: %d, and not %d" % (name, one, whole(other)) for name, (one, other) in sums.items() if one != whole(other)]


def check_one(article, data, document):
    heads = [table["heads"][0] for table in article["tables"] if table["section"] == "trace"]
    found = [] if heads == ["Sizes"] * (whole(document["allocated"]["objects"]) > 0) else ["the tables of the trace are of %s" % heads]
    found += check_charts(data, document)
    sentences = [article["head"]] + [p for words in article["words"].values() for p in words]
    screen, compared = Screen(article["printed"][0]), 0
    for of in (Prose(document, sentences), Prose(document, screen.sentences)):
        more, n = of.check()
        found, compared = found + more, compared + n
    more, n = screen.check(document)
    return found + more + screen.lacks(sentences), compared + n


# ---- two traces ----

NAMES = {"allocations": "allocations", "allocated": "allocated bytes", "reallocs": "reallocations", "frees": "frees",
         "peak_requested": "peak requested", "peak_blocks": "peak blocks", "left_blocks": "blocks at the end",
         "left": "bytes at the end", "temporary": "freed within 64 events", "remote_frees": "freed by other threads",
         "threads": "threads", "sizes": "distinct sizes"}


class Pair:
    """Rows of figures that one of both traces has at least, and of sizes."""

    def __init__(self, document):
        self.rows = [(NAMES[row["name"]], row["unit"], [whole(v) for v in row["values"]]) for row in document["figures"]]
        self.rows += [(name, "count", [whole(v) for v in row["objects"]])
                      for row, name in zip(document["sizes"], size_names(document["sizes"]))]
        self.rows = [row for row in self.rows if any(row[2])]

    def see(self, table):
        return [] if len(table["rows"]) == len(self.rows) else \
            ["answer: %d rows for %d figures" % (len(table["rows"]), len(self.rows))]

    def expected(self, table, row, column):
        name, unit, values = self.rows[row]
        return {"first": lambda: self.value(unit, values, 0), "second": lambda: self.value(unit, values, 1),
                "difference": lambda: self.difference(*values)}.get(table["heads"][column], lambda: {name})()

    @staticmethod
    def value(unit, values, index):
        """In full where four digits do not tell the two apart."""
        rounded = [text.size(v) if unit == "bytes" else text.count(v) for v in values]
        return {exact_size(values[index]) if values[0] != values[1] and rounded[0] == rounded[1] else rounded[index]}

    @staticmethod
    def difference(first, second):
        return {"=" if first == second else "new" if not first else text.change(second / first - 1)}


def side_of(document, index):
    """What the JSON of two traces says of one of them, in the words of the JSON of one; the screens of the two say
    more, which is compared with the JSON of each alone where that is known (`sides` of the document)."""
    values = {row["name"]: row["values"][index] for row in document["figures"]}
    of = document["traces"][index]
    return {"trace": of["trace"], "program": of["program"], "freed_objects": values["frees"],
            "allocated": {"objects": values["allocations"], "bytes": values["allocated"]},
            "live_at_end": values["left_blocks"], "live_at_end_bytes": values["left"], "peak_objects": values["peak_blocks"],
            "distinct_sizes": values["sizes"], "remote_frees": values["remote_frees"], "left_out": True,
            "peak_requested_bytes": values["peak_requested"],
            "sizes": [{"up_to_bytes": row["up_to_bytes"], "objects": row["objects"][index], "bytes": None}
                      for row in document["sizes"]]}


def check_two(article, data, document):
    lines = [run["requested"] for run in data["page"]["runs"]]
    found = [] if lines == ["first: requested", "second: requested"] else ["the lines are %s" % lines]
    met = ["%s: %s" % (c["text"], "met" if c["met"] else "not met") for c in document["conditions"]]
    said = [line for pick in article["picks"] for line in pick.split("\n")[1:] if line]
    found += [] if said == met else ["the conditions are %s, and not %s" % (said, met)]
    screens, compared = [Screen(printed) for printed in article["printed"]], len(met)
    found += screens[0].lacks([article["head"]])
    table = dict(screens[0].table(), section="answer", lead="")
    more, n = check_table(table, Pair(document))
    found, compared = found + more, compared + n
    for index, screen in enumerate(screens[1:]):
        of = document["sides"][index] if "sides" in document else side_of(document, index)
        for more, n in (Prose(of, screen.sentences).check(), screen.check(of)):
            found, compared = found + more, compared + n
    return found, compared


def check(articles, data, document):
    """Findings, and how many figures were compared. `articles` is what page_tables.READ gives."""
    found, compared = [], 0
    for table in articles[0]["tables"]:
        more, n = check_table(table, getters(0, table, data, document))
        found, compared = found + more, compared + n
    more, n = (check_one if document["schema"] == "tapool.info/2" else check_two)(articles[0], data, document)
    return found + more, compared + n


def changes(was):
    """A text with each of its numbers another one, in turn."""
    for number in re.finditer(r"\d+(?=\D|$)", was):
        said = " ".join(was[max(0, number.start() - 60):number.end() + 20].split())
        yield said, was[:number.start()] + another(number.group()) + was[number.end():]


def is_wrong(of, screen, before, sentences):
    """Whether something is wrong with a screen, of whose sentences only those are new that were not there before."""
    new = [line for line in screen.sentences if line not in before.sentences]
    return Prose(of, new).check()[0] or screen.check(of)[0] or screen.lacks(sentences)


def unseen(articles, data, document):
    """The numbers in sentences and on the screen that could be others, and nobody would notice."""
    article, one = articles[0], document["schema"] == "tapool.info/2"
    words = [article["head"]] + [p for name, texts in article["words"].items() if name != "answer" for p in texts]
    screens, found = [Screen(printed) for printed in article["printed"]], []
    for sentence in words:
        found += [said for said, changed in changes(sentence)
                  if one and not (Prose(document, [changed]).check()[0] or screens[0].lacks([changed]))]
    sides = [(article["printed"][0], document, screens[0])] if one else [
        (printed, document["sides"][i] if "sides" in document else side_of(document, i), screens[i + 1])
        for i, printed in enumerate(article["printed"][1:])]
    for printed, of, before in sides:
        found += [said for said, changed in changes(printed)
                  if not is_wrong(of, Screen(changed), before, words if one else [])]
    return ["a number could be another one: '%s'" % said for said in found]
