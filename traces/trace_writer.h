/* A trace writer: a form in which tapool writes traces.
 *
 * To add one: one file in the folder of its format that exports one `const struct tp_trace_writer`,
 * and one line in cmd/registry.c. */
#ifndef TP_TRACE_WRITER_H
#define TP_TRACE_WRITER_H

#include "traces/places/place_table.h"

/* Everything that a writer may use; all borrowed. */
struct tp_writing {
    struct tp_program *program;
    const struct tp_meta *meta;
    const struct tp_recorded *recorded;
    const uint64_t *repairs;             /* an array of TP_REPAIR_COUNT counts */
    const struct tp_place_table *places; /* NULL: none */
    const char *path;                    /* for messages */
    bool compress;                       /* make the file smaller, if the form can */
    /* device to write if the form holds only one; -1: the program must have only one */
    int64_t device;
    /* called from time to time; a status other than TP_OK ends writing */
    int (*stop)(struct tp_err *err);
};

struct tp_trace_writer {
    const char *name;
    const char *suffix;  /* suffix of file names, with its dot: ".tpt" */
    const char *summary; /* one line for the help */
    bool one_device;     /* the form holds one device only; tp_writing.device chooses it */
    bool whole;          /* reading the file back gives the same program, marks, meta and notes */
    bool callers;        /* with `whole`: so are the callers of code places */
    int (*write)(const struct tp_writing *w, FILE *out, struct tp_err *err);
};

#endif
