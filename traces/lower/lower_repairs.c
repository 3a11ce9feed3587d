/* Names of the repairs of dirty captures, the hints given when a repair is not allowed, and repairs
 * that readers make. */
#include "traces/lower/lower.h"

const char *const tp_repair_names[TP_REPAIR_COUNT] = {
    [TP_REPAIR_UNKNOWN_FREE] = "unknown_free", [TP_REPAIR_DOUBLE_ALLOC] = "double_alloc",
    [TP_REPAIR_ZERO_SIZE] = "zero_size",       [TP_REPAIR_REALLOC_UNKNOWN] = "realloc_unknown",
    [TP_REPAIR_REALLOC_ZERO] = "realloc_zero", [TP_REPAIR_TIME_BACKWARDS] = "time_backwards",
    [TP_REPAIR_INVERTED] = "inverted",         [TP_REPAIR_TRUNCATED] = "truncated",
};

/* Hints for the error that a dirty event causes when it is not repaired. */
const char *const tp_repair_hints[TP_REPAIR_COUNT] = {
    [TP_REPAIR_UNKNOWN_FREE] = "an id lives from its alloc to its last free; --repair leaves such "
                               "events out and counts them",
    [TP_REPAIR_DOUBLE_ALLOC] = "an id may be used again only after its free; 'tapool help format' "
                               "shows the format",
    [TP_REPAIR_ZERO_SIZE] = "--repair makes it 1 byte in a host trace and leaves it out in a "
                            "device trace",
    [TP_REPAIR_REALLOC_UNKNOWN] = "an id lives from its alloc to its last free; --repair takes it "
                                  "as an alloc",
    [TP_REPAIR_REALLOC_ZERO] = "write a free; --repair takes it as one",
    [TP_REPAIR_TIME_BACKWARDS] = "'t' is nanoseconds since the trace began and never falls; "
                                 "--repair holds the clock",
    [TP_REPAIR_INVERTED] = "threads wrote their lines out of order; --repair puts the free first",
    [TP_REPAIR_TRUNCATED] = "the file was cut, or the program still writes to it; --repair reads "
                            "what is whole",
};

/* What the event does that a reader repaired, for the same error. */
static const char *const made_by_readers[TP_REPAIR_COUNT] = {
    [TP_REPAIR_DOUBLE_ALLOC] = " moves a block to where another one is live",
    [TP_REPAIR_ZERO_SIZE] = " resizes a block to 0 bytes",
    [TP_REPAIR_TRUNCATED] = ": the call on this line is torn",
};

int tp_lower_read_event(struct tp_lower *lo, const struct tp_event *ev, struct tp_err *err)
{
    enum tp_repair kind = ev->repaired ? (enum tp_repair)(ev->repaired - 1) : TP_REPAIR_COUNT;
    int rc = ev->repaired ? tp_lower_repaired(lo, ev, kind, made_by_readers[kind], err) : TP_OK;
    if (rc)
        return rc;
    if (ev->op != TP_EV_SKIP)
        return tp_lower_event(lo, ev, err);
    return ev->uncounted ? TP_OK : tp_lower_skip(lo, err);
}

static int read_event(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    return tp_lower_read_event(ctx, ev, err);
}

struct tp_event_sink tp_lower_sink(struct tp_lower *lo)
{
    return (struct tp_event_sink){read_event, lo};
}
