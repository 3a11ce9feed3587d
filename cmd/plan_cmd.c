/* tapool plan: makes the plan of one step for the strategy `planned`. */
#include "alloc/base/clean.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/jobs/bound.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/plan/plan.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/output.h"
#include "cmd/ui/text.h"

#include <inttypes.h>

struct plan_opts {
    struct tp_open_opts open;
    char *output, *mark;
    uint64_t step, bound_time;
    uint32_t by;
    bool force, json;
};

#define STEP_USUAL TP_OPT_KEYWORD(0)
static const char *const step_words[] = {"auto", NULL};
static const char *const by_words[] = {"auto", "mark", "period", NULL}; /* enum tp_steps_by */

#define ROW(member) offsetof(struct plan_opts, member)
static const struct tp_opt rows[] = {
    TP_OUTPUT_ROW(ROW(output), "file to write, for -s planned:plan=FILE"),
    TP_UINT_AT("step", ROW(step), .def = "auto", .min = 1, .max = UINT32_MAX, .choices = step_words,
               .help = "step to plan, counted from 1\n"
                       "auto: the second, the first of one or two. A first step often allocates "
                       "what later ones keep.",
               TP_FIRST(TRACES)),
    TP_CHOICE_AT("by", ROW(by), .def = "auto", .choices = by_words, .arg = "HOW", TP_FIRST(TRACES),
                 .help = "beginning of a step: a mark, or the period of the requests\n"
                         "auto: the first mark that comes twice, the period if there is none. With "
                         "a period a step begins where the fewest bytes are live."),
    TP_TEXT_AT("mark", ROW(mark), .arg = "NAME", .excludes = "by", TP_FIRST(TRACES),
               .help = "mark that begins a step; its numbers do not matter"),
    TP_BOUND_ROW(ROW(bound_time), "1s", .help = TP_BOUND_HELP),
    TP_OPEN_ROWS(struct plan_opts),
    TP_FORCE_ROW(ROW(force)),
    TP_FLAG_AT("json", ROW(json), .help = "print JSON", TP_FIRST(OUTPUT)),
    {.name = NULL}};

struct plan_file {
    const struct plan_opts *opts;
    const struct tp_trace *trace;
    struct tp_program_steps steps;
    size_t number; /* of the step, from 0 */
    struct tp_step_plan plan;
};

static int write_file(void *ctx, FILE *out, struct tp_err *err)
{
    const struct plan_file *f = ctx;
    char name[128], from[256];
    tp_clean_text(f->trace->file, name, sizeof name);
    snprintf(from, sizeof from, "step %zu of %zu of %s, events %" PRIu64 " to %" PRIu64,
             f->number + 1, f->steps.step_count, name, f->plan.step->first_event,
             f->plan.step->last_event);
    tp_step_plan_write(&f->plan, from, out);
    return ferror(out) ? tp_fail_write(err, f->opts->output) : TP_OK;
}

static void print_made(const struct plan_file *f, struct tp_page *page)
{
    const struct tp_step_plan *p = &f->plan;
    char shown[256];
    tp_clean_text(f->opts->output, shown, sizeof shown);
    char mark[64];
    tp_clean_text(p->mark ? p->mark : "", mark, sizeof mark);
    tp_page_put(page, 0, "%s: step %zu of %zu (events %s to %s), by the %s%s", shown, f->number + 1,
                f->steps.step_count, tp_count(p->step->first_event).s,
                tp_count(p->step->last_event).s, p->mark ? "mark " : "period of the requests",
                mark);
    tp_page_put(page, 2,
                "%s: %s planned in a pool of %s (lower bound %s), %s (%s) kept beyond "
                "the step",
                tp_plural(p->count, "request").s, tp_count(p->count - p->kept).s,
                tp_bytes(p->pool, false).s, tp_bytes(p->least, false).s, tp_count(p->kept).s,
                tp_bytes(p->kept_bytes, false).s);
    tp_page_put(page, 0, "Next: tapool replay TRACE -s planned:plan=%s -s %s", shown,
                tp_recorded_strategy_or_first(f->trace->recorded.by)->strategy->name);
}

static void add_step(struct tp_json *j, cJSON *root, const char *name, const struct tp_step *step)
{
    cJSON *o = step ? tp_json_object(j, root, name) : NULL;
    if (!step) {
        tp_json_text(j, root, name, NULL);
        return;
    }
    tp_json_uint(j, o, "first_event", step->first_event);
    tp_json_uint(j, o, "last_event", step->last_event);
    tp_json_uint(j, o, "requests", step->behind - step->first);
}

