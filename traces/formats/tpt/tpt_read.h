/* Reading .tpt: a file that is a program as it stands, played in place. */
#ifndef TP_TPT_READ_H
#define TP_TPT_READ_H

#include "traces/format.h"

/* What opening asks and tells beside the program. Members may be NULL where nobody wants to know.
 */
struct tp_tpt_open_cfg {
    const char *name;             /* for messages; "": they name no file */
    uint64_t max_memory;          /* bytes; 64 for each slot must fit; 0: no limit */
    bool strict;                  /* a file that is cut is TP_EINPUT */
    struct tp_meta *meta;         /* filled in; what was lost is among its remarks */
    struct tp_recorded *recorded; /* filled in */
    uint64_t *repairs;            /* TP_REPAIR_COUNT of them */
    struct tp_places *places;     /* empty at first; released by the caller, also after an error */
};

/* Opens a .tpt file and takes `fd` over, in every case. Cursors of the program read the file; it
 * must not change. TP_EINPUT names file, block and byte. */
int tp_tpt_open(int fd, const struct tp_tpt_open_cfg *cfg, struct tp_program **out,
                struct tp_err *err);

#endif
