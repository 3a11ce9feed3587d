/* Latencies as cumulative distributions: the share of calls that took longer, on logarithmic axes. */
"use strict";
page.view("latency", (figure, runs) => {
    const { make, duration } = page;
    const kinds = [...new Set(runs.flatMap(run => Object.keys(run.latency || {})))];
    const step = page.data.clock.step_ns;
    let kind = kinds[0], chart = null;
    if (!kinds.length) {
        figure.replaceChildren();
        return;
    }

    /* The height of a share: 1 at 90 %, 2 at 99 %, ... */
    const nines = share => -Math.log10(1 - share);
    const shareText = height => `${+(100 * (1 - 10 ** -height)).toPrecision(6)} %`;

    /* Points (log10 ns, nines) of a run. The longest call has half a call beyond it. */
    const pointsOf = run => {
        const buckets = run.latency[kind].buckets;
        const total = buckets.reduce((sum, b) => sum + Number(b[1]), 0);
        let seen = 0;
        return buckets.map(([upper, calls]) => {
            seen += Number(calls);
            return [Math.log10(Math.max(1, Number(upper))), nines(Math.min(seen, total - 0.5) / total)];
        });
    };

    const rowsOf = played => {
        const rows = new Map();
        played.forEach((run, i) => pointsOf(run).forEach(([x, y]) => {
            if (!rows.has(x))
                rows.set(x, [x, ...played.map(() => null)]);
            rows.get(x)[i + 1] = y;
        }));
        return [...rows.values()].sort((a, b) => a[0] - b[0]);
    };

    /* Below a step of the clock no latency is told from another. */
    const underlay = (canvas, area, g) => {
        if (!(step >= 1))
            return;
        const end = Math.min(area.x + area.w, g.toDomXCoord(Math.log10(step)));
        if (end <= area.x)
            return;
        canvas.save();
        canvas.fillStyle = page.style("--shade");
        canvas.fillRect(area.x, area.y, end - area.x, area.h);
        canvas.fillStyle = page.style("--soft");
        canvas.font = "12px system-ui";
        canvas.fillText("below a step of the clock", area.x + 4, area.y + 14);
        canvas.restore();
    };

    const decades = (low, high) => {
        const list = [];
        for (let v = Math.ceil(low); v <= high; v++)
            list.push({ v, label: duration(10 ** v) });
        return list;
    };
    const shares = (low, high) => {
        const list = [{ v: 0, label: "0 %" }, { v: nines(0.5), label: "50 %" }];
        for (let v = 1; v <= high; v++)
            list.push({ v, label: shareText(v) });
        return list.filter(tick => tick.v >= low && tick.v <= high);
    };

    const box = make("div", { class: "chart" }), keys = make("ul", { class: "keys" });
    const under = make("p", { class: "under" }, "How many of the calls took at most so long.");
    const choose = make("select", { "aria-label": "calls to", onchange: e => { kind = e.target.value; show(); } },
        ...kinds.map(name => make("option", { value: name }, name)));
    figure.replaceChildren(make("div", { class: "tools" }, make("label", {}, "Calls to ", choose)), keys, box, under);

    const show = () => {
        const played = runs.filter(run => run.latency && run.latency[kind]);
        const names = played.map(run => run.strategy.label), series = {};
        names.forEach((name, i) => series[name] = { strokePattern: page.dash(i) });
        if (chart)
            chart.destroy();
        chart = new Dygraph(box, rowsOf(played), {
            labels: ["time of a call", ...names], legend: "never", stepPlot: true, connectSeparatedPoints: true, series, strokeWidth: 2,
            colors: names.map((name, i) => page.color(i)), xlabel: "time of a call", includeZero: true,
            gridLineColor: page.style("--rule"), axisLineColor: page.style("--rule"), underlayCallback: underlay,
            highlightCallback: (e, x, points) => under.replaceChildren(make("b", {}, duration(10 ** x)), ": ",
                points.filter(p => p.yval !== null).map(p => `${p.name} ${shareText(p.yval)}`).join(", ")),
            axes: { x: { ticker: decades }, y: { ticker: shares, axisLabelWidth: 80 } },
        });
        keys.replaceChildren(...names.map((name, i) => make("li", {}, page.sample(i, 2), name)));
    };
    show();
    page.onTheme(show);
});
