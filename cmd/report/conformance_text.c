/* See conformance_text.h. */
#include "cmd/report/conformance_text.h"

#include "cmd/jobs/conformance_run.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

enum { VERDICT = 2, CHECK = 10, PLACE = 47 };

struct printing {
    struct tp_page page;
    unsigned failed;
};

static void print_result(void *ctx, const struct tp_conformance_result *r)
{
    struct printing *p = ctx;
    bool passed = r->why.status == TP_OK;
    p->failed += !passed;
    tp_page_at(&p->page, VERDICT, "%s", passed ? "ok" : "FAILED");
    tp_page_at(&p->page, CHECK, "%s", r->check->name);
    tp_page_at(&p->page, PLACE, "%s", r->on->name);
    tp_page_line(&p->page);
    if (!passed)
        tp_page_put(&p->page, CHECK, "%s", r->why.text);
}

/* Plays while signals are only noted, so that a child does not outlive its line. */
static int play(const struct tp_strategy_spec *spec, const char *options, struct printing *p,
                unsigned *played, struct tp_err *err)
{
    const struct tp_conformance_case one = {spec->strategy, options};
    struct tp_stop signals;
    tp_stop_catch(&signals, false);
    int status = tp_conformance_run(&one, print_result, p, tp_stop_flag(), played, err);
    tp_stop_restore(&signals);
    return status;
}

int tp_conformance_print(const struct tp_strategy_spec *spec, FILE *out, struct tp_err *err)
{
    struct printing p = {.failed = 0};
    char options[TP_SPEC_TEXT];
    unsigned played = 0;
    if (!tp_opts_text(spec->strategy->options, spec->opts, options, sizeof options))
        return tp_fail(err, TP_EUSAGE, "the options of '%s' are too long", spec->label);
    tp_page_init(&p.page, out, 0);
    tp_page_put(&p.page, 0, "%s: random programs beside a model that knows what must come out",
                spec->strategy->name);
    tp_page_line(&p.page);
    int status = play(spec, options, &p, &played, err);
    if (status)
        return status;
    tp_page_line(&p.page);
    if (spec->strategy->caps & TP_CAP_ASYNC)
        tp_page_put(&p.page, 0, "A pool of the driver is played on a GPU alone, not here.");
    tp_page_put(&p.page, 0, "%u of %s passed.", played - p.failed, tp_plural(played, "check").s);
    if (!p.failed)
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EBROKEN, "strategy '%s' fails %u of %s", spec->strategy->name,
                           p.failed, tp_plural(played, "check").s),
                   "seeds are fixed: the same check fails in the same step again, except with "
                   "several threads");
}
