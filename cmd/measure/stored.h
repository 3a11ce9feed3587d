/* Results as they are stored: tapool.result/1 read back, from this tapool or another. What live
 * comparisons measure comes through here too: each measured replay is a process of its own that
 * prints its result as JSON. */
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

/* What an older tapool did not write, in some of its runs: unknown, and no damage. */
enum tp_stored_lack_kind { TP_LACKS_METRIC, TP_LACKS_SETTING, TP_LACKS_MEMBER, TP_LACK_KINDS };
struct tp_stored_lack {
    enum tp_stored_lack_kind kind;
    char name[64]; /* a metric's, "trace.frees", "--on-oom" */
};

struct tp_stored {
    char *path;                       /* as given, for messages */
    char *version, *build, *compiler; /* of the tapool that measured; "": not known */
    char *arch, *cpu, *libc;          /* "": not known */
    double step_ns;                   /* NAN: not known */
    bool partial;
    struct tp_stored_lack *lacks; /* each once */
    size_t lack_count;
    struct tp_record *runs;
    size_t count;
};

/* From a file; "-" is standard input. TP_EINPUT names the file and what is wrong: no JSON (with its
 * byte), cut off, another schema or major version (with both), a member of the wrong type (with its
 * path, "runs[2].memory.peak_reserved_bytes"), a number that is none (NaN, 1e999), over
 * TP_STORED_BYTES, or without what says which experiment it was: name, kind, program and devices of
 * the trace, name and label of the strategy, the source's name, touch and scope of latency. All
 * else may be absent or null: it is unknown then, and named in `lacks`. What a newer tapool adds is
 * ignored. */
int tp_stored_read(const char *path, struct tp_stored *out, struct tp_err *err);

/* The same from memory; `name` stands for the file in messages. */
int tp_stored_parse(const char *text, size_t length, const char *name, struct tp_stored *out,
                    struct tp_err *err);

void tp_stored_release(struct tp_stored *s); /* a zeroed one is fine */

/* Two runs may stand side by side: the same program, kind and scope of latency, touch and number of
 * devices. TP_EINPUT says in what they differ and names both. What else differs (version, compiler,
 * machine, source) is for the caller to say: tp_stored_differences. */
int tp_stored_comparable(const struct tp_stored *a, const struct tp_record *x,
                         const struct tp_stored *b, const struct tp_record *y, struct tp_err *err);

/* "tapool 0.1.0 and 0.2.0, GNU 12.2.0 and Clang 14.0.6"; "" where nothing differs. `times`: what
 * makes times incomparable (machine, build, clock) too. */
void tp_stored_differences(const struct tp_stored *a, const struct tp_stored *b, bool times,
                           char *text, size_t size);

/* Played on the same source, whatever --capacity gave it: "virtual" and "virtual+limit". */
bool tp_stored_same_source(const struct tp_record *x, const struct tp_record *y);

/* The option of a source that --capacity sets. */
#define TP_STORED_CAPACITY "limit.capacity"

/* "--capacity 8GiB and not given, --on-oom continue and stop, --min-time 500ms and 2s": settings
 * that both say and that differ, all or those alone that decide what is read from a trace; "" where
 * none does. */
void tp_stored_settings_differ(const struct tp_record *x, const struct tp_record *y, bool reads,
                               char *text, size_t size);

/* "3,000 events"; "an unknown number of events". */
struct tp_text tp_stored_events(const struct tp_record *run);

/* The text, "unknown" for "". */
const char *tp_stored_known(const char *text);

/* "peak_carved, --on-oom, --repeat, 2 more": what the file lacks, with settings or without; ""
 * where nothing. */
void tp_stored_lacks(const struct tp_stored *s, bool settings, char *text, size_t size);

#endif
