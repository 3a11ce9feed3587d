/* Memory over time: what the program requested, and what each policy handed out and reserved. */
"use strict";
page.view("memory", (figure, runs) => {
    const { make, bytes, count, duration } = page;
    const devices = Math.max(...runs.map(run => run.page.devices.length));
    let device = 0, chart = null;

    const curveOf = (line, list) => page.values(line.curve[list]);

    /* One list of lines: the program's, then two of each policy. */
    const linesOf = () => {
        const played = runs.filter(run => run.page.devices[device].curve.events.length);
        const of = run => run.page.devices[device].curve, first = runs[0].page.devices[device];
        /* What a policy refused is not in its own curve. */
        const whole = played.find(run => !((run.devices || [])[device] || run).failed_allocations);
        const lines = played.length ? [{ curve: whole ? of(whole) : first.program, list: "requested",
            name: "requested by the program", index: 7, width: 3, shown: true }] : [];
        if (first.recorded)
            lines.push({ curve: first.recorded, list: "reserved", name: `recorded, ${runs[0].recorded.by}: reserved`, index: 6,
                width: 2, shown: true });
        played.forEach((run, i) => {
            const line = { run, curve: of(run), index: i < 6 ? i : i + 2 };
            lines.push({ ...line, list: "reserved", name: `${run.strategy.label}: reserved`, width: 2, shown: true });
            lines.push({ ...line, list: "granted", name: `${run.strategy.label}: handed out`, width: 1, shown: false });
        });
        return lines;
    };

    /* Rows of event and values: at each event at which one changes, all others as they were. */
    const rowsOf = lines => {
        const curves = lines.map(line => ({ events: curveOf(line, "events"), bytes: curveOf(line, line.list), at: 0 }));
        const events = [...new Set(curves.flatMap(curve => curve.events))].sort((a, b) => a - b);
        return events.flatMap(event => {
            const rows = [];
            for (let more = true; more;) {
                more = false;
                const row = [event];
                for (const curve of curves) {
                    if (curve.at < curve.events.length && curve.events[curve.at] <= event)
                        curve.at++;
                    more = more || (curve.at < curve.events.length && curve.events[curve.at] <= event);
                    row.push(curve.at ? curve.bytes[curve.at - 1] : null);
                }
                rows.push(row);
            }
            return rows;
        });
    };

    const timesOf = lines => {
        const times = new Map();
        for (const line of lines) {
            const ns = curveOf(line, "ns");
            curveOf(line, "events").forEach((event, i) => times.set(event, ns[i]));
        }
        return times;
    };

    /* Ticks at powers of two, so that they are whole in every unit. */
    const ticks = (low, high, pixels) => {
        const step = 2 ** Math.ceil(Math.log2(Math.max(1, (high - low) / Math.max(2, pixels / 50))));
        const list = [];
        for (let v = Math.ceil(low / step) * step; v <= high; v += step)
            list.push({ v, label: bytes(v) });
        return list;
    };

    const phaseAt = event => {
        let name = null;
        for (const mark of runs[0].page.marks)
            if (mark[0] <= event)
                name = mark[1];
        return name;
    };

    /* The capacity as a line across, first failed requests as lines upright. */
    const underlay = lines => (canvas, area, g) => {
        canvas.save();
        canvas.strokeStyle = canvas.fillStyle = page.style("--bad");
        canvas.setLineDash([4, 4]);
        canvas.font = "12px system-ui";
        const line = (x1, y1, x2, y2, text) => {
            canvas.beginPath();
            canvas.moveTo(x1, y1);
            canvas.lineTo(x2, y2);
            canvas.stroke();
            canvas.fillText(text, x1 + 4, y1 + 12);
        };
        const [low, high] = g.yAxisRange();
        const of = run => (run.devices || [])[device] || {};
        const capacity = Number((of(runs[0]).memory || {}).capacity_bytes);
        if (capacity > low && capacity < high) {
            const y = g.toDomYCoord(capacity);
            line(area.x, y, area.x + area.w, y, "capacity " + bytes(capacity));
        }
        let below = 0;
        for (const run of runs) {
            const failure = of(run).first_failure, x = failure && g.toDomXCoord(failure.state.event);
            if (failure && x >= area.x && x <= area.x + area.w) {
                line(x, area.y, x, area.y + area.h, "");
                canvas.fillText(`${run.strategy.label} out of memory`, x + 4, area.y + area.h - 8 - 14 * below++);
            }
        }
        canvas.restore();
    };

    const box = make("div", { class: "chart" }), keys = make("ul", { class: "keys" });
    const under = make("p", { class: "under" }, "Drag to zoom in, double-click to see all again.");
    const tools = make("div", { class: "tools" },
        make("button", { type: "button", onclick: () => chart && chart.resetZoom() }, "See all"));
    if (devices > 1) {
        const choose = make("select", { "aria-label": "device", onchange: e => { device = +e.target.value; show(); } });
        for (let i = 0; i < devices; i++)
            choose.append(make("option", { value: i }, "device " + i));
        tools.append(choose);
    }
    figure.replaceChildren(tools, keys, box, under);

    const say = (lines, times) => (e, event, points) => {
        const phase = phaseAt(event), ns = times.get(event);
        const of = name => points.find(p => p.name === name);
        under.replaceChildren(make("b", {}, `event ${count(event)}`), ns === undefined ? "" : `, +${duration(ns)}`,
            phase ? `, in ${phase}` : "", ": ",
            lines.filter(line => of(line.name) && of(line.name).yval !== null)
                .map(line => `${line.name} ${bytes(of(line.name).yval)}`).join(", "));
    };

    const show = () => {
        const lines = linesOf(), rows = rowsOf(lines), times = timesOf(lines);
        if (chart)
            chart.destroy();
        if (!rows.length) {
            keys.replaceChildren();
            under.textContent = "No policy was followed here.";
            return;
        }
        const series = {};
        lines.forEach(line => series[line.name] = { strokeWidth: line.width, strokePattern: page.dash(line.index) });
        chart = new Dygraph(box, rows, {
            labels: ["event", ...lines.map(line => line.name)], legend: "never", stepPlot: true, series,
            colors: lines.map(line => page.color(line.index)), visibility: lines.map(line => line.shown),
            includeZero: true, xlabel: "event", gridLineColor: page.style("--rule"), axisLineColor: page.style("--rule"),
            highlightCircleSize: 4, underlayCallback: underlay(lines), highlightCallback: say(lines, times),
            axes: { y: { axisLabelWidth: 80, ticker: ticks, axisLabelFormatter: bytes }, x: { axisLabelFormatter: event => Number.isInteger(event) ? count(event) : "" } },
        });
        box.chart = chart;
        keys.replaceChildren(...lines.map((line, i) => {
            const tick = make("input", { type: "checkbox", onchange: e => chart.setVisibility(i, e.target.checked) });
            tick.checked = line.shown;
            return make("li", {}, make("label", {}, tick, page.sample(line.index, line.width), line.name));
        }));
    };
    show();
    page.onTheme(show);
});
