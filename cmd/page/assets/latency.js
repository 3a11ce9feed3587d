/* Latencies as cumulative distributions: the share of calls that took longer, on logarithmic axes. */
"use strict";
page.view("latency", (figure, runs) => {
    const { make, duration } = page;
    const kinds = [...new Set(runs.flatMap(run => Object.keys(run.latency || {})))];
    const step = page.data.clock.step_ns;
    let kind = kinds[0];
    if (!kinds.length) {
        figure.replaceChildren();
        return;
    }

    /* The height of a share: 1 at 90%, 2 at 99%, ... */
    const nines = share => -Math.log10(1 - share);
    const shareText = height => `${+(100 * (1 - 10 ** -height)).toPrecision(6)}%`;

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

    const rowsOf = replayed => {
        const rows = new Map();
        replayed.forEach((run, i) => pointsOf(run).forEach(([x, y]) => {
            if (!rows.has(x))
                rows.set(x, [x, ...replayed.map(() => null)]);
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

    /* Ticks at powers of ten, at 2 and 5 between them too where there is room; where not even two of
       them are seen, at even steps. */
    const times = (low, high, pixels) => {
        const room = Math.max(2, pixels / 60), stride = Math.ceil((high - low) / room);
        const powers = page.ticks.every(stride, Math.floor(low / stride) * stride, high, () => "").map(tick => tick.v);
        const at = steps => powers.flatMap(v => steps.map(step => v + Math.log10(step))).filter(v => v >= low && v <= high);
        const fine = at([1, 2, 5]), list = stride === 1 && fine.length <= room ? fine : at([1]);
        return list.length > 1 ? list.map(v => ({ v, label: duration(10 ** v) }))
            : page.ticks.every(page.ticks.nice((10 ** high - 10 ** low) / room), 10 ** low, 10 ** high, duration)
                .map(tick => ({ ...tick, v: Math.log10(tick.v) }));
    };
    const shares = (low, high) => {
        const list = [{ v: 0, label: "0%" }, { v: nines(0.5), label: "50%" }];
        for (let v = 1; v <= high; v++)
            list.push({ v, label: shareText(v) });
        return list.filter(tick => tick.v >= low && tick.v <= high);
    };

    const drawn = () => {
        const replayed = runs.filter(run => run.latency && run.latency[kind]), rows = rowsOf(replayed);
        const lines = replayed.map(run => ({ name: run.strategy.label, index: page.indexOf(runs, run), width: 2, shown: true }));
        const say = (row, shown) => [make("b", {}, duration(10 ** rows[row][0])), ": ",
            lines.map((line, i) => shown.includes(line) && rows[row][i + 1] !== null ? `${line.name} ${shareText(rows[row][i + 1])}` : "")
                .filter(Boolean).join(", ")];
        return { lines, rows, say, underlay, connected: true, empty: "No latencies were measured.",
            x: { label: "time of a call", ticks: times, least: 0.02 }, y: { ticks: shares } };
    };
    const choose = page.choice("Calls to", kinds, i => {
        kind = kinds[i];
        show();
    });
    const show = page.chart(figure, { about: figure.getAttribute("aria-label"), draw: drawn,
        hint: "Share of calls that took at most this time. The keys of the charts above work here too.",
        tools: [choose] });
});
