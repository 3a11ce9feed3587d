/* Texts about what a recorded allocator did, and how a replay as recorded differs from that. */
#ifndef TP_RECORDED_TEXT_H
#define TP_RECORDED_TEXT_H

#include "alloc/base/str.h"
#include "cmd/results/captured.h"
#include "cmd/ui/text.h"

/* A replay as recorded, and the recording. Peaks in bytes; `exact` as of tp_bytes. */
struct tp_recorded_strategy;
struct tp_replay_difference {
    /* whose recording it is; NULL: as for a trace that does not say so */
    const struct tp_recorded_strategy *by;
    uint64_t peak, recorded_peak, calls, recorded_calls;
    bool exact;
    bool compacted;     /* the replay began with a packed initial heap */
    bool limits_differ; /* it had one limit, the recorded devices several */
};

/* Adds `before` and how the two differ, with the reason where one is known: "16 MiB more reserved
 * and 1 more driver call: the rules ..."; nothing if they do not. `f`: the addresses that the rules
 * reproduce; NULL: they were not compared. */
struct tp_fidelity;
void tp_difference_add(const struct tp_replay_difference *d, const struct tp_fidelity *f,
                       const char *before, struct tp_str *out);

/* Writes "cudaMalloc failed 39 times, ...", with what the program could have; "" if it never did
 * but for requests that failed.  * `exact` as of tp_bytes. */
void tp_retries_text(const struct tp_captured_retries *r, const char *settings, bool exact,
                     char *text, size_t size);

/* A peak beside that of the setting it compares with: "-13.6%", "same", "base" for that one, "-"
 * where one of them is not known (TP_NONE). */
struct tp_text tp_peak_change(bool is_base, uint64_t was, uint64_t is);

/* Above these rows on a screen. */
#define TP_COMPACTED_HEAD "estimates, comparable only with each other:"

/* Below a table in which some rows began with another heap than the recorded one. */
#define TP_COMPACTED_NOTE                                                                          \
    "Compacted start: where the setting would have put the initial heap is not known, so it "      \
    "starts without gaps. These rows only compare with each other."

#endif
