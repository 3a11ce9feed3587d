"""Checks a picture of memory over time: that it stands by itself, that nothing in it can run or be fetched,
that texts can be read and lie apart, and that every line reaches its peak where the axis says so.

    svg_check.py FILE      exits 0 and prints how many lines there are
"""
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "style", "rect", "text", "path", "g", "circle"}
ATTRIBUTES = {"class", "x", "y", "width", "height", "viewBox", "role", "d", "stroke-dasharray", "stroke-width", "stroke-opacity",
              "cx", "cy",
              "r"}
UNITS = {unit: 1024 ** i for i, unit in enumerate(["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"])}
MOST_BYTES = 200 * 1024


class Bad(Exception):
    pass


def need(truth, what, *values):
    if not truth:
        raise Bad("%s: %.300s" % (what, " ".join(map(str, values))))


def in_bytes(text):
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * UNITS[unit or "B"]


# ---- colours ----

def light_of(color):
    parts = [int(color[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other):
    low, high = sorted((light_of(one), light_of(other)))
    return (high + 0.05) / (low + 0.05)


def check_style(text):
    """Every colour of a text on its paper, for each of the themes; returns {light or dark: its paper}."""
    need(not re.search(r"url|@import|@font|expression|javascript|<", text), "style", text)
    base, _, dark = text.partition("@media (prefers-color-scheme:dark){")
    themes = {}
    for rules in filter(None, (base, dark)):
        colors = dict(re.findall(r"^\.tp-chart \.(\w+)\{color:(#[0-9a-f]{6})\}$", rules, re.M))
        need(len(colors) == 13, "colours", colors)
        for name in set(colors) - {"paper", "grid", "shade"}:
            need(contrast(colors[name], colors["paper"]) >= 4.5, "contrast", name, colors[name])
        themes["light" if light_of(colors["paper"]) > 0.5 else "dark"] = colors["paper"]
    return themes


# ---- a chart ----

def corners_of(path):
    """Those of a path of straight lines."""
    pairs = re.findall(r"([ML])(\d+(?:\.\d+)?) (\d+(?:\.\d+)?)", path)
    need("".join("%s%s %s" % p for p in pairs) == path and path.startswith("M"), "path", path)
    return [(float(x), float(y)) for _, x, y in pairs]


def steps(path):
    """The corners of a path of horizontal and vertical lines."""
    tokens = re.findall(r"[MHVZ]|-?\d+(?:\.\d+)?", path)
    need("".join(tokens) == path.replace(" ", ""), "path", path)
    x, y, rest = float(tokens[1]), float(tokens[2]), tokens[3:]
    corners = [(x, y)]
    for command, value in zip(rest[::2], rest[1::2]):
        need(command in "HV", "path", command)
        x, y = (float(value), y) if command == "H" else (x, float(value))
        corners.append((x, y))
    return corners


class Chart:
    def __init__(self, element):
        self.title = element.findtext(SVG + "title")
        self.description = element.findtext(SVG + "desc")
        need(self.title and self.description and element.get("role") == "img", "what it says", self.title)
        self.width, self.height = int(element.get("width")), int(element.get("height"))
        need(element.get("viewBox") == "0 0 %d %d" % (self.width, self.height), "box", element.attrib)
        zoom = next((g for g in element if g.get("class") == "zoom"), None)
        if zoom is not None:
            element.remove(zoom)
        texts = [(t.get("class"), float(t.get("x")), float(t.get("y")), "".join(t.itertext()))
                 for t in element.iter(SVG + "text")]
        self.texts = [t[3] for t in texts]
        ticks = [(y - 4.5, text) for style, _, y, text in texts
                 if style == "end muted" and re.fullmatch(r"0|[\d.,]+ [KMGTPE]?i?B", text)]
        need(len(ticks) >= 2 and ticks[0][1] == "0", "axis", ticks)
        self.base, self.scale = ticks[0][0], (ticks[0][0] - ticks[-1][0]) / in_bytes(ticks[-1][1])
        for y, text in ticks:
            need(abs(y - self.y_of(in_bytes(text))) < 0.11, "tick", text, y)
        across = [p for p in element.iter(SVG + "path") if p.get("class") == "muted"][0]
        self.left, self.right = (c[0] for c in steps(across.get("d")))
        self.times = [(x, text) for style, x, _, text in texts if style == "middle muted"]
        need(self.times[0] == (self.left, "0"), "axis", self.times)
        self.crosses = [(float(x) + 4, float(y) + 4) for p in element.iter(SVG + "path") if p.get("class") == "cross"
                        for x, y in re.findall(r"^M(\S+) ([^l]+)l", p.get("d"))]
        self.lines = dict(map(self.line, (g for g in element.iter(SVG + "g") if g.find(SVG + "circle") is not None)))
        values = [in_bytes(g.findtext(SVG + "text")) for g in element.iter(SVG + "g")
                  if any(t.get("class") == "name" for t in g.findall(SVG + "text"))]
        need(values == sorted(values, reverse=True), "labels are not sorted by value", values)
        self.check_labels([(y, text) for style, x, y, text in texts if style == "name"])
        self.marks = ["".join(g.itertext()).strip() for g in element.iter(SVG + "g")
                      if any(p.get("class") == "cross" for p in g)]

        if zoom is not None:
            self.check_zoom(zoom)

    def check_zoom(self, zoom):
        """Between its edges, which say what they are, each line is as high as its peak says."""
        plot = zoom.find(SVG + "svg")
        edges = [(float(t.get("y")) - 4.5, in_bytes("".join(t.itertext()))) for t in zoom.findall(SVG + "text")
                 if t.get("class") == "end muted"]
        (base, low), (top, high) = edges
        need((top, base) == (float(plot.get("y")), float(plot.get("y")) + float(plot.get("height"))), "edges", edges)
        need(base < self.height, "outside", edges)
        named = ["".join(t.itertext()).rstrip("\u2026") for t in zoom.iter(SVG + "text") if t.get("class") == "name"]
        lines = list(plot)
        need(len(lines) >= 2 and len(named) == len(lines), "lines", named)
        peaks = []
        for group in lines:
            name, _, peak = group.findtext(SVG + "title").rpartition(": at most ")
            need(any(name.startswith(n) for n in named), "label", name, named)
            y = base - (in_bytes(peak) - low) / (high - low) * (base - top)
            need(abs(y - float(group.find(SVG + "circle").get("cy"))) < 0.5 + (base - top) * 0.002 * high / (high - low),
                 "height in the zoom", name, y)
            peaks.append(in_bytes(peak))
        need(low < min(peaks) < max(peaks) < high, "what is zoomed", low, peaks, high)

    def y_of(self, amount):
        return self.base - amount * self.scale

    def x_of(self, ns):
        """Where a time lies, by what is written on the axis."""
        units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
        x, text = self.times[-1]
        number, unit = text.split()
        return self.left + (x - self.left) * ns / (float(number) * units[unit])

    def line(self, group):
        """(name, (peak as text, the x and the y of its highest point, dashes))"""
        name, _, peak = group.findtext(SVG + "title").rpartition(": at most ")
        if group.find(SVG + "circle").find(SVG + "title") is not None:
            return name, self.points(group, peak)
        path, dot = group.find(SVG + "path"), group.find(SVG + "circle")
        corners = steps(path.get("d"))
        highest = min(y for _, y in corners)
        ended = corners[-1][0] < self.right  # where a request failed; its peak may have come later
        need(abs(highest - float(dot.get("cy"))) < 0.01, "peak", name, highest, dot.attrib)
        need(any(a[0] <= float(dot.get("cx")) <= b[0] and highest in (a[1], b[1]) for a, b in zip(corners, corners[1:])),
             "its peak lies elsewhere", name)
        need(abs(highest - self.y_of(in_bytes(peak))) < 0.4 or ended and highest > self.y_of(in_bytes(peak)), "height", name,
             peak, highest, self.y_of(in_bytes(peak)))
        need(corners[0][0] == self.left and not ended or corners[-1] in self.crosses, "width", name, corners[0], corners[-1])
        need(all(a <= b for (a, _), (b, _) in zip(corners, corners[1:])), "it goes back", name)
        need(all(0 <= y <= self.base for _, y in corners), "outside", name)
        return name, (peak, float(dot.get("cx")), highest, path.get("stroke-dasharray"), group.get("class"))

    def points(self, group, peak):
        """As line(), of one over values: each dot lies on it, as high as it says, where its value is."""
        path, dots = group.find(SVG + "path"), group.findall(SVG + "circle")
        corners = corners_of(path.get("d"))
        need(corners == [(float(d.get("cx")), float(d.get("cy"))) for d in dots], "dots beside the line", corners)
        x, last = self.times[-1]
        for (at, y), dot in zip(corners, dots):
            value, amount = re.match(r"([\d,]+): ([\d,.]+ \w+)", dot.findtext(SVG + "title")).groups()
            right = self.left + (x - self.left) * float(value.replace(",", "")) / float(last.replace(",", ""))
            need(abs(at - right) < 0.3, "a value lies elsewhere", value, at, right)
            need(abs(y - self.y_of(in_bytes(amount))) < 0.4, "height", amount, y)
        highest = min(corners, key=lambda c: c[1])
        need(abs(highest[1] - self.y_of(in_bytes(peak))) < 0.4, "height", peak, highest)
        return peak, highest[0], highest[1], path.get("stroke-dasharray"), group.get("class")

    def check_labels(self, labels):
        need(len(labels) == len(self.lines), "labels", labels, list(self.lines))
        ordered = sorted(y for y, _ in labels)
        need(all(b - a >= 16.9 for a, b in zip(ordered, ordered[1:])), "labels lie on each other", ordered)
        need(all(0 < y < self.height for y in ordered), "outside", ordered)
        for _, text in labels:
            need(any(name.startswith(text.rstrip("\u2026")) for name in self.lines), "label of nobody", text)
        looks = [line[3:] for line in self.lines.values()]
        need(len(set(looks)) == len(looks), "lines that look alike", looks)


def load(path, most_bytes=MOST_BYTES):
    """The root of a file that stands by itself, and the themes it has."""
    with open(path, "rb") as file:
        raw = file.read()
    need(len(raw) <= most_bytes, "size", len(raw))
    need(raw.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<svg ') and raw.endswith(b"</svg>\n"), "ends", raw[:80])
    need(not re.search(rb"<!|<\?(?!xml version)|&(?!(amp|lt|gt|quot|#39);)", raw), "markup", path)
    root = tree.fromstring(raw)
    need(root.tag == SVG + "svg", "root", root.tag)
    for element in root.iter():
        need(element.tag.startswith(SVG) and element.tag[len(SVG):] in TAGS, "element", element.tag)
        need(set(element.attrib) <= ATTRIBUTES, "attributes", element.attrib)
        need(not any(re.search(r"url|script|:", value) for value in element.attrib.values()), "value", element.attrib)
    end = 0
    for element in root.findall(SVG + "svg"):
        need(int(element.get("y")) >= end, "charts lie on each other", element.attrib)
        end = int(element.get("y")) + int(element.get("height"))
    need(end <= int(root.get("height")), "height", root.attrib, end)
    return root, check_style(root.findtext(SVG + "style"))


def parse(path):
    """The charts of a file, the themes it has, and what is said of it."""
    root, themes = load(path)
    charts = [Chart(element) for element in root.findall(SVG + "svg")]
    return charts, themes, ["".join(t.itertext()) for t in root.findall(SVG + "text")]


if __name__ == "__main__":
    try:
        print(sum(len(chart.lines) for chart in parse(sys.argv[1])[0]))
    except Bad as bad:
        sys.exit(str(bad))
