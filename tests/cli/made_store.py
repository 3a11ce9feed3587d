"""Stores of sweeps that nobody ran, and what the answers from them have to be.

    made_store.py fill STORE TRACES SETTINGS [KEY=VALUE]...   replaces all rows of a store
    made_store.py expect STORE REPORT.json                    prints nothing where the answers are right
    made_store.py csv STORE TABLE.csv                         the same of the rows of the CSV

Keys of fill: seed, failed (cells with a failed allocation, in a thousand), missing (cells that are not there, in a
thousand), timed=1 (a second row of each cell, with times), unsolved and unbound (traces without a best packing, without a
lower bound, in a thousand).
What is expected is computed here from the tables alone, cell by cell.
"""
import csv
import json
import math
import random
import sqlite3
import sys

STRATEGIES = ("arena", "lru", "stream-pool", "torch")
OPTIONS = (("order", ("1", "2", "4")), ("merge", ("no", "yes")), ("limit", ("1M", "2M", "4M", "8M")))
FACTORS = (1, 1.01, 1.05, 1.1, 1.25, 1.5, 2)
PERCENT, SAME = math.log(1.01), 1e-9


# ---- stores ----

def settings_of(count):
    """Grids of the options of each strategy; of each option the first choice is to leave it out."""
    grids = []
    for name, values in OPTIONS:
        grids = [g + [(name, v)] if v else g for g in (grids or [[]]) for v in (None, *values)]
    found = [(s, g) for g in grids for s in STRATEGIES]
    for extra in range(len(found), count):
        found.append(("bump", [("seed", "%05d" % extra)]))
    return [(s + (":" if g else "") + ",".join("%s=%s" % o for o in g), s, g) for s, g in found[:count]]


def fill(path, traces, settings, keys):
    rng = random.Random(int(keys.get("seed", 1)))
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    for table in ("cells", "options", "files", "failures", "sweep", "settings", "traces"):
        db.execute("DELETE FROM " + table)
    made = settings_of(int(settings))
    for i, (text, strategy, options) in enumerate(made):
        db.execute("INSERT INTO settings VALUES (?, ?, ?)", (i + 1, text, strategy))
        db.executemany("INSERT INTO options VALUES (?, ?, ?)", [(i + 1, n, v) for n, v in options])
    cost = {text: 1 + 0.02 * (i % 7) + 0.01 * rng.random() for i, (text, _, _) in enumerate(made)}
    names = ["passes", "tool", "machine", "seconds", "peak_reserved", "driver_calls_total", "failed_allocations", "hit_rate"]
    put = "INSERT INTO cells (name, trace, setting, %s) VALUES (?, ?, ?, %s)" % (", ".join(names), ", ".join("?" * len(names)))
    time = "INSERT INTO cells (name, trace, setting, passes, tool, machine, seconds, ns_per_op) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    chance = lambda key: rng.randrange(1000) < int(keys.get(key, 0))
    for t in range(int(traces)):
        bound = 4096 * rng.randrange(100, 1000000)
        packing = None if chance("unsolved") else bound + 512 * rng.randrange(64)
        db.execute("INSERT INTO traces VALUES (?, ?, ?, ?, ?, ?, 1, 1, ?, ?, ?)",
                   (t + 1, "%032x" % (t * 7919 + 1), "/corpus/%s/trace-%05d.tpt" % ("ab"[t % 2], t), "device", 1000 + t, 900 + t,
                    bound, None if chance("unbound") else bound, packing))
        rows = []
        times = []
        for s, (text, _, _) in enumerate(made):
            if chance("missing"):
                continue
            hard = 1 + 0.3 * rng.random() * (t % 5)
            peak = max(bound, int(bound * cost[text] * hard) & ~4095)
            calls = rng.randrange(4, 4000) // (1 + s % 5)
            failed = 3 if chance("failed") else 0
            name = (t * len(made) + s).to_bytes(16, "big")
            rows.append((name, t + 1, s + 1, "usage", "abc-1", "", 0.01 * rng.random(), peak, calls, failed,
                         round(rng.random(), 6) if t % 3 else rng.random()))
            times.append((b"t" + name[1:], t + 1, s + 1, "throughput", "abc-1", "box", 0.1, 5 + 100 * rng.random()))
        db.executemany(put, rows)
        if keys.get("timed"):
            db.executemany(time, times)
    db.commit()


