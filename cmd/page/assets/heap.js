/* The map of the heap: what a strategy held at a moment, range by range, under a slider.

       range   | live | free (hatched) | live | cached (dotted) |      a row each, all to one scale

   cmd/page/frames_json.h says how a frame is written. */
"use strict";
page.view("heap", (figure, runs) => {
    const { make, choice, bytes, count } = page;
    const { KINDS } = page.frames;
    const REASONS = { begin: "begin", demand: "trace peak", reserved: "peak reserved",
        failed: "first OOM", end: "end", mark: "phase begins", change: "large change" };
    const shown = runs.filter(run => run.page.frames && run.page.frames.devices.some(list => list.length));
    if (!shown.length) {
        figure.replaceChildren(make("p", {}, "No map: it would make the page larger than 3 MB. Use fewer strategies."));
        return;
    }
    const devices = Math.max(...shown.map(r => r.page.frames.devices.length));
    let run = shown[0], device = 0, at = 0, by = "age", rows = [];

    const frames = () => run.page.frames.devices[device] || [];
    const placeOf = event => page.frames.placeOf(runs[0], event), bornOf = event => page.frames.bornOf(run, event);

    /* ---- colours ---- */

    /* Classes of a piece by age, size or place; a piece that is not live has none. */
    const AGES = ["to 10 events old", "to 100", "to 1,000", "to 10,000", "older", "from before"];
    const SIZES = ["to 1 KiB", "to 64 KiB", "to 1 MiB", "to 16 MiB", "to 256 MiB", "larger"];
    const classes = { age: AGES, size: SIZES, place: [] };
    const classOf = piece => {
        if (by === "size") {
            const found = [2 ** 10, 2 ** 16, 2 ** 20, 2 ** 24, 2 ** 28].findIndex(most => piece.size <= most);
            return found < 0 ? 5 : found;
        }
        if (by === "place") {
            const found = classes.place.indexOf(placeOf(piece.event) || "not known");
            return found < 0 ? 6 : found;
        }
        const born = bornOf(piece.event), age = frames()[at].event - born;
        return !born ? 5 : Math.min(4, Math.max(0, Math.ceil(Math.log10(Math.max(1, age))) - 1));
    };
    /* Ages and sizes have an order, which steps of one colour show; places have none. */
    const fill = (canvas, index) => {
        const ordered = by !== "place";
        canvas.globalAlpha = !ordered ? 1 : by === "age" && index === 5 ? 0.5 : 1 - 0.16 * index;
        canvas.fillStyle = page.color(!ordered ? index : by === "age" && index === 5 ? 7 : 0);
    };
    const rankPlaces = () => {
        const held = new Map();
        for (const row of rows)
            for (const piece of row.pieces.filter(p => p.event !== null)) {
                const name = placeOf(piece.event) || "not known";
                held.set(name, (held.get(name) || 0) + (piece.parts ? piece.parts[0] : piece.size));
            }
        const names = [...held.keys()].sort((a, b) => held.get(b) - held.get(a));
        classes.place = names.slice(0, 6);
        if (names.length > 6)
            classes.place.push("others");
    };

    /* ---- drawing ---- */

    const board = make("canvas", { class: "board", role: "img" });
    const { slider, buttons } = page.board.slider(index => move(index), () => at);
    const moment = make("p", { class: "under moment", "aria-live": "polite" }), under = make("p", { class: "under" });
    const keys = make("ul", { class: "keys" });
    const several = !!shown[0].strategy; /* else it is one moment of what was recorded */
    let height = 0, scale = 0;

    const paint = (canvas, patterns, piece, x, y, w, h) => {
        if (piece.kind === 0)
            fill(canvas, classOf(piece));
        else
            canvas.fillStyle = patterns[piece.kind];
        canvas.fillRect(x, y, w, h);
        canvas.globalAlpha = 1;
    };

    /* A merged piece is as many stripes as it has kinds, each as high as its share. */
    const paintMixed = (canvas, patterns, piece, x, y, w, h) => {
        const all = piece.parts.reduce((sum, part) => sum + part, 0) || 1;
        piece.parts.forEach((part, kind) => {
            const high = h * part / all;
            paint(canvas, patterns, { ...piece, kind }, x, y, w, high);
            y += high;
        });
    };

    const draw = () => {
        const most = rows.reduce((size, row) => Math.max(size, row.size), 1);
        height = Math.max(3, Math.min(22, Math.floor(340 / Math.max(1, rows.length))));
        scale = board.clientWidth / most;
        const canvas = page.board.open(board, Math.max(24, rows.length * height));
        const patterns = KINDS.map((name, kind) => page.board.pattern(canvas, kind)), gap = height > 6 ? 1 : 0;
        rows.forEach((row, i) => {
            const y = i * height, h = height - gap;
            for (const piece of row.pieces) {
                const x = piece.offset * scale, w = Math.max(0.5, piece.size * scale - (piece.size * scale > 4 ? 0.5 : 0));
                (piece.parts ? paintMixed : paint)(canvas, patterns, piece, x, y, w, h);
            }
            canvas.strokeStyle = page.style("--rule");
            if (gap)
                canvas.strokeRect(0, y + 0.5, row.size * scale, h - 1);
        });
        drawMarks(canvas);
    };

    /* Blocks that are told apart by a frame, with their places among all rows one behind the other. */
    const drawMarks = canvas => {
        let before = 0;
        canvas.strokeStyle = page.style("--bad");
        canvas.lineWidth = 3;
        rows.forEach((row, i) => {
            for (const [begin, size] of run.page.frames.marks || [])
                if (begin >= before && begin < before + row.size)
                    canvas.strokeRect((begin - before) * scale, i * height + 1, Math.max(3, size * scale), Math.max(1, height - 3));
            before += row.size;
        });
    };

    const swatch = (kind, index) => page.board.swatch((canvas, w, h) => {
        if (kind)
            canvas.fillStyle = page.board.pattern(canvas, kind);
        else
            fill(canvas, index);
        canvas.fillRect(0, 0, w, h);
    });
    const framed = () => page.board.swatch((canvas, w, h) => {
        canvas.strokeStyle = page.style("--bad");
        canvas.lineWidth = 3;
        canvas.strokeRect(1.5, 1.5, w - 3, h - 3);
    });
    const legend = () => keys.replaceChildren(
        ...classes[by].map((name, i) => make("li", {}, swatch(0, i), " live, " + name)),
        ...KINDS.map((name, kind) => kind && (several || sumsOf()[kind]) ? make("li", {}, swatch(kind), " " + name) : "").filter(Boolean),
        ...(run.page.frames.marks || []).length ? [make("li", {}, framed(), " block in the way")] : []);

    /* ---- moments ---- */

    const sumsOf = () => {
        const sums = KINDS.map(() => 0);
        for (const row of rows)
            for (const piece of row.pieces)
                piece.parts ? piece.parts.forEach((part, k) => sums[k] += part) : sums[piece.kind] += piece.size;
        return sums;
    };
    const say = frame => {
        const sums = sumsOf();
        const what = KINDS.map((name, k) => sums[k] ? `${bytes(sums[k])} ${name}` : "").filter(Boolean);
        if (frame.page_rest)
            what.push(`${bytes(frame.page_rest)} rest of pages`);
        moment.replaceChildren(...page.when(`event ${count(frame.event)}`, frame.ns, frame.phase), several ? ` (${frame.reasons.map(r => REASONS[r] || r).join(", ")}): ` : ": ",
            `${bytes(frame.reserved)} in ${count(frame.ranges)} ranges${what.length ? " = " : ""}${what.join(" + ")}; requested `,
            bytes(frame.requested), run.failed_allocations ? ", without what was refused" : "");
        board.setAttribute("aria-label", moment.textContent);
        slider.setAttribute("aria-valuetext", moment.textContent);
    };

    /* Tells the others what is seen, once somebody has chosen it. */
    const tell = () => {
        const frame = frames()[at];
        if (frame)
            page.moment.tell(figure, { strategy: run.strategy.label, device: devices > 1 ? device : null, event: frame.event,
                ns: frame.ns, phase: frame.phase, ...page.frames.held(runs[0], run, rows) });
    };
    const move = index => {
        go(index);
        tell();
    };
    const go = index => {
        at = Math.max(0, Math.min(index, frames().length - 1));
        const frame = frames()[at];
        slider.value = at;
        rows = frame ? page.frames.rowsOf(frame) : [];
        if (by === "place") {
            rankPlaces();
            legend();
        }
        draw();
        if (frame)
            say(frame);
    };

    const nameOf = piece => {
        if (piece.parts)
            return `${count(piece.pieces)} small blocks: ` + KINDS.map((name, k) => piece.parts[k] ? `${bytes(piece.parts[k])} ${name}` : "")
                .filter(Boolean).join(", ");
        if (piece.kind)
            return `${bytes(piece.size)} ${KINDS[piece.kind]}`;
        const born = bornOf(piece.event), who = born ? `allocated at event ${count(born)}` : "live before the first event";
        const place = placeOf(piece.event);
        return `${bytes(piece.size)} live, ${who}${place ? ", by " + place : ""}`;
    };
    board.addEventListener("mousemove", e => {
        const row = rows[Math.floor(e.offsetY / height)], place = e.offsetX / scale;
        const piece = row && row.pieces.find(p => place >= p.offset && place < p.offset + p.size);
        under.textContent = !row ? "" : `Range ${count(row.number)}, ${bytes(row.size)}` +
            (row.ranges > 1 ? ` (${count(row.ranges)} small ones)` : "") + (piece ? `; at ${bytes(piece.offset)}: ${nameOf(piece)}` : "");
    });

    /* ---- choices ---- */

    const start = () => {
        slider.max = Math.max(0, frames().length - 1);
        const peak = frames().findIndex(frame => frame.reasons.includes("demand"));
        go(peak < 0 ? 0 : peak);
        legend();
    };
    const ways = ["age", "size", ...(page.frames.placesOf(runs[0]).texts.length ? ["place"] : [])];
    const tools = make("div", { class: "tools" },
        ...several ? [choice("Strategy", shown.map(r => r.strategy.label), i => { run = shown[i]; start(); tell(); })] : [],
        choice("Colours by", ways, i => { by = ways[i]; go(at); legend(); }),
        ...several ? buttons : []);
    if (devices > 1)
        tools.append(choice("Device", [...Array(devices).keys()], i => { device = i; start(); tell(); }));
    figure.replaceChildren(tools, ...several ? [slider] : [], moment, keys, make("div", { class: "rows" }, board), under);
    start();
    page.chosen.hear(figure, event => move(frames().findLastIndex(frame => frame.event <= event)));
    page.onSize(board.parentElement, draw);
    page.onTheme(() => { draw(); legend(); });
});
