/* A driver under the rigs of conformance.h: the fake one, or with TAPOOL_TEST_REAL_CUDA=1 the real
 * one, which has neither books nor simulated time.
 *
 * The fake's time stands still but for what a program lets pass (step=0), so that queued work is
 * pending until something waits for it. After each rig its books must balance. Where there is no
 * driver to test on (no CUDA Toolkit) the source `cuda` is left out. */
#ifndef TP_TEST_FAKE_DRIVER_H
#define TP_TEST_FAKE_DRIVER_H

#include "tests/unit/conformance.h"
#include "tests/unit/cuda_rig.h"

#include <string.h>

#define FAKE_DRIVER_SCRIPT "step=0"

struct fake_driver {
    bool looked_for, ready;
    struct cuda_rig cuda; /* its library: NULL with the real driver, and without any */
    uint64_t works;       /* queued, in all rigs that were closed */
    char complaint[240];
};

/* The one of this process, with the source `cuda` going to it. */
static inline struct fake_driver *fake_driver(void)
{
    static struct fake_driver driver;
    void *rig = NULL;
    if (driver.looked_for)
        return &driver;
    driver.looked_for = true;
    setenv("TAPOOL_FAKE_CUDA_REPORT", "/dev/null", 0); /* each rig is looked at by itself */
    if (tp_cuda_built())
        cuda_rig_setup(&rig);
    if (rig) {
        driver.ready = true;
        driver.cuda = *(struct cuda_rig *)rig;
        test_free(rig);
        if (driver.cuda.library)
            driver.cuda.script(FAKE_DRIVER_SCRIPT);
    } else {
        print_message("skipped: there is no driver to test the source cuda on\n");
    }
    return &driver;
}

static inline bool fake_driver_ready(void)
{
    return fake_driver()->ready;
}

/* The fake one: what is planted is found, and scripts are followed. */
static inline bool fake_driver_is_fake(void)
{
    return fake_driver()->cuda.library != NULL;
}

/* What is left of a rig that was closed, as text; NULL: nothing. */
static inline const char *fake_driver_left(struct fake_driver *f, const struct fake_cuda_books *b)
{
    const struct {
        const char *name;
        uint64_t count;
    } kinds[] = {{"streams", b->streams}, {"events", b->events},
                 {"pools", b->pools},     {"contexts", b->contexts},
                 {"ranges", b->ranges},   {"blocks", b->blocks},
                 {"modules", b->modules}, {"bytes", b->range_bytes + b->block_bytes}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].count) {
            snprintf(f->complaint, sizeof f->complaint, "%llu %s are left in the driver's books",
                     (unsigned long long)kinds[i].count, kinds[i].name);
            return f->complaint;
        }
    return NULL;
}

/* For the rig. The last look, when all is closed, begins new books. */
static inline const char *fake_driver_complaint(const struct rig *r)
{
    struct fake_driver *f = fake_driver();
    struct fake_cuda_books books;
    const char *complaint = NULL;
    if (!f->cuda.library)
        return NULL;
    f->cuda.books(&books);
    if (books.violations) {
        snprintf(f->complaint, sizeof f->complaint, "%s", f->cuda.last_violation());
        complaint = f->complaint;
    }
    if (r->depth)
        return complaint;
    if (!complaint)
        complaint = fake_driver_left(f, &books);
    f->works += books.works;
    f->cuda.script(FAKE_DRIVER_SCRIPT);
    return complaint;
}

static inline void fake_driver_passes(uint64_t ns)
{
    if (fake_driver_is_fake())
        fake_driver()->cuda.advance(ns);
}

#endif
