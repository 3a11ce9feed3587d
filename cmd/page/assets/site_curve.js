/* Live memory by allocation site over time: stacked areas, the largest site at the top, below them all
   other blocks and the initial heap. Their sum is what the program requested. */
"use strict";
page.view("site-curve", (figure, of) => {
    const runs = [of].flat(); /* of a page without runs: its data */
    const FILLS = ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c8", "--c9", "--c10"];
    const REST = { other: "--c7", "initial heap": "--c11" }; /* the last ones, where there are any */
    const { names, bytes, events, ns } = runs[0].page.devices[0].site_curve;
    const curve = page.curve({ events, ns });
    const areas = names.map((name, i) => {
        const color = names.length - i > 2 || !REST[name] ? FILLS[i] : REST[name];
        return { name, color, curve, values: page.values(bytes[i]), width: 1, shown: true,
            sample: page.make("i", { class: "key", style: `background: var(${color})` }) };
    });
    page.overEvents(figure, runs, { lines: () => areas, stacked: true, devices: 1,
        text: (of, i) => of.values[i] ? page.bytes(of.values[i]) : "", y: { ticks: page.ticks.bytes } });
});
