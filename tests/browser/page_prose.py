"""The sentences of `tapool info` against its JSON, and what its screen says beside them.

A row of SENTENCES is a pattern, whose slots are counts <C>, sizes <S>, times <T> and shares <P>, and the values that the
JSON has for them. What a pattern knows is taken out of a line; a digit that is left then is a finding, as is a line of a
section that the screen does not have. So are figures that the JSON lacks (UNKNOWN): they stand on the page twice.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
import rounding as text  # noqa: E402
from page_tables import whole  # noqa: E402
from page_trace import size_rows  # noqa: E402


def exact_size(value):
    return text.count(value) + " B"


SLOTS = {"C": (r"(\d+(?:,\d+)*)", lambda v: {text.count(v)}),
         "S": (r"(\d[\d.,]* (?:[KMGTPE]i)?B)\b", lambda v: {text.size(v), exact_size(v)} if v is not None else {"-"}),
         "T": (r"(\d[\d.,]* (?:ns|us|ms|s))\b", lambda v: {text.duration(v)}),
         "P": (r"([<>]?\d[\d.]*%)", lambda v: text.texts(text.percent, v, 0))}


def share(part, of):
    return whole(part) / whole(of) if whole(of) else 0


def requests(d):
    return whole(d["allocated"]["objects"]) + sum(whole(n) for n in d["reallocs"].values())


def recorded(d, *names):
    return [tuple(whole(device[name]) for name in names) for device in d["recorded"]["devices"]]


def common(d):
    return [(whole(row["bytes"]), share(row["requests"], requests(d))) for row in d["common_sizes"]]


def peaks(d):
    rows = d["devices"] if "devices" in d else [d]
    return [(row["peak_requested_bytes"], row.get("peak_requested_event"), row.get("peak_requested_time_ns")) for row in rows]


def sites(d):
    return d.get("sites") or d["peak_sites"]


def held(d):
    """A row of live memory by site, with how many blocks and the oldest: those that are shown, and all others."""
    of = sites(d)
    rows = [(whole(p["bytes"]), whole(p["blocks"]), p["oldest_ns"]) for p in of["places"]]
    rests = [whole(of["bytes"]) - whole(of["unknown_bytes"]) - sum(row[0] for row in rows[:k]) for k in (len(rows), 8)]
    rows += [(max(0, rest), None, None) for rest in rests + [whole(rest["bytes"]) for rest in of["rests"]]]
    return [(size, share(size, of["bytes"]), *more) for size, *more in rows]


BLOCKS, LIVE = "<C> blocks?", r"(?:was|were) live before event 1"
SENTENCES = [(pattern, values) for pattern, values in (
    (r", <S>, trace hash", lambda d: [(d["file_bytes"],)]),
    (r"^recorded <C> events?(?: spanning <T>)?:", lambda d: [(d["trace"]["events"], d.get("duration_ns"))]),
    (r"^(?:from |.*, )?<C> threads?\b", lambda d: [(d["trace"]["threads"],)]),
    (r"<C> streams?\b", lambda d: [(d["trace"]["streams"],)]),
    (r"<C> (?:devices?|memory spaces?)(?: more: --json)?$", lambda d: [(d["trace"]["devices"],), (d["trace"]["devices"] - 8,)]),
    (r"<C> marks?, <C> names?:.*?(?=; |$)", lambda d: [(d["marks"]["count"], d["marks"]["distinct"])]),
    (r"; <C> more marks? ends?", lambda d: [(whole(d["operations"]["mark"]) - d["marks"]["count"],)]),
    (r"alignments other than <C> bytes", lambda d: [(d["alignment"]["usual_bytes"],)]),
    (BLOCKS + ", <S>, " + LIVE + r": <C> freed during the recording, <C> live at its end", lambda d: [(
        d["before"]["objects"], d["before"]["bytes"], d["before"]["freed_objects"],
        whole(d["before"]["objects"]) - whole(d["before"]["freed_objects"]))]),
    (BLOCKS + " that " + LIVE, lambda d: [(d["trace"]["initial_heap"]["dropped_objects"],)]),
    (r"Peak without the initial heap: <S>", lambda d: [(d["peak_new_requested_bytes"],)]),
    (r"<C> segments? at the end \(<C> large, <C> small\)",
     lambda d: recorded(d, "end_segments", "end_large_segments", "end_small_segments")),
    (r"<S> reserved(?: throughout|$)", lambda d: recorded(d, "start_reserved_bytes")),
    (r"<S> reserved at the start, <S> at the peak, <S> at the end",
     lambda d: recorded(d, "start_reserved_bytes", "peak_reserved_bytes", "end_reserved_bytes")),
    (r"; <C> segments? allocated, <C> freed", lambda d: recorded(d, "segments_taken", "segments_given_back")),
    (r"; <C> ranges? of expandable segments mapped, <C> unmapped", lambda d: recorded(d, "ranges_mapped", "ranges_unmapped")),
    (r"^device <C> (?!peak)|\bdevice <C>: ", lambda d: [row * 2 for row in recorded(d, "number")]),
    (r"^OOM +<C> times?", lambda d: recorded(d, "out_of_memory")),
    (r"(?:failed|was reached) <C> times?, first at event <C>:", lambda d: recorded(d, "retries", "first_retry_event")),
    (r"; the program could have at least <S> and less than <S>$", lambda d: recorded(d, "peak_reserved_bytes", "limit_below_bytes")),
    (r"(?:\b(?:device|space) <C> )?(?:requested; )?peak <S>(?: at event <C>)?(?: \(\+<T>\))?(?: before event 1)?",
     lambda d: [(i, *row) for i, row in enumerate(peaks(d))]),
    (r"<C> allocations?, <S>", lambda d: [(d["allocated"]["objects"], d["allocated"]["bytes"])]),
    (r"<C> live blocks?, <S>; at most <C> live blocks? during",
     lambda d: [(d["live_at_end"], d["live_at_end_bytes"], d["peak_objects"])]),
    (r"<S> free in <C> blocks? of .*? segments, largest <S>(?:; (?:empty_cache\(\) returns )?(?:<S>)?)?",
     lambda d: recorded(d, "end_free_bytes", "end_free_blocks", "end_largest_free_bytes", "end_returnable_bytes")),
    (r"lifetime of <C> freed blocks?: median <C> events?(?: \(<T>\))?",
     lambda d: [(d["freed_objects"], d["lifetimes_events"]["p50"], d["lifetimes_ns"]["p50"])]),
    (r"90% live at most <C> events?(?: \(<T>\))?", lambda d: [(d["lifetimes_events"]["p90"], d["lifetimes_ns"]["p90"])]),
    (r"freed within <C> events\): <P> of blocks, <P> of bytes", lambda d: [(
        d["temporary"]["within_events"], share(d["temporary"]["objects"], d["allocated"]["objects"]),
        share(d["temporary"]["bytes"], d["allocated"]["bytes"]))]),
    (r"<C> of <C> outlive", lambda d: [(d["outlive"]["objects"], d["allocated"]["objects"])]),
    (r"<C> distinct sizes?", lambda d: [(d["distinct_sizes"],)]),
    (r"(?:most common: |, )<S> \(<P>\)", common),
    (r"<C> reallocs?: <C> grow \(<P>\), <C> shrink", lambda d: [(
        sum(map(whole, d["reallocs"].values())), d["reallocs"]["grow"],
        share(d["reallocs"]["grow"], sum(map(whole, d["reallocs"].values()))), d["reallocs"]["shrink"])]),
    (r"remote frees: <C> of <C> \(<P>\)", lambda d: [(
        d["remote_frees"], d["operations"]["free"], share(d["remote_frees"], d["operations"]["free"]))]),
    (r"alignment (?:below|other than) <C> bytes: <C> requests? \(<P>\), (?:up to )?<S>", lambda d: [(
        d["alignment"]["usual_bytes"], d["alignment"]["other_requests"],
        share(d["alignment"]["other_requests"], requests(d)), d["alignment"]["highest_bytes"])]),
    (r"^Live memory at event <C> by [\w ]+: <S>", lambda d: [(sites(d)["event"], sites(d)["bytes"])]),
    (r"^Live memory at the peak by [\w ]+: <S>", lambda d: [(sites(d)["bytes"],)]),
    (r"^<S> <P>(?: \D*?[:;] <C> blocks?(?:, (?:up to )?<T> old)?)?", held),
    (r"NAME \(<P>\)", lambda d: [(share(p["bytes"], row["bytes"]),) for row in sites(d)["places"] for p in row["called_from"]]),
    (r"NAME \(by <C> blocks?\)", lambda d: [(row["blocks"],) for row in sites(d)["places"]]),
    (r"^ *<C> (?:sites?|rows?) more: --json", lambda d: [(sites(d)["count"] - 8,)]),
)]
# Figures that the JSON does not have.
UNKNOWN = [
    r"^frees <C> requested(?:; <C> of them completed later, by up to <T>)?", r"^no effect <C> of these events",
    r"first at event <C>, <S> requested(?:, <S> free on the device)?(?:; <C> of them)?",
    r", (?:up to )?<C> events? old", r"from the call stacks of <C> blocks?: below <S> one block in <C> ",
    r"last allocation there: .*?(?=, in phase|$)", r"^Drawn are the first <C> of <C>;", r"\(<C> events, <S>\)",
]
# Digits that are words.
WORDS = [r"0 bytes requested: counted as 1", r"0 bytes requested: left out", r"to 0 bytes: a free", LIVE, r"event 1\b(?=:| is)"]


BESIDE = ("mark", "note") # operations that can stand beside the events


def compiled(pattern):
    slots = re.findall("<([CSTP])>", pattern)
    return re.compile(re.sub("<([CSTP])>", lambda m: SLOTS[m.group(1)][0], pattern)), slots


ROWS = [(*compiled(pattern), values) for pattern, values in SENTENCES]
LEFT = [compiled(pattern)[0] for pattern in UNKNOWN + WORDS]


def strings(value):
    """All texts of a document that have a digit and are no number; of a path its file too."""
    if isinstance(value, dict):
        for name, of in value.items():
            yield from strings(of) if name not in ("schema", "program_hash", "tool", "curve") else ()
    elif isinstance(value, list):
        for of in value:
            yield from strings(of)
    elif isinstance(value, str) and re.search(r"\d", value) and not re.fullmatch(r"[\d.,+-]*", value):
        yield value
        if re.search(r"[a-z].*\d|\d.*[a-z]", value.rsplit("/", 1)[-1]):
            yield value.rsplit("/", 1)[-1]


SHOWN, LONG = 60, 300 # characters after which a name may be cut, and is


def names_of(document):
    """A pattern of all names, however their lines are broken, and with what else stands for a character that no page
    shows."""
    names = sorted(set(strings(document)), key=len, reverse=True)
    def pattern(name):
        return r"\s?".join(re.escape(c) if c.isprintable() and c != '"' else ".{0,8}" for c in name.replace(" ", ""))
    patterns = [pattern(name) for name in names if len(name) <= LONG]
    patterns += sorted({pattern(name[:SHOWN]) + r"[^,;']*" for name in names if len(name) > SHOWN})
    return re.compile("|".join(r"(?<!\w)" + one for one in patterns)) if names else None


class Prose:
    def __init__(self, document, sentences):
        self.of, self.found, self.compared = document, [], 0
        self.names, self.whole = names_of(document), set(strings(document))
        self.lines = [" ".join(line.split()) for sentence in sentences for line in sentence.split("\n")]

    def check(self):
        for line in self.lines:
            rest = self.named(line)
            for pattern, slots, values in ROWS:
                rest = pattern.sub(lambda found: self.compare(found, slots, values, line), rest)
            for pattern in LEFT:
                rest = pattern.sub(" ", rest)
            if re.search(r"\d", rest):
                self.found.append("what no pattern knows, '%s': %s" % (rest.strip()[:100], line[:200]))
        return self.found, self.compared

    def cut(self, text):
        """Whether a text is the beginning of a name, or names and such a beginning."""
        if any(name.startswith(text) for name in self.whole) or text in (",", ", ", ", from", ", from "):
            return True
        return any(text.startswith(name) and self.cut(re.sub("^ < |^, from ", "", text[len(name):])) for name in self.whole)

    def named(self, line):
        """A line without names and what has a figure of its own."""
        if line.startswith(("Next: ", "To record from the start: ")): # commands
            return ""
        cut = re.match(r"(\S+ \S+ <?\S+%) (.*?)\.\.\.(?=;)", line)
        if cut and self.cut(cut.group(2)):
            line = cut.group(1) + " NAME" + line[cut.end():]
        rest = self.names.sub("NAME", line) if self.names else line
        hashed = re.search(r"trace hash (\w+)", rest)
        if hashed:
            self.judge(self.of["trace"]["program_hash"].startswith(hashed.group(1)), line)
            rest = rest.replace(hashed.group(), "trace hash")
        if rest.startswith("recorded ") and ": " in rest:
            head, done = rest.split(": ", 1)
            rest = head + ":" + self.operations(done, line)
        return self.repairs(rest, line)

    def operations(self, done, line):
        """What the events are; those that are none of the program are notes."""
        counts = {name: int(n.replace(",", "")) for n, name in re.findall(r"(\d[\d,]*) ([a-z_ ]+)", done)}
        if "operations" in self.of:
            right = {name: whole(n) for name, n in self.of["operations"].items() if whole(n) and name not in BESIDE}
            self.judge({name: n for name, n in counts.items() if name in self.of["operations"] and name not in BESIDE} == right, line)
            all_done = sum(counts.values()) # one event can be several operations
            self.judge(all_done == self.of["trace"]["events"] or all_done > self.of["trace"]["events"] and
                       "without effect" not in counts, line)
        return " " + re.sub(r"\d[\d,]* [a-z_ ]+,?", "", done)

    def repairs(self, rest, line):
        found = re.match(r"repaired (\d[\d,]*) ([\w -]+) \(", rest)
        if not found:
            return rest
        self.judge(found.group(1) in {text.count(n) for n in self.of["trace"]["repairs"].values()}, line)
        return rest[found.end():]

    def judge(self, good, line):
        """`good`: whether a figure is right; None: it is not known."""
        self.compared += good is not None
        if good is False:
            self.found.append("the JSON says something else than '%s'" % line[:200])

    def compare(self, found, slots, values, line):
        try:
            rows = values(self.of)
        except (KeyError, TypeError) as e:
            self.judge(None if self.of.get("left_out") else False, "%s (%r)" % (line, e))
            return " "
        said = found.groups()
        self.judge(any(all(self.right(*slot) for slot in zip(said, slots, row)) for row in rows), line)
        return " "

    def right(self, said, slot, value):
        """Whether a slot is right; one that a sentence leaves out is, and what the JSON of two traces leaves out."""
        if said is None or value is None:
            return said is None or "left_out" in self.of
        return said in SLOTS[slot][1](value if slot == "P" else whole(value))


# ---- the screen ----

CHART = re.compile(r"^ {2}(.*?) +[\u2800-\u28ff\u2581-\u2588 ]+$|^ {16}[\u2800-\u28ff\u2581-\u2588 ]+$")


class Screen:
    """What stands there as on the screen: its sentences, one a line again, its table of sizes and its charts."""

    def __init__(self, printed):
        self.sizes, self.charts, self.sentences = [], [], []
        lines, at = printed.split("\n"), 0
        self.lines, self.paragraph = lines, False
        while at < len(lines):
            if lines[at].startswith("Sizes "):
                at = self.columns(lines, at)
            elif CHART.match(lines[at]) and re.search("[\u2800-\u28ff\u2581-\u2588]", lines[at]):
                at = self.chart(lines, at)
            else:
                self.add(lines[at])
                at += 1

    def add(self, line):
        """A line that is indented goes on with the one before it; so does one of a paragraph, up to its full stop."""
        goes_on = self.sentences and re.match(r" {3,}", line)
        in_paragraph = line.startswith("  ") and self.paragraph and not self.sentences[-1].endswith(".")
        if goes_on or in_paragraph:
            self.sentences[-1] += " " + line.strip()
        else:
            self.sentences.append(line.strip())
            self.paragraph = line == "Initial heap" or self.paragraph and line.startswith("  ")

    def columns(self, lines, at):
        """Sizes at the left and lifetimes beside them, or below."""
        column = lines[at].find("Lifetimes")
        self.sizes.append(re.split(" {2,}", lines[at][:column if column > 0 else None].strip()))
        beside, at = [], at + 1
        while at < len(lines) and lines[at].strip() and not (column < 0 and lines[at].startswith("Lifetimes")):
            if lines[at][:column if column > 0 else None].strip():
                self.sizes.append(re.split(" {2,}", lines[at][:column if column > 0 else None].strip()))
            beside += [lines[at][column:]] if column > 0 else []
            at += 1
        for line in beside:
            self.add(line)
        return at

    def chart(self, lines, at):
        """The highest value, the lowest one, and what is below the left and the right end."""
        labels = []
        while CHART.match(lines[at]):
            labels += [label for label in [CHART.match(lines[at]).group(1)] if label]
            at += 1
        self.charts.append((labels, re.split(" {3,}", lines[at].strip())))
        return at + 1

    def table(self):
        """The table of two traces: the lines with a value each for the first and the second."""
        rows = [re.split(" {2,}", line.strip()) for line in self.lines]
        return {"heads": [""] + next(row for row in rows if row[:2] == ["first", "second"]),
                "rows": [row for row in rows if len(row) == 4]}

    def lacks(self, sentences):
        """What of the sections does not stand here too, sizes in full aside."""
        def squeezed(words):
            short = re.sub(r"\b(\d[\d,]*) B\b", lambda m: text.size(int(m.group(1).replace(",", ""))), " ".join(words.split()))
            return re.sub(r"\s", "", short)
        here = squeezed(" ".join(self.sentences))
        return ["not in the screen: " + line[:200] for sentence in sentences for line in sentence.split("\n")
                if re.search(r"\d", line) and squeezed(line) not in here and not line.startswith("Drawn are")]

    def check(self, document):
        right = size_rows(document["sizes"], exact_size)
        if "left_out" in document and not document["sizes"]:
            self.sizes = self.sizes[:1] # of two kinds of traces, which have no common rows
        found = [] if len(self.sizes[1:]) == len(right) else ["%d rows of sizes, and not %d" % (len(self.sizes) - 1, len(right))]
        found += ["sizes: %s, and the JSON says %s" % (row, of) for row, of in zip(self.sizes[1:], right)
                  if any(b is not None and a != b for a, b in zip(row, of)) or len(row) != len(of)]
        more = [wrong for chart, device in zip(self.charts, self.devices(document)) for wrong in self.wrong_chart(chart, device, document)]
        return found + more, sum(map(len, right)) + 3 * len(self.charts)

    @staticmethod
    def devices(d):
        return [row for row in d["devices"] if whole(row["peak_requested_bytes"])] if "devices" in d else [d]

    @staticmethod
    def wrong_chart(chart, device, d):
        (high, *low), axis = chart
        curve = [whole(point[1]) for point in device.get("curve") or []] # which the data of a page lacks
        lowest = {"0 B", text.size(min(curve)) if curve else low and low[-1]}
        ends = {text.duration(d["duration_ns"])} if d.get("duration_ns") else {"event " + text.count(d["trace"]["events"])}
        found = [] if high == text.size(whole(device["peak_requested_bytes"])) else ["the chart is up to %s" % high]
        found += [] if "left_out" in d or not low or low[-1] in lowest else ["the chart is from %s" % low]
        found += [] if re.match(r"(0|event 1)( \(not from 0 B\))?$", axis[0]) else ["the chart begins at %s" % axis[0]]
        return found + ([] if "left_out" in d or axis[-1] in ends else ["the chart ends at %s" % axis[-1]])
