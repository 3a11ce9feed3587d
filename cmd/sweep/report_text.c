/* The answers of a sweep on the screen. */
#include "cmd/sweep/sweep.h"

int tp_sweep_report(const struct tp_sweep_asking *asking, FILE *out, struct tp_err *err)
{
    (void)out;
    return tp_fail(err, TP_EUNSUP, "%s: no answers yet", asking->path);
}

const struct tp_exporters tp_sweep_exporters = {0};
