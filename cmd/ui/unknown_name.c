/* See unknown_name.h. */
#include "cmd/ui/unknown_name.h"

#include "alloc/base/opt.h"

void tp_unknown_name(struct tp_err *err, const char *what, const char *name,
                     const char *const *names, const char *lister)
{
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "unknown %s '%s'", what, name);
    if (near)
        tp_hint(err, status, "did you mean '%s'? '%s' lists all", near, lister);
    else
        tp_hint(err, status, "'%s' lists all", lister);
}
