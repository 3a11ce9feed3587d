/* What this machine can measure. `tapool doctor` prints one line for each check. */
#ifndef TP_DOCTOR_H
#define TP_DOCTOR_H

#include "alloc/base/clock.h"
#include "alloc/engine/run.h"
#include "cmd/jobs/gpus.h"
#include "cmd/jobs/machine.h"

#include <stdio.h>

enum tp_doctor_verdict {
    TP_VERDICT_OK,
    TP_VERDICT_WARNING, /* works, but limits or disturbs measurements */
    TP_VERDICT_MISSING  /* does not exist here, or cannot be read */
};
extern const char *const tp_verdict_names[]; /* "ok", "warning", "missing" */

static inline enum tp_doctor_verdict tp_warn_if(bool limited)
{
    return limited ? TP_VERDICT_WARNING : TP_VERDICT_OK;
}

enum { TP_CHECK_VALUE = 320, TP_CHECK_ADVICE = 320, TP_CHECKS_MAX = 40 };

struct tp_doctor_check {
    const char *name; /* on the screen and in JSON; static */
    enum tp_doctor_verdict verdict;
    char value[TP_CHECK_VALUE];
    char advice[TP_CHECK_ADVICE]; /* what the value means or what to do, or "" */
};

/* Memory of a CUDA device. Both members are TP_NONE if the device does not answer. */
enum { TP_DOCTOR_GPUS = 16 };
struct tp_gpu_facts {
    uint64_t free_bytes, total_bytes;
};

struct tp_doctor {
    const char *root; /* put before /proc and /sys: "" for this machine, a folder in tests */
    FILE *out;        /* where the page is printed */
    struct tp_machine machine;
    struct tp_clock clock;  /* its name is NULL if no clock works */
    uint64_t cores_allowed; /* by the affinity of this process */
    double load;            /* load average of one minute; NAN: unknown */
    uint64_t memory_available_bytes, max_map_count, overcommit_memory; /* TP_NONE: unknown */
    struct tp_gpu gpu; /* open if there is a driver; tp_doctor_release closes it */
    struct tp_gpu_facts gpus[TP_DOCTOR_GPUS];
    uint64_t cuda_devices;
    uint64_t temporary_free_bytes; /* TP_NONE: the folder for temporary files is not writable */
    struct tp_doctor_check checks[TP_CHECKS_MAX];
    int count;
};

/* Runs all checks in their order. This takes a fraction of a second and changes nothing, but starts
 * `valgrind --version` and loads libcuda.so.1 if they exist. The caller gives devices back with
 * tp_doctor_release. */
void tp_doctor_examine(struct tp_doctor *d);
void tp_doctor_release(struct tp_doctor *d);

/* Groups of checks, called by tp_doctor_examine: the machine, tools and the CUDA devices. */
void tp_doctor_machine(struct tp_doctor *d);
void tp_doctor_tools(struct tp_doctor *d);
void tp_doctor_cuda(struct tp_doctor *d);

/* Adds a check and returns it, so that the caller can add advice. `format` makes its value.
 * `advice` is ignored if the verdict is ok, and may be NULL. */
struct tp_doctor_check *tp_doctor_add(struct tp_doctor *d, const char *name,
                                      enum tp_doctor_verdict verdict, const char *advice,
                                      const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void tp_doctor_advise(struct tp_doctor_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Like tp_machine_line, but with `path` below the folder d->root. */
bool tp_doctor_line(const struct tp_doctor *d, const char *path, const char *key, char *out,
                    size_t size);

#endif
