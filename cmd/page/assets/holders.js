/* Who holds the memory, as areas: the larger one is, the more it holds. */
"use strict";
page.view("holders", (figure, runs) => {
    const { make, bytes } = page;
    const held = runs[0].peak_holders || runs[0].holders;
    if (!held || !held.bytes)
        return;
    /* Numbers beyond 2^53 are texts. */
    const all = Number(held.bytes), unknown = Number(held.unknown_bytes || 0);
    const items = held.places.map(p => ({ name: p.place, bytes: Number(p.bytes), blocks: p.blocks }));
    const listed = items.reduce((sum, item) => sum + item.bytes, 0);
    const rest = all - listed - unknown;
    if (held.count > items.length && rest > 0)
        items.push({ name: "others", bytes: rest });
    for (const { why, bytes: size } of held.rests)
        items.push({ name: why, bytes: Number(size) });
    items.sort((a, b) => b.bytes - a.bytes);

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

    const box = make("ul", { class: "areas", "aria-label": "what each place holds" });
    const under = make("p", { class: "under" }, "Point at an area, or go through them by Tab.");
    const say = item => under.replaceChildren(make("b", {}, item.name), `: ${bytes(item.bytes)}, ` +
        `${(100 * item.bytes / all).toPrecision(3)} %` + (item.blocks ? ` in ${page.count(item.blocks)} blocks` : ""));
    items.forEach(item => {
        item.element = make("li", { tabindex: 0, onmouseover: () => say(item), onfocus: () => say(item) },
            make("b", {}, bytes(item.bytes)), " " + item.name);
        box.append(item.element);
    });
    const show = () => {
        const width = box.clientWidth, height = box.clientHeight;
        lay(items, 0, 0, width, height).forEach(([item, x, y, w, h], i) => Object.assign(item.element.style, {
            left: x + "px", top: y + "px", width: Math.max(0, w - 2) + "px", height: Math.max(0, h - 2) + "px",
            background: `color-mix(in srgb, var(--c${i % 7}) 18%, var(--paper))`, borderColor: `var(--c${i % 7})`,
            fontSize: w < 60 || h < 24 ? "0" : "",
        }));
    };
    figure.replaceChildren(box, under);
    new ResizeObserver(show).observe(box);
});
