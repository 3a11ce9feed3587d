#!/usr/bin/env python3
"""Makes a seed for fuzz_recording_trace: a recording with stacks, and behind it a small library that
they lead through.

usage: recording_with_code.py STACKS OUTPUT

STACKS is the seed of that name, of which only the head is taken. Needs gcc."""
import os
import struct
import subprocess
import sys
import tempfile

CODE = """
int grow(int n) { return n < 2 ? n : grow(n - 1) + grow(n - 2); }
int read_all(int n) { return grow(n) * 2; }
"""
PATH = b"/proc/self/fd/900"
PAGE = 4096


def library():
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "code.c"), os.path.join(folder, "code.so")
        with open(source, "w") as f:
            f.write(CODE)
        subprocess.run(["gcc", "-g", "-O1", "-fno-asynchronous-unwind-tables", "-nostdlib", "-shared",
                        "-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=4096", "-Wl,--build-id=none",
                        f"-fdebug-prefix-map={folder}=.", "-o", out, source], check=True)
        symbols = subprocess.run(["nm", "-D", out], check=True, capture_output=True, text=True).stdout
        with open(out, "rb") as f:
            return f.read(), [int(line.split()[0], 16) for line in symbols.splitlines()]


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def more(kind, body):
    return bytes([7]) + number(kind) + number(len(body)) + body


def main(stacks, output):
    code, functions = library()
    with open(stacks, "rb") as f:
        head = f.read(PAGE)
    events = more(1, number(0) + number(0) + PATH)
    for address in functions:
        events += more(2, number(1) + number(2 * (address + 4))) + bytes([1]) + number(24) + number(8)
    chunk = struct.pack("<IIIIQQIIQQQ", 0x6B6E6863, PAGE, 0, 0, 0, 1000, len(events), 0, 0, 0, 0)
    with open(output, "wb") as f:
        f.write(head + (chunk + events).ljust(PAGE, b"\0") + code)


main(*sys.argv[1:])
