/* The map of the pages of a trace at all moments: how it is made, and in the data of a page.
 *
 *     "map": {
 *       "page_bytes": 4096, "cell_pages": 1, "cells": 442,
 *       "unit": 1,             bytes: of the numbers of a cell
 *       "holders": ["read"],   the groups that are told apart, by rank
 *       "holders_are_sizes": false,
 *       "ranges": "AQDI...",   base 64 of pairs of numbers: cells of no moment, cells that follow
 *       "moments": [{"every": 1, "cells": "AQDI..."}] }     of so many runs of pages one is in it
 *
 * A moment is the numbers of cells that differ from the moment before, of which the first one's are
 * not resident: how many are the same, and then resident bytes, and where these are not 0 live,
 * rounding, partly free and free pages, and the holder by rank (page_map.h). Numbers are those of
 * frames_json.h. A number of a cell is at most 4,096, so that all moments take a little more than
 * 1 MB at most. */
#ifndef TP_MAP_DATA_H
#define TP_MAP_DATA_H

#include "cmd/pages/page_groups.h"
#include "cmd/pages/page_map.h"
#include "cmd/ui/json_out.h"

/* What a map is made of. All is borrowed. */
struct tp_map_ask {
    const struct tp_trace *trace;
    const struct tp_page_lists *lists;
    const struct tp_sites_cfg *sites; /* what groups are, as tp_page_groups_find takes it */
    enum tp_sites_by by;              /* what those are that have names */
    struct tp_map_names names;
    const struct tp_page_list *only; /* the moment that is filled; NULL: all are */
    int (*stop)(struct tp_err *err);
};

/* Looks up the groups at each moment. `out` must be closed in every case. Errors are those of
 * tp_page_groups_find. */
int tp_page_map_of(const struct tp_map_ask *ask, struct tp_page_map *out, struct tp_err *err);

/* Adds the member "map" to `in`. */
void tp_map_data(struct tp_json *j, cJSON *in, const struct tp_page_map *m,
                 const struct tp_map_names *names);

#endif
