"""Writes a PyTorch memory snapshot of a small allocator that is simulated here, to a file, and to stdout
what the largest free piece of its segments was when most was requested.

    holes.py SEED FILE [broken]    broken: the segments do not lie where the blocks in them do
"""
import pickle
import random
import sys

PAGE, GRAIN = 2 << 20, 512
rng = random.Random(int(sys.argv[1]))
segments = {}   # address: size; they touch each other
mapped = set()  # pages of one expandable segment, by address
live = {}       # address: bytes requested
trace, top, truth = [], 0, None
PLAIN, EXPANDABLE = 0x7f0000000000, 0x7e0000000000


def rounded(n):
    return -(-n // GRAIN) * GRAIN


def spans():
    """[begin, end, expandable] of what holds pieces that do not reach beyond it."""
    out = [[a, a + n, False] for a, n in sorted(segments.items())]
    for page in sorted(mapped):
        if out and out[-1][2] and out[-1][1] == page:
            out[-1][1] += PAGE
        else:
            out.append([page, page + PAGE, True])
    return out


def holes(span):
    at = span[0]
    for address in sorted(a for a in live if span[0] <= a < span[1]):
        if address > at:
            yield at, address
        at = address + rounded(live[address])
    if span[1] > at:
        yield at, span[1]


def note(action, address, size):
    trace.append(dict(action=action, addr=address, size=size, stream=0, time_us=1000 + len(trace), frames=[]))


def allocate():
    size = rng.choice([rng.randrange(1, 5000), rng.randrange(1, 700000)])
    fitting = [h for s in spans() for h in holes(s) if h[1] - h[0] >= rounded(size)]
    if fitting:
        address = rng.choice(fitting)[0]
        live[address] = size
        note("alloc", address, size)


def release():
    if live:
        address = rng.choice(sorted(live))
        note("free_requested", address, live[address])
        note("free_completed", address, live.pop(address))


def is_idle(begin, end):
    return not any(a < end and a + rounded(n) > begin for a, n in live.items())


def reserve():
    if rng.random() < 0.5:
        address = rng.choice([PLAIN + i * 2 * PAGE for i in range(8)])
        size = rng.choice([PAGE, 2 * PAGE])
        if address not in segments:
            segments[address] = size
            note("segment_alloc", address, size)
        elif is_idle(address, address + segments[address]):
            note("segment_free", address, segments.pop(address))
        return
    begin = EXPANDABLE + rng.randrange(8) * PAGE
    pages = [begin, begin + PAGE][:rng.randrange(1, 3)]
    if not mapped & set(pages):
        mapped.update(pages)
        note("segment_map", begin, len(pages) * PAGE)
    elif mapped >= set(pages) and is_idle(begin, begin + len(pages) * PAGE):
        mapped.difference_update(pages)
        note("segment_unmap", begin, len(pages) * PAGE)


def step():
    global top, truth
    rng.choices([allocate, release, reserve], [6, 5, 2])[0]()
    if sum(live.values()) > top:
        top = sum(live.values())
        truth = max((b - a for s in spans() for a, b in holes(s)), default=0)


reserve()
for _ in range(60):
    step()
trace.clear()  # the recording begins
top, truth = 0, None
top = sum(live.values())
truth = max((b - a for s in spans() for a, b in holes(s)), default=0)
while len(trace) < 400:
    step()


def blocks(span):
    found = [(a, rounded(live[a]), live[a], "active_allocated") for a in live if span[0] <= a < span[1]]
    found += [(a, b - a, 0, "inactive") for a, b in holes(span)]
    return [dict(address=a, size=n, requested_size=asked, state=state) for a, n, asked, state in sorted(found)]


final = [dict(device=0, stream=0, segment_type="large", is_expandable=s[2], address=s[0], total_size=s[1] - s[0],
              blocks=blocks(s)) for s in spans()]
if "broken" in sys.argv:
    for segment in final:
        segment["address"] += 1 << 40
with open(sys.argv[2], "wb") as file:
    pickle.dump(dict(segments=final, device_traces=[trace]), file)
print(truth)
