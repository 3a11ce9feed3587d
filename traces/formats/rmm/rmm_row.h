/* Rows of RMM's logs. */
#ifndef TP_RMM_ROW_H
#define TP_RMM_ROW_H

#include "traces/input/lines.h"

struct tp_rmm_row {
    enum { TP_RMM_ALLOCATE, TP_RMM_FREE, TP_RMM_FAILURE } action;
    int64_t device;
    uint64_t thread;
    uint64_t time_ns; /* ns since midnight or since the program began, depending on the form */
    uint64_t pointer; /* 0: none */
    uint64_t size;    /* bytes */
    uint64_t stream;
};

struct tp_rmm_form {
    const char *header;  /* first line of a file; NULL: there are only rows */
    const char *capture; /* kind of file, for people */
    const char *unknown;
    bool of_day;  /* times are times of day and restart at midnight */
    bool threads; /* threads and the sizes of freed blocks are known */

    /* Parses a row. Returns NULL, or the name of the field that was expected at row->at: "time". */
    const char *(*cut)(struct tp_cut *row, struct tp_rmm_row *out);
};

enum { TP_RMM_FORMS = 3 };
extern const struct tp_rmm_form tp_rmm_forms[TP_RMM_FORMS];

/* The form of a file whose first line is `line`, or NULL. */
const struct tp_rmm_form *tp_rmm_form_of(struct tp_cut line);

#endif
