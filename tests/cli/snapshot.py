"""Writes a PyTorch memory snapshot, small and made by hand, or another pickle, to stdout.

    snapshot.py p2 | p4 | p5    of that protocol: 9 events, two blocks that were live before, an out of memory
    snapshot.py state           one of a program that was not recording: segments, no events
    snapshot.py spare           p4, with a segment of device 3, of which there is no event
    snapshot.py model           a pickle that runs code when Python loads it, as a saved model does
    snapshot.py other           data that are no snapshot
"""
import collections
import pickle
import sys

BASE = 0x7f0000000000

def entry(action, addr, size, t):
    frames = [{"filename": "/home/me/train.py", "line": 7, "name": "step"}]
    return dict(action=action, addr=addr, size=size, stream=0, time_us=1000000 + t, frames=frames)

def block(offset, size, requested, state):
    return dict(address=BASE + offset, size=size, requested_size=requested, state=state, frames=[])

trace = [entry("segment_alloc", BASE + 4194304, 2097152, 0), entry("alloc", BASE, 512, 1),
         entry("alloc", BASE + 512, 1000, 2), entry("free_requested", BASE, 512, 3),
         entry("free_completed", BASE, 512, 5), entry("free_requested", BASE + 1536, 300, 6),
         entry("free_completed", BASE + 1536, 300, 6),
         dict(action="oom", device_free=5242880, size=20971520, stream=0, time_us=1000009,
              frames=[{"filename": "/home/me/train.py", "line": 7, "name": "step"}]),
         entry("snapshot", 0, 1024, 10)]
blocks = [block(0, 512, 512, "inactive"), block(512, 1024, 1000, "active_allocated"),
          block(1536, 512, 300, "inactive"), block(2048, 512, 77, "active_allocated"),
          block(2560, 2097152 - 2560, 0, "inactive")]
common = dict(device=0, stream=0, segment_type="small", segment_pool_id=(0, 0), is_expandable=False, frames=[])
segments = [dict(common, address=BASE, total_size=2097152, allocated_size=1536, active_size=1536,
                 requested_size=1077, blocks=blocks),
            dict(common, address=BASE + 4194304, total_size=2097152, allocated_size=0, active_size=0,
                 requested_size=0, blocks=[block(4194304, 2097152, 0, "inactive")])]
settings = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "max_split_size": 67108864,
            "garbage_collection_threshold": 0.0, "expandable_segments": False,
            "roundup_power2_divisions": {"1": 0}}
whole = dict(segments=segments, device_traces=[trace], allocator_settings=settings, external_annotations=[])
spare = dict(segments[1], device=3, address=BASE + 8388608, blocks=[block(8388608, 2097152, 0, "inactive")])
kinds = {"spare": (dict(whole, segments=[*segments, spare]), 4), "p2": (whole, 2), "p4": (whole, 4), "p5": (whole, 5), "state": (dict(whole, device_traces=[[]]), 4),
         "other": ({"weights": [1, 2, 3]}, 4), "model": (collections.OrderedDict(layer=1), 2)}
sys.stdout.buffer.write(pickle.dumps(kinds[sys.argv[1]][0], protocol=kinds[sys.argv[1]][1]))
