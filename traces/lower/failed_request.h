/* A request that failed in the recorded program is made once more in a replay, and what it got is
 * given back at once: what the program would have done with it is not known. In a program it is
 *
 *     NOTE oom  [NOTE device_free]  ALLOC  FREE        all of one event, size, stream and device
 *
 * This recognises it, for who must tell such a request from one that was served. */
#ifndef TP_FAILED_REQUEST_H
#define TP_FAILED_REQUEST_H

#include "alloc/program/program.h"

enum tp_failed_part {
    TP_FAILED_NONE, /* the instruction belongs to no such request, or is a note of one */
    TP_FAILED_ALLOC,
    TP_FAILED_FREE
};

/* Zeroed: nothing was seen yet. */
struct tp_failed_request {
    struct tp_insn awaited; /* ALLOC, then FREE */
    uint64_t event;         /* of all of them */
    bool waits;
};

/* To be shown every instruction, in order, with its event. */
enum tp_failed_part tp_failed_request_next(struct tp_failed_request *f, const struct tp_insn *in,
                                           uint64_t event);

#endif
