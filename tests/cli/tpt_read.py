"""A second reader of .tpt, written from traces/README.md and nothing else.

usage: tpt_read.py FILE

Decodes every record, checks every checksum and sum that the page names, and prints the SHA-256 of
the instructions, which must be the one in FACT. Blocks packed with zstd it cannot unpack.
"""
import hashlib
import struct
import sys

(ALLOC, FREE, REALLOC, RETAIN, RELEASE, ADOPT, USE, SYNC, RESET, TRIM, THREAD_END, MARK, NOTE,
 IDLE, POOL) = range(15)
WHOLE = 15
OBJECT = (FREE, REALLOC, RETAIN, RELEASE, USE)
SLOTS_SAID = 2


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = list(crc_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def number(data, at):
    if data[at] == 0:
        return int.from_bytes(data[at + 1:at + 9], "little"), at + 9
    size = (data[at] & -data[at]).bit_length()
    return int.from_bytes(data[at:at + size], "little") >> size, at + size


class Object:
    def __init__(self, size, align, stream, device):
        self.size, self.align, self.stream, self.device = size, align, stream, device
        self.references = 1


class Program:
    def __init__(self):
        self.objects, self.free, self.used = {}, [], 0
        self.sha, self.ops, self.initial_heap = hashlib.sha256(), [0] * 15, 0
        self.time = self.event = 0
        self.pool, self.started = None, False

    def take_slot(self, said):
        if said is not None:
            slot = said
        elif self.free:
            slot = self.free.pop()
        else:
            slot = self.used
        assert slot <= self.used and slot not in self.objects
        self.used = max(self.used, slot + 1)
        return slot

    def end(self, slot):
        assert self.objects[slot].references == 1
        del self.objects[slot]
        self.free.append(slot)

    def reset(self, device):
        self.objects = {s: o for s, o in self.objects.items() if o.device != device}


class Block:
    """The records of one PROL or DATA block."""

    def __init__(self, program, data, tick, flags, event):
        self.p, self.data, self.at, self.tick, self.flags = program, data, 0, tick, flags
        self.thread = self.stream = self.device = self.align = 0
        self.ring, self.places, self.before, self.event = {}, 0, None, event - 1

    def n(self):
        value, self.at = number(self.data, self.at)
        return value

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def gap(self, width):
        size = (0, 1, 2, 4)[width]
        self.at += size
        value = int.from_bytes(self.data[self.at - size:self.at], "little")
        return value if width == 3 else value * self.tick

    def context(self, op):
        """Stream and alignment that are for this record alone."""
        bits, stream, align, step = self.byte(), None, None, 1
        assert 0 < bits < 32
        if bits & 1:
            self.thread = self.n()
        if bits & 2:
            stream = self.n()
        if bits & 4:
            self.device = self.n()
        if bits & 8:
            align = self.n()
        if bits & 16:
            step = self.n()
            assert step != 1
        if op not in OBJECT:
            self.stream = self.stream if stream is None else stream
            self.align = self.align if align is None else align
        return stream, align, step

    def size(self, special, align):
        if not special:
            return self.ring[self.byte()]
        pair = self.n(), align
        assert 1 <= pair[0] <= 1 << 48
        self.ring[self.places % 256] = pair
        self.places += 1
        return pair

    def record(self):
        head = self.byte()
        op, special, width = head & 15, head & 128, head >> 4 & 3
        gap = self.gap(width)
        stream, align, step = self.context(op) if head & 64 else (None, None, 1)
        self.event += step
        if op == WHOLE:
            return self.whole()
        thread = self.thread if op != IDLE else 0
        if op == IDLE and not width:
            gap = 0xFFFFFFFF
        members = self.members(op, special, stream, align)
        return (op, members[0], thread, *members[1:4], gap, members[4])

    def members(self, op, special, stream, align):
        """align, stream, device, slot, size"""
        if op in (ALLOC, ADOPT):
            slot = self.p.take_slot(self.n() if self.flags & SLOTS_SAID else None)
            size, align = self.size(special, self.align)
            self.p.objects[slot] = Object(size, align, self.stream, self.device)
            self.before = slot
            return align, self.stream, self.device, slot, size
        if op in OBJECT:
            return self.on_object(op, special, stream, align)
        if op == SYNC:
            return 0, 65535 if special else self.stream, self.device, 0, 0
        if op == RESET:
            assert self.flags & SLOTS_SAID
            self.p.reset(self.device)
            return 0, 0, self.device, 0, 0
        if op == TRIM:
            return 0, 0, self.device, 0, self.n() if special else 0
        if op == POOL:
            assert special
            return 0, 0, self.device, 0, self.n()
        if op == MARK:
            return 0, 0, 0, self.n(), 0
        if op == NOTE:
            return self.note(special)
        assert op in (THREAD_END, IDLE) and not special
        return 0, 0, 0, 0, 0

    def on_object(self, op, special, stream, align):
        slot = self.before if special and op != REALLOC else self.n()
        self.before, o = slot, self.p.objects[slot]
        size = new_align = 0
        if op == REALLOC:
            o.size, o.align = self.size(special, o.align if align is None else align)
        if op in (REALLOC, FREE):
            size, new_align = o.size, o.align
        if op == FREE:
            self.p.end(slot)
        o.references += (op == RETAIN) - (op == RELEASE)
        assert o.references > 0
        return new_align, o.stream if stream is None else stream, o.device, slot, size

    def note(self, special):
        what = self.byte()
        about = self.before if special else None
        if what & 64:
            about = self.n()
        size = self.p.objects[about].size if about in self.p.objects else 0
        if what & 128:
            size = self.n()
        if about is not None:
            self.before = about
        return what & 63, self.stream, self.device, about or 0, size

    def whole(self):
        insn = struct.unpack_from("<BBHHHIIQ", self.data, self.at)
        op, device, slot = insn[0], insn[4], insn[5]
        self.at += 24
        if op == RESET:
            self.p.reset(device)
        if op in OBJECT:
            self.p.objects[slot].references += (op == RETAIN) - (op == RELEASE)
        return insn

    def replay(self, count, initial_heap):
        if self.p.initial_heap and not initial_heap and not self.p.started:
            self.p.sha.update(b"\xff" + bytes(23))
        self.p.started = not initial_heap
        for _ in range(count):
            insn, pool = self.record(), self.p.pool
            here = insn[2], insn[4], self.event
            assert pool is None or (insn[0] == ALLOC and here == pool)
            self.p.pool = here if insn[0] == POOL else None
            self.p.sha.update(struct.pack("<BBHHHIIQ", *insn))
            self.p.time += insn[6]
            self.p.initial_heap += initial_heap
            self.p.ops[insn[0]] += not initial_heap
        assert self.at == len(self.data)
        self.p.event = self.event


def blocks(data):
    at, index = 32, 0
    while at < len(data):
        (kind, flags, count, tick, event, time, stored, _, number_of_it,
         crc) = struct.unpack_from("<4sIIIQQIIII", data, at)
        payload = data[at + 48:at + 48 + stored]
        assert len(payload) == stored and number_of_it == index
        assert crc32c(data[at:at + 44] + bytes(4) + payload) == crc
        yield at, kind, flags, count, tick, event, time, payload
        at, index = at + 48 + stored, index + 1


def check_facts(p, payload):
    words = struct.unpack("<%dQ" % (len(payload) // 8), payload)
    names = ("kind time_known devices slots threads streams marks events initial_heap instructions "
             "operations objects live_at_end live_at_end_bytes duration_ns "
             "recorded_threads").split()
    facts = dict(zip(names, words[4:20]))
    ops = 15 if p.ops[POOL] else 14
    assert words[20] == ops and list(words[21:21 + ops]) == p.ops[:ops]
    assert facts["initial_heap"] == p.initial_heap and facts["instructions"] == sum(p.ops)
    assert facts["slots"] == p.used and facts["live_at_end"] == len(p.objects)
    assert facts["live_at_end_bytes"] == sum(o.size for o in p.objects.values())
    assert facts["duration_ns"] == p.time and facts["events"] >= p.event
    assert payload[:32] == p.sha.digest()
    repairs = 21 + ops + 5 * facts["devices"]
    assert len(words) == repairs + 1 + 4 * words[repairs]


def main(path):
    data = open(path, "rb").read()
    magic, version, flags, _, crc = struct.unpack_from("<8sHHB15xI", data)
    assert magic == b"\x89TPT\r\n\x1a\n" and version == 1 and flags == 0 and crc32c(data[:28]) == crc
    p, facts_at = Program(), None
    for at, kind, flags, count, tick, event, time, payload in blocks(data):
        if kind in (b"PROL", b"DATA"):
            assert not flags & 1 and time == p.time
            Block(p, payload, tick, flags, event).replay(count, kind == b"PROL")
        elif kind == b"FACT":
            facts_at = at
            check_facts(p, payload)
        elif kind == b"END ":
            assert struct.unpack_from("<QxxxxxxxxQ", payload) == (facts_at, sum(p.ops))
            assert payload[24:] == b"TPT-END\n" and at + 80 == len(data)
    print(p.sha.hexdigest())


main(sys.argv[1])
