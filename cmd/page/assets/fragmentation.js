/* Fragmentation over time: the share of a policy's memory that the program has not asked for. The
   shares are those of `tapool help metrics`, from the bytes of a run's curve at each event. */
"use strict";
page.view("fragmentation", (figure, runs) => {
    const { make, bytes, percent } = page;
    const SHARES = [
        { name: "not requested, of what is reserved", part: "requested", whole: "reserved" },
        { name: "idle, of what is reserved (unused_reserved)", part: "granted", whole: "reserved" },
        { name: "rounding, of what is handed out (internal_fragmentation)", part: "requested", whole: "granted" },
    ];
    let share = SHARES[0];

    const lines = device => page.followed(runs, device).map(run => {
        const curve = page.curve(run.page.devices[device].curve);
        const values = curve[share.whole].map((whole, i) => whole ? 1 - curve[share.part][i] / whole : null);
        return { name: run.strategy.label, index: page.indexOf(runs, run), width: 2, shown: true, curve, values };
    });

    const text = ({ curve, values }, i) => `${percent(values[i])} = ` + [
        share.part === "requested" ? `${bytes(curve.granted[i] - curve.requested[i])} rounding` : "",
        share.whole === "reserved" ? `${bytes(curve.reserved[i] - curve.granted[i])} idle` : "",
    ].filter(Boolean).join(" + ") + ` of ${bytes(curve[share.whole][i])}`;

    /* Where the table of the answer looks: the event at which the program needs most. */
    const underlay = device => (canvas, area, g) => {
        const peak = ((page.onDevice(runs[0], device).memory || {}).at_peak_demand || {}).event;
        const x = g.toDomXCoord(peak);
        if (!(x >= area.x && x <= area.x + area.w))
            return;
        canvas.save();
        canvas.strokeStyle = canvas.fillStyle = page.style("--soft");
        canvas.setLineDash([4, 4]);
        canvas.font = "12px system-ui";
        canvas.beginPath();
        canvas.moveTo(x, area.y);
        canvas.lineTo(x, area.y + area.h);
        canvas.stroke();
        canvas.textAlign = x > area.x + area.w / 2 ? "right" : "left";
        canvas.fillText("the program needs most", x + (canvas.textAlign === "right" ? -4 : 4), area.y + 12);
        canvas.restore();
    };

    const choose = make("select", { "aria-label": "share", onchange: e => {
        share = SHARES[e.target.value];
        show();
    } }, ...SHARES.map(({ name }, i) => make("option", { value: i }, name)));
    const show = page.overEvents(figure, runs, { tools: [make("label", {}, "Share ", choose)], lines, text, underlay,
        y: { ticks: page.ticks.percent } });
});
