/* See holders_part.h. */
#include "cmd/page/holders_part.h"

#include "alloc/base/str.h"
#include "alloc/base/units.h"
#include "cmd/ui/table.h"

/* Whether more than the place was asked for: then ages and callers are known, where they can be. */
static bool in_detail(const struct tp_holders *h)
{
    return h->depth && h->by == TP_BY_PLACE;
}

static void set_columns(struct tp_table *t, const struct tp_holders *h)
{
    static const char *const who[] = {[TP_BY_PLACE] = "asked for by",
                                      [TP_BY_PHASE] = "asked for in",
                                      [TP_BY_AGE] = "age",
                                      [TP_BY_SIZE] = "size of a block",
                                      [TP_BY_METADATA] = "metadata"};
    struct tp_column columns[] = {
        {.left = true},           {.head = {"", "holds"}},
        {.head = {"", "share"}},  {.head = {"", "blocks"}},
        {.head = {"", "oldest"}}, {.head = {"", "mostly called from"}, .left = true}};
    enum { ALL = sizeof columns / sizeof *columns, DETAILS = 2 };
    snprintf(columns->head[1], TP_COLUMN_HEAD, "%s", who[h->by]);
    tp_table_columns(t, columns, in_detail(h) ? ALL : ALL - DETAILS);
}

/* "step < main"; or the place from which most was asked for, where callers do not agree. */
static void add_callers(struct tp_table *t, const struct tp_holder *row)
{
    struct tp_str s = {0};
    for (unsigned i = 0; i < row->caller_count; i++)
        tp_str_item(&s, " < ", "%s", row->callers[i].place);
    if (!row->caller_count && row->largest_count)
        tp_str_item(&s, "", "%s (%s)", row->largest[0].place,
                    tp_percent(row->largest[0].bytes / row->bytes).s);
    tp_table_add(t, "%s", tp_str_text(&s));
    tp_str_drop(&s);
}

/* `row` NULL: of several, or of none. */
static void add_holder(struct tp_table *t, const struct tp_holders *h, const char *who, double held,
                       const struct tp_holder *row)
{
    tp_table_add(t, "%s", who);
    tp_table_bytes(t, held > 0 ? (uint64_t)held : 0, false);
    tp_table_add(t, "%s", tp_percent(held / (double)h->bytes).s);
    tp_table_count(t, row ? row->blocks : TP_NONE);
    if (!in_detail(h))
        return;
    if (row && row->youngest <= row->oldest)
        tp_table_add(t, "%s",
                     h->timed ? tp_duration(row->oldest).s : tp_plural(row->oldest, "event").s);
    else
        tp_table_add(t, "-");
    if (row)
        add_callers(t, row);
    else
        tp_table_add(t, NULL);
}

/* The rows add up to all that is held. */
static void fill_holders(struct tp_table *t, const struct tp_holders *h)
{
    double rest = (double)h->bytes - h->unknown;
    for (unsigned i = 0; i < h->count; rest -= h->rows[i++].bytes)
        add_holder(t, h, h->rows[i].place, h->rows[i].bytes, &h->rows[i]);
    if (h->places > h->count)
        add_holder(t, h, "others", rest, NULL);
    struct tp_holder_rest rests[TP_HOLDER_RESTS];
    for (unsigned i = 0, count = tp_holder_rests(h, rests); i < count; i++)
        add_holder(t, h, rests[i].name, rests[i].bytes, NULL);
}

int tp_holders_html(const struct tp_holders *h, FILE *out, struct tp_err *err)
{
    struct tp_table t = {0};
    set_columns(&t, h);
    fill_holders(&t, h);
    fputs("<p>", out);
    if (h->at == TP_AT_PEAK)
        fputs("When it needed most, ", out);
    else
        fprintf(out, "After event %s ", tp_count(h->at).s);
    fprintf(out, "the program held %s%s.", tp_bytes(h->bytes, false).s,
            h->estimated ? "; by whom is estimated from samples" : "");
    int rc = tp_table_html(&t, out, err);
    fputs("</p>\n", out);
    tp_table_drop(&t);
    return rc;
}
