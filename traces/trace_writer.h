/* A form in which tapool writes traces.
 *
 * To add one: one file in the folder of its format that exports one `const struct
 * tp_trace_writer`, and one line in cmd/registry.c. */
#ifndef TP_TRACE_WRITER_H
#define TP_TRACE_WRITER_H

#include "traces/lower/place_table.h"

/* What is written; all borrowed. */
struct tp_writing {
    struct tp_program *program;
    const struct tp_meta *meta;
    const struct tp_recorded *recorded;
    const uint64_t *repairs;             /* TP_REPAIR_COUNT of them */
    const struct tp_place_table *places; /* NULL: none */
    const char *path;                    /* for messages */
    bool compress;                       /* smaller, where the form can be */
    int64_t device;                  /* where the form holds one only; -1: there must be only one */
    int (*stop)(struct tp_err *err); /* asked from time to time; its status ends the writing */
};

struct tp_trace_writer {
    const char *name;
    const char *suffix;  /* of file names, with its dot: ".tpt" */
    const char *summary; /* one line of help */
    bool one_device;     /* holds those of one device only: tp_writing.device chooses */
    bool whole;          /* reading it back gives the same program, marks, meta and notes */
    int (*write)(const struct tp_writing *w, FILE *out, struct tp_err *err);
};

#endif
