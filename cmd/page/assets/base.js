/* What all views share. A view is a function that draws the runs of a trace (those of the data, or of
   its member `page`), or all data of the page, into a figure of it. It is called once: when the figure comes near
   the window, when the browser is idle, or before the page is printed.

       page.view("memory", (figure, runs) => { ... });
       page.view("changes", (figure, data) => { ... });

   Texts come from files: they go into the page as text only, by page.make. */
"use strict";
const page = (() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const runs = data.runs || (data.page || {}).runs || data.devices;
    const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [5, 2, 2, 2, 2, 2], [12, 4], [14, 2, 2, 2], [4, 4]];

    /* ---- numbers, as the tables of the page have them ---- */

    /* Halves go to the even digit, as in the tables. */
    const even = value => Math.abs(value % 1) === 0.5 ? 2 * Math.round(value / 2) : Math.round(value);
    const digits = value => {
        const size = Math.abs(value), scale = 10 ** (3 - Math.floor(Math.log10(size || 1)));
        if (size >= 1000 || value === Math.round(value))
            return even(value).toLocaleString("en-US");
        const half = Math.abs(value * scale % 1) === 0.5;
        return String(half ? even(value * scale) / scale : +value.toPrecision(4));
    };
    const bytes = value => {
        const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let unit = 0;
        for (; Math.abs(value) >= 1023.5 && unit < units.length - 1; unit++)
            value /= 1024;
        return digits(value) + " " + units[unit];
    };
    const duration = ns => {
        const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
        const [name, size] = units.find(u => ns >= u[1]) || units[3];
        return digits(ns / size) + " " + name;
    };
    const count = value => value.toLocaleString("en-US");
    const tenths = value => (value * 4 % 2 === 1 ? Math.round(value * 5) / 5 : value).toFixed(1);
    const percent = share => share < 1 && share >= 0.9995 ? ">99.9%" : share > 0 && share < 0.0005 ? "<0.1%"
        : `${tenths(100 * share)}%`;

    /* The values of a list that has the first one and the changes. */
    const values = changes => {
        let value = 0;
        return changes.map(change => value += change);
    };

    /* ---- elements ---- */

    const fill = (e, attributes, children) => {
        for (const [name, value] of Object.entries(attributes || {}))
            name.startsWith("on") ? e.addEventListener(name.slice(2), value) : e.setAttribute(name, value);
        e.append(...children);
        return e;
    };
    const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
    const svg = (tag, attributes, ...children) =>
        fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

    /* A list to choose one of the names from, whose index `change` is told. */
    const choice = (label, names, change) => make("label", {}, label + " ",
        make("select", { "aria-label": label, onchange: e => change(+e.target.value) },
            ...names.map((name, i) => make("option", { value: i }, name))));

    /* For keydown: `keys` has a function for each key. With Ctrl, Alt or Meta a key is the browser's. */
    const press = keys => e => {
        if (e.ctrlKey || e.altKey || e.metaKey || !Object.keys(keys).includes(e.key))
            return;
        e.preventDefault();
        keys[e.key](e);
    };

    /* A moment, with its time and its phase where they are known. */
    const when = (text, ns, phase) => [make("b", {}, text), ns == null ? "" : `, +${duration(ns)}`, phase ? `, in ${phase}` : ""];

    let ids = 0;
    const id = () => "e" + ids++;

    const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const color = index => style("--c" + index % 8);
    const dash = index => DASHES[index % 8];
    /* The index of a run's line in every chart; 6 and 7 are for what was recorded and requested. */
    const indexOf = (runs, run) => (i => i < 6 ? i : i + 2)(runs.indexOf(run));

    /* A piece of the line that stands for a series, for those who do not tell its colour. */
    const sample = (index, width, dashes = dash(index)) => svg("svg", { width: 32, height: 8, "aria-hidden": "true" },
        svg("line", { x1: 0, x2: 32, y1: 4, y2: 4, "stroke-width": width, "stroke-dasharray": dashes.join(" "),
            style: `stroke: var(--c${index % 8})` }));

    /* ---- what views look like changes ---- */

    /* Paper is narrower than a window, has the light theme, and no slider or summary to open. */
    const themes = matchMedia("(prefers-color-scheme: dark)"), recolors = [], resizes = [];
    const onTheme = fn => recolors.push(fn);
    const recolor = () => recolors.forEach(fn => fn());
    themes.addEventListener("change", recolor);
    const onSize = (element, fn) => {
        new ResizeObserver(fn).observe(element);
        resizes.push(fn);
    };
    let opened = [];
    const onPaper = yes => {
        document.documentElement.classList.toggle("paper", yes);
        opened.forEach(details => details.open = false);
        opened = yes ? [...document.querySelectorAll("details:not([open])")] : [];
        opened.forEach(details => details.open = true);
        if (themes.matches)
            recolor();
        resizes.forEach(fn => fn());
    };
    addEventListener("beforeprint", () => onPaper(true));
    addEventListener("afterprint", () => onPaper(false));

    /* ---- views ---- */

    /* What one view tells the others of its article, and later who asks then: `moment`, what the map of the
       heap shows; `stretch`, the events that charts show; `point`, the event that they speak of;
       `chosen`, the event that the map is to show. */
    const channel = name => {
        const last = new WeakMap(), around = figure => figure.closest("article") || document.body;
        const tell = (figure, what) => {
            last.set(around(figure), [what, figure]);
            around(figure).dispatchEvent(new CustomEvent("tapool-" + name, { detail: [what, figure] }));
        };
        /* Not what the figure itself tells. */
        const hear = (figure, fn) => {
            const take = ([what, from]) => from !== figure && fn(what);
            around(figure).addEventListener("tapool-" + name, e => take(e.detail));
            if (last.has(around(figure)))
                take(last.get(around(figure)));
        };
        return { tell, hear };
    };
    const channels = Object.fromEntries(["moment", "stretch", "point", "chosen"].map(name => [name, channel(name)]));

    /* An error is thrown later, so that the other figures are drawn all the same. */
    const draw = (figure, fn) => {
        const first = +figure.dataset.first, count = +figure.dataset.count;
        try {
            fn(figure, count ? runs.slice(first, first + count) : data);
        } catch (e) {
            figure.append(make("p", { class: "bad" }, "This chart could not be drawn: " + e.message));
            setTimeout(() => { throw e; });
        }
    };
    const waiting = new Map();
    const now = figure => {
        const fn = waiting.get(figure);
        if (!waiting.delete(figure))
            return;
        watch.unobserve(figure);
        figure.dataset.drawn = "";
        draw(figure, fn);
    };
    const watch = new IntersectionObserver(entries => entries.filter(e => e.isIntersecting).forEach(e => now(e.target)),
        { rootMargin: "400px" });
    const figuresOf = name => document.querySelectorAll(`figure[data-view="${name}"]`);
    const view = (name, fn) => {
        for (const figure of figuresOf(name)) {
            waiting.set(figure, fn);
            watch.observe(figure);
        }
    };
    /* A list of rows is drawn at once: its height is not known before. */
    const viewAtOnce = (name, fn) => {
        view(name, fn);
        addEventListener("DOMContentLoaded", () => figuresOf(name).forEach(figure => now(figure)));
    };
    const inOrder = () => [...document.querySelectorAll("figure[data-view]")].filter(figure => waiting.has(figure));
    /* One figure at a time, so that a reader's input is never kept waiting for more than one. */
    const later = window.requestIdleCallback || (fn => setTimeout(fn, 50));
    const drawNext = () => {
        const [next] = inOrder();
        if (!next)
            return;
        later(drawNext);
        now(next);
    };
    /* A browser that takes a picture of the page takes it as soon as the page is loaded: what it shows is drawn by then. */
    addEventListener("load", () => {
        inOrder().filter(figure => figure.getBoundingClientRect().top < innerHeight).forEach(now);
        requestAnimationFrame(() => later(drawNext));
    });
    addEventListener("beforeprint", () => [...waiting.keys()].forEach(now));

    return { data, digits, bytes, duration, count, percent, values, make, svg, choice, press, when, id, style, color, dash, indexOf,
        sample, onTheme, onSize, view, viewAtOnce, ...channels };
})();
