/* Live memory by allocation site, as areas in proportion. First as the table below has
   it, then at the moment that the map of the heap shows. */
"use strict";
page.view("sites", (figure, runs) => {
    const { make, bytes, count, percent } = page, LINE = 15.36; /* pixels of a line in an area */

    /* What the table has: { by, bytes, items, when }; null: there is none. Numbers beyond 2^53 are
       texts. */
    const tabled = () => {
        const held = runs[0].peak_sites || runs[0].sites || (runs[0].page || {}).held_sizes;
        if (!held || !Number(held.bytes))
            return null;
        const items = held.places.map(p => ({ name: p.place, bytes: Number(p.bytes), blocks: p.blocks }));
        const listed = items.reduce((sum, item) => sum + item.bytes, 0);
        const rest = Number(held.bytes) - listed - Number(held.unknown_bytes || 0);
        if (held.count > items.length && rest > 0)
            items.push({ name: "others", bytes: rest });
        for (const { why, bytes: size } of held.rests)
            items.push({ name: why, bytes: Number(size) });
        const when = held.event === null ? "At the trace peak" : `After event ${count(held.event)}`;
        return { bytes: Number(held.bytes), items, when: [`${when}: ${bytes(Number(held.bytes))} requested, as in the table.`] };
    };

    /* What the map of the heap tells. */
    const told = moment => ({ ...moment, when: [...page.when(`After event ${count(moment.event)}`, moment.ns, moment.phase),
        `: ${bytes(moment.bytes)} allocated by ${moment.strategy}`, moment.device === null ? "" : ` on device ${moment.device}`,
        `, by ${moment.by}, as in the heap map.`] });

    /* Where no table is known, the moment of peak demand of the first strategy that has one. */
    const mapped = () => {
        for (const run of runs.filter(r => r.page && r.page.frames))
            for (const [device, list] of run.page.frames.devices.entries()) {
                const frame = list.find(f => f.reasons.includes("demand"));
                const held = frame && page.frames.held(runs[0], run, page.frames.rowsOf(frame));
                if (held && held.bytes)
                    return told({ strategy: run.strategy.label, device: run.page.frames.devices.length > 1 ? device : null,
                        event: frame.event, ns: frame.ns, phase: frame.phase, ...held });
            }
        return null;
    };

    let shown = tabled() || mapped();
    if (!shown) {
        figure.replaceChildren(make("p", {}, "Nothing is live at that moment."));
        return;
    }

    /* How far the worst area of a row is from a square, if a row of these bytes is `side` long. */
    const worst = (row, sum, side) => Math.max(...row.map(item =>
        Math.max(side * side * item.bytes / (sum * sum), sum * sum / (side * side * item.bytes))));

    /* Rows along the shorter side, each filled while its areas become more like squares. */
    const lay = (list, x, y, w, h) => {
        const places = [];
        for (let at = 0; at < list.length;) {
            const scale = w * h / list.slice(at).reduce((sum, item) => sum + item.bytes, 0);
            const side = Math.min(w, h), row = [];
            let sum = 0;
            for (; at < list.length; at++) {
                const next = sum + list[at].bytes * scale;
                const sized = [...row, { bytes: list[at].bytes * scale, item: list[at] }];
                if (row.length && worst(sized, next, side) > worst(row, sum, side))
                    break;
                row.push(sized[sized.length - 1]);
                sum = next;
            }
            const thick = sum / side;
            let along = 0;
            for (const { bytes: area, item } of row) {
                const length = area / thick;
                places.push(w < h ? [item, x + along, y, length, thick] : [item, x, y + along, thick, length]);
                along += length;
            }
            if (w < h)
                [y, h] = [y + thick, h - thick];
            else
                [x, w] = [x + thick, w - thick];
        }
        return places;
    };

    const caption = make("p", { class: "moment", "aria-live": "polite" });
    const box = make("ul", { class: "areas", "aria-label": "memory of each site" });
    const under = make("p", { class: "under" });
    const say = item => under.replaceChildren(make("b", {}, item.name), `: ${bytes(item.bytes)}, ` +
        percent(item.bytes / shown.bytes) + (item.blocks ? ` in ${count(item.blocks)} blocks` : ""));
    const place = () => lay(shown.items, 0, 0, box.clientWidth, box.clientHeight).forEach(([item, x, y, w, h], i) => Object.assign(
        item.element.style, {
            left: x + "px", top: y + "px", width: Math.max(0, w - 2) + "px", height: Math.max(0, h - 2) + "px",
            background: `var(--a${i % 7})`, borderColor: `var(--c${i % 7})`,
            fontSize: w < 60 || h < 24 ? "0" : "", WebkitLineClamp: Math.max(1, Math.floor((h - 8) / LINE)),
        }));
    const show = what => {
        shown = what;
        shown.items.sort((a, b) => b.bytes - a.bytes);
        for (const item of shown.items)
            item.element = make("li", { tabindex: 0, title: item.name, onmouseover: () => say(item), onfocus: () => say(item) },
                make("b", {}, bytes(item.bytes)), " " + item.name);
        box.replaceChildren(...shown.items.map(item => item.element));
        caption.replaceChildren(...shown.when);
        under.textContent = shown.items.length ? "Point at an area, or go through them by Tab." : "Nothing is live then.";
        place();
    };
    figure.replaceChildren(caption, box, under);
    show(shown);
    page.moment.hear(figure, moment => show(told(moment)));
    page.onSize(box, place);
});