# ---- what is expected ----

class Expected:
    """One metric, as sweep.h says it."""

    def __init__(self, db, metric, more):
        column = metric.replace(".", "_")
        self.settings = {i: (text, strategy) for i, text, strategy in db.execute("SELECT id, setting, strategy FROM settings")}
        self.options = {i: {} for i in self.settings}
        for i, name, value in db.execute("SELECT setting, name, value FROM options"):
            self.options[i][name] = value
        traces = {i: (path, packing or bound or peak, not packing) for i, path, bound, packing, peak in
                  db.execute("SELECT id, path, lower_bound, best_packing, trace_peak FROM traces")}
        self.failed, values = {i: 0 for i in self.settings}, {}
        query = "SELECT trace, setting, max(%s), coalesce(max(failed_allocations), 0) > 0 FROM cells GROUP BY 1, 2" % column
        for t, s, value, bad in db.execute(query):
            self.failed[s] += bad
            if value is not None and not bad:
                values.setdefault(t, {})[s] = value
        shift = 1 if metric.startswith("driver_calls") else 0
        sign = -1 if more else 1
        self.ratios, self.over_best, self.paths, self.bounds = {}, {}, {}, 0
        for t, row in values.items():
            logs = {s: sign * math.log(v + shift) for s, v in row.items() if v + shift > 0}
            if len(logs) < len(row) or metric == "peak_reserved" and not traces[t][1]:
                continue
            one = math.log(traces[t][1]) if metric == "peak_reserved" else min(logs.values())
            best = min(logs.values())
            self.ratios[t] = {s: v - one for s, v in logs.items()}
            self.over_best[t] = {s: v - best for s, v in logs.items()}
            self.paths[t] = traces[t][0]
            self.bounds += metric == "peak_reserved" and traces[t][2]
        self.rank()

    def of(self, setting):
        return {t: row[setting] for t, row in self.ratios.items() if setting in row}

    def mean(self, setting):
        logs = list(self.of(setting).values())
        return sum(logs) / len(logs) if logs else math.inf

    def rank(self):
        tried = [s for s in self.settings if self.of(s) or self.failed[s]]
        lacking = {s: self.failed[s] + len(self.ratios) - len(self.of(s)) for s in tried}
        self.competing = [s for s in tried if not lacking[s] and self.of(s)]
        key = {s: (lacking[s], round(self.mean(s) / SAME) if self.of(s) else math.inf, len(self.options[s]), self.settings[s][0])
               for s in tried}
        self.order = sorted(tried, key=key.get)

    def front(self, costs):
        points = sorted((costs[s], self.order.index(s), s) for s in self.competing if costs[s] is not None)
        return [s for cost, _, s in points
                if not any((c < cost and self.mean(o) <= self.mean(s) + SAME / 2) or
                           (c == cost and self.order.index(o) < self.order.index(s)) for c, _, o in points)]

    def effects(self):
        found = {}
        for strategy in {self.settings[s][1] for s in self.order}:
            mine = [s for s in self.order if self.settings[s][1] == strategy and self.of(s)]
            for name in {n for s in mine for n in self.options[s]}:
                groups = {}
                for s in mine:
                    others = tuple(sorted((n, v) for n, v in self.options[s].items() if n != name))
                    groups.setdefault(others, {})[self.options[s].get(name, "default")] = s
                all_values = {v for g in groups.values() for v in g}
                whole = [g for g in groups.values() if set(g) == all_values]
                pairs = [(t, {v: row[s] for v, s in g.items()}) for t, row in self.ratios.items() for g in whole
                         if all(s in row for s in g.values())]
                if len(all_values) < 2 or not pairs:
                    continue
                means = {v: sum(logs[v] for _, logs in pairs) / len(pairs) for v in all_values}
                affected = {t for t, logs in pairs if max(logs.values()) - min(logs.values()) > PERCENT + SAME}
                found[strategy, name] = (len(whole), len({t for t, _ in pairs}), len(affected),
                                         math.exp(max(means.values()) - min(means.values())) - 1,
                                         {v: math.exp(m) for v, m in means.items()})
        return found


