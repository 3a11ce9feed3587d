/* Memory over time: what the program requested, and what each policy handed out and reserved. A run
   that has a name in `requested` is a trace that no policy serves. */
"use strict";
page.view("memory", (figure, runs) => {
    const { bytes } = page;
    const REQUESTED = 7, RECORDED = 6;

    const line = (curve, list, more) => ({ curve: page.curve(curve), values: page.curve(curve)[list], width: 2, shown: true, ...more });

    const ofTraces = device => runs.map((run, i) => [run.requested, (run.page.devices[device] || {}).program, i])
        .filter(([name, curve]) => name && curve)
        .map(([name, curve, i]) => line(curve, "requested", { name, index: i ? 0 : REQUESTED, width: 3 }));

    /* The program's line, then two of each policy. */
    const lines = device => {
        const played = page.followed(runs, device), first = runs[0].page.devices[device] || {};
        /* What a policy refused is not in its own curve. */
        const whole = played.find(run => !page.onDevice(run, device).failed_allocations);
        const program = whole ? whole.page.devices[device].curve : first.program;
        const list = !played.length ? ofTraces(device)
            : program ? [line(program, "requested", { name: "requested by the program", index: REQUESTED, width: 3 })] : [];
        if (first.recorded)
            list.push(line(first.recorded, "reserved", { name: `recorded, ${runs[0].recorded.by}: reserved`, index: RECORDED }));
        for (const run of played) {
            const { curve } = run.page.devices[device], { label } = run.strategy, index = page.indexOf(runs, run);
            list.push(line(curve, "reserved", { name: `${label}: reserved`, index }));
            list.push(line(curve, "granted", { name: `${label}: handed out`, index, width: 1, shown: false }));
        }
        return list;
    };

    /* What the kernel counted at most is known of the process as a whole, and not when. */
    const levels = device => device ? [] : runs.filter(run => Number((run.resident || {}).peak_bytes) > 0)
        .map(run => ({ run, bytes: Number(run.resident.peak_bytes) }));

    /* The most that was resident as a short line from the right, in the colour and dashes of the
       policy's other lines, with its name. */
    const drawLevels = (device, canvas, area, g) => {
        const [low, high] = g.yAxisRange();
        canvas.save();
        canvas.font = "12px system-ui";
        canvas.textAlign = "right";
        const seen = levels(device).filter(level => level.bytes > low && level.bytes < high);
        let above = Infinity; /* the text before, which stands lower */
        for (const level of seen.sort((a, b) => a.bytes - b.bytes)) {
            const index = page.indexOf(runs, level.run), y = g.toDomYCoord(level.bytes), end = area.x + area.w;
            above = Math.max(area.y + 10, Math.min(y - 4, above - 14));
            canvas.strokeStyle = canvas.fillStyle = page.color(index);
            canvas.setLineDash(page.dash(index));
            canvas.beginPath();
            canvas.moveTo(end - 60, y);
            canvas.lineTo(end, y);
            canvas.stroke();
            canvas.fillText(`${level.run.strategy.label}: resident at most ${bytes(level.bytes)}`, end - 4, above);
        }
        canvas.restore();
    };

    /* The capacity as a line across, first failed requests as lines upright. */
    const underlay = device => (canvas, area, g) => page.underLines(canvas, area, g, "--bad", ({ across, upright }) => {
        const of = run => (run.devices || [])[device] || {}, capacity = Number((of(runs[0]).memory || {}).capacity_bytes);
        drawLevels(device, canvas, area, g);
        across(capacity, "capacity " + bytes(capacity));
        runs.filter(run => of(run).first_failure).forEach((run, i) =>
            upright(of(run).first_failure.state.event, `${run.strategy.label} out of memory`, area.y + area.h - 8 - 14 * i));
    });

    page.overEvents(figure, runs, { lines, underlay, empty: runs[0].requested && "Nothing is allocated here.",
        text: (of, i) => bytes(of.values[i]), y: { ticks: page.ticks.bytes } });
});
