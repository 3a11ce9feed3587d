/* Between the files that read a stored result: stored_result.c the document, stored_run.c what was
 * played, stored_values.c what was measured. Each takes all that it uses with its type checked;
 * what is not there, absent or null, the result lacks, which is noted by name. */
#ifndef TP_STORED_READ_H
#define TP_STORED_READ_H

#include "cmd/measure/json_member.h"
#include "cmd/measure/record.h"
#include "cmd/measure/stored.h"

/* Notes that the result lacks it: by name, or by its place in the run. */
void tp_stored_lack(struct tp_document *r, enum tp_stored_lack_kind kind, const char *name);
void tp_stored_lack_member(const struct tp_member *m);

/* Whether the run says that this pass was played; false where it says nothing. */
bool tp_stored_says_played(const struct tp_record *run, const char *pass);

void tp_stored_read_run(const struct tp_member *root, const struct tp_member *in,
                        struct tp_record *run);
void tp_stored_read_values(const struct tp_member *in, struct tp_record *run);

#endif
