/* A trace, read once and laid where every child opens it in no time: a .tpt in a private folder.
 * See measure.h. */
#include "cmd/gate/measure.h"

#include "cmd/export_text.h"
#include "cmd/open_trace.h"
#include "cmd/output.h"
#include "cmd/stop.h"
#include "traces/trace_writer.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct tp_trace_writer tp_writer_tpt;

static int write_program(void *ctx, FILE *out, struct tp_err *err)
{
    return tp_writer_tpt.write(ctx, out, err);
}

static void describe(const struct tp_trace *t, struct tp_prepared *out)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    snprintf(out->hash, sizeof out->hash, "%s", tp_export_hash(f).s);
    out->kind = f->kind == TP_KIND_DEVICE ? "device" : "host";
    out->events = f->events;
    out->operations = f->operations;
    out->devices = f->devices;
    out->threads = f->recorded_threads;
}

static int lay_down(const struct tp_trace *t, const char *folder, struct tp_prepared *out,
                    struct tp_err *err)
{
    struct tp_writing w = {.program = t->program,
                           .meta = &t->meta,
                           .recorded = &t->recorded,
                           .repairs = t->repairs,
                           .path = t->path,
                           .device = -1,
                           .stop = tp_stop_asked};
    if (asprintf(&out->path, "%s/%.16s.tpt", folder, out->hash) < 0) {
        out->path = NULL;
        return tp_fail(err, TP_ENOMEM, "out of memory");
    }
    return tp_output_write(out->path, true, write_program, &w, err);
}

int tp_measure_prepare(const char *given, const struct tp_open_opts *o, const char *folder,
                       struct tp_prepared *out, struct tp_err *err)
{
    struct tp_trace t = {0};
    *out = (struct tp_prepared){0};
    int status = tp_open_trace(given, o, false, &t, err);
    if (status)
        return status;
    describe(&t, out);
    out->given = strdup(given);
    out->name = strdup(t.file);
    status = out->given && out->name ? lay_down(&t, folder, out, err)
                                     : tp_fail(err, TP_ENOMEM, "out of memory");
    tp_trace_close(&t);
    return status;
}

void tp_prepared_release(struct tp_prepared *p)
{
    free(p->path);
    free(p->given);
    free(p->name);
    *p = (struct tp_prepared){0};
}

int tp_measure_folder(char *path, size_t size, struct tp_err *err)
{
    const char *where = getenv("TMPDIR");
    int length = snprintf(path, size, "%s/tapool-XXXXXX", where && *where ? where : "/tmp");
    if (length < 0 || (size_t)length >= size || !mkdtemp(path))
        return tp_fail(err, TP_EIO, "no folder for what is measured can be made in '%s': %s",
                       where && *where ? where : "/tmp", strerror(errno));
    return TP_OK;
}

/* Files only: nobody makes folders in it. */
void tp_measure_folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (e->d_name[0] != '.' || (e->d_name[1] && strcmp(e->d_name, "..") != 0))
            unlinkat(dirfd(folder), e->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}
