/* A chart of lines drawn in steps, for the mouse and for keys alike.

       [tools]            page.chart(figure, { about, hint, tools: [element], draw: () => what });
       -- a  .. b         draw:  lines     { name, note, index, width, dashes, shown, sample, options }, by
       +---------+                         `index` as page.color and page.dash; `sample` and `note` stand
                                           in the legend
       |  __.-'  |               rows      [x, y of each line, ...] by x; null: no value
       +---------+               x, y      { label, ticks: (low, high, pixels) => [{ v, label }] };
       what is pointed at                  x.least: a zoom shows no less; x.before: seen before the first
                                 say       (row, lines that are shown) => texts and elements
                                 underlay  draws below the lines
                                 lasts     true: the last values hold on
                                 connected true: a line goes on to its next value
                                 options   of the library, which go before those of here
                                 empty     the text where there are no rows

   It answers a function that draws it again. The library knows lines by `line 0`, `line 1`, ...,
   never by their names, which come from files. */
"use strict";
page.chart = (figure, spec) => {
    const { make } = page;
    const keyOf = i => "line " + i, shown = new Map();
    let chart = null, what = null, at = -1;

    /* ---- the window ---- */

    /* A little more than from the first point to the last one, whose tick and value are seen so. */
    const whole = () => {
        const low = what.rows[0][0], high = what.rows[what.rows.length - 1][0];
        return [low - (what.x.before || 0), high + Math.max(what.x.least / 4, (high - low) / 100)];
    };
    /* The rows that are drawn: the last values may hold on. */
    const drawn = () => what.lasts ? [...what.rows, [whole()[1], ...what.rows[what.rows.length - 1].slice(1)]] : what.rows;
    /* A window that wide at least, and within the whole. */
    const fitted = (low, high) => {
        const [first, last] = whole(), wide = Math.min(last - first, Math.max(high - low, what.x.least));
        const from = Math.max(first, Math.min(last - wide, (low + high - wide) / 2));
        return [from, from + wide];
    };
    const see = (low, high) => {
        chart.updateOptions({ dateWindow: fitted(low, high) });
        mark();
    };
    const seeAll = () => {
        chart.resetZoom();
        mark();
    };

    /* ---- the point that is spoken of ---- */

    const mark = () => {
        chart.clearSelection();
        if (at >= 0)
            chart.setSelection(at);
    };
    const say = row => {
        at = Math.max(0, Math.min(what.rows.length - 1, row));
        under.replaceChildren(...what.say(at, what.lines.filter((line, i) => chart.visibility()[i])));
    };
    const go = row => {
        const [low, high] = chart.xAxisRange(), half = (high - low) / 2;
        say(row);
        const x = what.rows[at][0];
        x < low || x > high ? see(x - half, x + half) : mark();
    };
    /* The first point of the window, where none was chosen yet. */
    const start = () => what.rows.findIndex(row => row[0] >= chart.xAxisRange()[0]);
    const step = by => go(at < 0 ? start() : at + by);
    const zoom = factor => {
        const [low, high] = chart.xAxisRange(), x = at < 0 ? (low + high) / 2 : what.rows[at][0];
        see(x - (high - low) * factor / 2, x + (high - low) * factor / 2);
    };
    const KEYS = {
        ArrowLeft: e => step(e.shiftKey ? -10 : -1), ArrowRight: e => step(e.shiftKey ? 10 : 1),
        Home: () => go(0), End: () => go(what.rows.length - 1),
        "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": seeAll, Escape: seeAll,
    };

    /* ---- drawing ---- */

    const under = make("p", { class: "under", "aria-live": "polite", id: page.id() }, spec.hint);
    const box = make("div", { class: "chart", tabindex: 0, role: "application", "aria-roledescription": "chart",
        "aria-label": spec.about, "aria-describedby": under.id, onkeydown: page.press(KEYS) });
    const keys = make("ul", { class: "keys" });
    const tools = make("div", { class: "tools" },
        make("button", { type: "button", onclick: () => chart && seeAll() }, "See all"), ...spec.tools || []);
    figure.replaceChildren(tools, keys, box, under);

    /* Ticks of one text are one tick. */
    const axisOf = axis => ({ axisLabelWidth: axis.width || 60, ticker: (...range) => {
        const ticks = axis.ticks(...range);
        return ticks.filter((tick, i) => !i || tick.label !== ticks[i - 1].label);
    } });
    const isShown = line => shown.has(line.name) ? shown.get(line.name) : line.shown;
    const colours = () => ({ colors: what.lines.map(line => page.color(line.index)),
        gridLineColor: page.style("--rule"), axisLineColor: page.style("--rule") });
    const options = () => ({
        ...colours(),
        labels: [what.x.label, ...what.lines.map((line, i) => keyOf(i))],
        series: Object.fromEntries(what.lines.map((line, i) =>
            [keyOf(i), { strokeWidth: line.width, strokePattern: line.dashes || page.dash(line.index), ...line.options }])),
        visibility: what.lines.map(isShown),
        legend: "never", stepPlot: true, connectSeparatedPoints: !!what.connected, includeZero: true, highlightCircleSize: 4,
        xlabel: what.x.label,
        dateWindow: whole(), underlayCallback: what.underlay || null,
        highlightCallback: (e, x, points, row) => say(row),
        zoomCallback: (low, high) => high - low < what.x.least && see(low, high),
        axes: { x: axisOf(what.x), y: axisOf({ width: 80, ...what.y }) },
        ...what.options,
    });
    const legend = () => keys.replaceChildren(...what.lines.map((line, i) => {
        const tick = make("input", { type: "checkbox", onchange: e => {
            shown.set(line.name, e.target.checked);
            chart.setVisibility(i, e.target.checked);
        } });
        tick.checked = isShown(line);
        return make("li", {}, make("label", {}, tick, line.sample || page.sample(line.index, line.width, line.dashes), line.name,
            line.note ? ", " + line.note : ""));
    }));
    const show = () => {
        what = spec.draw();
        at = -1;
        if (chart)
            chart.destroy();
        chart = null;
        box.hidden = !what.rows.length;
        under.replaceChildren(what.rows.length ? spec.hint : what.empty);
        if (what.rows.length) {
            chart = new Dygraph(box, drawn(), options());
            chart.xAxisExtremes = whole;
        }
        box.chart = chart;
        legend();
    };
    show();
    page.onTheme(() => chart && chart.updateOptions(colours()));
    page.onSize(box, () => chart && chart.resize());
    return show;
};

