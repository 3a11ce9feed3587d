"""Reads a large JSON text and keeps one string in ten rows: large_json.py [trim]

trim: malloc_trim(0) follows."""
import ctypes
import json
import os
import sys

data = [{"id": i, "name": "row %d" % i, "tags": [str(i + k) for k in range(4)]} for i in range(100000)]
data = json.loads(json.dumps(data))
names = [row["name"] for row in data[::10]]
del data
if "trim" in sys.argv:
    ctypes.CDLL(None).malloc_trim(0)
os._exit(0)
