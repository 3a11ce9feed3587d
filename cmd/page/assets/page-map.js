/* The map of pages: what resident pages of a host program held at a moment, under a slider.

       |##|##|#/|  |xx|::|  ~  |##|     a cell is a page, or 2, 4, ... of them, in the order of addresses;
                                        from below it is live, rounding, never part of a block, partly
       free and free pages, each to scale. Live bytes and those of partly free pages have the colour of
       the group that holds most of what is partly free there.

   cmd/pages/map_data.h says how a moment is written. */
"use strict";
/* Pixels of a cell where so many share a figure of this width. */
page.cellSize = (width, cells) => Math.max(4, Math.min(16, Math.floor(Math.sqrt(width * 340 / Math.max(1, cells)))));
/* The height of a map before it is drawn, so that what is below it stays where it is. */
for (const figure of document.querySelectorAll("figure[data-view=page-map]")) {
    const { cells } = page.data.page.map, width = figure.clientWidth, size = page.cellSize(width, cells);
    figure.style.minHeight = `calc(${Math.ceil(cells * size / width) * size}px + 14rem)`;
}
page.view("page-map", (figure, of) => {
    const { make, bytes, count } = page, { map } = of.page;
    const NAMES = { live: "live", rounding: "rounding", partly_free: "partly free pages", free_pages: "free pages",
        own: "never part of a block" };
    const PARTS = Object.keys(NAMES), UPWARD = ["live", "rounding", "own", "partly_free", "free_pages"];
    const DOTS = 1, LINES = 2, CROSSED = 3;
    const COLORS = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c11", "--c7"], OTHER = 6, UNKNOWN = 7, NONE = 8;
    const cellBytes = map.page_bytes * map.cell_pages;
    const last = of.moments.length - 1;
    let at = 0, chosen = -1, size = 1, places = [];

    /* ---- what is written ---- */

    const ranges = (() => {
        const r = page.frames.reader(map.ranges), list = [];
        for (let number = 0; r.more();) {
            const from = number + r.number(), cells = r.number();
            list.push([from, cells]);
            number = from + cells;
        }
        return list;
    })();
    const numbers = ranges.flatMap(([from, cells]) => [...Array(cells).keys()].map(i => from + i));
    const first = new Set(ranges.map(([from]) => from));
    const empty = { resident: 0, live: 0, rounding: 0, partly_free: 0, free_pages: 0, own: 0, holder: NONE };
    const cellOf = r => {
        const resident = r.number() * map.unit;
        if (!resident)
            return empty;
        const [live, rounding, partly_free, free_pages] = [0, 0, 0, 0].map(() => r.number() * map.unit);
        return { resident, live, rounding, partly_free, free_pages, own: resident - live - rounding - partly_free - free_pages,
            holder: r.number() };
    };
    const moments = [];
    for (const { cells: text } of map.moments) {
        const r = page.frames.reader(text), before = moments[moments.length - 1] || numbers.map(() => empty), cells = [];
        while (cells.length < numbers.length) {
            for (let same = r.number(); same; same--)
                cells.push(before[cells.length]);
            if (cells.length < numbers.length)
                cells.push(cellOf(r));
        }
        moments.push(cells);
    }

    /* ---- drawing ---- */

    const under = make("p", { class: "under", "aria-live": "polite", id: page.id() },
        `A cell is ${map.cell_pages > 1 ? `${count(map.cell_pages)} pages` : "a page"}, ${bytes(cellBytes)}. Point at one, or go through them by the arrow keys.`);
    const moment = make("p", { class: "under moment", "aria-live": "polite" }), keys = make("ul", { class: "keys" });
    const { slider, buttons } = page.board.slider(index => move(index), () => at);
    const board = make("canvas", { class: "board", tabindex: 0, role: "application", "aria-roledescription": "map of pages",
        "aria-describedby": under.id });

    const colorOf = holder => page.style(COLORS[holder]);
    /* The looks of a part, from a group's colour. */
    const looks = canvas => {
        const of = COLORS.map((name, holder) => colorOf(holder)), lined = of.map(color => page.board.pattern(canvas, LINES, color));
        const dotted = page.board.pattern(canvas, DOTS), crossed = page.board.pattern(canvas, CROSSED);
        return (part, holder) => ({ live: of[holder], rounding: of[holder], own: dotted, partly_free: lined[holder],
            free_pages: crossed })[part];
    };
    const fill = (canvas, look, part, holder, x, y, w, h) => {
        const layer = (style, alpha) => {
            canvas.fillStyle = style;
            canvas.globalAlpha = alpha;
            canvas.fillRect(x, y, w, h);
        };
        /* Lines alone are too thin for a colour to be seen in a small cell. */
        if (part === "partly_free")
            layer(look("live", holder), 0.3);
        layer(look(part, holder), { rounding: 0.55, free_pages: 0.6 }[part] || 1);
        canvas.globalAlpha = 1;
    };
    const paint = (canvas, look, cell, x, y, s) => {
        for (const part of UPWARD) {
            const high = cell[part] * s / cellBytes;
            y -= high;
            if (high)
                fill(canvas, look, part, cell.holder, x, y + s, s, high);
        }
    };

    /* Where each cell lies: rows as wide as the figure, and half a cell between two ranges. */
    const lay = () => {
        const width = board.clientWidth;
        let x = 0, y = 0;
        size = page.cellSize(width, numbers.length);
        places = numbers.map((number, i) => {
            if (i && first.has(number) && x)
                x += size / 2;
            if (x + size > width)
                [x, y] = [0, y + size];
            x += size;
            return [x - size, y];
        });
        return y + size;
    };
    const draw = () => {
        const canvas = page.board.open(board, lay()), look = looks(canvas), s = size - 1;
        moments[at].forEach((cell, i) => {
            const [x, y] = places[i];
            canvas.strokeStyle = page.style("--rule");
            canvas.lineWidth = 0.5;
            canvas.strokeRect(x + 0.25, y + 0.25, s - 0.5, s - 0.5);
            paint(canvas, look, cell, x, y, s);
        });
        if (chosen < 0)
            return;
        canvas.strokeStyle = page.style("--ink");
        canvas.lineWidth = 2;
        canvas.strokeRect(places[chosen][0], places[chosen][1], s, s);
    };
    const swatch = (part, holder) => page.board.swatch((canvas, w, h) => fill(canvas, looks(canvas), part, holder, 0, 0, w, h));
    const nameOf = holder => holder < OTHER ? (map.holders_are_sizes ? "blocks of " : "") + map.holders[holder]
        : holder === OTHER ? "other blocks" : "blocks not known";
    const legend = () => {
        const there = new Set(moments.flatMap(cells => cells.map(cell => cell.holder)));
        const colors = [...there].filter(holder => holder !== NONE).sort((a, b) => a - b);
        keys.replaceChildren(...colors.map(holder => make("li", {}, swatch("live", holder), " held by " + nameOf(holder))),
            ...there.has(NONE) ? [make("li", {}, swatch("live", NONE), " live, nothing partly free")] : [],
            ...PARTS.slice(1).map(part => make("li", {}, swatch(part, NONE), " " + NAMES[part])));
    };

    /* ---- moments and cells ---- */

    const partsOf = of => {
        const parts = PARTS.filter(part => of[part]).map(part => `${bytes(of[part])} ${NAMES[part]}`).join(" + ");
        return `${bytes(of.resident)} resident${parts ? " = " : ""}${parts}`;
    };
    const say = () => {
        const now = of.moments[at], { every } = map.moments[at];
        const sum = Object.fromEntries(["resident", ...PARTS].map(part => [part, Number(now[part + "_bytes"])]));
        moment.replaceChildren(...page.when(now.event ? `event ${count(now.event)}` : "before the first event", now.time_ns),
            now.event === of.moment.event ? " (explained above): " : ": ", partsOf(sum),
            every > 1 ? `; the map has 1 of ${count(every)} runs of pages` : "");
        board.setAttribute("aria-label", moment.textContent);
        slider.setAttribute("aria-valuetext", moment.textContent);
    };
    const choose = i => {
        chosen = Math.max(0, Math.min(numbers.length - 1, i));
        const cell = moments[at][chosen], address = "0x" + (numbers[chosen] * cellBytes).toString(16);
        const held = cell.holder === NONE ? "" : `; partly free pages, held ${map.cell_pages > 1 ? "mostly " : ""}by ${nameOf(cell.holder)}`;
        under.textContent = `${map.cell_pages > 1 ? `${count(map.cell_pages)} pages` : "Page"} at ${address}: ` +
            (cell.resident ? partsOf(cell) + held : "not resident then");
        draw();
    };
    const go = index => {
        at = Math.max(0, Math.min(last, index));
        slider.value = at;
        say();
        chosen < 0 ? draw() : choose(chosen);
    };
    const move = index => {
        go(index);
        page.moment.tell(figure, { event: of.moments[at].event });
    };

    board.addEventListener("mousemove", e => {
        const found = places.findIndex(([x, y]) => e.offsetX >= x && e.offsetX < x + size && e.offsetY >= y && e.offsetY < y + size);
        if (found >= 0 && found !== chosen)
            choose(found);
    });
    /* The nearest cell of the row above or below. */
    const row = by => {
        const [x, y] = places[Math.max(0, chosen)], near = places.map(([px, py], i) => [Math.abs(px - x), i, py])
            .filter(([, , py]) => py === y + by * size).sort(([a], [b]) => a - b);
        choose(near.length ? near[0][1] : chosen);
    };
    board.addEventListener("keydown", page.press({
        ArrowLeft: () => choose(chosen - 1), ArrowRight: () => choose(chosen + 1), ArrowUp: () => row(-1), ArrowDown: () => row(1),
        Home: () => choose(0), End: () => choose(numbers.length - 1), PageUp: () => move(at - 1), PageDown: () => move(at + 1),
    }));

    slider.max = last;
    figure.style.minHeight = "";
    figure.replaceChildren(make("div", { class: "tools" }, ...buttons), slider, moment, keys, make("div", { class: "rows" }, board), under);
    legend();
    go(of.moments.findIndex(({ event }) => event === of.moment.event));
    page.chosen.hear(figure, event => move(of.moments.findLastIndex(other => other.event <= event)));
    page.onSize(board.parentElement, draw);
    page.onTheme(() => { draw(); legend(); });
});
