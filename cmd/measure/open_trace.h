/* Opening a trace with what every command has: all formats, samples and profiles, and the options
 * that commands share. */
#ifndef TP_OPEN_TRACE_H
#define TP_OPEN_TRACE_H

#include "alloc/base/opt.h"
#include "traces/trace.h"

enum { TP_INITIAL_PLACE, TP_INITIAL_DROP };

struct tp_open_opts {
    char *input_format, *space; /* NULL: detect; the largest */
    uint32_t initial_heap;
    uint64_t limit;      /* events to read; 0: all */
    uint64_t device;     /* TP_OPT_KEYWORD(0): all that have events */
    uint64_t max_memory; /* bytes */
    bool any_device;     /* the caller itself chooses where the format cannot; no option */
    bool strict, repair; /* exclude each other; neither: as the format says */
};

extern const char *const tp_initial_heap_words[], *const tp_device_words[];

/* The rows of these options, for a table of a struct that has them as `open`. */
#define TP_OPEN_ROW(type, member) offsetof(type, open) + offsetof(struct tp_open_opts, member)
#define TP_OPEN_ROWS(opts)                                                                         \
    {.name = "strict",                                                                             \
     .type = TP_OPT_FLAG,                                                                          \
     .offset = TP_OPEN_ROW(opts, strict),                                                          \
     .help = "dirty input is an error (the default for tapool's own formats)"},                    \
        {.name = "repair",                                                                         \
         .type = TP_OPT_FLAG,                                                                      \
         .offset = TP_OPEN_ROW(opts, repair),                                                      \
         .help = "dirty input is repaired and counted (the default for all other formats)"},       \
        {.name = "limit",                                                                          \
         .type = TP_OPT_UINT,                                                                      \
         .offset = TP_OPEN_ROW(opts, limit),                                                       \
         .def = "0",                                                                               \
         .arg = "N",                                                                               \
         .help = "read the first N events only; 0 is all"},                                        \
        {.name = "initial-heap",                                                                   \
         .type = TP_OPT_CHOICE,                                                                    \
         .offset = TP_OPEN_ROW(opts, initial_heap),                                                \
         .def = "place",                                                                           \
         .choices = tp_initial_heap_words,                                                         \
         .arg = "WHAT",                                                                            \
         .help = "what was live before the recording began is placed first, untimed, or dropped"}, \
        {.name = "space",                                                                          \
         .type = TP_OPT_TEXT,                                                                      \
         .offset = TP_OPEN_ROW(opts, space),                                                       \
         .arg = "NAME",                                                                            \
         .help = "of several memory spaces in one file, the one with this name, or all (default: " \
                 "the one with most bytes)"},                                                      \
        {.name = "device",                                                                         \
         .type = TP_OPT_UINT,                                                                      \
         .offset = TP_OPEN_ROW(opts, device),                                                      \
         .def = "all",                                                                             \
         .max = INT64_MAX,                                                                         \
         .choices = tp_device_words,                                                               \
         .arg = "N",                                                                               \
         .help = "of a snapshot of several GPUs this one; all is those with events"},              \
        {.name = "input-format",                                                                   \
         .type = TP_OPT_TEXT,                                                                      \
         .offset = TP_OPEN_ROW(opts, input_format),                                                \
         .arg = "NAME",                                                                            \
         .help = "read the trace as this format instead of detecting it"},                         \
    {                                                                                              \
        .name = "max-memory", .type = TP_OPT_SIZE, .offset = TP_OPEN_ROW(opts, max_memory),        \
        .def = "1GiB", .min = 1 << 20, .max = UINT64_C(1) << 60, .arg = "SIZE",                    \
        .help =                                                                                    \
            "memory for reading a trace; a file that unpacks (.gz, .zst) to more than that, or "   \
            "makes a larger program in TMPDIR, and over 200 times its own size, is refused"        \
    }

/* As tp_trace_open; TP_EUSAGE for strict and repair together. `empty`: a trace without events will
 * do, if it says why. */
int tp_open_trace(const char *path, const struct tp_open_opts *o, bool empty, struct tp_trace *out,
                  struct tp_err *err);

#endif
