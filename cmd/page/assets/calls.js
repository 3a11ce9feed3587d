/* Calls to the source over time: how many there were up to each event, to get memory and to give it
   back. */
"use strict";
page.view("calls", (figure, runs) => {
    const { count } = page;

    /* Two lines of each strategy whose calls are known. */
    const lines = device => page.followed(runs, device).flatMap(run => {
        const curve = page.curve(run.page.devices[device].curve), { label } = run.strategy;
        const index = page.indexOf(runs, run);
        return !curve.gets ? [] : [
            { curve, index, values: curve.gets, name: `${label}: allocations`, width: 2, shown: true },
            { curve, index, values: curve.puts, name: `${label}: frees`, width: 1, shown: false },
        ];
    });

    const ticks = (low, high, pixels) =>
        page.ticks.every(Math.max(1, page.ticks.nice((high - low) * 50 / pixels)), low, high, count);

    page.overEvents(figure, runs, { lines, text: (line, i) => count(line.values[i]), y: { ticks } });
});
