/* Follows a child from call to call of the kernel and counts those by which it gets memory and
 * gives it back. The child has asked for it (alloc/engine/pass_mapped.c). It is followed with all
 * threads that it starts from then on. */
#ifndef TP_FOLLOW_H
#define TP_FOLLOW_H

#include "alloc/engine/run.h"

#include <sys/types.h>

/* A thread of the child, and the call that it is in, with its third argument. */
struct tp_followed {
    pid_t tid;
    uint64_t call, argument;
};

struct tp_follow {
    struct tp_mapped *shared; /* with the child, which says when to count */
    struct tp_mapped counted; /* what this process has found: what it replays cannot write there */
    int statm;                /* of the child; -1: not open */
    uint64_t now;             /* bytes that were mapped after the last call */
    struct tp_followed *threads; /* owned */
    size_t count, room;          /* of `threads` */
    bool begun;
};

#define TP_FOLLOW(of) ((struct tp_follow){.shared = (of), .statm = -1})

/* For tp_child_await: a thread of the child has stopped, for one of its calls or for a signal, or
 * has ended. Lets it go on. */
void tp_follow_stop(void *follow, pid_t tid, int how);

void tp_follow_end(struct tp_follow *f);

/* Adds what was counted to what the child says of itself. false: the two do not agree on where the
 * count began, and something wrote over one of them. */
bool tp_follow_add(const struct tp_follow *f, struct tp_mapped *out);

/* Makes the addresses of children that are started from here on the same every time (`off`), or as
 * they were. Without effect where the system does not allow it. Returns whether they were so. */
bool tp_addresses_fixed(bool fixed);

#endif
