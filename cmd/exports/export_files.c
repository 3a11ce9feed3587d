/* See export_files.h. A format that writes several files adds a part to the given file name, before
 * its suffix:
 *
 *     --export-hgrm out/web.hgrm  -->  out/web-arena-all.hgrm, out/web-arena-alloc.hgrm, ...
 */
#include "cmd/exports/export_files.h"

#include "cmd/ui/output.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096, PART_SIZE = 256 };

_Static_assert((int)TP_EXPORT_COUNT <= (int)TP_EXPORTS_MAX, "each export has a file");

#define WORD(of, id, name, words) name,
const char *const tp_export_words[] = {"text", TP_EXPORTERS(WORD, ) NULL};

const struct tp_exporter *tp_exports_printed(const struct tp_exports *o)
{
    return o->format ? tp_exporters[o->format - 1] : NULL;
}

static uint32_t stacks_of(const struct tp_exporter *e)
{
    return e->stacks;
}

static uint32_t frames_of(const struct tp_exporter *e)
{
    return e->frames;
}

/* The most that one of the formats needs. */
static uint32_t most_of(const struct tp_exports *o, uint32_t (*needs)(const struct tp_exporter *e))
{
    const struct tp_exporter *printed = tp_exports_printed(o);
    uint32_t most = printed ? needs(printed) : 0;
    for (int i = 0; i < TP_EXPORT_COUNT; i++)
        if (o->files[i] && needs(tp_exporters[i]) > most)
            most = needs(tp_exporters[i]);
    return most;
}

bool tp_exports_need_stacks(const struct tp_exports *o)
{
    return most_of(o, stacks_of) > 0;
}

uint32_t tp_exports_frames(const struct tp_exports *o)
{
    return most_of(o, frames_of);
}

/* Adds a part to a file name: "out/web.hgrm" and "arena" make "out/web-arena.hgrm". */
static int name_part(const char *file, const char *part, char *out, struct tp_err *err)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    const char *dot = strrchr(base, '.');
    size_t stem = dot && dot > base ? (size_t)(dot - file) : strlen(file);
    int length = snprintf(out, PATH_SIZE, "%.*s%s%s%s", (int)stem, file, *part ? "-" : "", part,
                          file + stem);
    return length > 0 && length < PATH_SIZE
               ? TP_OK
               : tp_fail(err, TP_EUSAGE, "a name of a file is too long: '%.64s...'", file);
}

static int check_parts(const struct tp_exporter *e, const char *file, bool force,
                       const struct tp_report *r, struct tp_err *err)
{
    char path[PATH_SIZE], part[PART_SIZE];
    struct stat st;
    int status = TP_OK;
    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode))
        return tp_fail(err, TP_EUSAGE, "'%s' cannot hold the several files of --export-%s", file,
                       e->name);
    for (size_t k = 0; !status && e->part(r, k, part, sizeof part); k++) {
        status = name_part(file, part, path, err);
        if (!status)
            status = tp_output_check(path, force, err);
    }
    return status;
}

int tp_exports_check_parts(const struct tp_exports *o, const struct tp_report *r,
                           struct tp_err *err)
{
    const struct tp_exporter *printed = tp_exports_printed(o);
    int status = TP_OK;
    if (printed && printed->part && r->planned > 1)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "--format %s prints one result, and these are %zu",
                               printed->name, r->planned),
                       "one trace with one -s, or --export-%s FILE, which writes a file for each",
                       printed->name);
    if (printed && printed->check)
        status = printed->check(r, err);
    for (int i = 0; !status && i < TP_EXPORT_COUNT; i++)
        if (o->files[i] && tp_exporters[i]->check)
            status = tp_exporters[i]->check(r, err);
    for (int i = 0; !status && i < TP_EXPORT_COUNT; i++)
        if (o->files[i] && tp_exporters[i]->part)
            status = check_parts(tp_exporters[i], o->files[i], o->force, r, err);
    return status;
}

/* Writes one part, or everything if `index` is SIZE_MAX. A signal does not stop writing, so that
 * what was measured before it is kept. */
static int write_file(const struct tp_exporter *e, const struct tp_report *r, size_t index,
                      const char *path, bool force, struct tp_err *err)
{
    struct tp_output file;
    int status = tp_output_open(&file, path, force, err);
    if (status)
        return status;
    status =
        index == SIZE_MAX ? e->write(r, file.file, err) : e->write_part(r, index, file.file, err);
    if (!status)
        return tp_output_commit(&file, err);
    tp_output_discard(&file);
    return status;
}

static int write_parts(const struct tp_exporter *e, const struct tp_report *r, const char *file,
                       bool force, struct tp_err *err)
{
    char path[PATH_SIZE], part[PART_SIZE];
    int status = TP_OK;
    for (size_t k = 0; !status && e->part(r, k, part, sizeof part) && e->has_part(r, k); k++) {
        status = name_part(file, part, path, err);
        if (!status)
            status = write_file(e, r, k, path, force, err);
    }
    return status;
}

int tp_exports_write(const struct tp_exports *o, const struct tp_report *r, struct tp_err *err)
{
    int status = TP_OK;
    for (int i = 0; !status && i < TP_EXPORT_COUNT; i++) {
        const struct tp_exporter *e = tp_exporters[i];
        if (!o->files[i])
            continue;
        status = e->part ? write_parts(e, r, o->files[i], o->force, err)
                         : write_file(e, r, SIZE_MAX, o->files[i], o->force, err);
    }
    return status;
}
