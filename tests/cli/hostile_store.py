"""Stores of sweeps that somebody else made.

    hostile_store.py NAME STORE           damages a store, as one of NAMES says
    hostile_store.py flip STORE SEED      changes some bytes
    hostile_store.py names                prints all names
"""
import os
import random
import sqlite3
import sys

VIEWS = "DROP VIEW results; DROP VIEW tidy"
LOOSE = "cells, traces and settings without types and constraints"
COUNTED = """CREATE VIEW {0} AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id, i AS trace,
    i AS setting, 'usage' AS passes, 'abc-1' AS tool, '' AS machine, i AS peak_reserved FROM n"""
NAMES = {
    # refused, each with its place
    "view": [VIEWS, "ALTER TABLE cells RENAME TO was; " + COUNTED.format("cells")],
    "generated": [VIEWS, "ALTER TABLE cells RENAME TO was; CREATE TABLE cells (id INTEGER PRIMARY KEY, name BLOB, trace, setting, passes, "
                  "tool, machine, seconds, peak_reserved AS (length(hex(zeroblob(1000000)))))"],
    "no-table": ["DROP TABLE options"],
    "no-column": [VIEWS, "ALTER TABLE cells RENAME TO was; CREATE TABLE cells (id INTEGER PRIMARY KEY, name, trace, setting, passes, tool)"],
    "no-key": [VIEWS, "ALTER TABLE cells RENAME TO was; CREATE TABLE cells AS SELECT * FROM was"],
    "schema": ["PRAGMA user_version = 7"],
    "foreign": ["PRAGMA application_id = 1"],
    "empty": ["DELETE FROM cells"],
    # left out, and counted
    "texts": ["UPDATE cells SET peak_reserved = 'much' WHERE id % 3 = 0"],
    "negative": ["UPDATE cells SET peak_reserved = -5, driver_calls_total = -1"],
    "nulls": [LOOSE,
              "UPDATE cells SET trace = NULL WHERE rowid % 7 = 0", "UPDATE traces SET path = NULL, kind = NULL WHERE id % 2",
              "UPDATE settings SET setting = NULL, strategy = NULL WHERE id = 2", "UPDATE cells SET passes = NULL, seconds = NULL"],
    "types": [LOOSE, "UPDATE cells SET setting = 'x' WHERE rowid % 2", "UPDATE cells SET trace = x'00ff' WHERE rowid % 3 = 0",
              "UPDATE traces SET best_packing = 'much', lower_bound = x'00', trace_peak = 'high', path = x'ff00fe'",
              "UPDATE cells SET failed_allocations = 'none' WHERE rowid % 5 = 0"],
    "zero": ["UPDATE traces SET best_packing = 0, lower_bound = 0, trace_peak = 0 WHERE id % 2"],
    "huge": ["UPDATE cells SET peak_reserved = 9e999 WHERE id % 2", "UPDATE cells SET peak_reserved = 9223372036854775807 WHERE id % 2 = 0",
             "UPDATE traces SET best_packing = 9223372036854775807, events = 9223372036854775807"],
    "far": ["UPDATE cells SET id = 9223372036854775000 WHERE id = 1", "UPDATE cells SET id = -5 WHERE id = 2",
            "UPDATE options SET setting = 99999 WHERE setting = 3", "UPDATE cells SET trace = 12345678 WHERE id = 5"],
    "texts-long": ["UPDATE settings SET setting = setting || hex(zeroblob(200000)) WHERE id < 4",
                   "UPDATE traces SET path = path || char(10, 27, 9, 8238) || '<script>' || hex(zeroblob(2000))"],
    "markup": ["UPDATE settings SET setting = '</script><b>' || setting, strategy = '=cmd|x'", "UPDATE options SET value = '</svg>&' || value"],
    "failures": ["INSERT INTO failures SELECT path, '', '', 3, 'cannot be read' FROM traces WHERE id < 15",
                 "INSERT INTO failures SELECT '/elsewhere', setting, 'usage', 4, 'timed out' FROM settings WHERE id = 1",
                 "INSERT INTO failures SELECT t.path, s.setting, 'usage', 4, NULL FROM traces t, settings s WHERE 0"],
    "many-options": ["WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90) INSERT INTO options SELECT 1, 'o' || i, 'v' FROM n"],
}


def loosen(db):
    db.executescript(VIEWS)
    for table in ("cells", "traces", "settings"):
        columns = ", ".join(row[1] for row in db.execute("PRAGMA table_info(%s)" % table) if row[1] != "id")
        db.executescript("PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; ALTER TABLE {0} RENAME TO was;"
                         "CREATE TABLE {0} (id INTEGER PRIMARY KEY, {1}); INSERT INTO {0} (id, {1}) SELECT id, {1} FROM was;"
                         "DROP TABLE was".format(table, columns))


def damage(name, path):
    db = sqlite3.connect(path)
    for statement in NAMES[name]:
        if statement is LOOSE:
            loosen(db)
        else:
            db.executescript(statement)
    db.commit()


def flip(path, seed):
    rng = random.Random(int(seed))
    with open(path, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        for _ in range(rng.choice((1, 3, 40))):
            file.seek(rng.randrange(size if rng.random() < 0.5 else min(size, 8192)))
            file.write(bytes([rng.randrange(256)]))


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "names":
        print("\n".join(NAMES))
    elif what == "flip":
        flip(*words)
    else:
        damage(what, *words)
