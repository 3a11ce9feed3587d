/* See child.h. State at file scope is needed: callers of clock_gettime bring none with
 * them. */
#include "cmd/jobs/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

enum { STOPPED_S = 1000000 }; /* what a clock shows that is stopped */

typedef int time_fn(clockid_t id, struct timespec *out);

static time_fn *_Atomic below; /* NULL: not found yet */
static _Atomic uint64_t ahead; /* ns */
static _Atomic bool stopped;

/* Constructors of libraries call before it is found. */
__attribute__((constructor)) static void find_below(void)
{
    time_fn *found = NULL;
    void *symbol = dlsym(RTLD_NEXT, "clock_gettime");
    memcpy(&found, &symbol, sizeof found);
    atomic_store(&below, found);
}

int tp_unmoved_time(clockid_t id, struct timespec *out)
{
    time_fn *call = atomic_load_explicit(&below, memory_order_relaxed);
    return call ? call(id, out) : (int)syscall(SYS_clock_gettime, id, out);
}

void tp_library_clock_stop(void)
{
    atomic_store(&stopped, true);
}

void tp_library_clock_ahead(uint64_t ns)
{
    uint64_t was = atomic_load(&ahead);
    while (was < ns && !atomic_compare_exchange_weak(&ahead, &was, ns))
        ;
}

static bool is_monotonic(clockid_t id)
{
    return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE ||
           id == CLOCK_BOOTTIME;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *out)
{
    int status = tp_unmoved_time(id, out);
    uint64_t more = atomic_load_explicit(&ahead, memory_order_relaxed);
    if (status || !is_monotonic(id))
        return status;
    if (atomic_load_explicit(&stopped, memory_order_relaxed))
        *out = (struct timespec){.tv_sec = STOPPED_S};
    uint64_t ns = (uint64_t)out->tv_nsec + more;
    out->tv_sec += (time_t)(ns / NS_PER_S);
    out->tv_nsec = (long)(ns % NS_PER_S);
    return 0;
}
