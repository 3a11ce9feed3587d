/* Fragmentation over time: the share of a strategy's memory that the program has not asked for. The
   shares are those of `tapool help metrics`, from the bytes of a run's curve at each event. */
"use strict";
page.view("fragmentation", (figure, runs) => {
    const { bytes, percent } = page;
    const SHARES = [
        { name: "not requested, of what is reserved", part: "requested", whole: "reserved" },
        { name: "free, share of reserved (unused_reserved)", part: "allocated", whole: "reserved" },
        { name: "rounding, share of allocated (internal_fragmentation)", part: "requested", whole: "allocated" },
    ];
    let share = SHARES[0];

    const peakOf = (run, device) => (page.onDevice(run, device).memory || {}).at_trace_peak || {};

    /* The curve of a run with the event at which the program needed most, of which the table speaks:
       it lacks that where nothing changed there, as when a request was refused. */
    const curveOf = (run, device) => {
        const curve = page.curve(run.page.devices[device].curve), peak = peakOf(run, device);
        const next = curve.events.findIndex(event => event > peak.event), at = next < 0 ? curve.events.length : next;
        if (peak.requested_bytes == null || curve.events[at - 1] === peak.event)
            return curve;
        const values = { events: peak.event, ns: peak.time_ns, requested: peak.requested_bytes, allocated: peak.allocated_bytes,
            reserved: peak.reserved_bytes };
        return Object.fromEntries(Object.entries(curve).map(([name, list]) =>
            [name, list.length ? [...list.slice(0, at), Number(values[name]), ...list.slice(at)] : list]));
    };

    const lines = device => page.followed(runs, device).map(run => {
        const curve = curveOf(run, device);
        const values = curve[share.whole].map((whole, i) => whole ? 1 - curve[share.part][i] / whole : null);
        return { name: run.strategy.label, index: page.indexOf(runs, run), width: 2, shown: true, curve, values };
    });

    const text = ({ curve, values }, i) => `${percent(values[i])} = ` + [
        share.part === "requested" ? `${bytes(curve.allocated[i] - curve.requested[i])} rounding` : "",
        share.whole === "reserved" ? `${bytes(curve.reserved[i] - curve.allocated[i])} free` : "",
    ].filter(Boolean).join(" + ") + ` of ${bytes(curve[share.whole][i])}`;

    /* The event that the table of the answer describes. */
    const underlay = device => (canvas, area, g) => page.underLines(canvas, area, g, "--soft", ({ upright }) =>
        upright(peakOf(runs[0], device).event, "trace peak", area.y + 12));

    const choose = page.choice("Share", SHARES.map(({ name }) => name), i => {
        share = SHARES[i];
        show();
    });
    const show = page.overEvents(figure, runs, { tools: [choose], lines, text, underlay, y: { ticks: page.ticks.percent } });
});
