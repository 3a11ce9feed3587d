/* What the recorded allocator reserved and the program had live, with the moment that a page is about.

   A run is a device of tapool.why/2. */
"use strict";
page.view("recorded", (figure, runs) => {
    const { bytes, count } = page, [of] = runs, curve = page.curve(of.page.devices[0].recorded);
    const RESERVED = 0, LIVE = 7;
    const lines = () => [
        { name: "live: requested and not freed", index: LIVE, width: 3, shown: true, curve, values: curve.requested },
        { name: "reserved", index: RESERVED, width: 2, shown: true, curve, values: curve.reserved },
    ];
    const capacity = Number((of.request || {}).capacity_bytes || 0);
    const said = of.event.out_of_memory ? `out of memory: ${bytes(Number(of.request.bytes))} requested`
        : `looked at: event ${count(of.event.number)}`;
    const underlay = () => (canvas, area, g) => page.underLines(canvas, area, g, "--bad", ({ across, upright }) => {
        across(capacity, "the process could have " + bytes(capacity));
        upright(of.event.number, said, area.y + area.h - 8);
    });
    page.overEvents(figure, runs, { lines, underlay, text: (line, i) => bytes(line.values[i]), y: { ticks: page.ticks.bytes } });
});
