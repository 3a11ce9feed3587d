/* Shared by the files that read a stored result: stored_result.c reads the document, stored_run.c
 * what was replayed, stored_values.c what was measured. The type of each member is checked when it
 * is read. An absent or null member is noted by its name as a lack of the result. */
#ifndef TP_STORED_READ_H
#define TP_STORED_READ_H

#include "cmd/results/json_member.h"
#include "cmd/results/record.h"
#include "cmd/results/stored.h"

/* Note that the result lacks something, given by its name or as a member. */
void tp_stored_lack(struct tp_document *r, enum tp_stored_lack_kind kind, const char *name);
void tp_stored_lack_member(const struct tp_member *m);

/* Whether the run's settings say that this pass was replayed; false if they say nothing. */
bool tp_stored_says_replayed(const struct tp_record *run, const char *pass);

/* Read one run of the document: what was replayed, and what was measured. Errors are in the status
 * of the document. */
void tp_stored_read_run(const struct tp_member *root, const struct tp_member *in,
                        struct tp_record *run);
void tp_stored_read_values(const struct tp_member *in, struct tp_record *run);

#endif
