/* tapool gen: writes synthetic traces. Without arguments it lists the profiles; with only the name
 * of a profile it describes that one.
 *
 * The option rows here only accept text. The row of the profile that has the same name parses the
 * text, because it knows range and default. So one command line serves different profiles. */
#include "alloc/base/clean.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/save_trace.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/output.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"
#include "traces/formats/json/json_write.h"
#include "traces/formats/tpt/tpt_writer.h"
#include "traces/lower/lower.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME = 2, SUMMARY = 22, DEFAULT = 14, HELP = 24 };

struct gen_opts {
    char *output;
    char *size, *max_size, *live, *count, *age, *threads, *streams; /* texts; NULL: not given */
    char *layers, *hidden, *batch, *lengths, *kv;
    uint64_t seed;
    bool force, json;
};

#define ROW(member) offsetof(struct gen_opts, member)
static const struct tp_opt rows[] = {
    TP_OUTPUT_ROW(ROW(output),
                  "file to write, as .tpt, .json or .jsonl; '-': standard output\n"
                  ".tpt is tapool's binary format, .json one document, .jsonl and '-' have one "
                  "event a line."),
    TP_TEXT_AT("size", ROW(size), .arg = "SIZE", TP_FIRST(TRACES),
               .help = "size of an object, or of the smallest"),
    TP_TEXT_AT("max-size", ROW(max_size), .arg = "SIZE", TP_FIRST(TRACES),
               .help = "size of the largest object"),
    TP_TEXT_AT("live", ROW(live), .arg = "N", TP_FIRST(TRACES),
               .help = "number of live objects, sequences or sessions"),
    TP_TEXT_AT("count", ROW(count), .arg = "N", TP_FIRST(TRACES),
               .help = "number of allocations, requests or steps"),
    TP_TEXT_AT("age", ROW(age), .arg = "N", TP_IN(TRACES),
               .help = "turnovers of the heap that age it before the steady phase"),
    TP_TEXT_AT("threads", ROW(threads), .arg = "N", TP_FIRST(TRACES), .help = "number of threads"),
    TP_TEXT_AT("streams", ROW(streams), .arg = "N", TP_FIRST(TRACES),
               .help = "number of streams of the device"),
    TP_TEXT_AT("layers", ROW(layers), .arg = "N", TP_IN(TRACES),
               .help = "number of layers of the model"),
    TP_TEXT_AT("hidden", ROW(hidden), .arg = "N", TP_IN(TRACES), .help = "width of the model"),
    TP_TEXT_AT("batch", ROW(batch), .arg = "N", TP_IN(TRACES),
               .help = "number of sequences in a training step"),
    TP_TEXT_AT("lengths", ROW(lengths), .arg = "HOW", TP_IN(TRACES),
               .help = "length of the sequences: fixed or mixed"),
    TP_TEXT_AT("kv", ROW(kv), .arg = "HOW", TP_IN(TRACES),
               .help = "layout of the KV cache: paged or contiguous"),
    TP_UINT_AT("seed", ROW(seed), .def = "1", .max = UINT64_MAX - 1, TP_FIRST(TRACES),
               .help = "seed of the trace; the same seed makes the same bytes"),
    TP_FORCE_ROW(ROW(force)),
    TP_FLAG_AT("json", ROW(json), .help = "print JSON", TP_FIRST(OUTPUT)),
    {.name = NULL}};

/* ---- what there is ---- */

static void print_profiles(struct tp_page *page)
{
    tp_page_put(page, 0, "profiles of synthetic traces");
    for (size_t i = 0; tp_profiles[i]; i++)
        tp_page_row(page, NAME, tp_profiles[i]->name, SUMMARY, "%s", tp_profiles[i]->summary);
    tp_page_line(page);
    tp_page_put(page, 0,
                "To make one: tapool gen pair -o pair.json    Its options: tapool gen pair");
}

