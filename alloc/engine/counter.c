/* See counter.h. */
#include "alloc/engine/counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TRIAL_ROUNDS = 10000 };

/* The layout in which the kernel returns a reading. */
struct counter_reading {
    uint64_t value, enabled_ns, running_ns;
};

void tp_counter_start(const struct tp_instruction_counter *c)
{
    if (c->fd >= 0)
        ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void tp_counter_stop(const struct tp_instruction_counter *c)
{
    if (c->fd >= 0)
        ioctl(c->fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t tp_counter_read(const struct tp_instruction_counter *c)
{
    struct counter_reading r;
    if (read(c->fd, &r, sizeof r) != (ssize_t)sizeof r || r.enabled_ns != r.running_ns)
        return UINT64_MAX;
    return r.value;
}

void tp_counter_close(struct tp_instruction_counter *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

/* Checks that the counter moves: in some virtual machines it stands still. */
static int try_counter(const struct tp_instruction_counter *c)
{
    tp_counter_start(c);
    for (int i = 0; i < TRIAL_ROUNDS; i++)
        __asm__ volatile("" : : "r"(i)); /* keeps the compiler from removing the loop */
    tp_counter_stop(c);
    uint64_t seen = tp_counter_read(c);
    if (seen < TRIAL_ROUNDS || seen == UINT64_MAX)
        return ENODATA;
    return ioctl(c->fd, PERF_EVENT_IOC_RESET, 0) ? errno : 0;
}

int tp_counter_open(struct tp_instruction_counter *c)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    c->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (c->fd < 0)
        return errno;
    int error = try_counter(c);
    if (error)
        tp_counter_close(c);
    return error;
}
