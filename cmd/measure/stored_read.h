/* Between the files that read a stored result: stored.c the document, stored_run.c what was played,
 * stored_values.c what was measured. Each takes all that it uses with its type checked; what is not
 * there, absent or null, the result lacks, which is noted by name. */
#ifndef TP_STORED_READ_H
#define TP_STORED_READ_H

#include "cmd/measure/json_member.h"
#include "cmd/measure/stored.h"

#define TP_STORED_BEYOND 1e30 /* no time and no size of this world */

extern const struct tp_member_range tp_stored_real, tp_stored_real_or_null;

/* Notes that the result lacks it. */
int tp_stored_lack(struct tp_stored *s, enum tp_stored_lack_kind kind, const char *name,
                   struct tp_err *err);

/* By its place in the run. */
int tp_stored_lack_member(struct tp_stored *s, const struct tp_member *m, struct tp_err *err);

/* tp_member_find, and what is not there is noted; but not what would lie in something that is not
 * there itself. */
int tp_stored_seek(struct tp_stored *s, const struct tp_member *in, const char *name,
                   struct tp_member *out, struct tp_err *err);

/* Of the member of that name; "", TP_NONE, NAN or false where it lacks. */
int tp_stored_text(struct tp_stored *s, const struct tp_member *in, const char *name, char **out,
                   struct tp_err *err);
int tp_stored_count(struct tp_stored *s, const struct tp_member *in, const char *name,
                    uint64_t *out, struct tp_err *err);
int tp_stored_flag(struct tp_stored *s, const struct tp_member *in, const char *name, bool *out,
                   struct tp_err *err);

/* Follows "memory.peak_reserved_bytes". Where one on the way is not there, `out` is that one,
 * `out->item` NULL; `last`: it is the last one. */
int tp_stored_follow(const struct tp_member *root, const char *path, struct tp_member *out,
                     bool *last, struct tp_err *err);

/* Whether the run says that this pass was played; false where it says nothing. */
bool tp_stored_says_played(const struct tp_stored_run *run, const char *pass);

int tp_stored_read_run(struct tp_stored *s, const struct tp_member *root,
                       const struct tp_member *in, struct tp_stored_run *run, struct tp_err *err);
int tp_stored_read_values(struct tp_stored *s, const struct tp_member *in,
                          struct tp_stored_run *run, struct tp_err *err);

#endif
