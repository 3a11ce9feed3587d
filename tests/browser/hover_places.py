"""Points with the mouse along memory over time, and compares who a point names with what the trace says of its event.

    hover_places.py PAGE.html TRACE.jsonl POINTS

TRACE is the page's trace as `tapool convert` writes it, one event a line: its places are taken from there, and what an
event frees is followed here by the ids of blocks. Prints what differs; at least one point must name who asked for a
block, and one whose block it frees.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chromium import Browser  # noqa: E402
from view_checks import FIGURE, Chart  # noqa: E402

NAMED = re.compile(r"^event ([\d,]+)(?:, \+[\d.,]+ \w+)?(?:, in [^:]*?)?(, (?:from|frees what) .*?)?: (?=requested|recorded|torch|arena|first|nothing)")


def named_by(path):
    """Of each event of a trace that has one, the words that a point says of it."""
    places, born, words, number = {}, {}, {}, 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event.get("op") in (None, "initial", "mark"): # these have no number of their own
                continue
            number += 1
            places[number] = event.get("place")
            if event["op"] in ("alloc", "realloc"):
                born[event["id"]] = number
            asked = places.get(born.pop(event["id"], 0)) if event["op"] == "free" else None
            if asked:
                words[number] = ", frees what %s allocated" % asked
            elif places[number]:
                words[number] = ", from " + places[number]
    return words


def main(page_path, trace, points):
    words, seen = named_by(trace), []
    with Browser() as browser:
        page = browser.open("file://" + os.path.realpath(page_path))
        page.scroll_through()
        page.value(FIGURE % "memory" + ".scrollIntoView()")
        chart = Chart(page, "memory")
        if page.value("page.data.schema") == "tapool.info-pair/2": # of the same trace twice
            words = {event: "%s (first)%s (second)" % (text, text) for event, text in words.items()}
        box = chart.value(".getBoundingClientRect().toJSON()")
        low, high = (chart.value(".chart.toDomXCoord(%s)" % x) for x in chart.window())
        for i in range(points):
            page.mouse("mouseMoved", box["x"] + low + (high - low) * (i + 0.5) / points, box["y"] + 40)
            page.settle(2)
            said = chart.said()
            event, place = NAMED.match(said).groups()
            right = words.get(int(event.replace(",", "")), "")
            seen.append(place or "")
            if seen[-1] != right:
                print("the point says", said, "and the trace of that event:", right or "nothing")
    for kind in (", from", ", frees"):
        if not any(place.startswith(kind) for place in seen):
            print("none of", len(seen), "points says", kind)
    return 0


sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
