/* Values with their intervals, a row each, on an axis that the rows of a group share.

       group    name      |   :--o--:  |      text        { title, scale, rows }
                name      |       <=+> |      text
                          0     +5%          the ticks of the scale

       row      { name, value, low, high, band: [from, to], mark, tone, bar, text }; what is null is not drawn
       scale    { at: value => 0..1, ticks: [{ v, label }], from }, with a line at `from`

   What a row says is told by its shape and in words: `marks` has { shape, filled, words } of each kind
   that occurs, `within` says what the bands are. Places are shares of the width, so that rows need not be drawn again. */
"use strict";
page.shapes = {
    disc: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0Z", square: "M-4.5,-4.5h9v9h-9Z", diamond: "M0,-6L6,0L0,6L-6,0Z",
    up: "M0,-6L6,5H-6Z", down: "M0,6L6,-5H-6Z", cross: "M-5,-5L5,5M-5,5L5,-5", plus: "M0,-6V6M-6,0H6",
};

/* Changes (0.1 is +10%), by the logarithm of the ratio: half and double are as far from 0. */
page.ratioScale = changes => {
    const LEAST = Math.log(1.08), FLOOR = 1e-3;
    const log = change => Math.log(Math.max(FLOOR, 1 + change));
    const known = changes.filter(v => v !== null && isFinite(v)).map(log);
    const most = known.reduce((a, b) => Math.max(a, b), LEAST), least = known.reduce((a, b) => Math.min(a, b), -LEAST);
    const pad = 0.08 * (most - least), low = least - pad, high = most + pad;
    const at = change => (log(change) - low) / (high - low);
    const ticks = [];
    for (const v of [0, -0.05, 0.05, -0.1, 0.1, -0.2, 0.2, -0.5, 0.5, 1, -0.8, 2, -0.9, 4, 9, -0.95, 19, 49, -0.99, 99, 199, 499, 999])
        if (at(v) >= 0.04 && at(v) <= 0.96 && ticks.every(tick => Math.abs(at(tick.v) - at(v)) >= 0.17))
            ticks.push({ v, label: v >= 9 ? `${v + 1}x` : `${v > 0 ? "+" : ""}${Math.round(100 * v)}%` });
    return { at, ticks, from: 0 };
};

/* Values of a unit from 0 on. */
page.valueScale = (values, unit) => {
    const texts = { bytes: page.bytes, ns: v => `${page.digits(v)} ns`, share: v => `${page.digits(100 * v)}%` };
    const high = values.filter(v => v !== null && isFinite(v)).reduce((a, b) => Math.max(a, b), 0) || 1;
    const base = unit === "bytes" ? 2 : 10, power = base ** Math.floor(Math.log(high / 4) / Math.log(base));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(size => high / size <= 4) || 10 * power;
    const ticks = [];
    for (let i = 0; i * step <= high * 1.04; i++)
        ticks.push({ v: i * step, label: (texts[unit] || page.digits)(i * step) });
    return { at: v => 0.04 + 0.88 * v / high, ticks, from: 0 };
};

page.forest = (figure, groups, marks, within) => {
    const { make, svg } = page, ROWS = 400;
    const percent = share => `${+(100 * Math.min(1, Math.max(0, share))).toFixed(3)}%`;

    const shape = mark => svg("path", { d: page.shapes[mark.shape], class: mark.filled ? "filled" : "hollow" });
    const key = mark => {
        const box = svg("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" }, shape(mark));
        return make("li", {}, box, mark.words);
    };
    const line = (x1, x2, y1, y2, kind) => svg("line", { x1, x2, y1, y2, class: kind });

    const draw = (scale, row) => {
        const x = value => percent(scale.at(value)), plot = svg("svg", { class: "plot " + (row.tone || ""), "aria-hidden": "true" });
        if (row.band)
            plot.append(svg("rect", { x: x(row.band[0]), y: 0, height: "100%", class: "band",
                width: percent(scale.at(row.band[1]) - scale.at(row.band[0])) }),
            ...row.band.map(edge => line(x(edge), x(edge), 0, "100%", "edge")));
        plot.append(line(x(scale.from), x(scale.from), 0, "100%", "zero"));
        if (row.value === null)
            return plot;
        if (row.bar)
            plot.append(svg("rect", { x: x(0), y: "25%", height: "50%", class: "amount", width: percent(scale.at(row.value) - scale.at(0)) }));
        if (row.low !== null && row.high !== null)
            plot.append(line(x(row.low), x(row.high), "50%", "50%", "span"), ...[row.low, row.high].map(end => line(x(end), x(end), "30%", "70%", "span")));
        if (!row.bar)
            plot.append(svg("svg", { x: x(row.value), y: "50%", overflow: "visible" }, shape(marks[row.mark])));
        return plot;
    };

    const axis = scale => make("li", { class: "axis", "aria-hidden": "true" }, make("span", {}),
        svg("svg", { class: "plot" }, ...scale.ticks.map(tick => svg("text", { x: percent(scale.at(tick.v)), y: 13 }, tick.label))), make("span", {}));

    let left = ROWS, more = 0;
    const used = new Set();
    const list = group => {
        const rows = group.rows.slice(0, left);
        left -= rows.length;
        more += group.rows.length - rows.length;
        rows.filter(row => row.value !== null && !row.bar).forEach(row => used.add(row.mark));
        return rows.length ? [make("h3", {}, group.title), make("ul", { class: "forest" },
            ...rows.map(row => make("li", {}, make("span", { class: "name" }, row.name), draw(group.scale, row), make("span", {}, row.text))),
            axis(group.scale))] : [];
    };
    const lists = groups.flatMap(list);
    const bands = groups.some(group => group.rows.some(row => row.band)) ? [make("li", {},
        svg("svg", { width: 32, height: 16, class: "plot key", "aria-hidden": "true" }, svg("rect", { x: 1, width: 30, height: 16, class: "band" }),
            line(1, 1, 0, 16, "edge"), line(31, 31, 0, 16, "edge")), within)] : [];
    figure.replaceChildren(make("ul", { class: "keys" }, ...Object.keys(marks).filter(name => used.has(name)).map(name => key(marks[name])), ...bands),
        ...lists, ...more ? [make("p", { class: "under" }, `${page.count(more)} more rows are in the table.`)] : []);
};
