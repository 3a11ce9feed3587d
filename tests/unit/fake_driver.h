/* The fake driver under a rig: which sources can be had, its simulated time, its complaints.
 *
 * Its time stands still but for what a program lets pass (step=0), so that queued work is pending
 * until something waits for it. After each rig its books must balance. Where there is no fake
 * driver (no CUDA Toolkit) nothing is complained of and fake_driver_ready says no. */
#ifndef TP_TEST_FAKE_DRIVER_H
#define TP_TEST_FAKE_DRIVER_H

#include "cuda/cuda_device.h"
#include "tests/fake_libcuda.h"
#include "tests/unit/conformance.h"

#include <dlfcn.h>
#include <string.h>

extern const struct tp_source_ops tp_source_cuda;

#define FAKE_DRIVER_SCRIPT "step=0"

struct fake_driver {
    bool looked_for;
    void *library; /* NULL: there is none */
    __typeof__(&fake_cuda_books) books;
    __typeof__(&fake_cuda_last_violation) last;
    __typeof__(&fake_cuda_script) script;
    __typeof__(&fake_cuda_advance) advance;
    char complaint[240];
};

static inline void fake_driver_load(struct fake_driver *f, const char *path)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {{"fake_cuda_books", &f->books},
                   {"fake_cuda_last_violation", &f->last},
                   {"fake_cuda_script", &f->script},
                   {"fake_cuda_advance", &f->advance}};
    f->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!f->library)
        fail_msg("%s", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = dlsym(f->library, symbols[i].name);
        assert_non_null(found);
        memcpy(symbols[i].to, &found, sizeof found);
    }
    f->script(FAKE_DRIVER_SCRIPT);
    assert_int_equal(setenv("TAPOOL_CUDA_DRIVER", path, 1), 0);
    setenv("TAPOOL_FAKE_CUDA_REPORT", "/dev/null", 0); /* each rig is looked at by itself */
}

/* The one of this process, with the source `cuda` going to it. */
static inline struct fake_driver *fake_driver(void)
{
    static struct fake_driver driver;
    if (driver.looked_for)
        return &driver;
    driver.looked_for = true;
#ifdef TAPOOL_FAKE_CUDA_PATH
    if (tp_cuda_built())
        fake_driver_load(&driver, TAPOOL_FAKE_CUDA_PATH);
#endif
    if (!driver.library)
        print_message("there is no fake driver: the source cuda is left out\n");
    return &driver;
}

static inline bool fake_driver_ready(void)
{
    return fake_driver()->library != NULL;
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
    if (!f->library)
        return NULL;
    f->books(&books);
    if (books.violations) {
        snprintf(f->complaint, sizeof f->complaint, "%s", f->last());
        complaint = f->complaint;
    }
    if (r->depth)
        return complaint;
    if (!complaint)
        complaint = fake_driver_left(f, &books);
    f->script(FAKE_DRIVER_SCRIPT);
    return complaint;
}

static inline void fake_driver_passes(uint64_t ns)
{
    if (fake_driver_ready())
        fake_driver()->advance(ns);
}

#endif
