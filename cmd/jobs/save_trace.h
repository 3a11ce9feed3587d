/* Writes a trace in one of tapool's forms. */
#ifndef TP_SAVE_TRACE_H
#define TP_SAVE_TRACE_H

#include "cmd/ui/json_out.h"
#include "traces/lower/unlower.h"
#include "traces/trace.h"
#include "traces/trace_writer.h"

struct tp_saving {
    const struct tp_trace_writer *writer;
    struct tp_trace *trace;
    const char *path; /* "-": `out` */
    int64_t device;   /* the one that is written, if the form holds only one; -1 */
    bool compress, force;
};

/* The writer of this name, or whose files end so, in any case of letters. `text` may be NULL. NULL:
 * there is none. */
const struct tp_trace_writer *tp_find_writer(const char *text, bool suffix);

/* Replaces the program of `t` by the events that `piece` names; places of code stay. TP_EUSAGE: it
 * begins behind the last event. */
int tp_trace_cut(struct tp_trace *t, const struct tp_unlower_cfg *piece, struct tp_err *err);

/* The file appears whole or not at all. */
int tp_trace_save(const struct tp_saving *s, FILE *out, struct tp_err *err);

/* TP_EUSAGE: the trace and the JSON about it would both go to standard output. */
int tp_json_beside(bool json, bool to_file, struct tp_err *err);

/* Size of a file that was written. TP_NONE: it is not a regular file. */
uint64_t tp_saved_bytes(const char *path);

/* Adds the member `trace`: the file that a command wrote. */
void tp_json_saved(struct tp_json *j, cJSON *in, const char *path, const char *format,
                   uint64_t events);

#endif
