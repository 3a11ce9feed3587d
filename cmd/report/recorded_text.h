/* Texts about what a recorded allocator did, and how a replay as recorded differs from that. */
#ifndef TP_RECORDED_TEXT_H
#define TP_RECORDED_TEXT_H

#include "alloc/base/str.h"
#include "cmd/results/captured.h"
#include "cmd/ui/text.h"

/* How a replay as recorded differs from the recording: "16 MiB more reserved and 1 more driver
 * call"; "" if it does not. Peaks in bytes. */
struct tp_text tp_difference_text(uint64_t peak, uint64_t recorded_peak, uint64_t calls,
                                  uint64_t recorded_calls);

/* Adds why it does, by the addresses that the rules reproduce; NULL: they were not compared. */
struct tp_fidelity;
void tp_fidelity_reason(const struct tp_fidelity *f, struct tp_str *out);

/* Writes "cudaMalloc failed 39 times, ...", with what the program could have; "" if it never did
 * but for requests that failed.  * `exact` as of tp_bytes. */
void tp_retries_text(const struct tp_captured_retries *r, const char *settings, bool exact,
                     char *text, size_t size);

/* Below a table in which some rows began with another heap than the recorded one. */
#define TP_COMPACTED_NOTE                                                                          \
    "Compacted start: where the setting would have put the initial heap is not known, so it "      \
    "starts without gaps. These rows only compare with each other."

#endif
