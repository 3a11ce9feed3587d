/* See mutation.h. */
#include "alloc/base/mutation.h"

#include "alloc/base/opt.h"

#include <string.h>

enum { NAMES_MAX = 32 }; /* that a wrong name is compared with */

int tp_mutate(void *rules, const struct tp_mutation *list, const char *name, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {NULL};
    for (size_t i = 0; list[i].name; i++) {
        if (!strcmp(list[i].name, name)) {
            memcpy((char *)rules + list[i].offset, &list[i].value, sizeof list[i].value);
            return TP_OK;
        }
        if (i < NAMES_MAX - 1)
            names[i] = list[i].name;
    }
    const char *near = tp_nearest(name, names);
    int rc = tp_fail(err, TP_EUSAGE, "no rule is called '%.63s'", name);
    return near ? tp_hint(err, rc, "did you mean '%s'?", near)
                : tp_hint(err, rc, "'tapool verify --rules' lists all");
}
