/* tapool verify: does a strategy do what the recorded allocator did, address by address? */
#include "cmd/cli/commands.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/text.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"

struct verify_opts {
    char *conf, *mutate, *pytorch;
    uint32_t allocator; /* index of allocators */
    uint64_t max_memory;
    uint32_t color;
    bool rules, json;
};

/* Behind the first, the names of tp_torch_devices. */
static const char *const allocators[] = {"recorded", "cuda", "hip", "xpu", "npu", NULL};

#define ROW(member) offsetof(struct verify_opts, member)
static const struct tp_opt rows[] = {
    TP_CONF_ROW(ROW(conf)),
    TP_CHOICE_AT("allocator", ROW(allocator), .def = "recorded", .choices = allocators,
                 .arg = "DEVICE", TP_FIRST(TRACES),
                 .help = "allocator that was recorded\n"
                         "recorded: the one that the stack frames name. Set it if they name none "
                         "or a wrong one."),
    TP_TEXT_AT("pytorch", ROW(pytorch), .from = TP_OPT_USER, .arg = "X.Y", TP_FIRST(TRACES),
               .help = "PyTorch release of the recording, as 2.9 (default: inferred)\n"
                       "The default is the newest release that writes such a snapshot."),
    TP_TEXT_AT("mutate", ROW(mutate), .from = TP_OPT_USER, .arg = "RULE", TP_FIRST(STRATEGIES),
               .help = "break RULE on purpose\n"
                       "Addresses that still agree do not depend on it."),
    TP_FLAG_AT("rules", ROW(rules), TP_FIRST(OUTPUT),
               .help = "list the rules that --mutate can break"),
    TP_SNAPSHOT_MEMORY_ROW(ROW(max_memory)),
    TP_FLAG_AT("json", ROW(json), .excludes = "rules", .help = "print JSON", TP_FIRST(OUTPUT)),
    TP_COLOR_ROW(ROW(color)),
    {.name = NULL}};

static void print_rules(const struct verify_opts *o, FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, o->color);
    for (const struct tp_certifier *const *by = tp_certifiers; *by; by++) {
        if (tp_certifiers[1])
            tp_page_put(&page, 0, "%s", (*by)->by);
        for (const struct tp_mutation *m = (*by)->rules; m->name; m++)
            tp_page_row(&page, 0, m->name, 18, "%s", m->what);
    }
}

/* Where the devices of a file are reported: on the page, or in `devices` with --json. */
struct report {
    struct tp_page page;
    struct tp_json json;
    cJSON *devices; /* NULL: the page is printed */
    bool several;
};

static int verify_device(const struct tp_recorded_file *f, uint32_t device, struct report *r,
                         bool *agrees, struct tp_err *err)
{
    struct tp_verified v;
    int rc = tp_recorded_verify(f, device, &v, err);
    *agrees = rc != TP_OK || tp_agrees(&v);
    if (rc == TP_OK && r->devices)
        tp_verify_json(&r->json, r->devices, f->by, &v);
    else if (rc == TP_OK)
        tp_verify_text(f, &v, r->several, &r->page);
    return rc;
}

static int verify_devices(const struct tp_recorded_file *f, struct report *r, struct tp_err *err)
{
    uint32_t devices = 0, differ = 0, count = f->by->count(f->state);
    int rc = TP_OK;
    for (uint32_t i = 0; i < count; i++)
        devices += f->by->part(f->state, i).events;
    r->several = devices > 1;
    for (uint32_t i = 0; rc == TP_OK && i < count; i++) {
        bool agrees = true;
        const struct tp_recorded_part part = f->by->part(f->state, i);
        if (part.untold && devices && !r->devices)
            tp_page_row(&r->page, 0, part.name, 16, "%s", part.untold);
        if (part.events)
            rc = verify_device(f, i, r, &agrees, err);
        differ += !agrees;
    }
    if (rc == TP_OK && !devices)
        rc = f->by->fail_silent(f->state, err);
    if (rc == TP_OK && differ)
        rc = tp_fail(err, TP_EFOUND, "%s: the rules and the recording differ",
                     tp_input_name(f->reading.in));
    return rc;
}

/* The document is printed where all devices were replayed, whether they agree or not. */
static int report_devices(const struct verify_opts *o, const struct tp_recorded_file *f, FILE *out,
                          struct tp_err *err)
{
    struct report r = {.devices = NULL};
    struct tp_err lost = {0};
    tp_page_init(&r.page, out, o->color);
    if (!o->json)
        return verify_devices(f, &r, err);
    cJSON *root = tp_verify_tree(&r.json, f, &r.devices);
    int rc = verify_devices(f, &r, err);
    if (rc != TP_OK && rc != TP_EFOUND) {
        cJSON_Delete(root);
        return rc;
    }
    int printed = tp_json_print(&r.json, root, out, &lost);
    if (printed != TP_OK)
        *err = lost;
    return printed != TP_OK ? printed : rc;
}

static int verify_file(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct verify_opts *o = args->opts;
    const struct tp_rules_ask ask = {.conf = o->conf,
                                     .device = o->allocator ? allocators[o->allocator] : NULL,
                                     .release = o->pytorch,
                                     .broken = o->mutate,
                                     .explain = true};
    struct tp_recorded_file file;
    int rc = tp_recorded_open(&file, args->words[0], o->max_memory, err);
    if (rc == TP_OK)
        rc = tp_certifier_refuses(file.by, args, rows, err);
    if (rc == TP_OK)
        rc = file.by->set_rules(file.state, &ask, err);
    if (rc == TP_OK)
        rc = report_devices(o, &file, out, err);
    tp_recorded_close(&file);
    return rc;
}

static int run_verify(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct verify_opts *o = args->opts;
    if (o->rules) {
        print_rules(o, out);
        return TP_OK;
    }
    if (args->count != 1)
        return tp_fail(err, TP_EUSAGE,
                       "verify takes one recording: a PyTorch snapshot or a "
                       "profiler capture (*.xplane.pb)");
    return verify_file(args, out, err);
}

const struct tp_command tp_command_verify = {
    .name = "verify",
    .usage = "verify RECORDING [OPTION]...",
    .summary = "check that a strategy reproduces every address of a recording",
    .about =
        "Replay a PyTorch memory snapshot by the rules of the strategy torch, or a capture of the "
        "TensorFlow or JAX profiler (*.xplane.pb) by those of bfc, starting with the initial heap, "
        "and compare every address with the file, and what else it has: segments and the blocks at "
        "the end, or chunk sizes and fragmentation. Addresses of new segments are taken from the "
        "file. Exit code 0: all agree. "
        "Exit code 1: they differ; the report shows the first difference with the free blocks "
        "that the rules chose from, and how much agrees once each difference is corrected.",
    .opts_size = sizeof(struct verify_opts),
    .options = rows,
    .run = run_verify,
};