def near(a, b):
    return a is not None and b is not None and abs(a - b) <= 2e-6 * max(1, abs(a), abs(b))


def compare(db, answer, need):
    e = Expected(db, answer["metric"], answer["more_is_better"])
    texts = {s: e.settings[s][0] for s in e.settings}
    need(answer["traces"] == len(e.ratios), "traces", answer["traces"], len(e.ratios))
    need(answer["traces_over_lower_bound"] == e.bounds, "bounds", answer["traces_over_lower_bound"], e.bounds)
    need([s["setting"] for s in answer["settings"]] == [texts[s] for s in e.order], "order")
    costs = {}
    for row, s in zip(answer["settings"], e.order):
        logs = e.of(s)
        need(row["competes"] == (s in e.competing), "competes", row)
        need(row["options"] == e.options[s] and row["strategy"] == e.settings[s][1], "options", row)
        need(row["traces"] == len(logs) and row["failed"] == e.failed[s], "counts", row)
        if logs:
            need(near(row["geometric_mean"], math.exp(e.mean(s))), "mean", row, math.exp(e.mean(s)))
            need(near(row["worst"], math.exp(max(logs.values()))), "worst", row)
            at = [t for t in e.paths if e.paths[t] == row["worst_trace"]]
            need(len(at) == 1 and abs(logs[at[0]] - max(logs.values())) < SAME, "worst trace", row)
        need(row["within_1_percent"] == sum(r[s] <= PERCENT + SAME for r in e.over_best.values() if s in r), "within", row)
        costs[s] = row["driver_calls"]
        if costs[s] is not None:
            marks = ",".join(str(t) for t in logs)
            sure = db.execute("SELECT sum(driver_calls_total) FROM cells WHERE setting = ? AND trace IN (%s)" % marks, (s,)).fetchone()[0]
            need(costs[s] == sure, "calls", row, sure)
    best, both = answer["best"], e.competing and [texts[s] for s in e.order[:2]]
    need(best["setting"] == (both[0] if e.competing else None), "best", best)
    need(best["second"] == (both[1] if len(e.competing) > 1 else None), "second", best)
    if len(e.competing) > 1:
        apart = [row[e.order[0]] - row[e.order[1]] for row in e.ratios.values()]
        need(best["better_than_second"] == sum(d < -SAME for d in apart), "better", best)
        need(best["worse_than_second"] == sum(d > SAME for d in apart), "worse", best)
        need(sum(best[k] for k in ("better_than_second", "equal_to_second", "worse_than_second")) == len(apart), "equal", best)
    for front in answer["fronts"]:
        if front["cost"] == "driver_calls.total":
            need([p["setting"] for p in front["settings"]] == [texts[s] for s in e.front(costs)], "front", front["settings"])
    firsts = {}
    for s in e.order:
        firsts.setdefault(e.settings[s][1], s)
    need([p["setting"] for p in answer["profiles"]] == [texts[s] for s in firsts.values()], "profiles")
    for profile, s in zip(answer["profiles"], firsts.values()):
        sure = [sum(s in r and r[s] <= math.log(f) + SAME for r in e.over_best.values()) for f in FACTORS]
        need([p["traces"] for p in profile["points"]] == sure, "profile", profile, sure)
    sure = e.effects()
    need({(o["strategy"], o["option"]) for o in answer["effects"]} == set(sure), "options", sorted(sure))
    for o in answer["effects"]:
        groups, traces, affected, size, means = sure.get((o["strategy"], o["option"]), (0, 0, 0, 0, {}))
        need((o["combinations"], o["traces"], o["traces_affected"]) == (groups, traces, affected), "effect", o, groups, traces, affected)
        need(near(o["worst_vs_best"], size), "effect", o, size)
        need({v["value"] for v in o["values"]} == set(means) and
             all(near(v["geometric_mean"], means[v["value"]]) for v in o["values"]), "values", o, means)
        need([v["geometric_mean"] for v in o["values"]] == sorted(v["geometric_mean"] for v in o["values"]), "best first", o)
    compare_heat(answer, e, texts, need)


