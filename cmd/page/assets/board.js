/* What maps of memory share: a canvas as wide as its figure, patterns, and the way from moment to moment.

       page.board.open(canvas, height)          its context, emptied, in pixels of the page
       page.board.pattern(context, kind, color) what tells kinds apart without their colours
       page.board.swatch(paint)                 a piece of a legend: paint(context, width, height)
       page.board.slider(move, at)              { slider, buttons }: `move` is told the index of a moment,
                                                `at` answers the one that is shown */
"use strict";
page.board = (() => {
    const { make } = page;

    const open = (board, height) => {
        const ratio = devicePixelRatio || 1, width = board.clientWidth, canvas = board.getContext("2d");
        board.style.height = height + "px";
        board.width = width * ratio;
        board.height = height * ratio;
        canvas.scale(ratio, ratio);
        canvas.clearRect(0, 0, width, board.height);
        return canvas;
    };

    /* 1: dots, 2: lines, 3: crossed lines, 4: full. */
    const pattern = (canvas, kind, color = page.style("--soft")) => {
        const tile = document.createElement("canvas"), size = 6;
        tile.width = tile.height = size;
        const t = tile.getContext("2d");
        t.strokeStyle = t.fillStyle = color;
        const line = (x1, y1, x2, y2) => {
            t.beginPath();
            t.moveTo(x1, y1);
            t.lineTo(x2, y2);
            t.stroke();
        };
        if (kind === 1)
            t.fillRect(2, 2, 2, 2);
        if (kind === 2 || kind === 3)
            line(0, size, size, 0);
        if (kind === 3)
            line(0, 0, size, size);
        if (kind === 4)
            t.fillRect(0, 0, size, size);
        return canvas.createPattern(tile, "repeat");
    };

    const swatch = paint => {
        const c = make("canvas", { width: 24, height: 12, "aria-hidden": "true" });
        paint(c.getContext("2d"), 24, 12);
        return c;
    };

    const slider = (move, at) => ({
        slider: make("input", { type: "range", min: 0, step: 1, "aria-label": "moment", oninput: e => move(+e.target.value) }),
        buttons: [["Before", -1], ["Next", 1]].map(([name, by]) =>
            make("button", { type: "button", onclick: () => move(at() + by) }, name)),
    });

    return { open, pattern, swatch, slider };
})();
