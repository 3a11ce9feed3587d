"""Checks a file of Chrome's trace-event JSON: what ui.perfetto.dev needs of it, and that every track goes
forward in time.

    perfetto_check.py FILE      exits 0 and prints how many events there are
"""
import json
import sys


class Bad(Exception):
    pass


def need(truth, what, event):
    if not truth:
        raise Bad("%s: %.200s" % (what, event))


def number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def counter(event):
    need(event["args"] and all(type(v) is int and v >= 0 for v in event["args"].values()), "values", event)


def metadata(event):
    need(event["name"] in ("process_name", "thread_name"), "unknown metadata", event)
    need(isinstance(event["args"].get("name"), str) and event["args"]["name"], "no name", event)


def duration(event):
    need(number(event["dur"]), "dur", event)


def parse(path):
    """{pid: name}, {(pid, counter name): [(ts, args)]}, {pid: [(ts, dur, name)]}, otherData"""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    names, counters, phases, last = {}, {}, {}, {}
    kinds = {"C": counter, "M": metadata, "X": duration}
    for event in document["traceEvents"]:
        need(event.get("ph") in kinds, "ph", event)
        need(type(event.get("pid")) is int and number(event.get("ts")), "pid, ts", event)
        need(isinstance(event.get("name"), str), "name", event)
        kinds[event["ph"]](event)
        if event["ph"] == "M":
            if event["name"] == "process_name":
                need(event["pid"] not in names, "named twice", event)
                names[event["pid"]] = event["args"]["name"]
            continue
        need(event["pid"] in names, "a process without a name", event)
        track = (event["pid"], event["tid"], event["ph"], event["name"] if event["ph"] == "C" else "")
        need(event["ts"] >= last.get(track, 0), "back in time", event)
        if event["ph"] == "C":
            last[track] = event["ts"]
            counters.setdefault((event["pid"], event["name"]), []).append((event["ts"], event["args"]))
        else:  # durations of a track must not overlap; thousandths are decimal
            last[track] = round(event["ts"] + event["dur"], 3)
            phases.setdefault(event["pid"], []).append((event["ts"], event["dur"], event["name"]))
    return names, counters, phases, document["otherData"]


if __name__ == "__main__":
    try:
        print(sum(len(points) for points in parse(sys.argv[1])[1].values()))
    except (Bad, KeyError, ValueError) as bad:
        sys.exit("%s: %r" % (sys.argv[1], bad))
