/* What compare and check found, each change with its interval: compare's changes against the base and
   its values themselves, and the times that a check has compared. */
"use strict";
(() => {
    const joined = (...texts) => texts.filter(text => text && text !== "-").join(", ");

    /* ---- compare ---- */

    const SHAPES = {
        shown: { shape: "diamond", filled: true }, exact: { shape: "square", filled: true },
        reported: { shape: "square" }, same: { shape: "disc" }, untested: { shape: "cross" },
    };

    /* The rows of a table with their run, by metric. */
    const eachMetric = (runs, fn) => {
        const table = page.data.tables[runs[0].table], heads = page.data.page.heads[runs[0].table];
        return page.data.metrics.map(metric => fn(metric, heads[metric.name],
            runs.map(run => ({ run, row: table.rows[run.row], cell: table.rows[run.row].metrics[metric.name], text: run.texts[metric.name] }))));
    };
    const marks = () => Object.fromEntries(Object.entries(SHAPES).map(([name, mark]) => [name, { ...mark, words: page.data.page.marks[name] }]));

    const toneOf = (metric, cell) => {
        if (!["shown", "exact", "reported"].includes(cell.mark) || !cell.change)
            return "";
        return (cell.change < 0) === (metric.better === "less") ? "good" : "bad";
    };

    page.viewAtOnce("changes", (figure, runs) => page.forest(figure, eachMetric(runs, (metric, title, all) => {
        const { effect } = page.data, rows = all.filter(one => SHAPES[one.cell.mark]);
        return {
            title, scale: page.ratioScale(rows.flatMap(({ cell }) => [cell.change, cell.change_low, cell.change_high])),
            rows: rows.map(({ run, cell, text }) => ({
                name: run.strategy.label, value: cell.change, low: cell.change_low, high: cell.change_high,
                band: metric.class === "N" ? [-effect, effect] : null, mark: cell.mark, tone: toneOf(metric, cell),
                text: joined(text.change, text.interval, page.data.page.marks[cell.mark],
                    { good: "better", bad: "worse" }[toneOf(metric, cell)]),
            })),
        };
    }), marks(), `within ${+(100 * page.data.effect).toFixed(2)}%: too little to count`));

    page.viewAtOnce("values", (figure, runs) => page.forest(figure, eachMetric(runs, (metric, title, all) => ({
        title, scale: page.valueScale(all.flatMap(({ cell }) => [cell.value, cell.high]), metric.unit),
        rows: all.map(({ run, row, cell, text }) => ({
            name: run.strategy.label + (row.base === run.row ? " (base)" : ""), value: cell.value, low: cell.low, high: cell.high,
            bar: cell.low === null, mark: "median", tone: "", text: text.value,
        })),
    })), { median: { shape: "disc", filled: true, words: "the median, with its 95% interval" } }));

    /* ---- check ---- */

    const VERDICTS = {
        regression: { shape: "up", filled: true, tone: "bad" }, better: { shape: "down", filled: true, tone: "good" },
        unchanged: { shape: "disc" }, inconclusive: { shape: "diamond" }, insensitive: { shape: "cross" },
    };
    const percent = ratio => ratio === null ? null : ratio - 1;

    page.viewAtOnce("times", (figure, data) => {
        const timed = data.findings.map((finding, i) => ({ ...finding, text: data.page.texts[i] })).filter(finding => finding.difference);
        const groups = [...new Set(timed.map(finding => finding.metric))].map(metric => {
            const rows = timed.filter(finding => finding.metric === metric);
            return {
                title: rows[0].text.head,
                scale: page.ratioScale(rows.flatMap(({ difference: d, allowed }) => [percent(d.estimate), percent(d.low), percent(d.high), allowed, -allowed])),
                rows: rows.map(({ difference: d, allowed, verdict, text }) => ({
                    name: text.cell, value: percent(d.estimate), low: percent(d.low), high: percent(d.high), band: [-allowed, allowed],
                    mark: verdict, tone: VERDICTS[verdict].tone, text: joined(verdict, text.values, text.change, text.interval, `allowed ${text.allowed}`),
                })),
            };
        });
        page.forest(figure, groups, Object.fromEntries(Object.entries(VERDICTS).map(([name, mark]) => [name, { ...mark, words: name }])),
            "tolerance");
    });
})();
