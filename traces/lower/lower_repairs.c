/* Names of the repairs of dirty captures, and the hints given when a repair is not allowed. */
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
