/* The functions and lines of many addresses in programs and libraries. The files may be hostile and
 * libdw reads them, so all of it is done in a confined fork (confined.h). Where a file ends that,
 * the next fork goes on behind it. */
#ifndef TP_NAMING_H
#define TP_NAMING_H

#include "traces/symbols/symbols.h"

enum { TP_NAMING_SECONDS = 10, TP_NAMING_WAIT = 120 /* s of wall time, for all files */ };
#define TP_NAMING_MEMORY (UINT64_C(1) << 30) /* bytes, beside the files themselves */

struct tp_naming_file {
    const char *path;
    const unsigned char *id; /* as in tp_symbols_open */
    size_t id_bytes;
    const uint64_t *addresses; /* the names of near ones are found faster */
    size_t count;
};

struct tp_naming {
    const struct tp_naming_file *files; /* borrowed */
    size_t count;
    /* How a file is; later TP_SYMBOLS_FAILED, where not all of its addresses were looked up. */
    void (*state)(void *ctx, size_t file, enum tp_symbols_state state);
    /* The symbol of an address: its texts are valid during the call, and cut at 255 bytes, of which
     * those of a file are the last. */
    int (*name)(void *ctx, size_t file, size_t nth, const struct tp_symbol *s, struct tp_err *err);
    void *ctx;
    int (*stop)(struct tp_err *err); /* as in tp_confined_cfg */
    /* What looks an address up: NULL, or what a test puts in the place of tp_symbols_find. */
    struct tp_symbol (*find)(struct tp_symbols *s, struct tp_cxx_names *cxx, uint64_t address);
};

int tp_naming_run(const struct tp_naming *n, struct tp_err *err);

#endif
