/* Internal to the engine: one lock around every call of a strategy that must not be called by
 * several OS threads at once. It stands in place of the strategy and its state. */
#ifndef TP_ONE_LOCK_H
#define TP_ONE_LOCK_H

#include "alloc/strategy.h"

#include <pthread.h>

struct tp_one_lock {
    const struct tp_strategy *inner; /* NULL: there is no lock */
    void *state;                     /* of the inner strategy */
    struct tp_strategy outer;        /* to be called instead, with the address of this struct */
    pthread_mutex_t mutex;
};

void tp_one_lock_open(struct tp_one_lock *l, const struct tp_strategy *inner, void *state);
void tp_one_lock_close(struct tp_one_lock *l); /* a zeroed one is fine */

#endif
