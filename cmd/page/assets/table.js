/* Tables of the class `sorts` are sorted by a click on a head; a second one turns the order round. */
"use strict";
(() => {
    const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50, ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

    /* The number that a cell begins with, in its unit; NaN: it has none. */
    const number = text => {
        const found = /^[<>=~+]*\s*(-?[\d,]*\.?\d+)\s*([KMGTP]?i?B|[num]?s\b)?/.exec(text);
        return found ? parseFloat(found[1].replaceAll(",", "")) * (SIZES[found[2]] || 1) : NaN;
    };
    const compare = (a, b) => {
        const x = number(a), y = number(b);
        return isNaN(x) && isNaN(y) ? a.localeCompare(b) : isNaN(x) ? 1 : isNaN(y) ? -1 : x - y;
    };
    const sort = (table, column, head) => {
        const down = head.getAttribute("aria-sort") === "ascending";
        const body = table.tBodies[0], text = row => row.cells[column].textContent;
        const rows = [...body.rows].sort((a, b) => (down ? -1 : 1) * compare(text(a), text(b)));
        for (const other of table.tHead.rows[0].cells)
            other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        body.append(...rows);
    };
    for (const table of document.querySelectorAll("table.sorts")) {
        [...table.tHead.rows[0].cells].forEach((head, column) => {
            const button = page.make("button", { type: "button", onclick: () => sort(table, column, head) },
                head.textContent || "name");
            head.replaceChildren(button);
        });
    }
})();
