/* Checks of exported files; see exports.h. Known weakness: two names of one file, such as "a" and
 * "./a" or a link, are found only when the second one is written. */
#include "cmd/ui/exports.h"

#include "cmd/ui/output.h"

#include <string.h>

static int look_at(const struct tp_exports *e, int i, const char *const *words, struct tp_err *err)
{
    const char *name = words[i + 1];
    if (!strcmp(e->files[i], "-"))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--export-%s needs a file", name),
                       "--format %s writes to standard output", name);
    for (int k = 0; k < i; k++)
        if (e->files[k] && !strcmp(e->files[k], e->files[i]))
            return tp_fail(err, TP_EUSAGE, "--export-%s and --export-%s name the same file",
                           words[k + 1], name);
    return tp_output_check(e->files[i], e->force, err);
}

int tp_exports_look(const struct tp_exports *e, const char *const *words, struct tp_err *err)
{
    int status = TP_OK;
    for (int i = 0; !status && i < TP_EXPORTS_MAX; i++)
        if (e->files[i])
            status = look_at(e, i, words, err);
    return status;
}

bool tp_exports_any(const struct tp_exports *e)
{
    bool any = e->format != 0;
    for (int i = 0; i < TP_EXPORTS_MAX; i++)
        any |= e->files[i] != NULL;
    return any;
}

bool tp_exports_asked(const struct tp_exports *e, uint32_t format)
{
    return e->format == format || (format && e->files[format - 1]);
}

struct exporting {
    tp_export_fn *write;
    const void *of;
    uint32_t format;
};

static int write_file(void *ctx, FILE *out, struct tp_err *err)
{
    const struct exporting *e = ctx;
    return e->write(e->of, e->format, out, err);
}

int tp_exports_all(const struct tp_exports *e, const char *const *words, tp_export_fn *write,
                   const void *of, FILE *out, struct tp_err *err)
{
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && words[i + 1]; i++)
        if (e->files[i])
            rc = tp_output_write(e->files[i], e->force, write_file,
                                 &(struct exporting){write, of, i + 1}, err);
    return rc == TP_OK ? write(of, e->format, out, err) : rc;
}
