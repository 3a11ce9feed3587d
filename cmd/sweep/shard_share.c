/* See shard_share.h. Parts of the plan go to the shard that has least so far, the largest part
 * first. A part is a trace with all its cells, or where that is more than a fraction of a share,
 * with some of them: the fewer shards open a trace, the less is opened twice. */
#include "cmd/sweep/shard_share.h"

#include "cmd/sweep/store.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_PER_SHARE = 8 };

/* What a trace that is no file costs, as if it were a file of these bytes. */
#define SAMPLE_BYTES 100000.0

struct share_part {
    double cost;
    uint64_t first, behind; /* cells */
};

struct dealing {
    const struct tp_sweep_plan *plan;
    double *seconds; /* of each setting and group: for a byte of a trace */
    struct share_part *parts;
    size_t count;
    double *load;   /* of each shard */
    uint64_t *heap; /* shards, the one with the least load first */
    uint64_t shards;
};

/* ---- costs ---- */

static int name_settings(const struct tp_sweep_plan *p, struct tp_texts *names, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t s = 0; !status && s < p->settings.count; s++)
        status =
            tp_texts_add(names, p->settings.items[s].text, strlen(p->settings.items[s].text), err);
    return status;
}

static bool find_column(const struct tp_sweep_plan *p, struct tp_texts *names, const char *setting,
                        const char *passes, size_t *out)
{
    uint32_t s = tp_texts_find(names, setting, strlen(setting));
    for (size_t g = 0; s != TP_NO_TEXT && g < p->group_count; g++)
        if (!strcmp(p->groups[g].name, passes)) {
            *out = s * p->group_count + g;
            return true;
        }
    return false;
}

/* The seconds of a byte, by setting. A setting that the store does not have costs what the others
 * do. */
static int read_costs(struct dealing *s, const char *path, struct tp_err *err)
{
    struct tp_store *store = NULL;
    struct tp_texts names = {0};
    sqlite3_stmt *rows = NULL;
    double sum = 0, known = 0;
    bool row = true;
    int status = name_settings(s->plan, &names, err);
    if (!status)
        status = tp_store_open(path, &store, err);
    if (!status)
        status = tp_sql_prepare(tp_store_sql(store),
                                "SELECT s.setting, c.passes, sum(c.seconds) / sum(f.bytes) FROM"
                                " cells c JOIN settings s ON s.id = c.setting JOIN files f ON"
                                " f.trace = c.trace WHERE f.bytes > 0 GROUP BY s.setting, c.passes",
                                &rows, err);
    while (!status && row) {
        size_t at;
        status = tp_sql_step(tp_store_sql(store), rows, &row, err);
        if (status || !row ||
            !find_column(s->plan, &names, tp_sql_text(rows, 0), tp_sql_text(rows, 1), &at))
            continue;
        s->seconds[at] = tp_sql_real(rows, 2);
        sum += s->seconds[at];
        known++;
    }
    for (size_t i = 0; !status && i < s->plan->settings.count * s->plan->group_count; i++)
        if (!(s->seconds[i] > 0))
            s->seconds[i] = known > 0 ? sum / known : 1;
    sqlite3_finalize(rows);
    tp_store_drop(store);
    tp_texts_release(&names);
    return status;
}

static double cost_of(const struct dealing *s, uint64_t cell)
{
    uint64_t columns = (uint64_t)s->plan->settings.count * s->plan->group_count;
    double bytes = (double)s->plan->traces[cell / columns].bytes;
    return (bytes > 0 ? bytes : SAMPLE_BYTES) * s->seconds[cell % columns];
}

/* ---- parts ---- */

static int by_cost(const void *a, const void *b)
{
    const struct share_part *x = a, *y = b;
    if (x->cost > y->cost || x->cost < y->cost)
        return x->cost < y->cost ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Cuts the plan into parts that cost at most `most`, or are one cell. No part is of two traces. */
static void cut_parts(struct dealing *s, double most)
{
    uint64_t columns = (uint64_t)s->plan->settings.count * s->plan->group_count;
    uint64_t cells = tp_sweep_cells(s->plan);
    for (uint64_t c = 0; c < cells; c++) {
        double cost = cost_of(s, c);
        struct share_part *last = s->count ? &s->parts[s->count - 1] : NULL;
        if (last && c % columns && last->cost + cost <= most) {
            last->cost += cost;
            last->behind = c + 1;
        } else {
            s->parts[s->count++] = (struct share_part){cost, c, c + 1};
        }
    }
    qsort(s->parts, s->count, sizeof *s->parts, by_cost);
}

/* ---- shards ---- */

static bool is_before(const struct dealing *s, uint64_t a, uint64_t b)
{
    if (s->load[a] < s->load[b] || s->load[a] > s->load[b])
        return s->load[a] < s->load[b];
    return a < b;
}

/* Moves the shard at the top of the heap down to where it belongs. */
static void sink(struct dealing *s)
{
    uint64_t at = 0, moved = s->heap[0];
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child + 1 < s->shards && is_before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (child >= s->shards || is_before(s, moved, s->heap[child]))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = moved;
}

static void deal(struct dealing *s, uint64_t shard, bool *mine)
{
    for (uint64_t i = 0; i < s->shards; i++)
        s->heap[i] = i;
    for (size_t i = 0; i < s->count; i++) {
        const struct share_part *p = &s->parts[i];
        uint64_t to = s->heap[0];
        for (uint64_t c = p->first; to == shard - 1 && c < p->behind; c++)
            mine[c] = true;
        s->load[to] += p->cost;
        sink(s);
    }
}

int tp_sweep_share(const struct tp_sweep_plan *plan, uint64_t shard, uint64_t shards,
                   const char *costs, bool **mine, struct tp_err *err)
{
    uint64_t cells = tp_sweep_cells(plan);
    struct dealing s = {.plan = plan, .shards = shards};
    s.seconds = calloc(plan->settings.count * plan->group_count, sizeof *s.seconds);
    s.parts = calloc(cells, sizeof *s.parts);
    s.load = calloc(shards, sizeof *s.load);
    s.heap = calloc(shards, sizeof *s.heap);
    *mine = calloc(cells, sizeof **mine);
    int status = TP_OK;
    double total = 0;
    if (!s.seconds || !s.parts || !s.load || !s.heap || !*mine)
        status = tp_fail(err, TP_ENOMEM, "out of memory for %llu cells", (unsigned long long)cells);
    for (size_t i = 0; !status && i < plan->settings.count * plan->group_count; i++)
        s.seconds[i] = costs ? 0 : 1;
    if (!status && costs)
        status = read_costs(&s, costs, err);
    for (uint64_t c = 0; !status && c < cells; c++)
        total += cost_of(&s, c);
    if (!status) {
        cut_parts(&s, total / (double)shards / PARTS_PER_SHARE);
        deal(&s, shard, *mine);
    }
    free(s.seconds);
    free(s.parts);
    free(s.load);
    free(s.heap);
    return status;
}
