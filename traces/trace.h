/* Opens a trace: finds the file, detects the format, reads and lowers it. */
#ifndef TP_TRACE_H
#define TP_TRACE_H

#include "traces/format.h"
#include "traces/lower/memory_limit.h"
#include "traces/profile.h"

struct tp_trace_cfg {
    /* a file, "-" for stdin, or "sample:NAME" for a shipped or generated one */
    const char *path;
    const char *input_format; /* name of a format; NULL: detect it */
    enum tp_strictness strictness;
    const struct tp_format *const *formats; /* NULL-terminated */
    const char *const *sample_dirs;         /* NULL-terminated, searched in order for NAME.json */
    /* NULL-terminated, for generated samples; may be NULL */
    const struct tp_profile *const *profiles;
    uint64_t memory_limit; /* bytes of the program kept in memory; 0: default */
    uint64_t event_limit;  /* events to read; 0: all */
    struct tp_read_opts read;
    bool drop_initial; /* leave out objects that were live before recording began */
    /* accept a trace without events, if it says why and has the recorded state */
    bool allow_empty;
};

struct tp_trace {
    struct tp_program *program;
    char *path; /* the path as given, cleaned for terminals */
    /* base name of the file, cleaned: "sqlite.json", "stdin"; "sample:web" for a generated
     * sample */
    char *file;
    struct tp_meta meta;
    const char *format;  /* name of the format; static; "synthetic" for a generated sample */
    uint64_t file_bytes; /* size on disk; 0: not a regular file */
    uint64_t repairs[TP_REPAIR_COUNT];
    uint64_t initial_dropped; /* objects left out by drop_initial */
    bool cut;                 /* event_limit left events out */
    bool device_chosen;       /* the reader took only the device of read.device */
    struct tp_recorded recorded;
    struct tp_places places; /* used by tp_trace_places */
    /* of the recorded allocator; set by the caller who knows it, `segment` is NULL else */
    struct tp_limit_rules limits;
};

/* Whether a path has the form "sample:NAME", known or not, and so names no file. */
bool tp_trace_is_sample(const char *path);

/* Opens a trace; *out must be closed after success. TP_EINPUT: the message has file, line and
 * event; TP_EUSAGE: unknown --input-format. */
int tp_trace_open(const struct tp_trace_cfg *cfg, struct tp_trace *out, struct tp_err *err);
void tp_trace_close(struct tp_trace *t); /* a zeroed one is fine */

/* Finds the code places of at most TP_PLACES_MAX events, whose numbers must ascend. A text is "" if
 * the place is not known. */
int tp_trace_places(const struct tp_trace *t, const uint64_t *events, size_t count,
                    char (*out)[TP_PLACE_TEXT], struct tp_err *err);

#endif
