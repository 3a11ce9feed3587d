/* See sites.h. */
#include "cmd/info/named_sites.h"

#include "alloc/base/ascending.h"

#include <stdlib.h>
#include <string.h>

const char *const tp_site_kind_words[TP_SITE_KINDS] = {
    [TP_SITE_KNOWN] = "site",
    [TP_SITE_UNKNOWN] = "unknown",
    [TP_SITE_INITIAL] = "initial heap",
    [TP_SITE_INITIAL_OTHER] = "initial heap, unknown",
};

/* ---- sites of a moment ---- */

/* Which groups are kept: those of at least `bytes`, and of those with just as many `ties`. */
struct keeping {
    double bytes;
    size_t ties;
};

static int by_bytes_down(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

static int choose_kept(const struct tp_sites *h, size_t most, struct keeping *out,
                       struct tp_err *err)
{
    *out = (struct keeping){.ties = SIZE_MAX};
    if (h->group_count <= most)
        return TP_OK;
    double *sorted = malloc(h->group_count * sizeof *sorted);
    if (!sorted)
        return tp_fail(err, TP_ENOMEM, "out of memory for allocation sites");
    for (size_t i = 0; i < h->group_count; i++)
        sorted[i] = h->groups[i].bytes;
    qsort(sorted, h->group_count, sizeof *sorted, by_bytes_down);
    *out = (struct keeping){.bytes = sorted[most - 1], .ties = 1};
    for (size_t i = most - 1; i > 0 && sorted[i - 1] == out->bytes; i--)
        out->ties++;
    free(sorted);
    return TP_OK;
}

static bool keep_group(struct keeping *k, const struct tp_site_group *g)
{
    bool tied = g->bytes == k->bytes && k->ties;
    k->ties -= tied;
    return g->bytes > k->bytes || tied;
}

static int add_site(struct tp_named_sites *s, const char *name, const struct tp_named_site *site,
                    struct tp_err *err)
{
    uint32_t number = TP_NO_TEXT;
    int rc = name ? tp_texts_need(&s->names, name, strlen(name), &number, err) : TP_OK;
    if (rc == TP_OK)
        rc = TP_GROW(&s->list, &s->room, s->count + 1, err, .what = "allocation sites");
    if (rc != TP_OK)
        return rc;
    s->list[s->count] = *site;
    s->list[s->count++].name = number;
    s->known |= name != NULL;
    return TP_OK;
}

/* Adds the groups that are kept, and takes them off `rest`. */
static int add_groups(struct tp_named_sites *s, const struct tp_sites *h, enum tp_site_kind kind,
                      size_t most, struct tp_named_site *rest, struct tp_err *err)
{
    struct keeping keep;
    int rc = choose_kept(h, most, &keep, err);
    for (uint32_t i = 0; rc == TP_OK && i < h->group_count; i++) {
        const struct tp_site_group *g = &h->groups[i];
        /* the sum of estimates may be a hair above what is live */
        uint64_t bytes = g->bytes < (double)rest->bytes ? (uint64_t)g->bytes : rest->bytes;
        if (!keep_group(&keep, g)) {
            s->left_out++;
            continue;
        }
        rc = add_site(s, tp_texts_get(&h->names, i),
                      &(struct tp_named_site){.kind = kind, .bytes = bytes, .blocks = g->blocks},
                      err);
        rest->bytes -= bytes;
        rest->blocks -= g->blocks;
    }
    s->estimated |= h->estimated;
    return rc;
}

static uint64_t bytes_of(const struct tp_held_list *l)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < l->count; i++)
        sum += l->blocks[i].size;
    return sum;
}

static int add_list(struct tp_named_sites *s, const struct tp_held_list *list, bool initial,
                    const struct tp_named_sites_cfg *cfg, struct tp_err *err)
{
    const struct tp_sites_cfg sites = {.by = cfg->by, .depth = cfg->depth};
    struct tp_sites *h = NULL;
    struct tp_named_site rest = {.kind = initial ? TP_SITE_INITIAL_OTHER : TP_SITE_UNKNOWN,
                                 .bytes = bytes_of(list),
                                 .blocks = list->count};
    bool named = !(initial && cfg->by == TP_BY_AGE); /* its age is not known */
    int rc = list->count && named ? tp_sites_of(list, &sites, cfg->stop, &h, err) : TP_OK;
    s->bytes += rest.bytes;
    s->blocks += rest.blocks;
    if (rc == TP_OK && h)
        rc = add_groups(s, h, initial ? TP_SITE_INITIAL : TP_SITE_KNOWN, cfg->most, &rest, err);
    if (rc == TP_OK && (rest.bytes || rest.blocks))
        rc = add_site(s, NULL, &rest, err);
    tp_sites_free(h);
    return rc;
}

