/* Resident memory over time as stacked areas of its parts, from what the moments of the map had; between two
   of them nothing is known, and the areas are those of the last one. */
"use strict";
page.view("page-parts", (figure, of) => {
    const AREAS = [["own", "never part of a block", "--c7"], ["free_pages", "free pages", "--c3"],
        ["partly_free", "partly free pages", "--c1"], ["rounding", "rounding", "--c5"], ["live", "live", "--c0"]];
    const curve = { events: of.moments.map(m => m.event), ns: of.moments.map(m => m.time_ns).filter(ns => ns !== null) };
    const areas = AREAS.map(([part, name, color]) => ({ name, color, curve, width: 1, shown: true,
        values: of.moments.map(m => Number(m[part + "_bytes"])),
        sample: page.make("i", { class: "key", style: `background: var(${color})` }) }));
    page.overEvents(figure, [of], { lines: () => areas, stacked: true, devices: 1,
        text: (area, i) => area.values[i] ? page.bytes(area.values[i]) : "", y: { ticks: page.ticks.bytes } });
});
