/* Stored results: reads tapool.result/2, written by this or another version of tapool. Live
 * comparisons use this too, because each of their replays is a separate process that prints its
 * result as JSON. */
#ifndef TP_STORED_H
#define TP_STORED_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tp_record;
struct tp_text;

enum { TP_STORED_DEVICES = 256, TP_STORED_BYTES = 1 << 26 };

/* What is missing in a result because an older tapool did not write it. The value is unknown, which
 * is no error. */
enum tp_stored_lack_kind { TP_LACKS_METRIC, TP_LACKS_SETTING, TP_LACKS_MEMBER, TP_LACK_KINDS };
struct tp_stored_lack {
    enum tp_stored_lack_kind kind;
    char name[64]; /* "peak_carved" (a metric), "--on-oom" (a setting), "trace.frees" (a member) */
};

struct tp_stored {
    char *path;                       /* as the user gave it, for messages */
    char *version, *build, *compiler; /* of the tapool that measured; "": not known */
    char *commit;                     /* that it was built from; NULL: not known */
    char *arch, *cpu, *libc;          /* of the machine that measured; "": not known */
    double step_ns;                   /* step of its clock; NAN: not known */
    bool partial;                     /* the measurement was interrupted: runs are missing */
    struct tp_stored_lack *lacks;     /* without duplicates */
    size_t lack_count;
    struct tp_record *runs;
    size_t count;
};

/* Reads a result from a file; "-" is standard input. TP_EINPUT names the file and what is wrong:
 *
 * - it is no JSON (with the byte), is cut off, or is larger than TP_STORED_BYTES;
 * - it has another schema or major version (both are named);
 * - a member has the wrong type or is no finite number (with its path,
 *   "runs[2].memory.peak_reserved_bytes");
 * - a member that identifies the experiment is missing: name, kind, program and devices of the
 *   trace, name and label of the strategy, name of the source, touch, scope of latency.
 *
 * Any other member may be absent or null; its value is then unknown and named in `lacks`. Members
 * that a newer tapool added are ignored. */
int tp_stored_read(const char *path, struct tp_stored *out, struct tp_err *err);

/* Parses a result from memory, with the rules of tp_stored_read. `name` stands for the file in
 * messages. */
int tp_stored_parse(const char *text, size_t length, const char *name, struct tp_stored *out,
                    struct tp_err *err);

void tp_stored_release(struct tp_stored *s); /* a zeroed one is fine */

/* Checks that two runs may be compared: they need the same program, kind, scope of latency, touch
 * and number of devices. TP_EINPUT names both runs and says how they differ. Differences in
 * version, commit, compiler, machine or source are allowed; tp_stored_differences describes them.
 */
int tp_stored_comparable(const struct tp_stored *a, const struct tp_record *x,
                         const struct tp_stored *b, const struct tp_record *y, struct tp_err *err);

/* Writes how two results differ, "tapool 0.1.0 and 0.2.0, GNU 12.2.0 and Clang 14.0.6"; "" if they
 * do not. `times` adds what only matters for times (machine, build, clock). */
void tp_stored_differences(const struct tp_stored *a, const struct tp_stored *b, bool times,
                           char *text, size_t size);

/* Whether both runs were replayed on the same source, except for a limit of --capacity: "virtual"
 * and "virtual+limit" are the same. */
bool tp_stored_same_source(const struct tp_record *x, const struct tp_record *y);

/* The option of a source that --capacity sets. */
#define TP_STORED_CAPACITY "limit.capacity"

/* Writes the settings that both runs know and that differ: "--capacity 8GiB and not given, --on-oom
 * continue and stop"; "" if none does. `reads` restricts the text to settings that decide what is
 * read from a trace. */
void tp_stored_settings_differ(const struct tp_record *x, const struct tp_record *y, bool reads,
                               char *text, size_t size);

/* The number of events as text: "3,000 events", "an unknown number of events". */
struct tp_text tp_stored_events(const struct tp_record *run);

/* Returns the text, or "unknown" if it is empty. */
const char *tp_stored_known(const char *text);

/* Writes what the result lacks, "peak_carved, --on-oom, --repeat, 2 more"; "" if nothing. Settings
 * are only named if `settings` is true. */
void tp_stored_lacks(const struct tp_stored *s, bool settings, char *text, size_t size);

#endif
