/* How much of the page of a replay its charts may take: curves and frames of the heap. Where what
 * else is on the page leaves less than they are worth, it has to be cut: the page is too large. */
#ifndef TP_PAGE_ROOM_H
#define TP_PAGE_ROOM_H

#include "cmd/info/info_scan.h"
#include "cmd/results/result.h"
#include "cmd/ui/json_out.h"

struct tp_page_room {
    size_t frames; /* bytes for those of each result */
    size_t points; /* of each curve, about */
};

/* `root`: the data of the page without its curves and frames; `infos`: for each result, of its
 * trace, if it is the first of it, else NULL; `articles`: bytes of the articles. Where memory runs
 * out, j remembers it. */
struct tp_page_room tp_page_room(struct tp_json *j, const cJSON *root, const struct tp_report *rep,
                                 struct tp_info *const *infos, size_t articles);

/* Whether none of `count` results has all that the program requested of a device in its curve: each
 * one that was followed there refused something. */
bool tp_page_lacks_program(const struct tp_result *results, size_t count, uint32_t device);

#endif
