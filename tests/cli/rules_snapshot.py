"""Writes a PyTorch memory snapshot to stdout that no program recorded: its addresses are computed here, by the public
rules of PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp) and of torch_npu's (NPUCachingAllocator.cpp).

    rules_snapshot.py KIND [STEPS]    KIND is one of the table at the end; STEPS (900) calls of a made-up program
    rules_snapshot.py KIND figures    what the model did, as a line of JSON

The model is written for the tests and shares nothing with tapool: lists that are searched, no trees."""
import json
import pickle
import sys

MIB = 1 << 20
NO_LIMIT = 1 << 62
FRAMES = {"cuda": [("/usr/lib/python3/site-packages/torch/nn/modules/linear.py", "forward"), ("/home/me/train.py", "step")],
          "npu": [("/usr/lib/python3/site-packages/torch_npu/npu/utils.py", "synchronize"), ("/home/me/train.py", "step")],
          "hip": [("??", "c10::hip::HIPCachingAllocator::malloc(void**)"), ("/home/me/train.py", "step")],
          "xpu": [("/usr/lib/python3/site-packages/torch/xpu/memory.py", "empty"), ("/home/me/train.py", "step")],
          "named": [("/home/me/my_torch_npu_port.py", "step")]}


class Block:
    def __init__(self, addr, size, segment):
        self.addr, self.size, self.segment, self.requested = addr, size, segment, 0  # requested 0: free


class Segment:
    def __init__(self, base, size, small, grows):
        self.base, self.small, self.grows = base, small, grows
        self.unmapped = (1 << 40) if grows else 0
        self.blocks = [] if grows else [Block(base, size, self)]


class OutOfMemory(Exception):
    pass


EMPTY = [("/usr/lib/python3/site-packages/torch/cuda/memory.py", "empty_cache"), ("/home/me/train.py", "evaluate")]


