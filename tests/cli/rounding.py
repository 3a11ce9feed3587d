"""Figures as tapool writes them, from those of a JSON result.

The JSON result has reals with six decimals, so a figure can lie on either side of the middle between two texts:
`texts` gives all that are right.
"""
import math
import re

UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
TIMES = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
SCALES = {**{unit: 1024 ** i for i, unit in enumerate(UNITS)}, **TIMES}
SLACK = 6e-7  # of a real in JSON


def count(value):
    return "-" if value is None else "{:,}".format(int(value))


def digits(value):
    """Four digits that count, all of those before the point."""
    if value is None or not math.isfinite(value):
        return "-"
    size = abs(value)
    if size >= 999.95:
        return ("-" if value < 0 else "") + count(math.floor(size + 0.5))
    text = "%.*f" % (1 if size >= 99.995 else 2 if size >= 9.9995 else 3, value)
    return text.rstrip("0").rstrip(".")


def size(value):
    """Bytes in a unit of their own."""
    if value is None:
        return "-"
    unit, amount = 0, float(value)
    while amount >= 1023.5 and unit < len(UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return "%s %s" % (digits(amount) if unit else count(value), UNITS[unit])


def percent(share):
    if share is None or math.isnan(share):
        return "-"
    if 0.9995 <= share < 1:
        return ">99.9%"
    return "<0.1%" if 0 < share < 0.0005 else "%.1f%%" % (100 * share)


def times(ratio):
    """Against something: "1.25x"."""
    if ratio is None:
        return "-"
    return ("%.*f" % (2 if ratio < 10 else 1, ratio) if ratio < 999.95 else digits(ratio)) + "x"


def change(share):
    """By how much something differs: "+12.5%"."""
    if share >= 9.995:
        return times(1 + share)
    if share == 0:
        return "0%"
    text = next((t for t in ("%+.*f" % (d, 100 * share) for d in range(1, 10)) if any(c in "123456789" for c in t)),
                "%+.1g" % (100 * share))
    return text + "%"


def latency(ns, step):
    """What a clock with this step can tell of a time."""
    if ns is None:
        return "-"
    if step < 1 or ns >= 10 * step - step / 2:
        return count(ns)
    steps = math.floor(ns / step + 0.5)
    return "<=%.0f" % step if steps <= 1 else "~%.0f" % (steps * step)


def texts(rounded, value, slack=SLACK):
    """All texts of a real that the JSON has rounded."""
    if value is None:
        return {rounded(None)}
    return {rounded(v) for v in (value - slack, value, value + slack)}


def duration(ns):
    """Nanoseconds in a unit of their own."""
    if ns is None:
        return "-"
    unit = next((u for u, scale in reversed(TIMES.items()) if ns >= scale), "ns")
    return "%s %s" % (digits(ns / TIMES[unit]), unit)


READ = re.compile(r"[<>~]?=? ?([+-]?[\d,]*(?:\.(\d+)|\d)(?:e([+-]?\d+))?)(?: ?(%s)\b)?" % "|".join(SCALES))


def read(text):
    """The number that a text begins with, what one of its last digit is worth, and the rest of the text. A size is in
    bytes, a time in nanoseconds. None: it begins with none."""
    found = READ.match(text)
    if not found:
        return None
    scale = SCALES.get(found.group(4), 1)
    last = 10.0 ** (int(found.group(3) or 0) - len(found.group(2) or ""))
    return float(found.group(1).replace(",", "")) * scale, last * scale, text[found.end():]


def number(text):
    """The number that a text is; None: it is none."""
    found = read(text)
    return found[0] if found and not found[2] else None


def pooled(latencies, share):
    """The quantile of the calls of all kinds together; None: too few lie beyond it."""
    buckets = {}
    for kind in latencies:
        for upper, calls in kind["buckets"]:
            buckets[int(upper)] = buckets.get(int(upper), 0) + int(calls)
    all_calls, below = sum(buckets.values()), 0
    if (1 - share) * all_calls < 10 - 1e-6:
        return None
    for upper in sorted(buckets):
        below += buckets[upper]
        if below >= share * all_calls:
            return min(upper, max(int(kind["max_ns"]) for kind in latencies))
    return None