static void print_profile(struct tp_page *page, const struct tp_profile *p)
{
    tp_page_put(page, 0, "%s: %s", p->name, p->summary);
    tp_page_line(page);
    tp_page_put(page, 0, "%s", p->about);
    tp_page_line(page);
    tp_page_row(page, 0, "options", DEFAULT, "default");
    for (const struct tp_opt *row = p->options; row && row->name; row++) {
        tp_page_at(page, NAME, "--%s", row->name);
        tp_page_row(page, DEFAULT, row->def, HELP, "%s", row->help);
    }
    tp_page_at(page, NAME, "--seed");
    tp_page_row(page, DEFAULT, "1", HELP, "the same seed, the same bytes");
    tp_page_line(page);
    tp_page_put(page, 0, "To make it: tapool gen %s -o %s.json", p->name, p->name);
    if (!p->sample)
        return;
    tp_page_put(page, 0, "Without a file: tapool replay sample:%s", p->sample);
}

/* ---- options ---- */

/* Whether the row belongs to profiles and not to the command itself. */
static bool is_profile_option(const struct tp_opt *row)
{
    return row->type == TP_OPT_TEXT && row->offset != ROW(output);
}

static const char *given(const struct gen_opts *o, const struct tp_opt *row)
{
    return *(char *const *)((const char *)o + row->offset);
}

static int fail_not_taken(const struct tp_profile *p, const char *name, struct tp_err *err)
{
    char names[256];
    struct tp_str s = TP_STR_IN(names);
    for (const struct tp_opt *row = p->options; row && row->name; row++)
        tp_str_add(&s, "--%s, ", row->name);
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "profile '%s' has no option '--%s'", p->name, name),
                   "it takes %s--seed", names);
}

static int set_options(const struct tp_args *args, const struct tp_profile *p, void *opts,
                       struct tp_err *err)
{
    for (const struct tp_opt *row = rows; row->name; row++) {
        const char *text = is_profile_option(row) ? given(args->opts, row) : NULL;
        const struct tp_opt *own = tp_opt_find(p->options, row->name);
        if (!text || (!own && !tp_config_typed(args, rows, row->name)))
            continue;
        int status = own ? tp_opt_set(own, opts, text, err) : fail_not_taken(p, row->name, err);
        if (status)
            return status;
    }
    return TP_OK;
}

/* ---- writing ---- */

struct recipe;

/* A form of file that can be written, chosen by the end of its name. */
struct form {
    const char *suffix;
    bool lines; /* text forms: one event per line */
    int (*write)(struct recipe *r, const char *path, FILE *out, struct tp_err *err);
};

/* Everything about the trace that is made, except the stream it is written to. */
struct recipe {
    const struct tp_profile *profile;
    const void *opts;
    uint64_t seed;
    const struct form *form;
    const char *path;
    char name[64], program[256]; /* header fields of the trace */
    struct tp_json_writer writer;
    uint64_t events;
};

static struct tp_meta meta_of(struct recipe *r)
{
    return (struct tp_meta){.name = r->name, .program = r->program, .kind = r->profile->kind};
}

static int write_one(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct recipe *r = ctx;
    int status = tp_stop_asked(err);
    if (status)
        return status;
    r->events++;
    return tp_json_write_event(&r->writer, ev, err);
}

static int write_text(struct recipe *r, const char *path, FILE *out, struct tp_err *err)
{
    const struct tp_profile *p = r->profile;
    const struct tp_event_sink sink = {write_one, r};
    const struct tp_meta meta = meta_of(r);
    const struct tp_json_write_cfg cfg = {.out = out,
                                          .path = path,
                                          .lines = r->form->lines,
                                          .meta = &meta,
                                          .streams = p->streams ? p->streams(r->opts) : 0};
    int status = tp_json_write_begin(&r->writer, &cfg, err);
    if (!status)
        status = p->generate(r->opts, r->seed, &sink, err);
    return status ? status : tp_json_write_end(&r->writer, err);
}

