"""usage: referee.py TAPOOL FOLDER TRACE...

The table of scripts/referee.sh; files are made in FOLDER."""
import json
import math
import os
import subprocess
import sys

STRATEGIES = [("torch", "torch"),
              ("torch, expandable", "torch:conf=expandable_segments:True"),
              ("stitch", "stitch"),
              ("stitch, 2 MiB", "stitch:frag_limit=2MiB"),
              ("planned", "planned:plan={plan},skip={skip}"),
              ("planned, expandable", "planned:plan={plan},skip={skip},conf=expandable_segments:True")]


def json_of(*command):
    """What the command prints as JSON; None: it ended with an error."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def plan_of(tapool, trace, path):
    for by in ("period", "mark"):
        plan = json_of(tapool, "plan", trace, "--by", by, "-o", path, "-f", "--json")
        if plan and plan["next"] and plan["next"]["requests"]:
            return plan, by
    return None, None


def size(count):
    return f"{count / 2**30:.3g} GiB" if count >= 1000 * 2**20 else f"{count / 2**20:.3g} MiB"


def runs_of(tapool, folder, trace, strategies):
    """The plan, how its steps were found, and the result of each strategy on the step behind it."""
    plan_file, piece = os.path.join(folder, "step.plan"), os.path.join(folder, "next.tpt")
    plan, by = plan_of(tapool, trace, plan_file)
    if not plan:
        return None
    after = plan["next"]
    subprocess.run([tapool, "convert", trace, "-f", "-o", piece, "--from",
                    f"{after['first_event']}:{after['last_event']}"], check=True, stdout=subprocess.DEVNULL)
    heap = json_of(tapool, "info", piece, "--json")["trace"]["initial_heap"]
    skip = heap["objects"] if heap and by == "period" else "auto"
    words = [word for _, spec in strategies for word in ("-s", spec.format(plan=plan_file, skip=skip))]
    found = json_of(tapool, "replay", piece, *words, "--source", "virtual", "--passes", "usage",
                    "--bound-time", "1s", "--json")
    return plan, by, found["runs"]


def row_of(trace, plan, by, runs):
    best = runs[0]["memory"]["best_packing_bytes"]
    followed = runs[-1].get("plan", {"followed": 0, "deviated": 0, "followed_bytes": 0, "deviated_bytes": 0})
    requests = followed["followed"] + followed["deviated"]
    both = followed["followed_bytes"] + followed["deviated_bytes"]
    name = os.path.basename(trace).split(".")[0]
    cells = [name, f"{by}, {plan['next']['requests']:,}", size(runs[0]["memory"]["lower_bound_bytes"]), size(best)]
    for run in runs:
        cells.append(f"{run['memory']['peak_reserved_bytes'] / best:.3f}x, {run['driver_calls']['total']:,}")
    cells.append(f"{followed['followed'] / requests:.1%}, {followed['followed_bytes'] / both:.1%}" if requests else "-")
    return cells, [run["memory"]["peak_reserved_bytes"] / best for run in runs]


def main():
    tapool, folder, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
    here = subprocess.run([tapool, "strategies"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    strategies = [row for row in STRATEGIES if row[1].split(":")[0] in here]
    head = ["trace", "step by, requests", "lower bound", "best packing"] + [name for name, _ in strategies] \
        + ["followed: requests, bytes"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    ratios, without = [], []
    for trace in traces:
        found = runs_of(tapool, folder, trace, strategies)
        if not found:
            without.append(os.path.basename(trace).split(".")[0])
            continue
        cells, ratio = row_of(trace, *found)
        ratios.append(ratio)
        print("| " + " | ".join(cells) + " |", flush=True)
    if ratios:
        print(f"\nwithin 5% of the best packing, of {len(ratios)}; geometric mean")
    for i, (name, _) in enumerate(strategies if ratios else []):
        own = [row[i] for row in ratios]
        mean = math.exp(sum(map(math.log, own)) / len(own))
        print(f"    {name}: {sum(ratio <= 1.05 for ratio in own)}; {mean:.3f}x")
    if without:
        print("without two steps: " + ", ".join(without))


if __name__ == "__main__":
    main()