/* tapool.plan/2 (cmd/plan/plan.schema.json). */
static int write_made(const struct plan_file *f, FILE *out, struct tp_err *err)
{
    const struct tp_step_plan *p = &f->plan;
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_json_text(&j, root, "schema", "tapool.plan/2");
    tp_json_tool(&j, root);
    tp_json_text(&j, root, "file", f->opts->output);
    tp_json_text(&j, root, "mark", p->mark);
    tp_json_uint(&j, root, "steps", f->steps.step_count);
    tp_json_uint(&j, root, "number", f->number + 1);
    add_step(&j, root, "step", p->step);
    add_step(&j, root, "next", p->next);
    tp_json_uint(&j, root, "kept", p->kept);
    tp_json_uint(&j, root, "kept_bytes", p->kept_bytes);
    tp_json_uint(&j, root, "pool_bytes", p->pool);
    tp_json_uint(&j, root, "lower_bound_bytes", p->least);
    return tp_json_print(&j, root, out, err);
}

/* The device of the trace that is planned. */
static int choose_device(const struct plan_file *f, uint16_t *device, struct tp_err *err)
{
    const uint16_t devices = tp_program_facts(f->trace->program)->devices;
    uint64_t asked = f->opts->open.device;
    *device = 0;
    if (devices == 1)
        return TP_OK;
    if (asked == TP_OPT_KEYWORD(0))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "'%s' has %u devices, a plan is of one",
                               f->trace->file, (unsigned)devices),
                       "--device N takes one");
    if (asked >= devices)
        return tp_fail(err, TP_EUSAGE, "there is no device %" PRIu64 ", the last is %u", asked,
                       devices - 1u);
    *device = (uint16_t)asked;
    return TP_OK;
}

static int choose_step(struct plan_file *f, struct tp_err *err)
{
    const uint64_t asked = f->opts->step;
    f->number = asked == STEP_USUAL ? f->steps.step_count > 2 : (size_t)asked - 1;
    if (f->number < f->steps.step_count)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "there is no step %" PRIu64 ", the last is %zu", asked,
                   f->steps.step_count);
}

static int make(struct plan_file *f, FILE *out, struct tp_err *err)
{
    const struct plan_opts *o = f->opts;
    const uint64_t work = o->bound_time / 1000 * (TP_OFFLINE_STEPS_PER_SECOND / 1000000);
    struct tp_page page;
    uint16_t device;
    int status = choose_device(f, &device, err);
    if (!status)
        status = tp_program_steps_find(f->trace->program, device, (enum tp_steps_by)o->by, o->mark,
                                       &f->steps, err);
    if (!status)
        status = choose_step(f, err);
    if (!status)
        status = tp_step_plan(&f->steps, &f->steps.steps[f->number], work, &f->plan, err);
    if (!status)
        status = tp_output_write(o->output, o->force, write_file, f, err);
    if (status)
        return status;
    if (o->json)
        return write_made(f, out, err);
    tp_page_init(&page, out, 0);
    print_made(f, &page);
    return TP_OK;
}

static int run_plan(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct plan_opts *o = args->opts;
    struct tp_trace trace = {0};
    struct plan_file f = {.opts = o, .trace = &trace};
    if (args->count != 1)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "plan takes one trace"),
                       "tapool plan sample:training-step -o step.plan");
    if (!o->output)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "plan needs a file to write"), "-o step.plan");
    int status = tp_output_check(o->output, o->force, err);
    if (!status)
        status = tp_open_trace(args->words[0], &o->open, false, &trace, err);
    if (status)
        return status;
    status = make(&f, out, err);
    tp_step_plan_release(&f.plan);
    tp_program_steps_release(&f.steps);
    tp_trace_close(&trace);
    return status;
}

const struct tp_command tp_command_plan = {
    .name = "plan",
    .usage = "plan TRACE -o FILE [OPTION]...",
    .summary = "plan the memory of one training step, for the strategy planned",
    .about =
        "Take one step of a trace and write where each of its blocks should lie, for '-s "
        "planned:plan=FILE'.\n\n"
        "Steps begin with a mark that comes twice or more (such as 'step 1', 'step 2'), or with "
        "the period of the requests if there is none. Requests are packed by the search for the "
        "best packing, each stream in a part of its own, if their blocks are freed before the step "
        "ends, or in the next step before they are requested again. Blocks that live longer are "
        "kept beyond the step and have no place.\n\n"
        "FILE is text, described by its comments, and appears only when it is complete.",
    .opts_size = sizeof(struct plan_opts),
    .options = rows,
    .run = run_plan,
};
