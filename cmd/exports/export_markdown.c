/* --format markdown: the table of the screen for each trace in GitHub's Markdown, for a comment on
 * a pull request.
 *
 *     ### `sqlite`
 *     |            | peak reserved | times needed | ...
 *     | ---------- | ------------: | -----------: | ...
 *     | **arena**  |      1.75 MiB |        5.810 | ...
 *
 *     **Pick arena**: ...
 *     - **small-trace** ...
 *
 * Names come from files and command lines, so they are escaped: none of them can begin a link, a
 * mention or a cell. */
#include "cmd/exports/export_text.h"
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/warnings.h"
#include "cmd/ui/escape.h"

#include <limits.h>

/* Writes the lines above a table: "6,170 events on host, program 26cb3d59f4fc". */
static void write_head(const struct tp_result *results, size_t count, FILE *out)
{
    const struct tp_result *r = tp_first_sourced(results, count);
    char names[512];
    tp_put(out, TP_TO_MARKDOWN, "### %s\n\n%s%s on %s", r->trace->meta.name,
           r->trace->cut ? "the first " : "", tp_plural(r->facts->events, "event").s,
           r->source->name);
    if (tp_result_is_device(r)) {
        tp_device_names(r, names, sizeof names);
        tp_put(out, TP_TO_MARKDOWN, ": %s", names);
    }
    fprintf(out, "%s, program %.12s\n\n",
            tp_result_is_virtual(r) ? " (times are the strategy's own work)" : "",
            tp_hash_text(r->facts).s);
}

static void write_warnings(const struct tp_result *results, size_t count, FILE *out)
{
    for (size_t w = 0; tp_warnings[w]; w++) {
        char text[TP_WARNINGS_TEXT];
        if (tp_warning_of_all(tp_warnings[w], results, count, text))
            tp_put(out, TP_TO_MARKDOWN, "- **%s** %s\n", tp_warnings[w]->id, text);
    }
}

/* Writes the options of each strategy, in a part that is folded away. */
static void write_options(const struct tp_report *rep, const struct tp_result *results,
                          size_t count, FILE *out)
{
    fputs("\n<details><summary>Options</summary>\n\n", out);
    for (size_t i = 0; i < count; i++) {
        tp_put(out, TP_TO_MARKDOWN, "- %s: `", results[i].spec->label);
        tp_export_strategy(&results[i], out); /* needs no escaping: it has no backquote */
        fputs("` on `", out);
        tp_export_source(&results[i], out);
        fprintf(out, "`, touch %s\n", tp_touch_names[results[i].touch]);
    }
    fputs("- ", out);
    tp_put_tool(out);
    fprintf(out, ", clock %s, step %s ns, seed %llu\n\n</details>\n\n", rep->clock.name,
            tp_digits(rep->clock.step_ns).s, (unsigned long long)rep->seed);
}

static int write_trace(const struct tp_report *rep, size_t first, size_t count, FILE *out,
                       struct tp_err *err)
{
    const struct tp_result *results = &rep->results[first];
    struct tp_page page = {.out = out, .width = INT_MAX, .form = TP_PAGE_MARKDOWN};
    struct tp_pick pick;
    write_head(results, count, out);
    int status = tp_report_rows(rep, results, count, &page, err);
    tp_report_pick(results, count, false, &pick);
    tp_pick_print(&pick, &page);
    tp_page_line(&page);
    write_warnings(results, count, out);
    write_options(rep, results, count, out);
    return status;
}

static int write_markdown(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    char partial[96];
    int status = TP_OK;
    for (size_t first = 0, n; !status && first < r->count; first += n) {
        n = tp_results_of_trace(&r->results[first], r->count - first);
        status = write_trace(r, first, n, out, err);
    }
    if (tp_export_partial(r, partial, sizeof partial))
        fprintf(out, "**%s**\n", partial);
    return status;
}

static const char about[] = "For a comment on a pull request: the table of the screen, Pick,\n"
                            "warnings, and all settings in a folded section. Names are escaped:\n"
                            "none can become a link or mention a user.";

const struct tp_exporter tp_replay_markdown = {
    .name = "markdown",
    .summary = "a table per trace, for a comment on a pull request",
    .about = about,
    .write = write_markdown,
};
