/* What a square of the picture of traces times settings is: the picture has names of some rows only, and no names of
   settings. It is below the figure, in the same section, and has an empty frame where its squares lie.

       1.062x   trace corpus/bert.tpt, setting 17: arena:order=2

   The data is tapool.sweep/1, with an answer for each article. */
"use strict";
page.view("heat", (figure, data) => {
    const { make, svg, count } = page;
    const articles = [...document.querySelectorAll("article")];
    const { heat_map: map } = data.answers[articles.indexOf(figure.closest("article"))];
    const frame = figure.closest("section").querySelector("svg .squares"), board = frame.ownerSVGElement;
    const rows = map.traces.length, columns = map.settings.length;

    /* Where each row and column begins, in the order of all traces and of the ranking. */
    const begins = list => {
        let sum = 0;
        return list.map(item => (sum += item.count) - item.count);
    };
    const firsts = [begins(map.traces), begins(map.settings)];

    const under = make("p", { class: "under", "aria-live": "polite", id: page.id() }, "Point at a square, or go through them by the arrow keys.");
    const number = name => +frame.getAttribute(name);
    const wide = number("width") / columns, high = number("height") / rows;
    const mark = svg("rect", { width: wide, height: high, style: "fill: none; stroke: var(--ink); stroke-width: 2", visibility: "hidden" });
    let at = [0, 0];

    const many = (item, begin, what) => item.count === 1 ? `${what} ${count(begin + 1)}: ${item.first}`
        : `${what}s ${count(begin + 1)} to ${count(begin + item.count)}, the first ${item.first}`;
    const say = (row, column) => {
        at = [Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))];
        const [i, k] = at, ratio = map.ratios[i][k];
        mark.setAttribute("x", number("x") + k * wide);
        mark.setAttribute("y", number("y") + i * high);
        mark.setAttribute("visibility", "visible");
        under.replaceChildren(make("b", {}, ratio === null ? "no cell" : `${ratio.toFixed(3)}x`),
            `, ${many(map.traces[i], firsts[0][i], "trace")}; ${many(map.settings[k], firsts[1][k], "setting")}`);
    };
    const step = (down, right) => () => say(at[0] + down, at[1] + right);

    board.append(mark);
    board.setAttribute("tabindex", 0);
    board.setAttribute("aria-describedby", under.id);
    board.addEventListener("keydown", page.press({ ArrowUp: step(-1, 0), ArrowDown: step(1, 0), ArrowLeft: step(0, -1), ArrowRight: step(0, 1) }));
    board.addEventListener("mousemove", e => {
        const box = frame.getBoundingClientRect(), x = (e.clientX - box.left) / box.width, y = (e.clientY - box.top) / box.height;
        if (x >= 0 && x < 1 && y >= 0 && y < 1)
            say(Math.floor(y * rows), Math.floor(x * columns));
    });
    figure.replaceChildren(under);
});
