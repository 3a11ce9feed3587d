/* Opening a trace: find the file, detect the format, read, lower. */
#ifndef TP_TRACE_H
#define TP_TRACE_H

#include "traces/format.h"
#include "traces/profile.h"

struct tp_trace_cfg {
    const char *path;         /* a file, "-" for stdin, "sample:NAME" for a shipped or made one */
    const char *input_format; /* NULL = detect */
    enum tp_strictness strictness;
    const struct tp_format *const *formats;   /* NULL-terminated */
    const char *const *sample_dirs;           /* NULL-terminated, searched in order for NAME.json */
    const struct tp_profile *const *profiles; /* NULL-terminated, or NULL: for samples made here */
    uint64_t memory_limit;                    /* of the program; 0 = default */
    uint64_t event_limit;                     /* events to read; 0 = all */
    struct tp_read_opts read;
    bool drop_initial; /* leave out what was live before the recording began */
    bool allow_empty;  /* a trace without events will do, if it says why and what was reserved */
};

struct tp_trace {
    struct tp_program *program;
    char *path; /* as given, cleaned for terminals */
    char *file; /* base name of what was read, cleaned: "sqlite.json", "stdin"; "sample:web" of one
                   that was made */
    struct tp_meta meta;
    const char *format;  /* name of the format; static; "synthetic" where there is no file */
    uint64_t file_bytes; /* as it lies there; 0: no regular file */
    uint64_t repairs[TP_REPAIR_COUNT];
    uint64_t initial_dropped; /* objects that were live before the recording, left out as asked */
    bool cut;                 /* there are more events than event_limit */
    bool device_chosen;       /* reading took the device of read.device: it is the only one */
    struct tp_recorded recorded;
    struct tp_places places; /* tp_trace_places asks it */
};

/* Whether a path is "sample:NAME", known or not, and so no file. */
bool tp_trace_is_sample(const char *path);

/* TP_EINPUT with file, line, event; TP_EUSAGE for an unknown --input-format. */
int tp_trace_open(const struct tp_trace_cfg *cfg, struct tp_trace *out, struct tp_err *err);
void tp_trace_close(struct tp_trace *t); /* a zeroed one is fine */

/* Where up to TP_PLACES_MAX events (ascending) happened in the recorded program; every text is ""
 * where the format does not know. */
int tp_trace_places(const struct tp_trace *t, const uint64_t *events, size_t count,
                    char (*out)[TP_PLACE_TEXT], struct tp_err *err);

#endif
