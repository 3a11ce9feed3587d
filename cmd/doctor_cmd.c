/* tapool doctor: what this machine can measure, and what limits it. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/doctor/doctor.h"
#include "cmd/results/report_json.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/text.h"

#include <stdlib.h>

enum { NAME = 2, VERDICT = 17, VALUE = 26 };

struct doctor_opts {
    struct tp_exports exports;
    bool config;
};

#define EXPORTS(X, of) TP_EXPORTS_OF_ALL(X, of, NULL)
enum { TP_EXPORT_INDEXES(doctor, EXPORTS) };
static const char *const doctor_words[] = {TP_EXPORT_WORDS(EXPORTS)};

static const struct tp_opt rows[] = {
    TP_FORMAT_ROW(doctor, "print the result as FORMAT"),
    TP_JSON_ROW(doctor),
    TP_COLOR_ROW(offsetof(struct doctor_opts, exports.color)),
    TP_FLAG_AT("config", offsetof(struct doctor_opts, config), .from = TP_OPT_CALL,
               TP_FIRST(OUTPUT),
               .help = "list option values of COMMAND, or of all, and where each comes from"),
    {.name = NULL}};

static int count_verdict(const struct tp_doctor *d, enum tp_doctor_verdict verdict)
{
    int count = 0;
    for (int i = 0; i < d->count; i++)
        count += d->checks[i].verdict == verdict;
    return count;
}

static void print_text(const void *of, struct tp_page *page)
{
    const struct tp_doctor *d = of;
    tp_page_put(page, 0, "tapool %s on this machine", TAPOOL_VERSION);
    for (int i = 0; i < d->count; i++) {
        const struct tp_doctor_check *c = &d->checks[i];
        tp_page_at(page, NAME, "%s", c->name);
        tp_page_row(page, VERDICT, tp_verdict_names[c->verdict], VALUE, "%s", c->value);
        if (c->advice[0])
            tp_page_put(page, VALUE, "%s", c->advice);
    }
    tp_page_line(page);
    int warnings = count_verdict(d, TP_VERDICT_WARNING);
    tp_page_put(
        page, 0,
        "%d ok, %s, %d missing. Warnings are about times; memory and counts do not depend on "
        "them.",
        count_verdict(d, TP_VERDICT_OK), tp_plural((uint64_t)warnings, "warning").s,
        count_verdict(d, TP_VERDICT_MISSING));
}

/* Writes the CUDA devices; null if there is no driver. The check `cuda` says why. */
static void write_cuda(struct tp_json *j, cJSON *root, const struct tp_doctor *d)
{
    const struct tp_cuda_info *info = d->gpu.cuda ? tp_gpu_info(&d->gpu) : NULL;
    if (!info) {
        tp_json_text(j, root, "cuda", NULL);
        return;
    }
    cJSON *cuda = tp_json_object(j, root, "cuda");
    tp_json_text(j, cuda, "driver", info->path);
    tp_json_text(j, cuda, "driver_release", info->release);
    tp_json_uint(j, cuda, "cuda_version", (uint64_t)info->version);
    tp_json_uint(j, cuda, "max_connections", info->connections ? info->connections : TP_NONE);
    tp_json_bool(j, cuda, "simulated", info->simulated);
    cJSON *devices = tp_json_array(j, cuda, "devices");
    for (int i = 0; i < info->device_count && i < TP_DOCTOR_GPUS; i++) {
        const struct tp_cuda_device *device = &info->devices[i];
        cJSON *o = tp_json_item(j, devices);
        tp_json_text(j, o, "name", device->name);
        tp_json_uint(j, o, "total_bytes", device->total_bytes);
        tp_json_uint(j, o, "free_bytes", d->gpus[i].free_bytes);
        tp_json_uint(j, o, "clock_khz", device->clock_khz ? device->clock_khz : TP_NONE);
        tp_json_uint(j, o, "compute_major", (uint64_t)device->major);
        tp_json_uint(j, o, "compute_minor", (uint64_t)device->minor);
        tp_json_bool(j, o, "pools", device->pools);
        tp_json_text(j, o, "no_pools", device->pools ? NULL : device->no_pools);
        tp_json_bool(j, o, "vmm", device->vmm);
        tp_json_text(j, o, "no_vmm", device->vmm ? NULL : device->no_vmm);
    }
}

/* tapool.doctor/2 (cmd/doctor/doctor.schema.json). */
static cJSON *doctor_tree(struct tp_json *j, const void *of)
{
    const struct tp_doctor *d = of;
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.doctor/2");
    tp_json_tool(j, root);
    tp_json_machine(j, root);
    if (d->clock.name)
        tp_json_clock(j, root, &d->clock);
    cJSON *values = tp_json_object(j, root, "values");
    tp_json_uint(j, values, "cores_allowed", d->cores_allowed);
    tp_json_real(j, values, "load_1min", d->load);
    tp_json_uint(j, values, "memory_available_bytes", d->memory_available_bytes);
    tp_json_uint(j, values, "max_map_count", d->max_map_count);
    tp_json_uint(j, values, "overcommit_memory", d->overcommit_memory);
    tp_json_uint(j, values, "temporary_free_bytes", d->temporary_free_bytes);
    tp_json_uint(j, values, "cuda_devices", d->cuda_devices);
    write_cuda(j, root, d);
    cJSON *checks = tp_json_array(j, root, "checks");
    for (int i = 0; i < d->count; i++) {
        const struct tp_doctor_check *c = &d->checks[i];
        cJSON *o = tp_json_item(j, checks);
        tp_json_text(j, o, "name", c->name);
        tp_json_text(j, o, "verdict", tp_verdict_names[c->verdict]);
        tp_json_text(j, o, "value", c->value);
        tp_json_text(j, o, "advice", c->advice[0] ? c->advice : NULL);
    }
    return root;
}

static const struct tp_exporter doctor_text = {.name = "text", .print = print_text};
static const struct tp_exporters doctor_exporters = TP_EXPORT_TABLE(doctor, EXPORTS, doctor_tree);

static int print_config(const struct tp_args *args, bool json, FILE *out, struct tp_err *err)
{
    if (args->count > 1)
        return tp_fail(err, TP_EUSAGE, "doctor --config takes one command at most");
    const struct tp_command *only = args->count ? tp_find_command(args->words[0], err) : NULL;
    if (args->count && !only)
        return TP_EUSAGE;
    if (only && !tp_config_concerns(only))
        return tp_fail(err, TP_EUSAGE, "'%s' has no options to configure", only->name);
    return tp_config_print(only, json, out, err);
}

static int run_doctor(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct doctor_opts *o = args->opts;
    if (o->config)
        return print_config(args, o->exports.format == doctor_index_json, out, err);
    if (args->count)
        return tp_fail(err, TP_EUSAGE, "doctor takes no argument");
    struct tp_doctor *d = calloc(1, sizeof *d);
    if (!d)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    d->root = "";
    d->out = out;
    tp_doctor_examine(d);
    int status = tp_exports_write(&o->exports, &doctor_exporters, d, out, err);
    tp_doctor_release(d);
    free(d);
    return status;
}

const struct tp_command tp_command_doctor = {
    .name = "doctor",
    .usage = "doctor [OPTION]... | doctor --config [COMMAND]",
    .summary = "check what this machine can measure and what adds noise",
    .about =
        "Check the build, CPU, clock, load, memory settings and the tools that tapool can use. "
        "Each check is ok, limit (works, but limits or disturbs measurements) or missing. doctor "
        "changes nothing and exits with 0.",
    .opts_size = sizeof(struct doctor_opts),
    .options = rows,
    .run = run_doctor,
};
