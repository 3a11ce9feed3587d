/* Settings of an allocator by what they cost: driver calls to the right, memory upwards.

       peak |        o            a dot for each pair of figures, a square on the front, which a
            |  [#]---.            line joins; a diamond for what is compared with, a ring for what
            |        '--[#]       PyTorch did; a cross where requests fail
            | - - - - - - - -     what the program needs, the best packing, what the device has
            +----------------
              driver calls

   The data is tapool.tune/2. Arrows go from point to point. */
"use strict";
page.view("trade", (figure, data) => {
    const { make, svg: part, bytes, count } = page;
    const LEFT = 84, RIGHT = 16, TOP = 16, BOTTOM = 44, SIZE = 6;

    /* ---- points ---- */

    const nameOf = s => (s.setting || "defaults") + (s.recorded ? " (as recorded)" : "");
    const points = [];
    const add = (calls, peak, what) => {
        let point = points.find(p => p.calls === calls && p.peak === peak && p.did === !!what.did && p.fails === !!what.fails);
        if (!point)
            points.push(point = { calls, peak, names: [], did: !!what.did, fails: !!what.fails, front: false, base: false, best: false });
        point.front = point.front || !!what.front;
        point.base = point.base || !!what.base;
        point.best = point.best || !!what.best;
        what.best || what.base ? point.names.unshift(what.name) : point.names.push(what.name);
    };
    data.settings.forEach((s, i) => s.refused === null && add(Number(s.driver_calls), Number(s.peak_reserved_bytes), {
        name: nameOf(s), fails: Number(s.failed_allocations) > 0, front: s.on_front,
        base: i === data.answer.compared_with, best: i === data.answer.best,
    }));
    const did = data.files.map(f => f.recorded);
    if (did.every(Boolean))
        add(did.reduce((sum, f) => sum + Number(f.driver_calls), 0), Math.max(...did.map(f => Number(f.peak_reserved_bytes))),
            { name: "as recorded by PyTorch", did: true });
    points.sort((a, b) => a.calls - b.calls || b.peak - a.peak);

    /* A level far above all points would press them together: it is said, and not drawn. */
    const top = 1.3 * Math.max(...points.map(p => p.peak)), capacities = [...new Set(data.files.map(f => Number(f.capacity_bytes)))];
    const levels = [["requested", Number(data.lower_bound_bytes)], ["best packing", Number(data.best_packing_bytes)],
        ["the device has", capacities.length === 1 ? capacities[0] : 0]]
        .filter(level => level[1]).map(([name, value], i) => ({ text: `${name} ${bytes(value)}`, value, dash: [6, 4, 2][i] + " 4", drawn: value < top }));

    /* ---- scales ---- */

    const all = [...points.map(p => p.peak), ...levels.filter(level => level.drawn).map(level => level.value)];
    const span = (low, high) => {
        const more = (high - low || high || 1) * 0.08;
        return [low - more, high + more];
    };
    const [low, high] = span(Math.min(...all), Math.max(...all));
    /* Settings are what is chosen from: what PyTorch did lies on the edge where its calls are not among
       theirs, as those of a recording that began late. */
    const replayed = points.filter(p => !p.did), chosen = replayed.length ? replayed : points;
    const widest = Math.max(...chosen.map(p => p.calls)), least = Math.min(...chosen.map(p => p.calls));
    const isBeyond = p => p.calls < least || p.calls > widest;
    /* Calls differ by orders of magnitude where a setting takes and gives back all the time. */
    const logs = widest > 20 * Math.max(1, least);
    const along = calls => logs ? Math.log10(calls + 1) : calls;
    const [first, last] = span(along(least), along(widest));

    const callTicks = pixels => {
        if (!logs)
            return page.ticks.events(first, last, pixels).map(tick => tick.v);
        const list = [];
        for (let v = 1; along(v) <= last; v *= 10)
            if (along(v) >= first)
                list.push(v);
        return list;
    };

    /* ---- drawing ---- */

    const board = make("div", { class: "scatter", tabindex: 0, role: "application", "aria-roledescription": "chart",
        "aria-label": figure.getAttribute("aria-label") });
    const under = make("p", { class: "under", "aria-live": "polite" }, "Point at a setting, or go through them by left and right.");
    const sample = shape => part("svg", { width: 20, height: 16, "aria-hidden": "true" }, shape);
    let at = -1, shapes = [];

    const shapeOf = (p, x, y) => {
        const stroke = "var(--ink)", fill = p.fails ? "none" : p.best ? "var(--c2)" : p.front ? "var(--c0)" : "var(--soft)";
        if (p.did)
            return part("circle", { cx: x, cy: y, r: SIZE + 1, style: "fill: none; stroke: var(--c6); stroke-width: 3" });
        if (p.fails)
            return part("path", { d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10`, style: "stroke: var(--bad); stroke-width: 2; fill: none" });
        if (p.base && !p.best)
            return part("path", { d: `M${x} ${y - 8}l8 8l-8 8l-8 -8z`, style: `fill: var(--c1); stroke: ${stroke}` });
        if (p.front || p.best)
            return part("rect", { x: x - SIZE, y: y - SIZE, width: 2 * SIZE, height: 2 * SIZE, style: `fill: ${fill}; stroke: ${stroke}; stroke-width: ${p.best ? 2 : 1}` });
        return part("circle", { cx: x, cy: y, r: 4, style: `fill: ${fill}` });
    };

    /* A label goes beside its point where nothing else is; else there is none. */
    const place = (taken, text, x, y, width, height) => {
        const wide = 7 * text.length, tall = 14;
        for (const [left, top] of [[x + 11, y - 7], [x - 11 - wide, y - 7], [x - wide / 2, y - 26], [x - wide / 2, y + 12]]) {
            const inside = left >= LEFT && left + wide <= width && top >= 0 && top + tall <= height - BOTTOM;
            if (inside && taken.every(t => left + wide < t[0] || left > t[0] + t[2] || top + tall < t[1] || top > t[1] + t[3])) {
                taken.push([left, top, wide, tall]);
                return part("text", { x: left, y: top + 11 }, text);
            }
        }
        return null;
    };
    const labelOf = (p, most) => {
        const text = p.names[0] + (isBeyond(p) ? `: ${count(p.calls)} calls` : "");
        return text.length > most ? text.slice(0, most - 1) + "\u2026" : text;
    };

    const draw = () => {
        const width = Math.max(280, board.clientWidth), height = Math.max(260, Math.min(460, width * 0.5));
        const tickAt = calls => LEFT + (along(calls) - first) / (last - first) * (width - LEFT - RIGHT);
        const X = calls => Math.max(LEFT, Math.min(width - RIGHT, tickAt(calls)));
        const Y = peak => TOP + (high - peak) / (high - low) * (height - TOP - BOTTOM);
        const svg = part("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
        const line = (x1, y1, x2, y2, style) => svg.append(part("line", { x1, y1, x2, y2, style }));
        const taken = points.map(p => [X(p.calls) - 8, Y(p.peak) - 8, 16, 16]);
        for (const tick of page.ticks.bytes(low, high, height - TOP - BOTTOM)) {
            line(LEFT, Y(tick.v), width - RIGHT, Y(tick.v), "stroke: var(--rule); stroke-width: 0.5");
            svg.append(part("text", { x: LEFT - 6, y: Y(tick.v) + 4, "text-anchor": "end" }, tick.label));
        }
        for (const calls of callTicks(width - LEFT - RIGHT)) {
            line(tickAt(calls), TOP, tickAt(calls), height - BOTTOM, "stroke: var(--rule); stroke-width: 0.5");
            svg.append(part("text", { x: tickAt(calls), y: height - BOTTOM + 16, "text-anchor": "middle" }, count(calls)));
        }
        svg.append(part("text", { x: (LEFT + width) / 2, y: height - 6, "text-anchor": "middle" }, "driver calls" + (logs ? ", logarithmic" : "")));
        const said = [];
        taken.push(...levels.filter(level => level.drawn).map(level => [LEFT, Y(level.value) - 1, width, 2]));
        for (const { text, value, dash } of levels.filter(level => level.drawn)) {
            line(LEFT, Y(value), width - RIGHT, Y(value), `stroke: var(--bad); stroke-dasharray: ${dash}`);
            const wide = 7 * text.length, free = (x, y) => taken.every(t => x + wide < t[0] || x > t[0] + t[2] || y + 14 < t[1] || y > t[1] + t[3]);
            const found = [[width - RIGHT - wide, Y(value) - 17], [width - RIGHT - wide, Y(value) + 3], [LEFT + 4, Y(value) - 17], [LEFT + 4, Y(value) + 3]]
                .find(([x, y]) => free(x, y) && y > 0 && y + 14 < height - BOTTOM);
            if (!found)
                continue;
            taken.push([...found, wide, 14]);
            said.push(part("text", { x: found[0], y: found[1] + 11, style: "fill: var(--bad)" }, text));
        }
        svg.append(...said);
        const front = points.filter(p => p.front);
        svg.append(part("polyline", { points: front.map(p => `${X(p.calls)},${Y(p.peak)}`).join(" "), style: "fill: none; stroke: var(--c0)" }));
        shapes = points.map(p => shapeOf(p, X(p.calls), Y(p.peak)));
        shapes.forEach((shape, i) => {
            svg.append(shape, part("circle", { cx: X(points[i].calls), cy: Y(points[i].peak), r: 12, style: "fill: transparent",
                onmouseover: () => go(i) }));
        });
        const most = Math.max(12, Math.floor((width - LEFT) / 16));
        for (const p of [...points].sort((a, b) => b.best - a.best || b.base - a.base || b.did - a.did || b.front - a.front))
            if (p.best || p.base || p.did || p.front)
                svg.append(...[place(taken, labelOf(p, most), X(p.calls), Y(p.peak), width, height)].filter(Boolean));
        board.replaceChildren(svg);
    };

    /* ---- the point that is spoken of ---- */

    const what = p => [p.best && "pick", p.base && "base", p.front && "on the front", p.fails && "some requests fail"]
        .filter(Boolean).join(", ");
    const NAMED = 12;
    const go = i => {
        at = Math.max(0, Math.min(points.length - 1, i));
        const p = points[at];
        shapes.forEach((shape, k) => shape.classList.toggle("chosen", k === at));
        under.replaceChildren(make("b", {}, p.names.slice(0, NAMED).join(", or ")), p.names.length > NAMED ? ` and ${count(p.names.length - NAMED)} more` : "",
            `: ${bytes(p.peak)} peak reserved, ${count(p.calls)} driver ${p.calls === 1 ? "call" : "calls"}`, what(p) ? `; ${what(p)}` : "");
    };
    const [back, on] = [() => go(at - 1), () => go(at + 1)];
    board.addEventListener("keydown", page.press({ ArrowLeft: back, ArrowUp: back, ArrowRight: on, ArrowDown: on,
        Home: () => go(0), End: () => go(points.length - 1) }));

    const kinds = [[{ best: true }, "pick", p => p.best], [{ base: true }, "base", p => p.base && !p.best],
        [{ front: true }, "on the front", p => p.front && !p.best && !p.base], [{}, "others", p => !p.front && !p.best && !p.base && !p.did && !p.fails],
        [{ fails: true }, "requests fail", p => p.fails], [{ did: true }, "as recorded by PyTorch", p => p.did]];
    const beyond = isOf => points.filter(p => isOf(p) && isBeyond(p)).map(p => `, ${count(p.calls)} calls: on the edge`);
    const keys = make("ul", { class: "keys" }, ...kinds.filter(kind => points.some(kind[2]))
        .map(([p, name, isOf]) => make("li", {}, sample(shapeOf(p, 10, 8)), name, ...beyond(isOf))),
        ...levels.map(({ text, dash, drawn }) => make("li", {},
            sample(part("path", { d: "M0 8h20", style: `stroke: var(--bad); stroke-dasharray: ${dash}` })), text + (drawn ? "" : ", above this chart"))));
    if (!points.length)
        return;
    figure.replaceChildren(keys, board, under);
    draw();
    page.onSize(board, draw);
});
