/* See save_trace.h. */
#include "cmd/jobs/save_trace.h"

#include "alloc/base/units.h"
#include "cmd/jobs/catalog.h"
#include "cmd/ui/output.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

const struct tp_trace_writer *tp_find_writer(const char *text, bool suffix)
{
    for (size_t i = 0; text && tp_trace_writers[i]; i++)
        if (!strcasecmp(suffix ? tp_trace_writers[i]->suffix : tp_trace_writers[i]->name, text))
            return tp_trace_writers[i];
    return NULL;
}

struct save_job {
    const struct tp_trace_writer *writer;
    struct tp_writing writing;
};

static int write_job(void *ctx, FILE *out, struct tp_err *err)
{
    const struct save_job *job = ctx;
    return job->writer->write(&job->writing, out, err);
}

int tp_trace_save(const struct tp_saving *s, FILE *out, struct tp_err *err)
{
    struct tp_place_table *places = NULL;
    bool to_file = strcmp(s->path, "-") != 0;
    int status = TP_OK;
    if (s->writer->whole)
        status = tp_place_table_gather(&s->trace->places, NULL,
                                       tp_program_facts(s->trace->program)->events, tp_stop_asked,
                                       &places, err);
    struct save_job job = {.writer = s->writer,
                           .writing = {.program = s->trace->program,
                                       .meta = &s->trace->meta,
                                       .recorded = &s->trace->recorded,
                                       .repairs = s->trace->repairs,
                                       .places = places,
                                       .path = to_file ? s->path : "standard output",
                                       .compress = s->compress,
                                       .device = s->device,
                                       .stop = tp_stop_asked}};
    if (!status)
        status = to_file ? tp_output_write(s->path, s->force, write_job, &job, err)
                         : write_job(&job, out, err);
    tp_place_table_free(places);
    return status;
}

int tp_json_beside(bool json, bool to_file, struct tp_err *err)
{
    return json && !to_file
               ? tp_fail(err, TP_EUSAGE, "--json needs -o FILE: '-o -' prints the trace")
               : TP_OK;
}

uint64_t tp_saved_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : TP_NONE;
}

void tp_json_saved(struct tp_json *j, cJSON *in, const char *path, const char *format,
                   uint64_t events)
{
    cJSON *o = tp_json_object(j, in, "trace");
    tp_json_text(j, o, "file", path);
    tp_json_text(j, o, "format", format);
    tp_json_uint(j, o, "events", events);
    tp_json_uint(j, o, "size_bytes", tp_saved_bytes(path));
}

int tp_trace_cut(struct tp_trace *t, const struct tp_unlower_cfg *piece, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    struct tp_lower *lo = NULL;
    struct tp_program *cut = NULL;
    uint64_t repairs[TP_REPAIR_COUNT];
    if (piece->first > f->events)
        return tp_fail(err, TP_EUSAGE, "--from begins at event %s: there are only %s",
                       tp_count(piece->first).s, tp_count(f->events).s);
    int status = tp_lower_new(&(struct tp_lower_cfg){.path = t->file, .strict = true}, &lo, err);
    if (!status)
        status = tp_relower(t->program, piece, lo, err);
    if (!status)
        status = tp_lower_finish(lo, &cut, repairs, err);
    tp_lower_free(lo);
    if (status)
        return status;
    tp_program_release(t->program);
    t->program = cut;
    t->places.before += piece->first ? piece->first - 1 : 0;
    return TP_OK;
}
