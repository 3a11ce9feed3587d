/* A mutex that exists only where several OS threads call one instance: a serial replay, as most
 * measurements are, pays one predicted branch. */
#ifndef TP_LOCK_H
#define TP_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

struct tp_lock {
    pthread_mutex_t mutex; /* valid while `on` */
    bool on;
};

/* `on` is env->concurrent. A lock that is off makes no mutex. */
static inline void tp_lock_init(struct tp_lock *l, bool on)
{
    l->on = on && pthread_mutex_init(&l->mutex, NULL) == 0;
    assert(l->on == on); /* glibc's plain mutex cannot fail */
}

static inline void tp_lock_fini(struct tp_lock *l)
{
    if (l->on)
        pthread_mutex_destroy(&l->mutex);
    l->on = false;
}

static inline void tp_lock_take(struct tp_lock *l)
{
    if (__builtin_expect(l->on, 0))
        pthread_mutex_lock(&l->mutex);
}

static inline void tp_lock_drop(struct tp_lock *l)
{
    if (__builtin_expect(l->on, 0))
        pthread_mutex_unlock(&l->mutex);
}

#endif
