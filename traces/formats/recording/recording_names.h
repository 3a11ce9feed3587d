/* The functions and lines of the addresses in a recording's stacks: collected first, then found for
 * all files together (traces/symbols/naming.h). */
#ifndef TP_RECORDING_NAMES_H
#define TP_RECORDING_NAMES_H

#include "alloc/base/id_map.h"
#include "alloc/base/texts.h"
#include "traces/format.h"
#include "traces/symbols/naming.h"

struct tp_recording_name;

/* All zero to begin with. */
struct tp_recording_names {
    struct tp_id_map *files; /* of each file: address -> index in `names` */
    size_t file_count, file_room;
    struct tp_recording_name *names; /* in the order in which addresses were wanted */
    size_t count, room;
    struct tp_texts words;         /* functions and source files */
    enum tp_symbols_state *states; /* of each file, once names are found */
    size_t state_room;
};

/* Wants the name of an address in a file, which is a small number. Beyond a number of addresses no
 * more are wanted. */
int tp_recording_names_want(struct tp_recording_names *n, const struct tp_reading *r, uint32_t file,
                            uint64_t address, struct tp_err *err);

/* Finds all of them. `keys` says of each file by its number: its build id in hex, a blank, its
 * path. */
int tp_recording_names_find(struct tp_recording_names *n, const struct tp_reading *r,
                            const struct tp_texts *keys, struct tp_err *err);

/* All zero where nothing is known. Texts are valid until the names are released. */
struct tp_symbol tp_recording_names_get(const struct tp_recording_names *n, uint32_t file,
                                        uint64_t address);

/* Files of which addresses were wanted, and which are like that. */
uint64_t tp_recording_names_like(const struct tp_recording_names *n, enum tp_symbols_state state);

void tp_recording_names_release(struct tp_recording_names *n, const struct tp_reading *r);

#endif
