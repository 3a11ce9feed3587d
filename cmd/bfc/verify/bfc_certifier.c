/* The certifier of BFC, the allocator of TensorFlow and JAX (cmd/verify/certifier.h): captures of
 * their profiler, the rules of the strategy `bfc`, and the sentences about regions. */
#include "cmd/bfc/verify/bfc_replay.h"

#include <stdlib.h>

extern const struct tp_format tp_format_xplane;

static const char *const options[] = {NULL};

/* ---- sentences ---- */

#define AT(member)        .at = offsetof(struct tp_verified, member)
#define AGREEMENT(member) .agreement = true, AT(member)

static const struct tp_verify_row rows[] = {
    {TP_ROW_HEAD, "fidelity", AGREEMENT(addresses), .after = " addresses"},
    {TP_ROW_HEAD, "fidelity", AGREEMENT(sizes), .after = " chunk sizes"},
    {TP_ROW_DRIVER, "fragmentation", AGREEMENT(fragmentation),
     .after = " events with the recorded value, to six digits"},
    {TP_ROW_DRIVER, "regions", AGREEMENT(taken), .after = " taken where the capture shows them"},
    {TP_ROW_DRIVER, "from the file", AT(with_base),
     .after = " of these addresses: the first in a region, or in a range that was free"},
    {TP_ROW_END, "missing", AT(breaks), .noun = "event",
     .after =
         " where the recorded bytes in use do not add up: others before it are not in the file"},
    {.label = NULL}};

static const struct tp_verify_sentence sentences[TP_DIFFERENCE_KINDS] = {
    [TP_NEEDS_SEGMENT] = {"alloc of", NULL, "a new region: nothing free fits"},
    [TP_NEEDS_NONE] = {"alloc of", "a new region", NULL},
    [TP_START_UNPLACED] = {"a place for", "a place of its own", "it overlaps another range"},
};

/* ---- a capture ---- */

static int open_capture(const struct tp_reading *r, void **state, struct tp_err *err)
{
    struct tp_bfc_file *f = *state = calloc(1, sizeof *f);
    if (!f)
        return tp_input_no_memory(r->in, err);
    f->x.reading = r;
    int rc = tp_xplane_read(&f->x, err);
    f->begun = rc == TP_OK ? calloc(f->x.allocator_count + 1, sizeof *f->begun) : NULL;
    return rc == TP_OK && !f->begun ? tp_input_no_memory(r->in, err) : rc;
}

static void close_capture(void *state)
{
    struct tp_bfc_file *f = state;
    for (size_t i = 0; f->begun && i < f->x.allocator_count; i++)
        tp_xplane_start_release(&f->begun[i].start);
    free(f->begun);
    tp_texts_release(&f->steps);
    tp_xplane_release(&f->x);
    free(state);
}

static uint32_t count_allocators(const void *state)
{
    return (uint32_t)((const struct tp_bfc_file *)state)->x.allocator_count;
}

static struct tp_recorded_part part(const void *state, uint32_t device)
{
    const struct tp_xplane_allocator *a =
        &((const struct tp_bfc_file *)state)->x.allocators[device];
    const bool has = a->count > 0 && a->bfc;
    return (struct tp_recorded_part){
        .name = a->name,
        .events = has,
        .memory = has,
        .untold = a->bfc ? NULL : "not compared: its events are not BFC's, or have no addresses"};
}

static int fail_silent(const void *state, struct tp_err *err)
{
    const struct tp_xplane *x = &((const struct tp_bfc_file *)state)->x;
    if (x->count)
        return tp_fail(err, TP_EINPUT, "%s: none of its memory events are BFC's and have addresses",
                       tp_input_name(x->reading->in));
    return tp_hint(err,
                   tp_fail(err, TP_EINPUT, "%s: no %smemory events in %s%s",
                           tp_input_name(x->reading->in), x->unreadable ? "readable " : "",
                           tp_plural(x->planes, "plane").s,
                           x->cut ? ", and the file ends within the next one" : ""),
                   "'tapool help formats recording' says how to record them");
}

static int set_rules(void *state, const struct tp_rules_ask *ask, struct tp_err *err)
{
    struct tp_bfc_file *f = state;
    f->rules = tp_bfc_rules_for(f->x.tensorflow ? TP_BFC_TF : TP_BFC_JAX);
    return ask->broken ? tp_mutate(&f->rules, tp_bfc_mutations, ask->broken, err) : TP_OK;
}

static const char *allocator(const void *state)
{
    (void)state;
    return NULL;
}

static int verify_allocator(void *state, uint32_t device, struct tp_verified *out,
                            struct tp_err *err)
{
    struct tp_bfc_replay *replay = NULL;
    int rc = tp_bfc_begin(state, device, out, &replay, err);
    if (rc == TP_OK)
        rc = tp_bfc_until(replay, UINT64_MAX, err);
    tp_bfc_stop(replay);
    return rc;
}

const struct tp_certifier tp_certifier_bfc = {
    .by = "BFC",
    .format = &tp_format_xplane,
    .segment = "range",
    .options = options,
    .rows = rows,
    .sentences = sentences,
    .rules = tp_bfc_mutations,
    .open = open_capture,
    .close = close_capture,
    .count = count_allocators,
    .part = part,
    .fail_silent = fail_silent,
    .set_rules = set_rules,
    .allocator = allocator,
    .verify = verify_allocator,
};
