/* The map of the pages of an answer: made of all of its moments, and in the data of a page.
 *
 *     "map": {
 *       "page_bytes": 4096, "cell_pages": 1,
 *       "unit": 1,             bytes: of the numbers of a cell
 *       "holders": ["read"],   the groups that are told apart, by rank
 *       "ranges": "AQDI...",   base 64 of pairs of numbers: cells of no moment, cells that follow
 *       "moments": [{"cells": "AQDI..."}] }
 *
 * A moment is the numbers of cells that differ from the moment before, of which the first one's are
 * not resident: how many are the same, and then resident bytes, and where these are not 0 live,
 * rounding, partly free and free pages, and the holder by rank (page_map.h). Numbers are those of
 * frames_json.h. A number of a cell is at most 4,096, so that all moments take a little more than
 * 1 MB at most. */
#ifndef TP_MAP_DATA_H
#define TP_MAP_DATA_H

#include "cmd/pages/page_map.h"
#include "cmd/pages/why_pages.h"

/* The groups that hold most at the moment of the answer. */
struct tp_map_names tp_map_names_of(const struct tp_why_pages *w);

/* Looks up the groups at each moment. `out` must be closed in every case. Errors are those of
 * tp_page_groups_find. */
int tp_why_map(const struct tp_why_pages *w, struct tp_page_map *out, struct tp_err *err);

/* The moment of the answer. */
size_t tp_why_map_moment(const struct tp_why_pages *w);

/* Adds the member "map" to `in`. */
void tp_map_data(struct tp_json *j, cJSON *in, const struct tp_page_map *m,
                 const struct tp_map_names *names);

#endif
