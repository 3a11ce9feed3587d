/* Replays the settings of malloc libraries on a trace; see malloc_tune.h. */
#ifndef TP_MALLOC_REPLAY_H
#define TP_MALLOC_REPLAY_H

#include "cmd/stats/measure.h"
#include "cmd/tune/malloc_tune.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"

struct tp_malloc_cfg {
    const char *given; /* the trace as the user named it */
    uint64_t min_time_ns, seed, timeout;
    unsigned rounds; /* of those that none beats at first; 2 or more */
    enum tp_goal goal;
    bool exact;
};

/* Replays the settings, at least one, on the trace. The caller has filled `trace` and `settings`,
 * and releases `t` in every case. A setting that cannot be replayed is an error only where all are.
 */
int tp_malloc_replay(struct tp_malloc_tune *t, const struct tp_malloc_cfg *cfg, struct tp_err *err);

/* What `tapool tune` prints of a host trace: the screen, and the document tapool.tune-malloc/2. */

/* `all`: all settings, and not those on the front only. */
void tp_malloc_text(const struct tp_malloc_tune *t, bool all, struct tp_page *page);
cJSON *tp_malloc_tree(struct tp_json *j, const struct tp_malloc_tune *t);

#endif
