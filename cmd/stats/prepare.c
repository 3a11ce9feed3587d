/* See measure.h. A trace is read once and written as a .tpt into an unlinked file. Children inherit
 * its descriptor, so each of them opens the trace without reading the original again. */
#include "cmd/stats/measure.h"

#include "alloc/base/spool.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/results/figures.h"
#include "cmd/ui/output.h"
#include "cmd/ui/stop.h"
#include "traces/trace_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const struct tp_trace_writer tp_writer_tpt;

static void describe(const struct tp_trace *t, struct tp_prepared *out)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    snprintf(out->hash, sizeof out->hash, "%s", tp_hash_text(f).s);
    out->kind = f->kind;
    out->events = f->events;
    out->operations = f->operations;
    out->devices = f->devices;
    out->threads = f->recorded_threads;
}

/* Children inherit the descriptor, and open the file by it. */
static int open_file(struct tp_prepared *out, FILE **file, struct tp_err *err)
{
    int status = tp_spool_open(&out->fd, err);
    int own = status ? -1 : fcntl(out->fd, F_DUPFD_CLOEXEC, 0);
    *file = own >= 0 ? fdopen(own, "w") : NULL;
    if (!status && (!*file || fcntl(out->fd, F_SETFD, 0)))
        status = tp_fail(err, TP_EIO, "a temporary file cannot be used: %s", strerror(errno));
    if (!*file && own >= 0)
        close(own);
    if (!status && asprintf(&out->path, "/proc/self/fd/%d", out->fd) < 0) {
        out->path = NULL;
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    }
    if (status && out->fd >= 0)
        close(out->fd);
    return status;
}

static int lay_down(const struct tp_trace *t, struct tp_prepared *out, struct tp_err *err)
{
    struct tp_writing w = {.program = t->program,
                           .meta = &t->meta,
                           .recorded = &t->recorded,
                           .repairs = t->repairs,
                           .path = t->path,
                           .device = -1,
                           .stop = tp_stop_asked};
    FILE *file = NULL;
    int status = open_file(out, &file, err);
    if (!status)
        status = tp_writer_tpt.write(&w, file, err);
    if (!status)
        status = tp_finish_output(file, "the temporary file of a trace", err);
    if (file)
        fclose(file);
    return status;
}

int tp_measure_prepare(const char *given, const struct tp_open_opts *o, struct tp_prepared *out,
                       struct tp_err *err)
{
    struct tp_trace t = {0};
    *out = (struct tp_prepared){.fd = -1};
    int status = tp_open_trace(given, o, false, &t, err);
    if (status)
        return status;
    status = tp_measure_lay_down(&t, given, out, err);
    tp_trace_close(&t);
    return status;
}

int tp_measure_lay_down(const struct tp_trace *t, const char *given, struct tp_prepared *out,
                        struct tp_err *err)
{
    *out = (struct tp_prepared){.fd = -1};
    describe(t, out);
    out->given = strdup(given);
    out->name = strdup(t->file);
    return out->given && out->name ? lay_down(t, out, err)
                                   : tp_fail(err, TP_ENOMEM, "out of memory");
}

void tp_prepared_release(struct tp_prepared *p)
{
    if (p->path)
        close(p->fd);
    free(p->path);
    free(p->given);
    free(p->name);
    *p = (struct tp_prepared){.fd = -1};
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

/* Removes files only, as nothing makes folders in there. */
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