class Allocator:
    def __init__(self):
        self.capacity = self.device = NO_LIMIT  # of the program, and what its device has
        self.reserved = self.peak = self.retries = self.failed = 0
        self.frames = None  # of what is done now, where that is no step of the program
        self.extra, self.grain = 0, 0  # of torch_npu: bytes more, and where large requests begin
        self.limit, self.divisions, self.grows, self.unused = NO_LIMIT, 1, False, 20 * MIB
        self.divided = 0  # least size that is rounded to divisions
        self.segments, self.events, self.next_base = [], [], 0x7F0000000000

    def event(self, action, addr, size):
        self.events.append((action, addr, size, self.frames))
        self.reserved += {"segment_alloc": size, "segment_map": size, "segment_free": -size}.get(action, 0)
        self.peak = max(self.peak, self.reserved)

    def count(self, *actions):
        return sum(event[0] in actions for event in self.events)

    def give_back(self):
        """Segments that are free; those that grow are not modelled here."""
        for s in [s for s in self.segments if not s.grows and len(s.blocks) == 1 and not s.blocks[0].requested]:
            self.event("segment_free", s.base, s.blocks[0].size)
            self.segments.remove(s)

    def empty_cache(self):
        self.frames = EMPTY
        self.give_back()
        self.frames = None

    def make_room(self, bytes_, requested):
        """For a segment of a request: cached memory goes back where the driver has too little."""
        if self.reserved + bytes_ > self.capacity:
            self.retries += 1
            self.give_back()
        if self.reserved + bytes_ > self.capacity:
            self.failed += 1
            self.events.append(("oom", self.device - self.reserved, requested, None))
            raise OutOfMemory

    def rounded(self, size):
        size += self.extra
        if size < 512:
            return 512
        d = self.divisions if size >= self.divided else 1
        if d > 1 and size > 512 * d:
            step = (1 << (size.bit_length() - 1)) // d
            return -(-size // step) * step
        return -(-size // 512) * 512

    def reach(self, b):
        return b.size + (b.segment.unmapped if b is b.segment.blocks[-1] else 0)

    def fit(self, small, size):
        found = sorted((b for s in self.segments if s.small == small for b in s.blocks if not b.requested and b.size >= size),
                       key=lambda b: (b.size, b.addr))
        if not found:
            return None
        at = 0
        if found[0].segment.grows and self.grows:
            while found[at].segment.grows and at + 1 < len(found) and self.reach(found[at + 1]) < self.reach(found[at]):
                at += 1
        elif found[0].segment.grows:
            found = [b for b in found if not b.segment.grows]
            if not found:
                return None
        b = found[at]
        if size < self.limit <= b.size or (size >= self.limit and b.size >= size + self.unused):
            return None
        return b

    def grow(self, small, size, requested):
        unit = 2 * MIB if small else 20 * MIB
        if not self.grows:
            bytes_ = unit if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
            self.make_room(bytes_, requested)
            s = Segment(self.next_base, bytes_, small, False)
            self.next_base += bytes_ + 64 * MIB
            self.segments.append(s)
            self.event("segment_alloc", s.base, bytes_)
            return s.blocks[0]
        s = next((s for s in self.segments if s.grows and s.small == small), None)
        if not s:
            s = Segment(self.next_base, 0, small, True)
            self.next_base += 1 << 41
            self.segments.append(s)
        last = s.blocks[-1] if s.blocks and not s.blocks[-1].requested else None
        end = s.blocks[-1].addr + s.blocks[-1].size if s.blocks else s.base
        missing = -(-(size - (last.size if last else 0)) // unit) * unit
        self.event("segment_map", end, missing)
        s.unmapped -= missing
        if not last:
            last = Block(end, 0, s)
            s.blocks.append(last)
        last.size += missing
        return last

    def cut(self, b, size):
        """The block keeps its first bytes, the rest is a free block behind it."""
        rest = Block(b.addr + size, b.size - size, b.segment)
        b.size = size
        b.segment.blocks.insert(b.segment.blocks.index(b) + 1, rest)
        return rest

    def alloc(self, requested):
        size = self.rounded(requested)
        small = size <= MIB
        b = self.fit(small, size) or self.grow(small, size, requested)
        lead = -(b.addr - b.segment.base) % self.grain if self.grain and self.grows and size >= 2 * MIB else 0
        if lead and lead + size <= b.size:
            b = self.cut(b, lead)
        rest = b.size - size
        if rest >= 512 if small or self.grows else size < self.limit and rest > MIB:
            self.cut(b, size)
        b.requested = requested
        self.event("alloc", b.addr, requested)
        return b

    def free(self, b):
        self.event("free_requested", b.addr, b.requested)
        self.event("free_completed", b.addr, b.requested)
        b.requested = 0
        blocks = b.segment.blocks
        i = blocks.index(b)
        for k in (i + 1, i):
            if 0 < k < len(blocks) and not blocks[k].requested and not blocks[k - 1].requested:
                blocks[k - 1].size += blocks[k].size
                del blocks[k]

    def snapshot(self, frames, conf, marks, framed=("segment_free",), members=()):
        """`framed`: the actions with frames, beside those that allocate. `members`: what events of a release have."""
        def listed(stack):
            return [{"filename": f, "line": 7, "name": n} for f, n in stack]

        frames, trace = listed(frames), []
        for i, (action, addr, size, own) in enumerate(self.events):
            event = dict(action=action, size=size, stream=0, time_us=1000000 + i)
            event["device_free" if action == "oom" else "addr"] = addr
            known = framed and (action in framed or action in ("alloc", "segment_alloc", "segment_map", "oom"))
            event.update(members)
            trace.append(dict(event, frames=(listed(own) if own else frames) if known else []))
        segments = []
        for s in self.segments:
            blocks = [dict(address=b.addr, size=b.size, requested_size=b.requested, frames=frames if b.requested else [],
                           state="active_allocated" if b.requested else "inactive") for b in s.blocks]
            segments.append(dict(device=0, stream=0, address=s.base, total_size=sum(b.size for b in s.blocks), frames=[],
                                 segment_type="small" if s.small else "large", is_expandable=s.grows, blocks=blocks))
        annotations = [{"stage": "START", "name": name, "device": 0, "time_us": 1000000 + at} for at, name in marks]
        settings = {} if conf is None else {"PYTORCH_CUDA_ALLOC_CONF": conf, "expandable_segments": self.grows}
        return dict(segments=segments, device_traces=[trace], allocator_settings=settings, external_annotations=annotations)


def program(allocator, steps, changes, marks, calls):
    """Allocates and frees what a generator of pseudo-random numbers says; `changes`: settings from a step on."""
    state, live = 12345, []

    def random(below):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (state >> 33) % below

    for step in range(steps):
        for name, values in changes.get(step, {}).items():
            marks.append((len(allocator.events), name))
            vars(allocator).update(values)
        if calls.get(step):
            getattr(allocator, calls[step])()
        if len(live) > 30 or (live and random(5) < 2):
            allocator.free(live.pop(random(len(live))))
            continue
        kind = random(10)
        size = (1 + random(MIB) if kind < 4 else MIB + random(9 * MIB) if kind < 6 else
                512 * random(4096 * 40) + 10 * MIB if kind < 9 else 512 * (1 + random(8)))
        try:
            live.append(allocator.alloc(size))
        except OutOfMemory:
            pass  # the program goes on without this block


LOAD = {"load": {"limit": 20 * MIB}}
SERVE = {"serve": {"limit": NO_LIMIT}}
ALL = ("segment_free", "free_requested", "free_completed")
OFTEN = {step: "empty_cache" for step in range(60, 900, 60)}
DIVIDED = "roundup_power2_divisions:[8:1,16:1,>:4]"
SHORT = {"capacity": 870 * MIB, "device": 870 * MIB}
NEWER = {"user_metadata": ""}  # from 2.10 on
KINDS = {  # whose frames, whose rules, settings from a step on, the recorded settings; calls by step, actions with frames,
    # members of events
    "cuda": ("cuda", {}, {}, ""),
    "npu": ("npu", {"extra": 32}, {}, None),
    "npu-growing": ("npu", {"extra": 32, "grain": 16384}, {0: {"all": {"grows": True}}}, None),
    "npu-as-cuda": ("cuda", {"extra": 32}, {}, None),
    "cuda-as-npu": ("npu", {}, {}, None),
    "named": ("named", {}, {}, ""),
    "hip": ("hip", {}, {}, ""),
    "xpu": ("xpu", {}, {}, ""),
    "change": ("cuda", {}, {300: LOAD}, ""),
    "changes": ("cuda", {}, {300: LOAD, 600: {"round": {"limit": NO_LIMIT, "divisions": 4}}}, ""),
    "toggle": ("cuda", {}, {200: LOAD, 400: SERVE, 600: LOAD, 750: SERVE}, ""),
    "odd": ("cuda", {}, {300: {"load": {"limit": 37 * MIB, "divisions": 64}}}, ""),
    # before 2.10 '>' holds for the interval before it too
    "older": ("cuda", {"divisions": 4, "divided": 16 * MIB}, {}, DIVIDED),
    "older-as-newer": ("cuda", {"divisions": 4, "divided": 16 * MIB}, {}, DIVIDED, {}, ALL, NEWER),
    "newer": ("cuda", {"divisions": 4, "divided": 32 * MIB}, {}, DIVIDED, {}, ALL, NEWER),
    "newest": ("cuda", {"divisions": 4, "divided": 32 * MIB}, {}, DIVIDED, {}, ALL, dict(NEWER, pool_id=(0, 0))),
    "growing": ("cuda", {}, {300: {"grow": {"grows": True}}, 600: {"fixed": {"grows": False}}}, ""),
    "weights": ("cuda", {}, {100: {"grow": {"grows": True}}, 500: {"fixed": {"grows": False}}}, ""),
    "short": ("cuda", SHORT, {}, "", {}, ALL),
    "short-unframed": ("cuda", SHORT, {}, "", {}, ()),
    "share": ("cuda", dict(SHORT, device=80000 * MIB, capacity=800 * MIB), {}, "", {}, ALL),
    "emptied": ("cuda", {}, {}, "", OFTEN, ALL),
    "emptied-unframed": ("cuda", {}, {}, "", OFTEN, ()),
    "emptied-allocs": ("cuda", {}, {}, "", OFTEN, ("none",)),
    "emptied-short": ("cuda", SHORT, {}, "", OFTEN, ALL),
    "old-growing": ("cuda", {"grows": True}, {}, None, {}, ALL),
    "old-fixed": ("cuda", {}, {}, None, {}, ALL),
}

frames, rules, changes, conf, calls, framed, members = (KINDS[sys.argv[1]] + ({}, ALL, {})[len(KINDS[sys.argv[1]]) - 4:])
how = sys.argv[2] if len(sys.argv) > 2 else "900"
allocator, marks = Allocator(), []
vars(allocator).update(rules)
program(allocator, 900 if how == "figures" else int(how), changes, marks, calls)
if how == "figures":
    print(json.dumps({"taken": allocator.count("segment_alloc", "segment_map"), "peak": allocator.peak,
                      "returned": allocator.count("segment_free"), "retries": allocator.retries,
                      "failed": allocator.failed}))
else:
    sys.stdout.buffer.write(pickle.dumps(allocator.snapshot(FRAMES[frames], conf, marks, framed, members), protocol=4))
