"""Checks a picture of the map of pages against the JSON result of the same run: how high all that is drawn of each part
is together, by the size of a cell.

    svg_pages_check.py FILE.svg RESULT.json
"""
import json
import re
import sys

from svg_check import SVG, Bad, load, need

# What tells parts apart: dashes and opacity.
PARTS = {(None, "1"): "live", (None, ".55"): "rounding", ("1 2", "1"): "own", ("1 1", "1"): "partly_free", ("2 1", ".6"): "free_pages"}
SWATCH = "24"


def check(path, document):
    root, _ = load(path)
    paths = [p for p in root.iter(SVG + "path") if p.get("stroke-width") != SWATCH]
    cell = float(paths[0].get("stroke-width"))
    pages = int(re.search(r"a cell is (\d+) page", "".join(root.itertext())).group(1))
    drawn, strokes = dict.fromkeys(PARTS.values(), 0.0), dict.fromkeys(PARTS.values(), 0)
    for p in paths:
        part = PARTS[p.get("stroke-dasharray"), p.get("stroke-opacity")]
        heights = [float(v) for v in re.findall(r"v-([\d.]+)", p.get("d"))]
        need(max(heights) <= cell, "a stroke is higher than a cell", max(heights))
        drawn[part] += sum(heights)
        strokes[part] += len(heights)
    per_pixel = pages * document["moment"]["page_bytes"] / cell
    for part, height in drawn.items():
        right, cells = document["moment"][part + "_bytes"], document["moment"]["resident_bytes"] / document["moment"]["page_bytes"]
        need(abs(height * per_pixel - right) <= 0.1 * per_pixel * cells, part, height * per_pixel, "and not", right)
    need(sum(strokes.values()), "nothing is drawn")


if __name__ == "__main__":
    try:
        check(sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8")))
    except Bad as bad:
        sys.exit(str(bad))
