/* The time of each strategy in each round of a comparison, as dots beside each other: a machine that
   drifts drifts for all alike, an outlier stands alone. A line across is the median. */
"use strict";
page.view("rounds", (figure, runs) => {
    const { make, svg, digits, count } = page;
    const metrics = [...new Set(runs.flatMap(run => Object.keys(run.rounds)))];
    const heads = page.data.page.heads[runs[0].table], shapes = Object.values(page.shapes);
    let metric = metrics[0];

    const shapeOf = run => shapes[runs.indexOf(run) % shapes.length];
    const medianOf = run => page.data.tables[run.table].rows[run.row].metrics[metric].value;

    /* Every second turn through the shapes they are hollow. */
    const isHollow = run => Math.floor(runs.indexOf(run) / shapes.length) % 2 === 1;
    const dot = run => (g, name, canvas, x, y, color) => {
        const path = new Path2D(shapeOf(run));
        canvas.save();
        canvas.translate(x, y);
        canvas.scale(0.8, 0.8);
        canvas.setLineDash([]);
        canvas.lineWidth = 2;
        canvas.strokeStyle = canvas.fillStyle = color;
        canvas.stroke(path);
        if (!isHollow(run))
            canvas.fill(path);
        canvas.restore();
    };
    const sample = run => {
        const path = svg("path", { d: shapeOf(run) }), color = `var(--c${page.indexOf(runs, run) % 8})`;
        path.style.cssText = `stroke: ${color}; stroke-width: 2; fill: ${isHollow(run) ? "none" : color}`;
        return svg("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" }, path);
    };

    const medians = replayed => (canvas, area, g) => {
        canvas.save();
        canvas.setLineDash([6, 4]);
        replayed.forEach((run, i) => {
            const y = g.toDomYCoord(medianOf(run));
            if (medianOf(run) === null || !g.visibility()[i] || !(y >= area.y && y <= area.y + area.h))
                return;
            canvas.strokeStyle = page.color(page.indexOf(runs, run));
            canvas.beginPath();
            canvas.moveTo(area.x, y);
            canvas.lineTo(area.x + area.w, y);
            canvas.stroke();
        });
        canvas.restore();
    };

    /* Where an outlier takes thirty times as long as the others, a logarithm shows both. */
    const isWide = replayed => {
        const known = replayed.flatMap(run => run.rounds[metric]).filter(v => v !== null);
        const least = known.reduce((a, b) => Math.min(a, b), Infinity), most = known.reduce((a, b) => Math.max(a, b), 0);
        return least > 0 && most > 30 * least;
    };
    const text = v => `${digits(v)} ns`;
    const even = (low, high, pixels) => page.ticks.every(page.ticks.nice((high - low) * 50 / pixels), low, high, text);
    const decades = (low, high) => {
        const list = [];
        for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
            list.push(...[1, 3].map(m => m * power).filter(v => v >= low && v <= high).map(v => ({ v, label: text(v) })));
        return list;
    };

    const drawn = () => {
        const replayed = runs.filter(run => run.rounds[metric]), wide = isWide(replayed);
        const values = replayed.map(run => run.rounds[metric]);
        return {
            lines: replayed.map(run => ({ name: run.strategy.label, index: page.indexOf(runs, run), width: 0, shown: true, sample: sample(run),
                options: { drawPointCallback: dot(run), drawHighlightPointCallback: dot(run) } })),
            rows: values[0].map((_, i) => [i + 1, ...values.map(list => list[i])]),
            x: { label: "round", ticks: page.ticks.events, least: 2, before: 0.5 }, y: { ticks: wide ? decades : even },
            say: (row, shown) => [make("b", {}, `round ${count(row + 1)}`), ": ", replayed.map((run, i) => [run.strategy.label, values[i][row]])
                .filter(([name, v]) => v !== null && shown.some(line => line.name === name)).map(([name, v]) => `${name} ${text(v)}`).join(", ")],
            underlay: medians(replayed), empty: "No round was measured here.",
            options: { stepPlot: false, drawPoints: true, pointSize: 4, highlightCircleSize: 6, includeZero: false, logscale: wide, yRangePad: 12 },
        };
    };

    const choose = page.choice("Figure", metrics.map(name => heads[name]), i => {
        metric = metrics[i];
        show();
    });
    const show = page.chart(figure, { about: figure.getAttribute("aria-label"), tools: [choose], draw: drawn,
        hint: "Lines across are medians. Drag, or + and -, to zoom; double-click, or 0, to see all; left and right go from round to round." });
});
