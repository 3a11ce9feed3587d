"""Every number in the tables of a page against the JSON result of the same replay, and those of its Pick against
its table.

    table of a page --> its row in TABLES --> a getter for each head --> the texts that are right

page_tables.py says what a getter is. A sentence of a Pick that no pattern knows is a finding as soon as there is a
digit in it.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import rounding as text  # noqa: E402
from page_tables import Large, NoGetters, check_table, is_name, whole  # noqa: E402
from page_trace import Trace  # noqa: E402

def total(values):
    """A sum that is not known if a part is not."""
    values = [whole(v) for v in values]
    return None if not values or None in values else sum(values)


def devices_shown(run):
    """Those of which a page has rows of their own; of very many it leaves some out."""
    return run["devices"][:len(run["page"]["devices"])] if "page" in run else run["devices"]


# ---- figures of a run, as its columns mean them ----

def of_devices(run, group, name):
    return total(device[group][name] for device in run["devices"])


def reserved(run):
    """The least and the most that its own peak may be, which differ only on a real device."""
    low = high = 0
    for device in run["devices"]:
        measured = (device.get("measured") or {}).get("peak_reserved_bytes")
        pair = measured or [device["memory"]["peak_reserved_bytes"]] * 2
        if pair[0] is None:
            return None, None
        low, high = low + whole(pair[0]), high + whole(pair[1])
    return low, high


def resident(run, what="total"):
    return whole((run.get("resident") or {}).get(what + "_bytes"))


def start_text(run):
    return {text.size(resident(run, "start"))} if run["strategy"]["name"] == "lib" else {"-"}


def needed_by_program(run):
    return of_devices(run, "memory", "trace_peak_requested_bytes")


def reserved_text(run):
    low, high = (text.size(v) for v in reserved(run))
    if low == high:
        return {high}
    return {"%s to %s" % (low.rsplit(" ", 1)[0] if low.split()[-1] == high.split()[-1] else low, high)}


def held_times(held, run):
    needed = needed_by_program(run)
    if not needed or held is None:
        return {"-"}
    times = held / needed
    return {text.times(times)}


def free_text(size, largest):
    return {text.size(size) + (" (%s)" % text.size(largest) if size and largest is not None else "")}


def free_of(run):
    parts = [device["memory"]["at_trace_peak"] for device in run["devices"]]
    pieces = [whole(p["largest_free_block_bytes"]) for p in parts]
    free = [p["free_bytes"] if p["cached_bytes"] is None else whole(p["cached_bytes"]) + whole(p["span_bytes"])
            for p in parts]
    return total(free), None if None in pieces else max(pieces)


def is_flattered(run):
    return run["latency_scope"] == "strategy" and reuse(run) is not None and reuse(run) < 0.5


def no_time(run):
    speed = run.get("throughput") or {}
    if not speed.get("runs_ns_per_op") and speed.get("ns_per_op") is None and not speed.get("replays"):
        return "-"
    return "(a)" if is_flattered(run) else "(c)" if speed["ns_per_op"] is None else None


def interval_text(speed, name):
    """A time with the wider half of its interval."""
    ns, low, high = (speed[part + name] for part in ("", "ci95_low_", "ci95_high_"))
    if ns is None:
        return {"-"}
    if low is None:
        return {t + " (b)" for t in text.texts(text.digits, ns)}
    half = max(high - ns, ns - low)
    halves = text.texts(lambda h: "%.*f" % (0 if h >= 10 else 1 if h >= 1 else 2 if h >= 0.1 else 3, h), half, 2e-6)
    return {"%s \u00b1%s" % (a, b) for a in text.texts(text.digits, ns) for b in halves}


def time_text(run):
    return {no_time(run)} if no_time(run) else interval_text(run["throughput"], "ns_per_op")


def strategy_time_text(run):
    return {no_time(run)} if no_time(run) else text.texts(text.digits, run["throughput"]["ns_per_op"])


def p99_text(run, step):
    return {"(a)" if is_flattered(run) else text.latency(text.pooled(list(run["latency"].values()), 0.99), step)}


def calls(run):
    if run["devices"][0].get("measured"):
        return total(device["measured"]["driver"]["calls"] for device in run["devices"])
    return total(of_devices(run, "driver_calls", way) for way in ("get", "put"))


def reuse(run):
    """The share of all allocations that needed no call; of several devices it is weighed by theirs."""
    parts = [(device["driver_calls"]["hit_rate"], whole(device["driver_calls"]["allocations"])) for device in run["devices"]]
    served = sum(n for _, n in parts)
    if not served or any(share is None and n for share, n in parts):
        return None
    return sum(share * n for share, n in parts if n) / served


def throughput(name):
    return lambda run: (run.get("throughput") or {}).get(name)


# ---- the table of strategies ----

class Answer:
    """The table of strategies of one trace: rows of what it needs, of the recorded allocator, and of each strategy."""

    def __init__(self, document, runs):
        self.step, self.runs, self.first = document["clock"]["step_ns"], runs, runs[0]
        self.resident = False

    def see(self, table):
        self.resident = "peak resident" in table["heads"]
        return ["answer: %d rows of strategies, and %d results" % (len(table["rows"]), len(self.runs))] \
            if len(table["rows"]) < len(self.runs) else []

    def held(self, run):
        return resident(run) if self.resident else reserved(run)[1]

    def times_text(self, run):
        return {"OOM"} if run["failed_allocations"] else held_times(self.held(run), run)

    STRATEGY = {
        "peak resident": lambda a, run: {text.size(resident(run, "peak"))},
        "+ at start": lambda a, run: start_text(run),
        "total resident": lambda a, run: {text.size(resident(run))},
        "peak reserved": lambda a, run: reserved_text(run),
        "address space": lambda a, run: reserved_text(run),
        "overhead": lambda a, run: a.times_text(run),
        "min capacity": lambda a, run: {text.size(of_devices(run, "memory", "min_capacity_bytes"))},
        "free at peak (largest block)": lambda a, run: free_text(*free_of(run)),
        "free at peak": lambda a, run: {text.size(free_of(run)[0])},
        "ns/op 95% CI": lambda a, run: time_text(run),
        "strategy ns/op 95% CI": lambda a, run: time_text(run),
        "strategy ns/op": lambda a, run: strategy_time_text(run),
        "wall ns/op 95% CI": lambda a, run: interval_text(run["throughput"], "wall_ns_per_op"),
        "p99 ns": lambda a, run: p99_text(run, a.step),
        "vs 1 thread": lambda a, run: text.texts(text.times, throughput("speedup")(run)),
        "waited": lambda a, run: text.texts(text.percent, throughput("waited")(run)),
        "blocked": lambda a, run: text.texts(text.percent, throughput("blocked")(run)),
        "system calls": lambda a, run: {text.count(calls(run))},
        "driver calls": lambda a, run: {text.count(calls(run))},
        "warm calls": lambda a, run: {text.count(of_devices(run, "driver_calls", "warm_calls"))},
        "hit rate": lambda a, run: text.texts(text.percent, reuse(run)),
    }
    NEEDED = {
        "peak reserved": lambda a, run: {text.size(needed_by_program(run))},
        "peak resident": lambda a, run: {text.size(needed_by_program(run))},
        "total resident": lambda a, run: {text.size(needed_by_program(run))},
        "address space": lambda a, run: {"-" if a.resident else text.size(needed_by_program(run))},
        "overhead": lambda a, run: {"1.00x"},
    }
    PACKED = {
        "peak reserved": lambda a, run: {text.size(a.packed(run))},
        "overhead": lambda a, run: held_times(a.packed(run), run),
    }
    RECORDED = {
        "peak reserved": lambda a, run: {text.size(a.recorded("peak_reserved_bytes"))},
        "overhead": lambda a, run: {"-"} if a.ran_out() else held_times(a.recorded("peak_reserved_bytes"), run),
        "free at peak (largest block)": lambda a, run: free_text(a.recorded_free(), a.recorded_largest()),
        "free at peak": lambda a, run: {text.size(a.recorded_free())},
        "driver calls": lambda a, run: {text.count(a.recorded("segments_taken", "ranges_mapped", "segments_given_back",
                                                              "ranges_unmapped"))},
        "hit rate": lambda a, run: a.recorded_reuse(),
    }

    def packed(self, run):
        return of_devices(run, "memory", "best_packing_bytes")

    # ---- the recorded allocator ----

    def recorded(self, *names):
        return sum(whole(d.get(name, 0)) for d in self.first["recorded"]["devices"] for name in names)

    def recorded_pairs(self):
        """Of each device what was reserved at peak demand, and what was asked for there and not refused."""
        return [(whole(recorded["at_trace_peak_reserved_bytes"]),
                 whole(device["memory"]["trace_peak_requested_bytes"]) - whole(recorded["at_trace_peak_refused_bytes"]))
                for recorded, device in zip(self.first["recorded"]["devices"], self.first["devices"])]

    def ran_out(self):
        return bool(self.recorded("out_of_memory")) and any(
            had < whole(d["memory"]["trace_peak_requested_bytes"])
            for (had, _), d in zip(self.recorded_pairs(), self.first["devices"]))

    def recorded_free(self):
        if any(held < had for held, had in self.recorded_pairs()) and self.recorded("out_of_memory"):
            return None
        return sum(max(0, held - had) for held, had in self.recorded_pairs())

    def recorded_largest(self):
        pieces = [whole(d["at_trace_peak_largest_free_bytes"]) for d in self.first["recorded"]["devices"]]
        return None if None in pieces else max(pieces)

    def recorded_reuse(self):
        asked, takes = whole(self.first["recorded"]["allocations"]), self.recorded("segments_taken", "ranges_mapped")
        return {text.percent(1 - takes / asked if takes < asked else 0) if asked else "-"}

    def expected(self, table, row, column):
        """The texts that a cell may have; None: there is no getter."""
        head, name = table["heads"][column], table["rows"][row][0]
        nth = row - (len(table["rows"]) - len(self.runs))
        if column == 0:
            return self.name_text(name, nth)
        if head not in self.STRATEGY:
            return None
        special = {"requested": self.NEEDED, "best packing": self.PACKED}.get(name, self.RECORDED)
        if nth < 0:
            return special[head](self, self.first) if head in special else {"-"}
        return self.STRATEGY[head](self, self.runs[nth])

    def name_text(self, name, nth):
        if nth < 0:
            return {name} if name in ("requested", "best packing") or name.startswith("recorded, ") else set()
        run = self.runs[nth]
        label, library = run["strategy"]["label"], run["strategy"].get("library") or ""
        return {label} | {label + " " + part for part in
                          (re.findall(r"^\S* (.+)", library) or re.findall(r"\.so\.(.+)", library))}


# ---- the table of sites ----

class Sites:
    """A row for each site, which says more of it behind its name where more was asked for; and for the others."""
    SAID = re.compile(r"(?P<name>.*?)(?: \(by (?P<by>[\d,]+) blocks?\))?(?:, (?:mostly )?from (?P<callers>.*?))?"
                      r"(?:; (?P<blocks>[\d,]+) blocks?(?:, (?:up to )?(?P<age>.*) old)?)?")
    HEADS = ("allocation site", "phase", "age", "block size", "metadata")

    def __init__(self, document, runs):
        held = runs[0].get("peak_sites") or runs[0].get("sites") or runs[0].get("page", {}).get("held_sizes") or {}
        self.all, unknown = whole(held.get("bytes", 0)), whole(held.get("unknown_bytes", 0))
        self.event, places = held.get("event"), held.get("places", [])
        self.rows = [(p, whole(p["bytes"])) for p in places]
        left, rest = held.get("count", 0) - len(places), self.all - unknown - sum(row[1] for row in self.rows)
        if left > 0:
            self.rows.append((r"%s (site|row)%s more: --json" % (text.count(left), "s" * (left > 1)), max(0, rest)))
        self.rows += [(re.escape(rest["why"]), whole(rest["bytes"])) for rest in held.get("rests", [])]

    def see(self, table):
        good = len(table["rows"]) == len(self.rows) and table["heads"][:2] == ["live", "share"] and table["heads"][2] in self.HEADS
        return [] if good else ["sites: %d rows for %d, of %s" % (len(table["rows"]), len(self.rows), table["heads"])]

    def expected(self, table, row, column):
        who, held = self.rows[row]
        if column < 2:
            return [{text.size(held)}, text.texts(text.percent, held / self.all, 0)][column]
        said = table["rows"][row][column]
        return bool(re.fullmatch(who, said)) if isinstance(who, str) else self.is_place(who, self.SAID.fullmatch(said))

    def is_place(self, place, said):
        blocks = {None, text.count(place["blocks"])}
        return is_name(said["name"], place["place"]) and said["by"] in blocks and said["blocks"] in blocks \
            and self.are_callers(place, said["callers"]) and self.is_age(place, said["age"])

    def is_age(self, place, said):
        """The JSON has no age where times are not known: it is in events then, of which there were not more."""
        if said is None or place["oldest_ns"] is not None:
            return said in (None, text.duration(place["oldest_ns"]))
        known = re.fullmatch(r"([\d,]+) events?", said)
        return bool(known) and (not self.event or int(known.group(1).replace(",", "")) <= self.event)

    @staticmethod
    def are_callers(place, said):
        """Those that agree, from the inside out; else those from which most was asked for, with their shares."""
        if place["callers"]:
            names = re.split(" < (?:mostly )?", said or "")
            return len(names) == len(place["callers"]) and all(map(is_name, names, place["callers"]))
        shares = [re.escape(text.percent(whole(c["bytes"]) / whole(place["bytes"]))) for c in place["called_from"]]
        found = re.fullmatch(", ".join(r"(.*) \(%s(?: of it)?\)" % share for share in shares), said or "")
        return bool(found) and all(map(is_name, found.groups(), (c["place"] for c in place["called_from"])))


# ---- the table of where the memory went ----

class Where:
    """What was reserved at peak demand, in parts that add up to it; a part that no strategy has has no column."""
    PARTS = {"cached": "cached_bytes", "free": "span_bytes", "dead": "dead_bytes", "internal": "internal_bytes",
             "rest of pages": "page_rest_bytes"}

    def __init__(self, document, runs):
        self.rows = []
        for run in runs:
            for i, device in enumerate(devices_shown(run)):
                name = run["strategy"]["label"] + (", device %d" % i if len(run["devices"]) > 1 else "")
                at = {k: whole(v) for k, v in device["memory"]["at_trace_peak"].items() if not isinstance(v, float)}
                known = None not in (at["requested_bytes"], at["allocated_bytes"], at["reserved_bytes"])
                if known and at["reserved_bytes"] and not device.get("measured"):
                    self.rows.append((name, at))

    def see(self, table):
        found = [] if len(table["rows"]) == len(self.rows) else \
            ["where: %d rows for %d bars" % (len(table["rows"]), len(self.rows))]
        for name, at in self.rows:
            parts = at["allocated_bytes"] + at["free_bytes"]
            if parts != at["reserved_bytes"]:
                found.append("where, %s: %d is not %d" % (name, parts, at["reserved_bytes"]))
        missing = [h for h, part in self.PARTS.items() if h not in table["heads"] and any(at[part] for _, at in self.rows)]
        return found + ["where: no column for %s" % h for h in missing]

    def expected(self, table, row, column):
        name, at = self.rows[row]
        head, walked = table["heads"][column], at["cached_bytes"] is not None
        if head in self.PARTS:
            return {text.size(at[self.PARTS[head]] if walked else 0)}
        return {"name": {name}, "requested": {text.size(at["requested_bytes"])},
                "rounding": {text.size(at["allocated_bytes"] - at["requested_bytes"])},
                "not allocated": {text.size(0 if walked else at["free_bytes"])},
                "= reserved": {text.size(at["reserved_bytes"])}, "free blocks": {text.count(at["free_blocks"])},
                "largest": {text.size(at["largest_free_block_bytes"] if at["free_blocks"] else None)}}.get(head)



# ---- the sentence of the Pick ----

SIZE, SHARE, COUNT = r"\d[\d.,]* (?:[KMGTPE]i)?B", r"(?:[+-][\d.]+%|\d[\d.,]*x|0%)", r"\d+(?:,\d+)*"
COLUMNS = {"min capacity": lambda run: of_devices(run, "memory", "min_capacity_bytes"), "total resident": resident,
           "peak reserved": lambda run: reserved(run)[1], "ns/op": throughput("ns_per_op"),
           "wall time": throughput("wall_ns_per_op")}


class Pick:
    """What a Pick says: each pattern takes what it has compared out of the sentence, in which no digit may be left."""

    def __init__(self, said, answer):
        self.said, self.answer, self.found, self.compared = said, answer, [], 0
        self.runs = {run["strategy"]["label"]: run for run in answer.runs}
        names = sorted(self.runs, key=len, reverse=True)
        self.label = "(?:%s)" % "|".join(map(re.escape, names))
        head = re.match(r"(?:Pick|Smallest:) ((?:%s(?:, | or )?)+)" % self.label, said)
        self.picked = re.findall(self.label, head.group(1)) if head else []
        self.rest = said[head.end():] if head else said

    def need(self, good, *what):
        self.compared += 1
        if not good:
            self.found.append("the Pick says %s: %s" % (" ".join(map(str, what)), self.said))

    def each(self, pattern, check):
        pattern = pattern.replace("LABEL", "(%s)" % self.label).replace("SIZE", "(%s)" % SIZE) \
            .replace("SHARE", "(%s)" % SHARE).replace("COUNT", "(%s)" % COUNT)
        for groups in re.findall(pattern, self.rest):
            check(*([groups] if isinstance(groups, str) else groups))
        self.rest = re.sub(pattern, " ", self.rest)

    def differs(self, share, column, ones, other):
        """Whether one of `ones` differs so much from the other in a column."""
        def right(one):
            a, b = COLUMNS[column](self.runs[one]), COLUMNS[column](self.runs[other])
            return a is not None and b and share in {text.change(a / b - 1 + d) for d in (-2e-6, 0, 2e-6)}
        self.need(any(map(right, ones)), share, "of", column, "against", other)

    def has(self, size, column, ones):
        self.need(any(text.size(COLUMNS[column](self.runs[one])) == size for one in ones), size, "for", column)

    def held(self):
        return "total resident" if self.answer.resident else "peak reserved"

    # ---- what it may say ----

    def less(self, column, own, other, rival, share):
        self.has(own, column, self.picked)
        self.has(other, column, [rival])
        self.differs(share, column, self.picked, rival)
        self.rivals.append(rival)

    def fewer(self, own, once_warm, held, other, rival):
        def of(name):
            run = self.runs[name]
            return text.count(of_devices(run, "driver_calls", "warm_calls") if once_warm else calls(run))
        self.need(re.split(", | and ", own) == [{"0": "no"}.get(of(p), of(p)) for p in self.picked], own, "calls")
        self.need(other == of(rival), other, "calls of", rival)
        if held:
            self.has(held, self.held(), self.picked)
        self.rivals.append(rival)

    def faster(self, column, share, rival):
        self.differs(share, column, self.picked, rival)
        self.rivals.append(rival)

    def apart(self, by, way, *of):
        """A difference by its size and its direction: "2.7% higher"."""
        self.differs(by if by.endswith("x") else {"higher": "+", "lower": "-"}[way] + by, *of)

    def quicker(self, quick, column, share, by, more, way):
        self.differs(share, column, [quick], self.picked[0])
        if more:
            self.apart(more, way, by, [quick], self.picked[0])

    def smaller(self, one, column, own, other, share):
        self.has(own, column, [one])
        self.has(other, column, self.picked)
        self.need(any(share in text.texts(text.change, COLUMNS[column](self.runs[one]) /
                                          COLUMNS[column](self.runs[p]) - 1) for p in self.picked), share, "of", one)

    def took(self, ones, ns, wall, share, other):
        column = "wall time" if wall else "ns/op"
        self.need(any(text.digits(COLUMNS[column](self.runs[one])) == ns for one in ones), ns, "for", column)
        if share:
            self.differs(share, column, ones, other)

    def takes_memory(self, column, size, share, other):
        self.has(size, column, self.picked)
        if share:
            self.differs(share, column, self.picked, other)

    def check(self):
        self.rivals = []
        time = r"([\d.,]+) ns/op( of wall time)?(?:, SHARE vs LABEL)?"
        self.each(r"Fastest: LABEL \(%s(?:; [^)]*)?\)" % time, lambda one, *more: self.took([one], *more))
        self.each(r"(?<=that )fits? in SIZE", lambda size: self.need(
            size == text.size(whole(self.answer.first["devices"][0]["memory"]["capacity_bytes"])), size))
        self.each(r"the only one of the COUNT that", lambda count: self.need(
            count == text.count(len(self.runs)), count, "strategies"))
        self.each(r"(min capacity|peak reserved|total resident) SIZE(?:, SHARE vs LABEL)?(?=[,)])", self.takes_memory)
        self.each(time, lambda *more: self.took(self.picked, *more))
        self.each(r"Fastest: LABEL, (ns/op|wall time) SHARE"
                  r"(?:, (?:but )?(min capacity|peak reserved|total resident) ([\d.,]+[%x]) (higher|lower)|, same [\w ]+)\.", self.quicker)
        self.each(r"Smallest: LABEL(?: or %s)*, (min capacity|peak reserved|total resident) SIZE vs SIZE \(SHARE\)\."
                  % self.label, self.smaller)
        self.each(r"(min capacity|peak reserved) SIZE vs SIZE of LABEL \(SHARE\)", self.less)
        self.each(r"((?:(?:no|\d+(?:,\d+)*)(?:, | and )?)+) (warm )?(?:driver|system) calls?(?: \(peak reserved SIZE\))?"
                  r" vs COUNT of LABEL", self.fewer)
        self.each(r"(ns/op|wall time) SHARE vs LABEL", self.faster)
        for rival in self.rivals[:1]:
            self.each(r", (?:but )?(min capacity|peak reserved|total resident)(?: of %s)? ([\d.,]+[%%x]) (higher|lower)" % self.label,
                      lambda column, by, way: self.apart(by, way, column, self.picked, rival))
            self.each(r", (?:but )?(ns/op|wall time) SHARE", lambda column, share: self.differs(
                share, column, self.picked, rival))
        left = re.sub(self.label, " ", self.rest)
        self.need(not re.search(r"\d", left), "what no pattern knows,", left)
        return self.found, self.compared


# ---- out of memory ----

class OutOfMemory:
    """A row for each device on which a strategy ran out of memory, with its first failed request."""
    CAUSES = {"demand": "demand", "strategy": "limit of the strategy", "guard": "stopped by tapool", "unknown": "refused"}

    def __init__(self, document, runs):
        self.rows = [self.row_of(run, i, device) for run in runs for i, device in enumerate(run["devices"])
                     if whole(device["failed_allocations"])]

    def row_of(self, run, index, device):
        first = device["first_failure"]
        at = {name: n if isinstance(n, float) else whole(n) for name, n in first["state"].items()}
        free = at["free_bytes"] if at["cached_bytes"] is None else at["cached_bytes"] + at["span_bytes"]
        sizes = [first["size_bytes"], at["largest_free_block_bytes"], free, at["reserved_bytes"], first["capacity_bytes"]]
        name = run["strategy"]["label"] + (", gpu %d" % index if len(run["devices"]) > 1 else "")
        event = whole(first["state"]["event"])
        return [name, text.count(event) if event else "start"] + [text.size(whole(size)) for size in sizes] + [
            text.count(whole(device["failed_allocations"])), self.cause(first, free, at), first["place"] or ""]

    def cause(self, first, free, at):
        if first["class"] != "fragmentation":
            return self.CAUSES[first["class"]]
        if free is None:
            return "fragmentation in the pool"
        left = max(0, (whole(first["capacity_bytes"]) or 0) - at["reserved_bytes"])
        return "rounding and fragmentation" * ((free or 0) + left < whole(first["size_bytes"])) or "fragmentation"

    def see(self, table):
        return [] if len(table["rows"]) == len(self.rows) else ["oom: %d rows for %d" % (len(table["rows"]), len(self.rows))]

    def expected(self, table, row, column):
        return {self.rows[row][column]}


# ---- the large figures ----

def time_figure(run):
    wall = throughput("wall_ns_per_op")(run)
    if wall is not None:
        return [("wall ns/op", text.texts(text.digits, wall))]
    name = "strategy ns/op" if run["latency_scope"] == "strategy" else "ns/op"
    return [] if no_time(run) else [(name, strategy_time_text(run))]


def begins_with(said, head, picked):
    """What a Pick begins with, which must be `head` and name those that are picked; else all that it says."""
    names = re.split(", | or ", re.sub(r" \(--goal \w+\)$", "", head))
    good = re.match(r"(Pick|Smallest):? " + re.escape(head) + r"(?=: |, | \(|\. |$)", said) and (not picked or names == picked)
    return head if good else said


class Head:
    """The Pick as its sentence begins, the figures of its strategy, and how many ran out of memory."""

    def __init__(self, document, runs):
        path = runs[0]["trace"]["path"]
        self.runs = [run for run in document.get("all_runs", runs) if run["trace"]["path"] == path]
        self.answer = Answer(document, self.runs)

    def see(self, table):
        said, labels = " ".join(table["lead"].split()), [row[0] for row in table["rows"]]
        self.answer.resident = any(label.endswith("resident") for label in labels)
        picked = Pick(said, self.answer).picked
        failed = sum(bool(run["failed_allocations"]) for run in self.runs)
        right = [(said.split()[0].rstrip(":"), {begins_with(said, table["rows"][0][1], picked)})] if said else []
        if picked or len(self.runs) == 1:
            run = next((run for run in self.runs if run["strategy"]["label"] in picked[:1]), self.runs[0])
            held = next((label for label in labels if label in ("total resident", "peak resident", "address space")), "peak reserved")
            right += [(label, Answer.STRATEGY[label](self.answer, run)) for label in (held, "overhead")] + time_figure(run)
        else:
            right.append(("peak requested", {text.size(needed_by_program(self.runs[0]))}))
        if failed:
            right.append(("OOM", {"%s of %s" % (text.count(failed), text.count(len(self.runs)))}))
        self.large = Large(right)
        return self.large.see(table)

    def expected(self, table, row, column):
        return self.large.expected(table, row, column)


TABLES = {"figures": Head, "oom": OutOfMemory, "answer": Answer, "where": Where, "sites": Sites, "trace": Trace}


# ---- the whole ----

def by_trace(runs):
    groups = []
    for run in runs:
        if not groups or groups[-1][0]["trace"]["path"] != run["trace"]["path"]:
            groups.append([])
        groups[-1].append(run)
    return groups


def getters(table, document, runs):
    """Who knows what the cells of a table must be."""
    return TABLES[table["section"]](document, runs) if table["section"] in TABLES else NoGetters()


def check(articles, document):
    """Findings, and how many figures were compared. `articles` is what page_tables.READ gives."""
    groups = by_trace(document["runs"])
    picked_of = {runs[0]["trace"]["path"]: runs for runs in by_trace(document.get("all_runs", document["runs"]))}
    if len(groups) != len(articles):
        return ["%d traces on the page, %d in the JSON" % (len(articles), len(groups))], 0
    found, compared = [], 0
    for article, runs in zip(articles, groups):
        for table in article["tables"]:
            more, n = check_table(table, getters(table, document, runs))
            found, compared = found + more, compared + n
        answer = Answer(document, picked_of[runs[0]["trace"]["path"]])
        for table in article["tables"]:
            if table["section"] == "answer":
                answer.see(table)
        for said in article["picks"]:
            more, n = Pick(" ".join(said.split()), answer).check()
            found, compared = found + more, compared + n
    return found, compared
