/* Charts over the events of a trace: lines that come from curves of the page's data.

       page.overEvents(figure, runs, {
           about, hint, tools, empty,            as of page.chart
           lines: device => [{ name, index, width, shown, curve, values }],
           text: (line, i, event) => text,       of the value i of a line, which it has at the event
           y, stacked, underlay: (device, lines) => ...,
           devices: 1                            there is none to choose
       });

   `curve` is one of page.curve, and `values` has a value for each of its events, or null. */
"use strict";
(() => {
    const { count } = page;

    /* The lists of a curve as they are, not as changes. */
    const known = new WeakMap();
    page.curve = curve => {
        if (!known.has(curve))
            known.set(curve, Object.fromEntries(Object.entries(curve).map(([name, list]) => [name, page.values(list)])));
        return known.get(curve);
    };

    /* The runs that were followed on a device. */
    page.followed = (runs, device) => runs.filter(run => ((run.page.devices[device] || {}).curve || { events: [] }).events.length);

    /* What the result says of a run on a device. */
    page.onDevice = (run, device) => (run.devices || [])[device] || run;

    /* Moments, each with the index of the value that each line has then; -1: none yet. At each event
       at which a line changes, all others are as they were. */
    const momentsOf = lines => {
        const events = [...new Set(lines.flatMap(line => line.curve.events))].sort((a, b) => a - b);
        const next = lines.map(() => 0), moments = [];
        const due = (line, i, event) => next[i] < line.curve.events.length && line.curve.events[next[i]] <= event;
        for (const event of events)
            for (let more = true; more;) {
                lines.forEach((line, i) => next[i] += due(line, i, event) ? 1 : 0);
                more = lines.some((line, i) => due(line, i, event));
                moments.push({ event, at: next.map(n => n - 1) });
            }
        return moments;
    };

    const timesOf = lines => {
        const times = new Map();
        for (const { curve } of lines)
            curve.ns.forEach((ns, i) => times.set(curve.events[i], ns));
        return times;
    };

    const phaseAt = (runs, event) => {
        let name = null;
        for (const mark of runs[0].page.marks)
            if (mark[0] <= event)
                name = mark[1];
        return name;
    };

    const askedOf = (run, event) => {
        if (run.page.frames && run.page.frames.born !== undefined)
            return "";
        const from = page.frames.placeOf(run, event), freed = page.frames.freedOf(run, event);
        return from ? `, from ${from}` : freed ? `, frees what ${freed} allocated` : "";
    };
    /* Who asked for what changes at an event, or for what it frees; nothing where that is not known. The
       first run of a trace has that of all; where there are two traces each has its own events. */
    const asked = (runs, event) => {
        const several = runs.filter(run => run.page.places).length > 1;
        return runs.map(run => [run, askedOf(run, event)]).filter(([, text]) => text)
            .map(([run, text]) => several ? `${text} (${run.requested.split(":")[0]})` : text).join("");
    };

    const drawn = (runs, device, spec) => {
        const lines = spec.lines(device), moments = momentsOf(lines), times = timesOf(lines);
        const say = (row, shown) => {
            const { event, at } = moments[row], ns = times.get(event), phase = phaseAt(runs, event);
            const texts = lines.map((line, i) => at[i] >= 0 && shown.includes(line) && line.values[at[i]] !== null
                ? [line.name, spec.text(line, at[i], event)] : []).filter(([, text]) => text).map(texts => texts.join(" "));
            return [...page.when(`event ${count(event)}`, ns, phase), asked(runs, event), ": ", texts.join(", ") || "nothing"];
        };
        return {
            lines, lasts: true, stacked: spec.stacked, rows: moments.map(({ event, at }) => [event, ...lines.map((line, i) => at[i] < 0 ? null : line.values[at[i]])]),
            x: { label: "event", ticks: page.ticks.events, least: 1, width: 90 }, y: spec.y, say,
            underlay: spec.underlay && spec.underlay(device, lines), empty: spec.empty || "No strategy was followed here.",
        };
    };

    /* A list to choose one of several devices from; nothing where there is one. */
    const deviceChoice = (runs, change) => {
        const devices = Math.max(...runs.map(run => run.page.devices.length));
        return devices < 2 ? [] : [page.choice("Device", [...Array(devices).keys()], change)];
    };

    page.overEvents = (figure, runs, spec) => {
        let device = 0;
        const choice = spec.devices === 1 ? [] : deviceChoice(runs, chosen => {
            device = chosen;
            show();
        });
        const map = figure.closest("article") && figure.closest("article").querySelector("figure:is([data-view=heap], [data-view=page-map])");
        const show = page.chart(figure, { about: spec.about || figure.getAttribute("aria-label"),
            hint: "Drag, or + and -, to zoom; double-click, or 0, to see all; left and right go from point to point."
                + (map ? " Click, or Enter, shows the event in the map." : ""),
            events: true, tools: [...spec.tools || [], ...choice], draw: () => drawn(runs, device, spec) });
        return show;
    };
})();