static int write_window(void *writer, const struct tp_builder *b, const struct tp_window *w,
                        struct tp_err *err)
{
    int status = tp_stop_asked(err);
    return status ? status : tp_tpt_write_window(writer, b, w, err);
}

/* Writes each window to the file when it is full, so that memory grows with the number of live
 * objects and not with the length of the trace. */
static int write_windows(struct recipe *r, struct tp_tpt_writer *writer, struct tp_err *err)
{
    const struct tp_lower_cfg cfg = {
        .path = r->profile->name, .strict = true, .sink = write_window, .sink_ctx = writer};
    struct tp_lower *lo = NULL;
    struct tp_program *program = NULL;
    uint64_t repairs[TP_REPAIR_COUNT];
    int status = tp_lower_new(&cfg, &lo, err);
    if (!status)
        status = tp_profile_lower(r->profile, r->opts, r->seed, lo, err);
    if (!status)
        status = tp_lower_finish(lo, &program, repairs, err);
    if (!status) {
        const struct tp_writing end = {.program = program, .repairs = repairs};
        r->events = tp_program_facts(program)->events;
        status = tp_tpt_write_end(writer, &end, err);
    }
    tp_program_release(program);
    tp_lower_free(lo);
    return status;
}

static int write_binary(struct recipe *r, const char *path, FILE *out, struct tp_err *err)
{
    const struct tp_meta meta = meta_of(r);
    const struct tp_writing begin = {.path = path, .meta = &meta};
    struct tp_tpt_writer *writer = NULL;
    int status = tp_tpt_write_begin(&begin, meta.kind, 0, out, &writer, err);
    if (!status)
        status = write_windows(r, writer, err);
    tp_tpt_write_free(writer);
    return status;
}

static const struct form forms[] = {{".jsonl", true, write_text}, /* also for '-' */
                                    {".json", false, write_text},
                                    {".tpt", false, write_binary}};
enum { FORMS = sizeof forms / sizeof *forms };

static int write_body(void *ctx, FILE *out, struct tp_err *err)
{
    struct recipe *r = ctx;
    return r->form->write(r, r->path, out, err);
}

static void print_made(const struct recipe *r, const char *path, struct tp_page *page)
{
    char shown[256];
    tp_clean_text(path, shown, sizeof shown);
    tp_page_put(page, 0, "%s: %s events, %s", shown, tp_count(r->events).s, r->program);
    tp_page_command(page, "Next: tapool replay", path);
}

/* ---- JSON ---- */

static void write_profile(struct tp_json *j, cJSON *in, const struct tp_profile *p)
{
    cJSON *o = tp_json_item(j, in);
    tp_json_text(j, o, "name", p->name);
    tp_json_text(j, o, "summary", p->summary);
    tp_json_text(j, o, "about", p->about);
    tp_json_text(j, o, "sample", p->sample);
    cJSON *options = tp_json_array(j, o, "options");
    for (const struct tp_opt *row = p->options; row && row->name; row++)
        tp_json_option(j, options, row);
    tp_json_option(j, options, tp_opt_find(rows, "seed"));
}

/* tapool.gen/2 (cmd/jobs/gen.schema.json): one profile, or all if `p` is NULL. `r` is the trace
 * that was written, or NULL. */
static int write_tree(const struct tp_profile *p, const struct recipe *r, FILE *out,
                      struct tp_err *err)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_json_text(&j, root, "schema", "tapool.gen/2");
    tp_json_tool(&j, root);
    cJSON *profiles = tp_json_array(&j, root, "profiles");
    for (size_t i = 0; tp_profiles[i]; i++)
        if (!p || p == tp_profiles[i])
            write_profile(&j, profiles, tp_profiles[i]);
    tp_json_text(&j, root, "program", r ? r->program : NULL);
    if (r)
        tp_json_saved(&j, root, r->path, r->form->suffix + 1, r->events);
    else
        tp_json_text(&j, root, "trace", NULL);
    return tp_json_print(&j, root, out, err);
}

