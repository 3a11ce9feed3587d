/* See exports.h. A format that writes several files adds a part to the given file name, before its
 * suffix:
 *
 *     --export-hgrm out/web.hgrm  -->  out/web-arena-all.hgrm, out/web-arena-alloc.hgrm, ...
 *
 * Known weakness: two names of one file, such as "a" and "./a" or a link, are found only when the
 * second one is written. */
#include "cmd/ui/exports.h"

#include "cmd/ui/output.h"

#include <string.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096, PART_SIZE = 256 };

bool tp_exports_asked(const struct tp_exports *e, size_t index)
{
    return e->format == index || e->files[index];
}

bool tp_exports_any(const struct tp_exports *e)
{
    bool any = e->format != 0;
    for (int i = 0; i < TP_EXPORTS_MAX; i++)
        any |= e->files[i] != NULL;
    return any;
}

bool tp_exports_need_stacks(const struct tp_exports *e, const struct tp_exporter *const *all)
{
    bool need = false;
    for (size_t i = 0; all[i]; i++)
        need |= tp_exports_asked(e, i) && all[i]->stacks;
    return need;
}

uint32_t tp_exports_frames(const struct tp_exports *e, const struct tp_exporter *const *all)
{
    uint32_t most = 0;
    for (size_t i = 0; all[i]; i++)
        if (tp_exports_asked(e, i) && all[i]->frames > most)
            most = all[i]->frames;
    return most;
}

/* ---- before any work ---- */

static int look_at(const struct tp_exports *e, size_t i, const struct tp_exporter *const *all,
                   struct tp_err *err)
{
    const char *name = all[i]->name;
    if (!strcmp(e->files[i], "-"))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--export-%s needs a file", name),
                       "--format %s writes to standard output", name);
    for (size_t k = 0; k < i; k++)
        if (e->files[k] && !strcmp(e->files[k], e->files[i]))
            return tp_fail(err, TP_EUSAGE, "--export-%s and --export-%s name the same file",
                           all[k]->name, name);
    return tp_output_check(e->files[i], e->force, err);
}

int tp_exports_look(const struct tp_exports *e, const struct tp_exporter *const *all,
                    struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && all[i]; i++)
        if (e->files[i])
            status = look_at(e, i, all, err);
    return status;
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

static int check_parts(const struct tp_exporter *x, const char *file, bool force, const void *of,
                       struct tp_err *err)
{
    char path[PATH_SIZE], part[PART_SIZE];
    struct stat st;
    int status = TP_OK;
    if (stat(file, &st) == 0 && !S_ISREG(st.st_mode))
        return tp_fail(err, TP_EUSAGE, "'%s' cannot hold the several files of --export-%s", file,
                       x->name);
    for (size_t k = 0; !status && x->part(of, k, part, sizeof part); k++) {
        status = name_part(file, part, path, err);
        if (!status)
            status = tp_output_check(path, force, err);
    }
    return status;
}

int tp_exports_check(const struct tp_exports *e, const struct tp_exporter *const *all,
                     const void *of, struct tp_err *err)
{
    int status = tp_exports_look(e, all, err);
    for (size_t i = 0; !status && all[i]; i++)
        if (all[i]->check && tp_exports_asked(e, i))
            status = all[i]->check(of, err);
    for (size_t i = 0; !status && all[i]; i++)
        if (all[i]->part && e->files[i])
            status = check_parts(all[i], e->files[i], e->force, of, err);
    return status;
}

/* ---- writing ---- */

struct written {
    const struct tp_exporter *exporter;
    const void *of;
    size_t part; /* of a format with parts */
};

static int write_one(void *ctx, FILE *out, struct tp_err *err)
{
    const struct written *w = ctx;
    return w->exporter->part ? w->exporter->write_part(w->of, w->part, out, err)
                             : w->exporter->write(w->of, out, err);
}

static int write_parts(struct written *w, const char *file, bool force, struct tp_err *err)
{
    const struct tp_exporter *x = w->exporter;
    char path[PATH_SIZE], part[PART_SIZE];
    int status = TP_OK;
    for (; !status && x->part(w->of, w->part, part, sizeof part) && x->has_part(w->of, w->part);
         w->part++) {
        status = name_part(file, part, path, err);
        if (!status)
            status = tp_output_write(path, force, write_one, w, err);
    }
    return status;
}

int tp_exports_files(const struct tp_exports *e, const struct tp_exporter *const *all,
                     const void *of, struct tp_err *err)
{
    int first = TP_OK;
    for (size_t i = 0; all[i]; i++) {
        struct written w = {.exporter = all[i], .of = of};
        struct tp_err one = {0};
        int status = TP_OK;
        if (e->files[i])
            status = all[i]->part ? write_parts(&w, e->files[i], e->force, &one)
                                  : tp_output_write(e->files[i], e->force, write_one, &w, &one);
        if (status && !first)
            *err = one;
        first = first ? first : status;
    }
    return first;
}

int tp_exports_write(const struct tp_exports *e, const struct tp_exporter *const *all,
                     const void *of, FILE *out, struct tp_err *err)
{
    int status = tp_exports_files(e, all, of, err);
    return status ? status : all[e->format]->write(of, out, err);
}
