/* Memory over time: what the program requested, what each strategy handed out and reserved, and what the
   kernel says was resident. A run that has a name in `requested` is a trace that no strategy serves. */
"use strict";
page.view("memory", (figure, runs) => {
    const { bytes, count } = page;
    const REQUESTED = 7, RECORDED = 6, DOTS = [1, 3];

    const line = (curve, list, more) => ({ curve: page.curve(curve), values: page.curve(curve)[list], width: 2, shown: true, ...more });

    const ofTraces = device => runs.map((run, i) => [run.requested, (run.page.devices[device] || {}).program, i])
        .filter(([name, curve]) => name && curve)
        .map(([name, curve, i]) => line(curve, "requested", { name, index: i ? 0 : REQUESTED, width: 3 }));

    /* What was resident is read now and then, of a strategy that was not followed too. It is shown where
       the tables go by it: where a real allocator is, whose other figures are its own statistics. */
    const real = runs.some(run => (run.memory || {}).informative);
    const resident = (run, device) => {
        const { resident } = run.page.devices[device] || {};
        return !resident ? [] : [line(resident, "resident", { name: `${run.strategy.label}: resident`, note: "as last read",
            index: page.indexOf(runs, run), width: 1.5, dashes: DOTS, shown: real, read: true })];
    };

    /* The program's line, then those of each strategy. */
    const lines = device => {
        const replayed = page.followed(runs, device), first = runs[0].page.devices[device] || {};
        /* What a strategy refused is not in its own curve. */
        const whole = replayed.find(run => !page.onDevice(run, device).failed_allocations);
        const program = whole ? whole.page.devices[device].curve : first.program;
        const read = runs.flatMap(run => resident(run, device));
        const list = !replayed.length && !read.length ? ofTraces(device)
            : program ? [line(program, "requested", { name: "requested", index: REQUESTED, width: 3 })] : [];
        if (first.recorded)
            list.push(line(first.recorded, "reserved", { name: `recorded, ${runs[0].recorded.by}: reserved`, index: RECORDED }));
        for (const run of runs) {
            const { curve } = run.page.devices[device] || {}, { label } = run.strategy || {}, index = page.indexOf(runs, run);
            if (replayed.includes(run))
                list.push(line(curve, "reserved", { name: `${label}: reserved`, index }),
                    line(curve, "allocated", { name: `${label}: allocated`, index, width: 1, shown: false }));
            list.push(...read.filter(of => of.index === index));
        }
        return list;
    };

    const text = (of, i, event) => {
        const at = of.curve.events[i];
        return bytes(of.values[i]) + (of.read && at < event ? ` as last read at event ${count(at)}` : "");
    };

    /* The capacity as a line across, first failed requests as lines upright. */
    const underlay = device => (canvas, area, g) => page.underLines(canvas, area, g, "--bad", ({ across, upright }) => {
        const of = run => (run.devices || [])[device] || {}, capacity = Number((of(runs[0]).memory || {}).capacity_bytes);
        across(capacity, "capacity " + bytes(capacity));
        runs.filter(run => of(run).first_failure).forEach((run, i) =>
            upright(of(run).first_failure.state.event, `${run.strategy.label} out of memory`, area.y + area.h - 8 - 14 * i));
    });

    page.overEvents(figure, runs, { lines, underlay, empty: runs[0].requested && "Nothing is allocated here.",
        text, y: { ticks: page.ticks.bytes } });
});