def compare_heat(answer, e, texts, need):
    heat = answer["heat_map"]
    hardness = {t: sum(row.values()) / len(row) for t, row in e.ratios.items()}
    path = {e.paths[t]: t for t in e.paths}
    order = sorted(e.ratios, key=lambda t: (-round(hardness[t] / SAME), e.paths[t]))
    shown = [s for s in e.order if e.of(s)]
    at = 0
    for i, row in enumerate(heat["traces"]):
        need(path[row["first"]] == order[at], "row", row, e.paths[order[at]])
        rows, across = order[at:at + row["count"]], 0
        at += row["count"]
        for k, column in enumerate(heat["settings"]):
            need(column["first"] == texts[shown[across]], "column", column)
            logs = [e.ratios[t][s] for t in rows for s in shown[across:across + column["count"]] if s in e.ratios[t]]
            across += column["count"]
            found = heat["ratios"][i][k]
            need(found is None if not logs else near(found, math.exp(sum(logs) / len(logs))), "square", i, k, found)
        need(across == len(shown), "columns", across)
    need(at == len(order), "rows", at)


def expect(store, report):
    wrong = []

    def need(truth, what, *values):
        if not truth:
            wrong.append("%s: %.300s" % (what, " ".join(map(str, values))))
    db = sqlite3.connect(store)
    with open(report) as file:
        found = json.load(file)
    need(found["schema"] == "tapool.sweep/1", "schema", found["schema"])
    need(found["cells"] == db.execute("SELECT count(*) FROM cells").fetchone()[0], "cells", found["cells"])
    need(found["answers"], "no answers")
    for answer in found["answers"]:
        compare(db, answer, need)
    print("\n".join(wrong[:20]), end="\n" if wrong else "")
    return 1 if wrong else 0


def compare_csv(store, table):
    db = sqlite3.connect(store)
    db.row_factory = sqlite3.Row
    with open(table, newline="") as file:
        rows = list(csv.reader(file))
    heads, rows = rows[0], rows[1:]
    options = sorted({row["name"] for row in db.execute("SELECT name FROM options")})
    begin = ["trace", "kind", "events", "setting", "strategy", *options, "lower_bound", "best_packing"]
    wrong = [] if heads[:len(begin)] == begin else ["heads: %s" % heads]
    metrics = heads[len(begin):]
    given = {}
    for row in db.execute("SELECT s.setting AS s, o.name AS n, o.value AS v FROM options o JOIN settings s ON s.id = o.setting"):
        given[row["s"], row["n"]] = row["v"]
    values = ", ".join("max(c.%s) AS %s" % (m, m) for m in metrics)
    query = "SELECT t.path, t.kind, t.events, s.setting, s.strategy, t.lower_bound, t.best_packing, %s FROM cells c " \
        "JOIN traces t ON t.id = c.trace JOIN settings s ON s.id = c.setting GROUP BY 1, 4 ORDER BY 1, 4" % values
    text = lambda v: "" if v is None else repr(v) if isinstance(v, float) else str(v)
    count = 0
    for found, sure in zip(rows, db.execute(query)):
        count += 1
        want = [sure["path"], sure["kind"], str(sure["events"]), sure["setting"], sure["strategy"],
                *(given.get((sure["setting"], n), "") for n in options), text(sure["lower_bound"]), text(sure["best_packing"])]
        if found[:len(begin)] != want or any(f != text(sure[m]) and float(f or "nan") != sure[m]
                                             for f, m in zip(found[len(begin):], metrics)):
            wrong.append("row: %s, not %s" % (found, want))
    if count != len(rows) or count != len(db.execute(query).fetchall()):
        wrong.append("rows: %d" % len(rows))
    print("\n".join(wrong[:5]), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "fill":
        fill(*words[:3], dict(word.split("=", 1) for word in words[3:]))
    else:
        sys.exit((expect if what == "expect" else compare_csv)(*words))
