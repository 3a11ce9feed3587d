/* See map_data.h. */
#include "cmd/pages/map_data.h"

#include "alloc/heapmap/frame_rows.h"
#include "cmd/report/report_sites.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static uint8_t rank_of(const struct tp_map_names *names, const char *name)
{
    for (uint8_t i = 0; i < names->count; i++)
        if (!strcmp(names->names[i], name))
            return i;
    return TP_MAP_OTHER;
}

/* A moment at which no block has a call stack has groups by size, which are not those of others. */
static void find_ranks(const struct tp_map_ask *ask, const struct tp_page_groups *g, uint8_t *ranks)
{
    for (uint32_t i = 0; i < tp_page_groups_count(g); i++)
        ranks[i] = g->by == ask->by ? rank_of(&ask->names, tp_texts_get(&g->sites->names, i))
                                    : (uint8_t)TP_MAP_UNKNOWN;
}

static int fill_moment(const struct tp_map_ask *ask, size_t moment, struct tp_page_map *m,
                       struct tp_err *err)
{
    const struct tp_page_list *list = &ask->lists->lists[moment];
    struct tp_page_groups g;
    uint8_t *ranks = NULL;
    int status = tp_page_groups_find(ask->trace, list->head.event, ask->sites, ask->stop, &g, err);
    if (!status && !(ranks = malloc(tp_page_groups_count(&g) + 1u)))
        status = tp_fail(err, TP_ENOMEM, "out of memory for the map of pages");
    if (!status) {
        find_ranks(ask, &g, ranks);
        status = tp_page_map_fill(m, moment, list, g.slots, tp_page_groups_count(&g), ranks, err);
    }
    free(ranks);
    tp_page_groups_release(&g);
    return status;
}

int tp_page_map_of(const struct tp_map_ask *ask, struct tp_page_map *out, struct tp_err *err)
{
    int status = tp_page_map_open(ask->lists->lists, ask->lists->count, out, err);
    for (size_t i = 0; !status && i < ask->lists->count; i++)
        if (!ask->only || ask->only == &ask->lists->lists[i])
            status = fill_moment(ask, i, out, err);
    return status;
}

/* ---- writing ---- */

enum { STEPS = 4096, NUMBERS = 7 }; /* of a cell, and before it */

static uint64_t unit_of(const struct tp_page_map *m)
{
    uint64_t cell = m->page << m->shift;
    return cell > STEPS ? cell / STEPS : 1;
}

/* The numbers of a cell. The parts are rounded so that they add up to what is resident. */
static void round_cell(const struct tp_map_cell *c, uint64_t unit, uint64_t out[NUMBERS - 1])
{
    const struct tp_page_parts *p = &c->parts;
    const uint64_t parts[] = {p->live, p->rounding, p->partly_free, p->free_pages};
    uint64_t sum = 0, before = 0;
    out[0] = (p->resident + unit / 2) / unit;
    out[0] += p->resident && !out[0];
    for (int i = 0; i < 4; i++) {
        sum += parts[i];
        uint64_t to = (sum + unit / 2) / unit;
        out[1 + i] = to - before;
        before = to;
    }
    out[5] = c->holder;
}

static uint8_t *put_cell(uint8_t *at, const uint64_t cell[NUMBERS - 1])
{
    int count = cell[0] ? NUMBERS - 1 : 1;
    for (int i = 0; i < count; i++)
        at = tp_frame_number(at, cell[i]);
    return at;
}

static uint8_t *put_moment(uint8_t *at, const struct tp_page_map *m, size_t moment)
{
    static const struct tp_map_cell none = {.holder = TP_MAP_NONE};
    const struct tp_map_cell *cells = tp_page_map_at(m, moment);
    size_t same = 0;
    for (size_t i = 0; i < m->count; i++) {
        uint64_t now[NUMBERS - 1], before[NUMBERS - 1];
        round_cell(&cells[i], unit_of(m), now);
        round_cell(moment ? &tp_page_map_at(m, moment - 1)[i] : &none, unit_of(m), before);
        if (!memcmp(now, before, sizeof now)) {
            same++;
            continue;
        }
        at = put_cell(tp_frame_number(at, same), now);
        same = 0;
    }
    return same ? tp_frame_number(at, same) : at;
}

static uint8_t *put_ranges(uint8_t *at, const struct tp_page_map *m)
{
    uint64_t behind = 0;
    for (size_t first = 0, next; first < m->count; first = next) {
        for (next = first + 1; next < m->count && !tp_page_map_gap(m, next);)
            next++;
        at = tp_frame_number(at, m->numbers[first] - behind);
        at = tp_frame_number(at, next - first);
        behind = m->numbers[next - 1] + 1;
    }
    return at;
}

void tp_map_data(struct tp_json *j, cJSON *in, const struct tp_page_map *m,
                 const struct tp_map_names *names)
{
    uint8_t *bytes = malloc(NUMBERS * (size_t)TP_FRAME_NUMBER_MOST * (m->count + 1));
    cJSON *o = tp_json_object(j, in, "map");
    j->failed |= !bytes;
    if (!bytes)
        return;
    tp_json_uint(j, o, "page_bytes", m->page);
    tp_json_uint(j, o, "cell_pages", UINT64_C(1) << m->shift);
    tp_json_uint(j, o, "cells", m->count);
    tp_json_uint(j, o, "unit", unit_of(m));
    tp_json_bool(j, o, "holders_are_sizes", names->sizes);
    cJSON *holders = tp_json_array(j, o, "holders");
    for (uint32_t i = 0; i < names->count; i++) {
        struct tp_str name = {0};
        tp_place_short(names->names[i], &name);
        tp_json_push(j, holders, cJSON_CreateString(tp_str_text(&name)));
        tp_str_drop(&name);
    }
    tp_json_base64(j, o, "ranges", bytes, (size_t)(put_ranges(bytes, m) - bytes));
    cJSON *moments = tp_json_array(j, o, "moments");
    for (size_t i = 0; i < m->moments; i++) {
        cJSON *moment = tp_json_item(j, moments);
        tp_json_uint(j, moment, "every", m->every[i]);
        tp_json_base64(j, moment, "cells", bytes, (size_t)(put_moment(bytes, m, i) - bytes));
    }
    free(bytes);
}
