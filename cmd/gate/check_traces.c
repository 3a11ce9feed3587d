/* The traces of a check. Each trace is read once and its program is stored where child processes
 * open it quickly. It must be the program that the baseline was made with. */
#include "cmd/gate/check_job.h"

#include "alloc/base/grow.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/ui/escape.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tp_open_opts plain = {.device = TP_OPT_KEYWORD(0),
                                          .max_memory = UINT64_C(1) << 30};

int tp_check_prepare(struct tp_check *k, const char *path, size_t *index, struct tp_err *err)
{
    for (size_t i = 0; i < k->trace_count; i++)
        if (!strcmp(k->traces[i].given, path)) {
            *index = i;
            return TP_OK;
        }
    int status = TP_ONE_MORE(&k->traces, k->trace_count, err, .what = "traces");
    if (status)
        return status;
    status = tp_measure_prepare(path, &plain, &k->traces[k->trace_count], err);
    if (status) {
        tp_prepared_release(&k->traces[k->trace_count]);
        return status;
    }
    *index = k->trace_count++;
    return TP_OK;
}

void tp_check_update_command(const struct tp_check *k, const char *trace, const char *strategy,
                             char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    tp_str_add(&s, "tapool check");
    if (trace)
        tp_str_word(&s, trace);
    if (strategy)
        tp_str_strategy(&s, strategy);
    tp_str_option(&s, "baseline", k->o->baseline);
    tp_str_add(&s, " --update");
}

/* With another program nothing can be compared, so it is an error and not a regression. */
int tp_check_hash(const struct tp_check *k, const struct tp_gate_cell *c, struct tp_err *err)
{
    const struct tp_prepared *t = &k->traces[c->prepared];
    if (!c->held || !strcmp(c->held->hash, t->hash))
        return TP_OK;
    int status = tp_fail(err, TP_EINPUT,
                         "%.120s is another program than the one in the baseline: %s with %s "
                         "events, there %s with %s",
                         c->path, t->hash, tp_count(t->events).s, c->held->hash,
                         tp_count(c->held->events).s);
    char command[2 * TP_ERR_TEXT];
    tp_check_update_command(k, c->path, NULL, command, sizeof command);
    return tp_hint(err, status, "to accept it: %s", command);
}
