/* Opens a trace with all formats, samples and profiles, and has the options for it that the
 * commands share. */
#ifndef TP_OPEN_TRACE_H
#define TP_OPEN_TRACE_H

#include "alloc/base/opt.h"
#include "traces/trace.h"

enum { TP_INITIAL_PLACE, TP_INITIAL_DROP };

struct tp_open_opts {
    /* Names. NULL: the format is detected, and the memory space with the most bytes is read. */
    char *input_format, *space;
    uint32_t initial_heap; /* TP_INITIAL_PLACE or TP_INITIAL_DROP */
    uint64_t limit;        /* number of events to read; 0: all */
    uint64_t device;       /* index of a device; TP_OPT_KEYWORD(0): all devices with events */
    uint64_t max_memory;   /* bytes */
    bool any_device;       /* not an option: the caller selects the device if the format cannot */
    bool strict, repair;   /* not both; neither: the default of the format */
};

extern const char *const tp_initial_heap_words[], *const tp_device_words[];

/* The option rows, for a command whose options struct has a member `struct tp_open_opts open`. */
#define TP_OPEN_ROW(type, member) offsetof(type, open) + offsetof(struct tp_open_opts, member)
#define TP_OPEN_ROWS(opts)                                                                         \
    TP_FLAG_AT("strict", TP_OPEN_ROW(opts, strict), .excludes = "repair",                          \
               .help = "fail on malformed events (default for tapool's own formats)",              \
               TP_IN(TRACES)),                                                                     \
        TP_FLAG_AT("repair", TP_OPEN_ROW(opts, repair),                                            \
                   .help = "fix and count malformed events (default for other formats)",           \
                   TP_IN(TRACES)),                                                                 \
        TP_UINT_AT("limit", TP_OPEN_ROW(opts, limit), .def = "0",                                  \
                   .help = "stop after the first N events; 0: read all", TP_IN(TRACES)),           \
        TP_CHOICE_AT("initial-heap", TP_OPEN_ROW(opts, initial_heap), .def = "place",              \
                     .choices = tp_initial_heap_words, .arg = "WHAT",                              \
                     .help = "place the initial heap before the first event, untimed, or drop it", \
                     TP_LAST(TRACES)),                                                             \
        TP_TEXT_AT("space", TP_OPEN_ROW(opts, space), .arg = "NAME",                               \
                   .help = "memory space to read, or all (default: the one with the most bytes)",  \
                   TP_LAST(TRACES)),                                                               \
        TP_UINT_AT("device", TP_OPEN_ROW(opts, device), .def = "all", .max = INT64_MAX,            \
                   .choices = tp_device_words, .help = "GPU to read from a snapshot of several",   \
                   TP_IN(TRACES)),                                                                 \
        TP_TEXT_AT("input-format", TP_OPEN_ROW(opts, input_format), .arg = "NAME",                 \
                   .help = "read the trace as this format instead of detecting it",                \
                   TP_IN(TRACES)),                                                                 \
        TP_SIZE_AT("max-memory", TP_OPEN_ROW(opts, max_memory), .def = "1GiB", .min = 1 << 20,     \
                   .max = UINT64_C(1) << 60,                                                       \
                   .help = "memory limit for reading a trace\n"                                    \
                           "A file is refused if it unpacks (.gz, .zst) to more than that, or "    \
                           "makes a larger program in TMPDIR, and over 200 times its own size.",   \
                   TP_IN(LIMITS))

/* Opens a trace like tp_trace_open. TP_EUSAGE: both strict and repair. `empty`: a trace without
 * events is accepted if the trace says why it has none. */
int tp_open_trace(const char *path, const struct tp_open_opts *o, bool empty, struct tp_trace *out,
                  struct tp_err *err);

#endif
