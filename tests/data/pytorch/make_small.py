#!/usr/bin/env python3
"""Writes small-p2, -p4 and -p5.pickle: one snapshot in three protocols, and as small-cpp.pickle in
the way of PyTorch's C++ pickler: protocol 2, lists in one piece, a container in the memo once it is
filled.

Two of three devices have events. In it are segments that grow and shrink, an allocation that
failed, frames that are shared, alone, none, and more than a batch of 1,000 of them, and annotations
that lie within each other.
"""
import pickle
import struct
import sys

FRAMES = [
    {"name": "at::empty_cuda(long)", "filename": "??", "line": 0},
    {"name": "_call_impl", "filename": "module.py", "line": 1751},
    {"name": "forward", "filename": "/home/user/model.py", "line": 12},
    {"name": "<module>", "filename": "/home/user/train.py", "line": 70},
]
BACKWARD = [
    {"name": "torch::unwind::unwind()", "filename": "??", "line": 0},
    {"name": "torch::autograd::generated::BmmBackward0::apply(std::vector<at::Tensor>&&)",
     "filename": "??", "line": 0},
]
MANY = [FRAMES[0]] * 1003 + [dict(FRAMES[2])]
EVENTS = [
    ("segment_map", 0x700000000000, 2097152, 0, FRAMES),
    ("alloc", 0x700000000000, 1000, 0, FRAMES),
    ("free_requested", 0x700000200000, 512, 0, []),
    ("free_completed", 0x700000200000, 512, 0, []),
    ("alloc", 0x700000000400, 70000, 94123456789012, list(FRAMES[1:2])),
    ("free_requested", 0x700000000000, 1000, 0, BACKWARD),
    ("free_completed", 0x700000000000, 1000, 0, None),
    ("segment_unmap", 0x700000100000, 1048576, 0, MANY),
    ("alloc", 0x700000000000, 4, 0, [FRAMES[3]]),
]


def event(number, row, start):
    action, addr, size, stream, frames = row
    entry = {"action": action, "addr": addr, "size": size, "stream": stream,
             "time_us": start + 10 * number, "compile_context": "N/A"}
    if frames is not None:
        entry["frames"] = frames
    return entry


def block(address, size, requested, state):
    return {"address": address, "size": size, "requested_size": requested, "state": state,
            "frames": []}


def segment(device, address, size, kind, blocks):
    return {"device": device, "address": address, "total_size": size, "stream": 0,
            "segment_type": kind, "segment_pool_id": (0, 0), "is_expandable": True, "frames": [],
            "blocks": blocks}


def snapshot():
    start = 1750000000000000
    first = [event(i, row, start) for i, row in enumerate(EVENTS)]
    first.append({"action": "oom", "device_free": 12345, "size": 1 << 34, "stream": 0,
                  "time_us": start + 200, "frames": FRAMES})
    third = [event(i, row, start + 5) for i, row in enumerate(EVENTS[:2])]
    notes = [("START", "outer", 5), ("START", "inner", 35), ("END", "inner", 45), ("END", "outer", 300)]
    return {
        "segments": [
            segment(0, 0x700000000000, 1048576, "small",
                    [block(0x700000000000, 512, 4, "active_allocated"),
                     block(0x700000000200, 512, 0, "inactive"),
                     block(0x700000000400, 70144, 70000, "active_allocated"),
                     block(0x700000011600, 977408, 0, "inactive")]),
            segment(0, 0x700000200000, 20971520, "large",
                    [block(0x700000200000, 512, 512, "inactive"),
                     block(0x700000200200, 20971008, 20000000, "active_pending_free")]),
            segment(2, 0x700000000000, 2097152, "small",
                    [block(0x700000000000, 1024, 1000, "active_allocated"),
                     block(0x700000000400, 2096128, 0, "inactive")]),
        ],
        "device_traces": [first, [], third],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
                               "garbage_collection_threshold": 0.5, "expandable_segments": True,
                               "roundup_power2_divisions": {"1": 0, "2": 4}},
        "external_annotations": [
            {"stage": stage, "name": name, "device": 0, "time_us": start + time}
            for stage, name, time in notes],
    }


class CppPickler:
    def __init__(self):
        self.out = bytearray(b"\x80\x02")
        self.memo = {}

    def put(self, key):
        index = self.memo[key] = len(self.memo)
        self.out += b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index)

    def known(self, key):
        index = self.memo.get(key)
        if index is None:
            return False
        self.out += b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)
        return True

    def number(self, value):
        if 0 <= value < 256:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 65536:
            self.out += b"M" + struct.pack("<H", value)
        elif -2**31 <= value < 2**31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", value)

    def text(self, value):
        if not self.known(value):
            data = value.encode()
            self.out += b"X" + struct.pack("<I", len(data)) + data
            self.put(value)

    def container(self, value):
        if self.known(id(value)):
            return
        items = [x for pair in value.items() for x in pair] if isinstance(value, dict) else value
        self.out += b"}(" if isinstance(value, dict) else b"]("
        for item in items:
            self.push(item)
        self.out += b"u" if isinstance(value, dict) else b"e"
        self.put(id(value))

    def push(self, value):
        if isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self.number(value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            self.text(value)
        elif isinstance(value, tuple):
            for item in value:
                self.push(item)
            self.out += bytes([0x84 + len(value)])
        else:
            self.container(value)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    for protocol in (2, 4, 5):
        with open(f"{folder}/small-p{protocol}.pickle", "wb") as out:
            pickle.dump(snapshot(), out, protocol=protocol)
    with open(f"{folder}/small-cpp.pickle", "wb") as out:
        pickler = CppPickler()
        pickler.push(snapshot())
        out.write(pickler.out + b".")


if __name__ == "__main__":
    main()