/* What charts are drawn with. */
page.ticks = (() => {
    /* The least of 1, 2, 5, 10, 20, ..., and of 0.5, 0.2, ..., that is not below it. */
    const nice = least => {
        const power = 10 ** Math.floor(Math.log10(least));
        return power * [1, 2, 5, 10].find(m => m * power >= least * (1 - 1e-9));
    };
    const every = (step, low, high, text) => {
        const list = [];
        for (let i = Math.ceil(low / step); i * step <= high; i++)
            list.push({ v: i * step, label: text(i * step) });
        return list;
    };
    /* Ticks of events, and of what else is counted: they are whole. */
    const events = (low, high, pixels) => {
        const wide = 8 * page.count(Math.round(high)).length + 24;
        return every(Math.max(1, nice((high - low) * wide / pixels)), Math.max(0, low), high, page.count);
    };
    /* Ticks at powers of two, so that they are whole in every unit. */
    const bytes = (low, high, pixels) =>
        every(2 ** Math.ceil(Math.log2(Math.max(1, (high - low) * 50 / pixels))), low, high, page.bytes);
    const percent = (low, high, pixels) =>
        every(nice((high - low) * 50 / pixels), low, high, share => `${page.digits(100 * share)}%`);
    return { nice, every, events, bytes, percent };
})();

/* Draws below the lines of a chart, where that is seen: `paint` gets `across(value, text)` and
   `upright(value, text, y)`, which draw a dashed line and, on the side that has room, its text. */
page.underLines = (canvas, area, g, color, paint) => {
    const end = area.x + area.w, floor = area.y + area.h;
    const stroke = (x1, y1, x2, y2) => {
        canvas.beginPath();
        canvas.moveTo(x1, y1);
        canvas.lineTo(x2, y2);
        canvas.stroke();
    };
    const across = (value, text) => {
        const [low, high] = g.yAxisRange(), y = g.toDomYCoord(value);
        if (!(value > low && value < high))
            return;
        stroke(area.x, y, end, y);
        canvas.textAlign = "left";
        canvas.fillText(text, area.x + 4, y + 12);
    };
    const upright = (value, text, y) => {
        const x = g.toDomXCoord(value), left = x > area.x + area.w / 2;
        if (!(x >= area.x && x <= end))
            return;
        stroke(x, area.y, x, floor);
        canvas.textAlign = left ? "right" : "left";
        canvas.fillText(text, x + (left ? -4 : 4), y);
    };
    canvas.save();
    canvas.strokeStyle = canvas.fillStyle = page.style(color);
    canvas.setLineDash([4, 4]);
    canvas.font = "12px system-ui";
    paint({ across, upright });
    canvas.restore();
};
