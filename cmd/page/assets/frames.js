/* Frames of the heap, as cmd/page/frames_json.h says how they are written.

       page.frames.rowsOf(frame)             [{ number, ranges, size, pieces }], a piece with its kind,
                                             offset and size; a merged one with `parts` by kind
       page.frames.placeOf(first, event)     where an event came from; null: not known. The first run
                                             of a trace has the places of all (places_json.h)
       page.frames.freedOf(first, event)     where that was selected which an event frees; null: it
                                             frees nothing, or that is not known
       page.frames.bornOf(run, event)        the event that allocated what rows know by this number,
                                             which is that event but in a member `born`; 0: none did
       page.frames.held(first, run, rows)    who holds what is live there
       page.frames.reader(text)              reads numbers from a text of base 64 */
"use strict";
page.frames = (() => {
    const KINDS = ["live", "cached", "free", "dead", "internal"], MIXED = KINDS.length;

    /* A reader of the numbers in a text of base 64. */
    const reader = text => {
        const data = Uint8Array.from(atob(text), c => c.charCodeAt(0));
        let i = 0;
        const number = () => {
            let value = 0, weight = 1, byte;
            do {
                byte = data[i++];
                value += (byte & 127) * weight;
                weight *= 128;
            } while (byte > 127);
            return value;
        };
        const signed = () => {
            const n = number();
            return n % 2 ? -(n + 1) / 2 : n / 2;
        };
        return { more: () => i < data.length, byte: () => data[i++], number, signed };
    };

    const pieceOf = (r, head, unit, state) => {
        const kind = (head & 7) - 1, size = r.number() * unit, gap = head & 8 ? r.number() * unit : 0;
        const piece = { kind, size, offset: state.offset + gap, parts: null, pieces: 1, event: null };
        let live = kind === 0;
        state.offset += gap + size;
        if (kind === MIXED) {
            piece.pieces = r.number();
            const kinds = r.number();
            piece.parts = KINDS.map((name, k) => kinds & 1 << k ? r.number() * unit : 0);
            live = kinds & 1;
        }
        if (live)
            piece.event = state.event += r.signed();
        return piece;
    };

    const rowsOf = frame => {
        const r = reader(frame.rows), list = [], state = { event: 0, offset: 0 };
        for (let first = 0; r.more();) {
            const row = { number: first += r.number(), ranges: r.number() + 1, size: r.number() * frame.unit, pieces: [] };
            state.offset = 0;
            for (let head; (head = r.byte());)
                row.pieces.push(pieceOf(r, head, frame.unit, state));
            list.push(row);
        }
        return list;
    };

    /* Numbers that ascend, each with a value, from a member of an object. */
    const known = new WeakMap();
    const tableOf = (of, name) => {
        const tables = known.get(of) || {};
        if (!tables[name]) {
            const map = tables[name] = new Map(), r = reader(of[name] || "");
            for (let number = 0; r.more();)
                map.set(number += r.number(), r.number());
            known.set(of, tables);
        }
        return tables[name];
    };
    const NONE = { texts: [] };
    const placesOf = first => first.page.places || NONE;
    const textOf = (first, event, freed) => {
        const places = placesOf(first), value = tableOf(places, "events").get(event);
        return value === undefined || value % 2 !== freed ? null : places.texts[Math.floor(value / 2)] || "one of many other places";
    };
    const placeOf = (first, event) => textOf(first, event, 0);
    const freedOf = (first, event) => textOf(first, event, 1);
    const bornOf = (run, event) => run.page.frames.born === undefined ? event : tableOf(run.page.frames, "born").get(event) || 0;

    /* "512 B to 1 KiB", where the upper end is not in it; as in the table of sites by size. */
    const sizeName = size => {
        const low = 2 ** Math.floor(Math.log2(Math.max(1, size)));
        return `${page.bytes(low)} to ${page.bytes(2 * low)}`;
    };
    const MOST = 20;

    /* What is live in rows, by place, or by size where no place is known; the largest first. What is
       merged has blocks of several. */
    const held = (first, run, rows) => {
        const by = placesOf(first).texts.length ? "place" : "size", groups = new Map();
        const add = (name, size, blocks) => {
            const group = groups.get(name) || { name, bytes: 0, blocks: 0 };
            groups.set(name, { name, bytes: group.bytes + size, blocks: blocks && group.blocks + blocks });
        };
        for (const piece of rows.flatMap(row => row.pieces).filter(p => p.parts ? p.parts[0] : p.kind === 0))
            if (piece.parts)
                add("small blocks, not told apart", piece.parts[0], 0);
            else
                add(by === "size" ? sizeName(piece.size) : placeOf(first, piece.event)
                    || (bornOf(run, piece.event) ? "not known" : "initial heap"), piece.size, 1);
        const items = [...groups.values()].sort((a, b) => b.bytes - a.bytes), rest = items.splice(MOST);
        if (rest.length)
            items.push({ name: "others", bytes: rest.reduce((sum, item) => sum + item.bytes, 0) });
        return { by, items, bytes: items.reduce((sum, item) => sum + item.bytes, 0) };
    };

    return { KINDS, reader, rowsOf, placesOf, placeOf, freedOf, bornOf, held };
})();
