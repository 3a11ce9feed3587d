/* tapool verify: does the strategy `torch` do what PyTorch did, address by address? */
#include "cmd/cli/commands.h"
#include "cmd/pytorch/verify/verify.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/option_words.h"

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
    for (const struct tp_torch_mutation *m = tp_torch_mutations; m->name; m++)
        tp_page_row(&page, 0, m->name, 18, "%s", m->what);
}

/* Where the devices of a file are reported: on the page, or in `devices` with --json. */
struct report {
    struct tp_page page;
    struct tp_json json;
    cJSON *devices; /* NULL: the page is printed */
    bool several;
};

static int verify_device(const struct verify_opts *o, const struct tp_pytorch *s,
                         const struct tp_torch_rules *rules, uint32_t device, struct report *r,
                         bool *agrees, struct tp_err *err)
{
    struct tp_verified v;
    int rc = tp_verify(s, device, rules, o->mutate, &v, err);
    if (rc == TP_OK && !o->mutate)
        rc = tp_verify_changes(s, rules, o->conf ? o->conf : tp_pytorch_conf(s), &v, err);
    *agrees = rc != TP_OK || tp_agrees(&v);
    if (rc == TP_OK && r->devices)
        tp_verify_json(&r->json, r->devices, &v);
    else if (rc == TP_OK)
        tp_verify_text(&v, &tp_torch_devices[rules->device], r->several, &r->page);
    return rc;
}

static int verify_devices(const struct verify_opts *o, const struct tp_pytorch *s,
                          const struct tp_torch_rules *rules, struct report *r, struct tp_err *err)
{
    uint32_t devices = 0, differ = 0;
    int rc = TP_OK;
    for (uint32_t i = 0; i < TP_PYTORCH_DEVICES; i++)
        devices += tp_pytorch_has_events(&s->devices[i]);
    r->several = devices > 1;
    for (uint32_t i = 0; rc == TP_OK && i < TP_PYTORCH_DEVICES; i++) {
        bool agrees = true;
        if (tp_pytorch_has_events(&s->devices[i]))
            rc = verify_device(o, s, rules, i, r, &agrees, err);
        differ += !agrees;
    }
    if (rc == TP_OK && !devices)
        rc = tp_snapshot_silent(s, err);
    if (rc == TP_OK && differ)
        rc = tp_fail(err, TP_EFOUND, "%s: the rules and the recording differ",
                     tp_input_name(s->reading->in));
    return rc;
}

/* The document is printed where all devices were replayed, whether they agree or not. */
static int verify_snapshot(const struct verify_opts *o, const struct tp_pytorch *s, FILE *out,
                           struct tp_err *err)
{
    struct tp_torch_rules rules;
    struct report r = {.devices = NULL};
    struct tp_err lost = {0};
    int rc = tp_verify_rules_of(s, o->allocator ? allocators[o->allocator] : NULL, o->pytorch,
                                o->conf, &rules, err);
    if (rc != TP_OK)
        return rc;
    tp_page_init(&r.page, out, o->color);
    if (!o->json)
        return verify_devices(o, s, &rules, &r, err);
    cJSON *root = tp_verify_tree(&r.json, tp_input_name(s->reading->in),
                                 &tp_torch_devices[rules.device], &r.devices);
    rc = verify_devices(o, s, &rules, &r, err);
    if (rc != TP_OK && rc != TP_EFOUND) {
        cJSON_Delete(root);
        return rc;
    }
    int printed = tp_json_print(&r.json, root, out, &lost);
    if (printed != TP_OK)
        *err = lost;
    return printed != TP_OK ? printed : rc;
}

static int verify_file(const struct verify_opts *o, const char *path, FILE *out, struct tp_err *err)
{
    struct tp_snapshot_file file;
    int rc = tp_snapshot_open(&file, path, o->max_memory, err);
    if (rc == TP_OK)
        rc = verify_snapshot(o, file.snapshot, out, err);
    tp_snapshot_close(&file);
    return rc;
}

static int run_verify(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct verify_opts *o = args->opts;
    struct tp_torch_rules tried = tp_torch_defaults;
    if (o->rules) {
        print_rules(o, out);
        return TP_OK;
    }
    if (args->count != 1)
        return tp_fail(err, TP_EUSAGE, "verify takes one PyTorch snapshot");
    int rc = o->mutate ? tp_torch_mutate(&tried, o->mutate, err) : TP_OK;
    if (rc != TP_OK)
        return *err->hint ? rc : tp_hint(err, rc, "'tapool verify --rules' lists all");
    return verify_file(o, args->words[0], out, err);
}

const struct tp_command tp_command_verify = {
    .name = "verify",
    .usage = "verify SNAPSHOT [OPTION]...",
    .summary = "check that the strategy torch reproduces every address of a PyTorch snapshot",
    .about =
        "Replay a PyTorch memory snapshot by the rules of the strategy torch, starting with the "
        "initial heap, and compare every address, every segment and the blocks at the end with "
        "the file. Addresses of new segments are taken from the file. Exit code 0: all agree. "
        "Exit code 1: they differ; the report shows the first difference with the free blocks "
        "that the rules chose from, and how much agrees once each difference is corrected.",
    .opts_size = sizeof(struct verify_opts),
    .options = rows,
    .run = run_verify,
};
