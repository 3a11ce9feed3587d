/* What this machine can measure, one check a line; `tapool doctor` prints them. */
#ifndef TP_DOCTOR_H
#define TP_DOCTOR_H

#include "alloc/base/clock.h"
#include "alloc/engine/run.h"
#include "cmd/measure/gpus.h"
#include "cmd/measure/machine.h"

#include <stdio.h>

enum tp_doctor_verdict {
    TP_VERDICT_OK,
    TP_VERDICT_LIMIT,  /* works, but something about it limits or disturbs what is measured */
    TP_VERDICT_MISSING /* not there, or cannot be read */
};
extern const char *const tp_verdict_names[]; /* "ok", "limit", "missing" */

static inline enum tp_doctor_verdict tp_limit_if(bool limited)
{
    return limited ? TP_VERDICT_LIMIT : TP_VERDICT_OK;
}

enum { TP_CHECK_VALUE = 320, TP_CHECK_ADVICE = 320, TP_CHECKS_MAX = 40 };

struct tp_doctor_check {
    const char *name; /* also in JSON; static */
    enum tp_doctor_verdict verdict;
    char value[TP_CHECK_VALUE];
    char advice[TP_CHECK_ADVICE]; /* what it means or what to do; "" where nothing is to be said */
};

/* A CUDA device: what it has free now; both TP_NONE where it does not answer. */
enum { TP_DOCTOR_GPUS = 16 };
struct tp_gpu_facts {
    uint64_t free_bytes, total_bytes;
};

struct tp_doctor {
    const char *root; /* before /proc and /sys: "" for this machine, a folder in tests */
    FILE *out;        /* where the page goes */
    struct tp_machine machine;
    struct tp_clock clock;  /* name NULL: it stands still */
    uint64_t cores_allowed; /* by affinity */
    double load;            /* of one minute; NAN: unknown */
    uint64_t memory_available_bytes, max_map_count, overcommit_memory; /* TP_NONE: unknown */
    struct tp_gpu gpu; /* loaded where there is a driver; tp_doctor_release */
    struct tp_gpu_facts gpus[TP_DOCTOR_GPUS];
    uint64_t cuda_devices;
    uint64_t temporary_free_bytes; /* TP_NONE: the folder cannot be written */
    struct tp_doctor_check checks[TP_CHECKS_MAX];
    int count;
};

/* Every check in its order. Takes a fraction of a second, starts `valgrind --version` where there
 * is one, loads libcuda.so.1 where there is one, and changes nothing. What it holds of devices is
 * given back by tp_doctor_release. */
void tp_doctor_examine(struct tp_doctor *d);
void tp_doctor_release(struct tp_doctor *d);

/* The parts of it, in cmd/doctor/doctor_machine.c, cmd/doctor/doctor_tools.c and
 * cmd/doctor/doctor_cuda.c. */
void tp_doctor_machine(struct tp_doctor *d);
void tp_doctor_tools(struct tp_doctor *d);
void tp_doctor_cuda(struct tp_doctor *d);

/* Adds a check: what was seen is formatted; the advice is for what is not ok, NULL: none. */
struct tp_doctor_check *tp_doctor_add(struct tp_doctor *d, const char *name,
                                      enum tp_doctor_verdict verdict, const char *advice,
                                      const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void tp_doctor_advise(struct tp_doctor_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As tp_machine_line, below `root`. */
bool tp_doctor_line(const struct tp_doctor *d, const char *path, const char *key, char *out,
                    size_t size);

#endif
