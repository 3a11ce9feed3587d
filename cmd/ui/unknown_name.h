/* Names that nothing has. */
#ifndef TP_UNKNOWN_NAME_H
#define TP_UNKNOWN_NAME_H

#include "alloc/base/err.h"

/* Fails because `name` is not one of `names`, which end in NULL. The hint is the nearest of them,
 * and the command `lister` that lists all. TP_EUSAGE. */
void tp_unknown_name(struct tp_err *err, const char *what, const char *name,
                     const char *const *names, const char *lister);

#endif
