/* What the recorded program did, as bars: sizes, lifetimes, operations, threads, streams, devices and
   phases. */
"use strict";
page.view("trace", (figure, runs) => {
    const { make, svg, bytes, count, duration } = page;
    const trace = runs[0].page.trace;
    if (!trace)
        return;
    const MOST = 40, HEIGHT = 200, LEFT = 76, BOTTOM = 24, TOP = 12, LABEL = 92;

    /* ---- what is drawn: { title, series: [{ name, text, bars: [[name, value]] }] } ---- */

    /* Numbers beyond 2^53 are texts. */
    const of = (rows, name, value) => rows.map(row => [name(row), Number(value(row))]);
    const powers = value => of(trace.size_powers, row => "<= " + bytes(Number(row.up_to_bytes)), row => row[value]);
    const lives = (unit, text) => of(trace.lifetime_doublings[unit],
        row => row[0] === null ? "longer" : "< " + text(Number(row[0])), row => row[1]);
    const shares = (rows, what) => {
        const name = row => row.index === null ? "others" : `${what} ${row.index}`;
        return [["allocations", count, "allocations"], ["bytes", bytes, "allocated_bytes"], ["frees", count, "frees"],
            ["frees of another thread's blocks", count, "remote_frees"], ["peak", bytes, "peak_requested_bytes"],
            ["at the end", bytes, "left_bytes"]]
            .filter(([, , key]) => rows.some(row => Number(row[key]) > 0))
            .map(([label, text, key]) => ({ name: label, text, bars: of(rows, name, row => row[key]) }));
    };
    const phases = (key, name, text) => ({ name, text, bars: of(trace.phases, row => row.name, row => row[key] || 0) });
    const operations = Object.entries(trace.operations).filter(([, value]) => Number(value) > 0);
    const charts = [
        { title: "Sizes", series: [{ name: "blocks", text: count, bars: powers("objects") },
            { name: "bytes", text: bytes, bars: powers("bytes") }] },
        { title: "Lifetimes", series: [{ name: "in events", text: count, bars: lives("events", count) },
            { name: "in time", text: count, bars: lives("ns", duration) }] },
        { title: "Operations", series: [{ name: "events", text: count, bars: of(operations, row => row[0], row => row[1]) }] },
        { title: "Threads", series: trace.threads.length > 1 ? shares(trace.threads, "thread") : [] },
        { title: "Streams", series: trace.streams.length > 1 ? shares(trace.streams, "stream") : [] },
        { title: "Devices", series: trace.devices.length > 1 ? shares(trace.devices, "device") : [] },
        { title: "Phases", series: [phases("peak_requested_bytes", "peak", bytes), phases("events", "events", count),
            phases("duration_ns", "time", duration)] },
    ].map(chart => ({ ...chart, series: chart.series.filter(s => s.bars.some(bar => bar[1] > 0)) }))
        .filter(chart => chart.series.length);

    /* ---- bars ---- */

    /* A logarithmic axis goes from 1 to a power of this base; a bar of 1 has a height too. */
    const baseOf = series => series.text === bytes ? 1024 : 10;
    const FOOT = 0.15;

    const draw = (chart, index) => {
        let series = chart.series[0], log = true, at = -1;
        const under = make("p", { class: "under", "aria-live": "polite" });
        const board = svg("svg", { class: "columns", height: HEIGHT, tabindex: 0, role: "application",
            "aria-roledescription": "chart", "aria-label": `${chart.title}, as bars` });
        let shown = [], width = 0;

        const hint = () => {
            const more = series.bars.length - shown.length;
            under.textContent = "Point at a bar, or go through them by left and right." +
                (more > 0 ? ` The first ${MOST} of ${count(series.bars.length)}.` : "");
        };
        const say = i => {
            at = Math.max(0, Math.min(shown.length - 1, i));
            const all = series.bars.reduce((sum, bar) => sum + bar[1], 0), [name, value] = shown[at];
            under.replaceChildren(make("b", {}, name), `: ${series.text(value)}`,
                ["peak", "at the end"].includes(series.name) ? "" : `, ${page.percent(value / all)}`);
            board.querySelectorAll("rect").forEach((bar, k) => bar.classList.toggle("at", k === at));
        };
        const powerOf = value => Math.log(value) / Math.log(baseOf(series));
        const height = (value, most) => {
            const room = HEIGHT - TOP - BOTTOM;
            return value <= 0 ? 0 : log ? room * (powerOf(value) + FOOT) / (Math.ceil(powerOf(most)) + FOOT) : room * value / most;
        };
        /* Values of the axis: powers, or quarters. */
        const ticksOf = most => log ? [...Array(Math.ceil(powerOf(most)) + 1).keys()].map(k => baseOf(series) ** k)
            .filter((value, k, all) => k % Math.ceil(all.length / 6) === 0) : [0, 0.25, 0.5, 0.75, 1].map(part => part * most);

        const show = () => {
            shown = series.bars.slice(0, MOST);
            width = board.clientWidth;
            at = -1;
            const most = Math.max(baseOf(series), ...shown.map(bar => bar[1])), wide = (width - LEFT) / Math.max(shown.length, 8);
            const floor = HEIGHT - BOTTOM, every = Math.ceil(LABEL / wide);
            board.replaceChildren(...ticksOf(most).flatMap(value => {
                const y = floor - height(value, most);
                return [svg("line", { x1: LEFT, x2: width, y1: y, y2: y }),
                    svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, series.text(Math.round(value)))];
            }), ...shown.flatMap(([name, value], i) => {
                const high = height(value, most), x = LEFT + i * wide;
                const bar = svg("rect", { x: x + 1, y: floor - high, width: Math.max(1, wide - 2), height: high });
                const room = svg("path", { d: `M${x} ${TOP}h${wide}V${floor}h${-wide}z`, onmouseover: () => say(i) });
                return [bar, room, ...i % every ? [] : [svg("text", { x, y: floor + 16 }, name.length > 13 ? name.slice(0, 12) + "\u2026" : name)]];
            }));
            hint();
        };

        board.addEventListener("keydown", page.press({ ArrowLeft: () => say(at - 1), ArrowRight: () => say(at + 1),
            Home: () => say(0), End: () => say(shown.length - 1) }));
        const choose = page.choice("bars show", chart.series.map(s => s.name), i => {
            series = chart.series[i];
            show();
        });
        const tick = make("input", { type: "checkbox", id: `log-${index}`, onchange: e => {
            log = e.target.checked;
            show();
        } });
        tick.checked = true;
        page.onSize(board, show);
        return make("div", {}, make("h3", {}, chart.title), make("div", { class: "tools" },
            ...chart.series.length > 1 ? [choose] : [make("span", {}, series.name)],
            make("label", {}, tick, " logarithmic")), board, under);
    };
    const grid = make("div", { class: "charts" }, ...charts.map(draw));
    figure.replaceChildren(grid);
});