static int initial_last(const void *a, const void *b)
{
    const struct tp_held_block *x = a, *y = b;
    if (x->from_start != y->from_start)
        return x->from_start - y->from_start;
    return tp_order(x->place, y->place);
}

int tp_named_sites_of(struct tp_held_list *list, const struct tp_named_sites_cfg *cfg,
                      struct tp_named_sites *out, struct tp_err *err)
{
    struct tp_held_list young = *list, initial = *list;
    *out = (struct tp_named_sites){.count = 0};
    if (!cfg->apart)
        return add_list(out, list, false, cfg, err);
    if (list->count)
        qsort(list->blocks, list->count, sizeof *list->blocks, initial_last);
    young.count = 0;
    while (young.count < list->count && !list->blocks[young.count].from_start)
        young.count++;
    initial.blocks += young.count;
    initial.count -= young.count;
    out->initial_bytes = bytes_of(&initial);
    out->initial_blocks = initial.count;
    int rc = add_list(out, &young, false, cfg, err);
    return rc == TP_OK ? add_list(out, &initial, true, cfg, err) : rc;
}

void tp_sites_release(struct tp_named_sites *s)
{
    tp_texts_release(&s->names);
    TP_GROW_END(&s->list, &s->room, .what = NULL);
    *s = (struct tp_named_sites){.count = 0};
}

/* ---- two moments ---- */

static int by_kind_and_name(const void *a, const void *b)
{
    const struct tp_site_row *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->name && y->name ? strcmp(x->name, y->name) : 0; /* such a kind has no names at all */
}

int tp_compare_growth(const uint64_t x[2], const uint64_t y[2])
{
    uint64_t of_x = tp_apart(x), of_y = tp_apart(y);
    bool less_x = x[1] < x[0], less_y = y[1] < y[0];
    if (less_x != less_y)
        return less_x ? 1 : -1;
    if (of_x == of_y)
        return 0;
    return (of_x > of_y) == less_x ? 1 : -1;
}

static int by_growth(const void *a, const void *b)
{
    const struct tp_site_row *x = a, *y = b;
    int order = tp_compare_growth(x->bytes, y->bytes);
    if (order)
        return order;
    if (tp_site_changed(x) != tp_site_changed(y)) /* in blocks alone */
        return tp_site_changed(x) ? -1 : 1;
    return by_kind_and_name(a, b);
}

static void take_side(const struct tp_named_sites *s, int side, struct tp_site_rows *out)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct tp_named_site *at = &s->list[i];
        struct tp_site_row *row = &out->rows[out->count++];
        row->name = at->name == TP_NO_TEXT ? NULL : tp_texts_get(&s->names, at->name);
        row->kind = at->kind;
        row->bytes[side] = at->bytes;
        row->blocks[side] = at->blocks;
    }
    out->bytes[side] = s->bytes;
    out->blocks[side] = s->blocks;
    out->initial_bytes[side] = s->initial_bytes;
    out->initial_blocks[side] = s->initial_blocks;
    out->known[side] = s->known;
    out->left_out[side] = s->left_out;
    out->estimated |= s->estimated;
}

/* Makes one row of those that are of the same site. */
static void join_sides(struct tp_site_rows *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct tp_site_row *last = kept ? &r->rows[kept - 1] : NULL;
        if (!last || by_kind_and_name(last, &r->rows[i]) != 0) {
            r->rows[kept++] = r->rows[i];
            continue;
        }
        for (int side = 0; side < 2; side++) {
            last->bytes[side] += r->rows[i].bytes[side];
            last->blocks[side] += r->rows[i].blocks[side];
        }
    }
    r->count = kept;
}

int tp_site_rows_of(const struct tp_named_sites *first, const struct tp_named_sites *second,
                    struct tp_site_rows *out, struct tp_err *err)
{
    *out = (struct tp_site_rows){.count = 0};
    out->rows = calloc(first->count + second->count + 1, sizeof *out->rows);
    if (!out->rows)
        return tp_fail(err, TP_ENOMEM, "out of memory for allocation sites");
    take_side(first, 0, out);
    take_side(second, 1, out);
    qsort(out->rows, out->count, sizeof *out->rows, by_kind_and_name);
    join_sides(out);
    qsort(out->rows, out->count, sizeof *out->rows, by_growth);
    for (size_t i = 0; i < out->count; i++)
        out->changed += tp_site_changed(&out->rows[i]);
    return TP_OK;
}

void tp_site_rows_release(struct tp_site_rows *r)
{
    free(r->rows);
    *r = (struct tp_site_rows){.count = 0};
}
