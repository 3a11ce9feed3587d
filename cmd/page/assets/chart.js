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
                                 stacked   true: areas, each on those behind it that are shown; their
                                           lines have a `color` by its name
                                 connected true: a line goes on to its next value
                                 options   of the library, which go before those of here
                                 empty     the text where there are no rows

   With spec.events its x are events: all such charts of an article show the same of them, and speak of
   the one that any of them, or the map, speaks of. A click, or Enter, shows it in the map.

   It answers a function that draws it again. The library knows lines by `line 0`, `line 1`, ...,
   never by their names, which come from files. */
"use strict";
page.chart = (figure, spec) => {
    const { make } = page;
    const keyOf = i => "line " + i, shown = new Map();
    let chart = null, what = null, at = -1, stretch = null;
    const late = new Map();

    /* ---- the window ---- */

    /* A little more than from the first point to the last one, whose tick and value are seen so. */
    const whole = () => {
        const low = what.rows[0][0], high = what.rows[what.rows.length - 1][0];
        return [low - (what.x.before || 0), high + Math.max(what.x.least / 4, (high - low) / 100)];
    };
    const isShown = line => shown.has(line.name) ? shown.get(line.name) : line.shown;
    const stacked = rows => rows.map(([x, ...values]) => {
        let sum = 0;
        for (let i = values.length - 1; i >= 0; i--)
            values[i] = sum += isShown(what.lines[i]) ? values[i] : 0;
        return [x, ...values];
    });
    /* The rows that are drawn: the last values may hold on. */
    const drawn = () => {
        const rows = what.stacked ? stacked(what.rows) : what.rows;
        return what.lasts ? [...rows, [whole()[1], ...rows[rows.length - 1].slice(1)]] : rows;
    };
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
    /* Only the chart that somebody goes through tells a screen reader. */
    const speak = (row, live) => {
        at = Math.max(0, Math.min(what.rows.length - 1, row));
        under.setAttribute("aria-live", live);
        under.replaceChildren(...what.say(at, what.lines.filter((line, i) => chart.visibility()[i])));
    };
    const say = row => {
        speak(row, "polite");
        late.delete("point");
        if (spec.events)
            page.point.tell(figure, what.rows[at][0]);
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
        Enter: () => spec.events && at >= 0 && page.chosen.tell(figure, what.rows[at][0]),
    };

    /* ---- in step with other charts ---- */

    const same = (a, b) => a === b || !!a && !!b && a[0] === b[0] && a[1] === b[1];
    const tellStretch = () => {
        const range = chart.xAxisRange(), now = same(range, whole()) ? null : range;
        if (same(now, stretch))
            return;
        stretch = now;
        late.delete("stretch");
        page.stretch.tell(figure, now);
    };
    const take = {
        stretch: range => {
            stretch = range;
            chart.updateOptions({ dateWindow: range || whole() });
            mark();
        },
        point: event => {
            const next = what.rows.findIndex(row => row[0] > event);
            speak((next < 0 ? what.rows.length : next) - 1, "off");
            mark();
        },
    };
    /* What is out of sight follows as soon as it is seen, so that a zoom draws no more than that; its
       own zoom or point is newer. */
    const follow = () => {
        const told = [...late];
        late.clear();
        if (chart)
            told.forEach(([name, what]) => take[name](what));
    };
    const isSeen = () => (r => r.bottom > 0 && r.top < innerHeight)(box.getBoundingClientRect());
    const hear = (channel, name) => page[channel].hear(figure, told => {
        late.set(name, channel === "moment" ? told.event : told);
        if (isSeen())
            follow();
    });

    /* ---- drawing ---- */

    const under = make("p", { class: "under", "aria-live": "polite", id: page.id() }, spec.hint);
    const box = make("div", { class: "chart", tabindex: 0, role: "application", "aria-roledescription": "chart",
        "aria-label": spec.about, "aria-describedby": under.id, onkeydown: page.press(KEYS),
        onfocus: () => {
            follow();
            under.setAttribute("aria-live", "polite");
        } });
    const keys = make("ul", { class: "keys" });
    const tools = make("div", { class: "tools" },
        make("button", { type: "button", onclick: () => chart && seeAll() }, "See all"), ...spec.tools || []);
    figure.replaceChildren(tools, keys, box, under);

    /* Ticks of one text are one tick. */
    const axisOf = axis => ({ axisLabelWidth: axis.width || 60, ticker: (...range) => {
        const ticks = axis.ticks(...range);
        return ticks.filter((tick, i) => !i || tick.label !== ticks[i - 1].label);
    } });
    const colours = () => ({ colors: what.lines.map(line => line.color ? page.style(line.color) : page.color(line.index)),
        gridLineColor: page.style("--rule"), axisLineColor: page.style("--rule") });
    /* The first area reaches to the top of all, and those behind it are drawn over it. */
    const fill = ({ drawingContext: canvas, points, color, dygraph }) => {
        const floor = dygraph.toDomYCoord(0);
        canvas.fillStyle = color;
        canvas.beginPath();
        canvas.moveTo(points[0].canvasx, floor);
        points.forEach(({ canvasx, canvasy }, i) => {
            canvas.lineTo(canvasx, i ? points[i - 1].canvasy : floor);
            canvas.lineTo(canvasx, canvasy);
        });
        canvas.lineTo(points[points.length - 1].canvasx, floor);
        canvas.fill();
    };
    const options = () => ({
        ...colours(),
        labels: [what.x.label, ...what.lines.map((line, i) => keyOf(i))],
        series: Object.fromEntries(what.lines.map((line, i) =>
            [keyOf(i), { strokeWidth: line.width, strokePattern: line.dashes || page.dash(line.index), ...line.options }])),
        visibility: what.lines.map(isShown),
        legend: "never", stepPlot: true, connectSeparatedPoints: !!what.connected, includeZero: true, highlightCircleSize: 4,
        xlabel: what.x.label,
        dateWindow: stretch || whole(), underlayCallback: what.underlay || null,
        highlightCallback: (e, x, points, row) => say(row),
        zoomCallback: (low, high) => high - low < what.x.least && see(low, high),
        ...what.stacked && { plotter: fill },
        ...spec.events && { drawCallback: (g, first) => !first && tellStretch(),
            clickCallback: (e, x) => page.chosen.tell(figure, x) },
        axes: { x: axisOf(what.x), y: axisOf({ width: 80, ...what.y }) },
        ...what.options,
    });
    const legend = () => keys.replaceChildren(...what.lines.map(line => {
        const tick = make("input", { type: "checkbox", onchange: e => {
            shown.set(line.name, e.target.checked);
            chart.updateOptions({ visibility: what.lines.map(isShown), ...what.stacked && { file: drawn() } });
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
    page.onSize(box, () => {
        if (chart)
            chart.resize();
        follow();
    });
    if (spec.events) {
        for (const [channel, name] of [["stretch", "stretch"], ["point", "point"], ["moment", "point"]])
            hear(channel, name);
        new IntersectionObserver(entries => entries.some(e => e.isIntersecting) && follow()).observe(box);
    }
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
