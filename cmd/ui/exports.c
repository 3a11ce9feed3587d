/* See exports.h. A format that writes several files adds a part to the given file name, before its
 * suffix:
 *
 *     --export-hgrm out/web.hgrm  -->  out/web-arena-all.hgrm, out/web-arena-alloc.hgrm, ...
 *
 * Known weakness: two names of one file, such as "a" and "./a" or a link, are found only when the
 * second one is written. */
#include "cmd/ui/exports.h"

#include "cmd/ui/json_out.h"
#include "cmd/ui/output.h"
#include "cmd/ui/text.h"

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

bool tp_exports_need_stacks(const struct tp_exports *e, const struct tp_exporters *all)
{
    bool need = false;
    for (size_t i = 0; all->list[i]; i++)
        need |= tp_exports_asked(e, i) && all->list[i]->stacks;
    return need;
}

uint32_t tp_exports_frames(const struct tp_exports *e, const struct tp_exporters *all)
{
    uint32_t most = 0;
    for (size_t i = 0; all->list[i]; i++)
        if (tp_exports_asked(e, i) && all->list[i]->frames > most)
            most = all->list[i]->frames;
    return most;
}

/* ---- before any work ---- */

static int look_at(const struct tp_exports *e, size_t i, const struct tp_exporters *all,
                   struct tp_err *err)
{
    const char *name = all->list[i]->name;
    if (!strcmp(e->files[i], "-"))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--export-%s needs a file", name),
                       "--format %s writes to standard output", name);
    for (size_t k = 0; k < i; k++)
        if (e->files[k] && !strcmp(e->files[k], e->files[i]))
            return tp_fail(err, TP_EUSAGE, "--export-%s and --export-%s name the same file",
                           all->list[k]->name, name);
    return tp_output_check(e->files[i], e->force, err);
}

int tp_exports_look(const struct tp_exports *e, const struct tp_exporters *all, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && all->list[i]; i++)
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

int tp_exports_check(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     struct tp_err *err)
{
    int status = tp_exports_look(e, all, err);
    for (size_t i = 0; !status && all->list[i]; i++)
        if (all->list[i]->check && tp_exports_asked(e, i))
            status = all->list[i]->check(of, err);
    for (size_t i = 0; !status && all->list[i]; i++)
        if (all->list[i]->part && e->files[i])
            status = check_parts(all->list[i], e->files[i], e->force, of, err);
    return status;
}

/* ---- writing ---- */

struct written {
    const struct tp_exports *exports;
    const struct tp_exporters *all;
    const struct tp_exporter *exporter;
    const void *of;
    size_t part; /* of a format with parts */
};

static int write_one(void *ctx, FILE *out, struct tp_err *err)
{
    const struct written *w = ctx;
    const struct tp_exporter *x = w->exporter;
    struct tp_json j = {false};
    struct tp_page page;
    if (x->write)
        return x->write(w->of, out, err);
    if (x->part)
        return x->write_part(w->of, w->part, out, err);
    if (x->write_tree)
        return x->write_tree(&j, w->all->tree(&j, w->of), out, err);
    tp_page_init(&page, out, w->exports->color);
    page.exact = w->exports->bytes;
    x->print(w->of, &page);
    return TP_OK;
}

static int write_files(struct written *w, const char *file, bool force, struct tp_err *err)
{
    const struct tp_exporter *x = w->exporter;
    char path[PATH_SIZE], part[PART_SIZE];
    if (!x->part)
        return tp_output_write(file, force, write_one, w, err);
    int status = TP_OK;
    for (; !status && x->part(w->of, w->part, part, sizeof part); w->part++) {
        status = name_part(file, part, path, err);
        if (!status)
            status = tp_output_write(path, force, write_one, w, err);
    }
    return status;
}

int tp_exports_files(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     struct tp_err *err)
{
    int first = TP_OK;
    for (size_t i = 0; all->list[i]; i++) {
        struct written w = {e, all, all->list[i], of, 0};
        struct tp_err one = {0};
        int status = e->files[i] ? write_files(&w, e->files[i], e->force, &one) : TP_OK;
        if (status && !first)
            *err = one;
        first = first ? first : status;
    }
    return first;
}

int tp_exports_print(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     FILE *out, struct tp_err *err)
{
    return write_one(&(struct written){e, all, all->list[e->format], of, 0}, out, err);
}

int tp_exports_write(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     FILE *out, struct tp_err *err)
{
    int status = tp_exports_files(e, all, of, err);
    return status ? status : tp_exports_print(e, all, of, out, err);
}
