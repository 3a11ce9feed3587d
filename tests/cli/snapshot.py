"""Writes a PyTorch memory snapshot, small and made by hand, or another pickle, to stdout.

    snapshot.py p2 | p4 | p5    of that protocol: 9 events, two blocks that were live before, an out of memory
    snapshot.py state           one of a program that was not recording: segments, no events
    snapshot.py spare           p4, with a segment of device 3, of which there is no event
    snapshot.py model           a pickle that runs code when Python loads it, as a saved model does
    snapshot.py other           data that are no snapshot
    snapshot.py left-out        one with include_traces=False: no list of events for any device
    snapshot.py framed          one without events whose blocks have stack frames
    snapshot.py segments        what torch.cuda.memory_snapshot() gives: a list of segments
    snapshot.py pinned          pinned memory of the host alone (record_cuda=False): 20.4 GiB take 32, a block is used
                                again, and the cache is emptied. By the public rules of CachingHostAllocator: powers
                                of two, no splitting
    snapshot.py pinned-lists    the same with its events in a list of lists
    snapshot.py both            p4 with it
    snapshot.py labelled        metadata by the rules of torch.cuda.memory._set_memory_metadata and _annotate_memory:
                                each event has the text that was set, most have ""; an annotation has its block's address
    snapshot.py labelled-both   the events of labelled and of pinned-lists (tests/fuzz/corpus/pytorch/host_and_metadata)
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
def pinned_events():
    """Events and blocks at the end, as the allocator makes them from these requests."""
    mib, at, free, live, events, now = 1 << 20, [BASE], {}, {}, [], [1000000]
    def add(action, addr, size):
        now[0] += 100
        events.append(dict(action=action, addr=addr, size=size, stream=0, time_us=now[0],
                           frames=[{"filename": "/home/me/load.py", "line": 5, "name": "pin"}]))
    def alloc(name, size):
        room = 1 << (size - 1).bit_length()
        if not free.get(room):
            add("segment_alloc", at[0], room)
            free.setdefault(room, []).append(at[0])
            at[0] += room
        live[name] = (free[room].pop(), size, room)
        add("alloc", live[name][0], size)
    def release(name):
        addr, size, room = live.pop(name)
        add("free_requested", addr, size)
        add("free_completed", addr, size)
        free[room].append(addr)
    alloc("cache", 21904333210)
    for i in range(4):
        alloc("a", 3 * mib + i)
        alloc("b", 70 * mib)
        release("a")
        release("b")
    for room in sorted(free):
        for addr in free.pop(room):
            add("segment_free", addr, room)
    alloc("last", 5 * mib)
    return events, [dict(common, device=-1, segment_type="large", address=addr, total_size=room, allocated_size=room,
                         active_size=room, requested_size=size,
                         blocks=[dict(address=addr, size=room, requested_size=size, state="active_allocated", frames=[])])
                    for addr, size, room in live.values()]

def labelled_events():
    def at(action, addr, size, t, user="", internal=None):
        e = dict(entry(action, BASE + addr, size, t), user_metadata=user, pool_id=(0, 0))
        return e if internal is None else dict(e, internal_metadata=internal)
    return [at("segment_alloc", 0, 2097152, 0, "weights"), at("alloc", 0, 1024, 1, "weights"),
            at("alloc", 1024, 512, 2, "weights"), at("alloc", 1536, 4096, 3, "activations"),
            at("annotate", 1536, 4096, 4, "saved for backward"), at("alloc", 5632, 2048, 5),
            at("alloc", 7680, 512, 6, "", "mallocWithAddress"), at("annotate", 7680, 512, 7, "x" * 300),
            at("alloc", 8192, 8192, 8, "freed"), at("annotate", 8192, 8192, 9, "of a block that is freed"),
            at("free_requested", 8192, 8192, 10), at("free_completed", 8192, 8192, 10),
            at("alloc", 8192, 1000, 11, "again"), at("annotate", 65536, 512, 12, "of no block")]

pinned_trace, pinned_segments = pinned_events()
pinned = dict(segments=[], device_traces=[[]], allocator_settings={"PYTORCH_ALLOC_CONF": ""}, external_annotations=[],
              host_segments=pinned_segments, host_traces=pinned_trace)
framed = dict(segments[0], blocks=[dict(b, frames=trace[0]["frames"]) for b in blocks])
kinds = {"labelled": (dict(whole, segments=[], device_traces=[labelled_events()]), 4), "left-out": (dict(whole, device_traces=[]), 4), "framed": (dict(whole, segments=[framed], device_traces=[[]]), 4),
         "segments": (segments, 4), "pinned": (pinned, 4), "pinned-lists": (dict(pinned, host_traces=[pinned_trace]), 2),
         "labelled-both": (dict(pinned, device_traces=[labelled_events()], host_traces=[pinned_trace]), 4),
         "both": (dict(whole, host_segments=pinned_segments, host_traces=pinned_trace), 4), "spare": (dict(whole, segments=[*segments, spare]), 4), "p2": (whole, 2), "p4": (whole, 4), "p5": (whole, 5), "state": (dict(whole, device_traces=[[]]), 4),
         "other": ({"weights": [1, 2, 3]}, 4), "model": (collections.OrderedDict(layer=1), 2)}
sys.stdout.buffer.write(pickle.dumps(kinds[sys.argv[1]][0], protocol=kinds[sys.argv[1]][1]))
