/* A replay repeats a request that failed in the recorded program. If it succeeds now, the block is
 * freed at once, because nobody knows what the program would have done with it. Such a request is
 * this sequence of instructions:
 *
 *     NOTE oom  [NOTE device_free]  [POOL]  ALLOC  FREE
 *     all of one event, size, stream and device
 *
 * This module recognises the sequence, for code that must tell a failed request from a served
 * one. */
#ifndef TP_FAILED_REQUEST_H
#define TP_FAILED_REQUEST_H

#include "alloc/program/program.h"

enum tp_failed_part {
    TP_FAILED_NONE, /* not part of a failed request, or one of its notes */
    TP_FAILED_ALLOC,
    TP_FAILED_FREE
};

/* State of the recogniser. Begin with a zeroed one. */
struct tp_failed_request {
    struct tp_insn awaited; /* the next instruction of the sequence: ALLOC, then FREE */
    uint64_t event;         /* event of the sequence */
    bool waits;
};

/* Takes the next instruction of a program with the number of its event, and says which part of a
 * failed request it is. Must be called for every instruction, in order. */
enum tp_failed_part tp_failed_request_next(struct tp_failed_request *f, const struct tp_insn *in,
                                           uint64_t event);

#endif