static int describe(const struct tp_profile *p, bool json, struct tp_page *page, struct tp_err *err)
{
    if (json)
        return write_tree(p, NULL, page->out, err);
    if (p)
        print_profile(page, p);
    else
        print_profiles(page);
    return TP_OK;
}

static int choose_form(const char *path, const struct form **out, struct tp_err *err)
{
    const char *dot = strcmp(path, "-") ? strrchr(path, '.') : forms[0].suffix;
    for (size_t i = 0; dot && i < FORMS; i++) {
        *out = &forms[i];
        if (!strcasecmp(dot, forms[i].suffix))
            return TP_OK;
    }
    return tp_hint(
        err, tp_fail(err, TP_EUSAGE, "'%s' ends in none of .json, .jsonl and .tpt", path),
        ".json is one JSON document, .jsonl one event a line, .tpt tapool's binary form");
}

static int make_with(struct recipe *r, const struct gen_opts *o, struct tp_page *page,
                     struct tp_err *err)
{
    bool to_stdout = !strcmp(o->output, "-");
    int status = to_stdout ? TP_OK : tp_output_check(o->output, o->force, err);
    snprintf(r->name, sizeof r->name, "%s", r->profile->name);
    tp_profile_describe(r->profile, r->opts, r->seed, r->program, sizeof r->program);
    if (status)
        return status;
    if (to_stdout)
        return r->form->write(r, "standard output", page->out, err);
    r->path = o->output;
    status = tp_output_write(o->output, o->force, write_body, r, err);
    if (!status && o->json)
        return write_tree(r->profile, r, page->out, err);
    if (!status)
        print_made(r, o->output, page);
    return status;
}

static int make(const struct tp_args *args, const struct tp_profile *p, struct tp_page *page,
                struct tp_err *err)
{
    const struct gen_opts *o = args->opts;
    struct recipe r = {.profile = p, .seed = o->seed};
    void *opts = NULL;
    int status = tp_json_beside(tp_config_typed(args, rows, "json"), strcmp(o->output, "-"), err);
    if (!status)
        status = choose_form(o->output, &r.form, err);
    if (!status)
        status = tp_profile_opts_new(p, &opts, err);
    if (!status)
        status = set_options(args, p, opts, err);
    r.opts = opts;
    if (!status)
        status = make_with(&r, o, page, err);
    tp_profile_opts_free(p, opts);
    return status;
}

static int run_gen(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct gen_opts *o = args->opts;
    const bool describes = !o->output && (o->json || !args->flags);
    struct tp_page page;
    tp_page_init(&page, out, 0);
    if (args->count > 1)
        return tp_fail(err, TP_EUSAGE, "gen takes one profile at a time");
    if (!args->count && describes)
        return describe(NULL, o->json, &page, err);
    if (!args->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "gen needs a profile"),
                       "'tapool gen' lists them");
    const struct tp_profile *p = tp_find_profile(args->words[0], err);
    if (!p)
        return TP_EUSAGE;
    if (describes)
        return describe(p, o->json, &page, err);
    if (!o->output)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "gen needs a file to write"),
                       "tapool gen %s -o %s.json; '-o -' is standard output", p->name, p->name);
    return make(args, p, &page, err);
}

const struct tp_command tp_command_gen = {
    .name = "gen",
    .usage = "gen [PROFILE [-o FILE] [OPTION]...]",
    .summary = "generate a synthetic trace from a profile and a seed",
    .about =
        "Generate a synthetic trace. tapool gen lists the profiles; tapool gen PROFILE describes "
        "one, with its options and their defaults.\n\n"
        "The same profile, options and seed make the same file, byte for byte, on every machine. "
        "FILE appears only when it is complete.",
    .opts_size = sizeof(struct gen_opts),
    .options = rows,
    .run = run_gen,
};
