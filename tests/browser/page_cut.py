"""What a page leaves out of the JSON of the same run because all of it would make the page too large.

What is left on a page stands there in the order of the JSON, so it is found by its name. A page has to say how much it
leaves out, no more and no less. `rows_of` returns the document as the page should have it, and the one with whose figures
those of its tables are compared: a row of the page stands for all devices of a run, also for those that it leaves out.
"""
import re

from page_tables import is_name

# The paragraphs of each article, and those that stand beside articles.
TEXTS = """[[...document.querySelectorAll("article")].map(article => [...article.querySelectorAll("p")].map(p => p.textContent)),
    [...document.querySelectorAll("main > p")].map(p => p.textContent)]"""
LEFT = r"And ([\d,]+) more %ss? would make the page too large: --export-json has (?:them|it)\."
DEVICES = r"Below are the first ([\d,]+) of ([\d,]+) devices: all would make the page too large\. --export-json has them\."


def left(texts, what):
    """How many of `what` paragraphs say to be left out."""
    said = [re.fullmatch(LEFT % what, text) for text in texts]
    return sum(int(m.group(1).replace(",", "")) for m in said if m)


def places(shown, all_, name):
    """Of each item that is shown its place among all; those that are not there have none."""
    found = []
    for i, item in enumerate(all_):
        if len(found) < len(shown) and name(item) == name(shown[len(found)]):
            found.append(i)
    return found


def shown_of(shown, all_, name, said, what, found):
    """The places of what is shown, after a look at whether the page says how many are not."""
    at = places(shown, all_, name)
    found.expect(len(at) == len(shown), "of %d %ss of the page the JSON has %d" % (len(shown), what, len(at)))
    found.expect(said == len(all_) - len(at), "the page says that %d %ss are left out, and %d are"
                 % (said, what, len(all_) - len(at)))
    return at


def groups_of(items, name):
    groups = []
    for item in items:
        if not groups or name(groups[-1][0]) != name(item):
            groups.append([])
        groups[-1].append(item)
    return groups


# ---- compare ----

def table_of(table, of, texts, found):
    at = shown_of(table["rows"], of["rows"], lambda row: (row["label"], row["file"]), left(texts, "row"), "row", found)
    new = {place: i for i, place in enumerate(at)}
    found.expect(all(of["rows"][i]["base"] in new for i in at), "a row stands there without its base")
    return {**of, "rows": [{**of["rows"][i], "base": new.get(of["rows"][i]["base"])} for i in at]}


def names_of(row):
    """What a row may be called among the means: a file without the folders that all files are in."""
    folders = (row["file"] or "").split("/")
    return {row["label"]} if not row["file"] else {
        "%s (%s)" % (row["label"], "/".join(folders[i:])) for i in range(len(folders))}


def compare_of(data, whole, articles, beside, found):
    at = shown_of(data["tables"], whole["tables"], lambda t: t["trace"], left(beside, "trace"), "trace", found)
    tables = [table_of(table, whole["tables"][i], texts, found) for table, i, texts in zip(data["tables"], at, articles)]
    names = {name for table in tables for row in table["rows"] for name in names_of(row)}
    files = {row["file"] for table in tables for row in table["rows"]}
    out = {**whole, "tables": tables,
           "geometric_means": [m for m in whole["geometric_means"] if any(is_name(m["label"], name) for name in names)]}
    if None not in files:
        out["files"] = [file for file in whole["files"] if file["path"] in files]
    return out, out


# ---- check ----

def finding_of(f):
    return [f[name] for name in ("trace", "strategy", "source", "device", "metric", "class", "note")]


def check_of(data, whole, articles, beside, found):
    """Lists of cells and causes are as long as that of findings at most; the page's own table has no more of them."""
    said = left(articles[0], "finding")
    at = shown_of(data["findings"], whole["findings"], finding_of, said, "finding", found)
    new = {place: i for i, place in enumerate(at)}
    most = len(data["findings"]) if said else None
    causes = [{**c, "findings": [new[i] for i in c["findings"] if i in new]} for c in whole["causes"][:most]]
    return {**whole, "findings": [whole["findings"][i] for i in at], "causes": causes, "cells": whole["cells"][:most]}, whole


# ---- replay ----

def trace_of(run):
    return run["trace"]["path"]


def devices_of(texts, runs, of, found):
    """The runs with the devices that the page has."""
    said = next(filter(None, (re.fullmatch(DEVICES, text) for text in texts)), None)
    first, all_ = (int(n.replace(",", "")) for n in said.groups()) if said else (None, None)
    for run, whole in zip(runs, of):
        wanted = (first, all_) if said else (len(whole["devices"]),) * 2
        found.expect((len(run["devices"]), len(whole["devices"])) == wanted,
                     "of %d devices there are %d, and the page says" % (len(whole["devices"]), len(run["devices"])), wanted)
    return [{**whole, "devices": whole["devices"][:first]} for whole in of]


def result_of(data, whole, articles, beside, found):
    shown, groups = groups_of(data["runs"], trace_of), groups_of(whole["runs"], trace_of)
    at = shown_of(shown, groups, lambda group: trace_of(group[0]), left(beside, "trace"), "trace", found)
    page, figures = [], []
    for runs, i, texts in zip(shown, at, articles):
        rows = shown_of(runs, groups[i], lambda run: run["strategy"]["label"], left(texts, "row"), "row", found)
        kept = [groups[i][row] for row in rows]
        page += devices_of(texts, runs, kept, found)
        figures += kept
    return {**whole, "runs": page}, {**whole, "runs": figures, "all_runs": whole["runs"]}


# ---- tune ----

def tune_of(data, whole, articles, beside, found):
    at = shown_of(data["settings"], whole["settings"], lambda s: s["setting"], left(articles[0], "setting"), "setting", found)
    new = {place: i for i, place in enumerate(at)}
    out = {**whole, "settings": [whole["settings"][i] for i in at]}
    for name in ("answer", "answer_without_newer_keys"):
        for of in ("best", "compared_with"):
            index = whole[name][of]
            found.expect(index is None or index in new, "the answer names a setting that is not on the page")
            out[name] = {**out[name], of: new.get(index)}
    return out, out


OF = {"tapool.tune/2": tune_of, "tapool.compare/2": compare_of, "tapool.check/2": check_of, "tapool.result/2": result_of}


def rows_of(page, data, whole, found):
    articles, beside = page.value(TEXTS)
    return OF.get(data["schema"], lambda *_: (whole, whole))(data, whole, articles, beside, found)


def is_cut(page):
    """Whether a page says that something is left out of it."""
    return any(re.fullmatch(LEFT % r"\w+", text) or re.fullmatch(DEVICES, text)
               for texts in (lambda both: both[0] + [both[1]])(page.value(TEXTS)) for text in texts)
