/* See site_rows.h. */
#include "cmd/info/site_rows.h"

#include "cmd/report/report_sites.h"
#include "cmd/ui/table.h"

enum { NAME = 5, NAME_MIN = 8 }; /* the column of names, and its least width */

/* What rows are, in the singular. */
static const char *const site_words[] = {[TP_BY_PLACE] = "allocation site",
                                         [TP_BY_PHASE] = "phase",
                                         [TP_BY_AGE] = "age",
                                         [TP_BY_SIZE] = "size"};

static const char *sign_of(const uint64_t value[2])
{
    return value[1] > value[0] ? "+" : "-";
}

struct tp_text tp_grown_bytes(const uint64_t value[2], bool exact)
{
    if (value[0] == value[1])
        return tp_text_of("=");
    return tp_text_of("%s%s", sign_of(value), tp_bytes(tp_apart(value), exact).s);
}

struct tp_text tp_grown_count(const uint64_t value[2])
{
    if (value[0] == value[1])
        return tp_text_of("=");
    return tp_text_of("%s%s", sign_of(value), tp_count(tp_apart(value)).s);
}

/* ---- rows ---- */

/* A table that is filled. */
struct site_filling {
    struct tp_table *table;
    const struct tp_site_screen *screen;
    int room;   /* columns for a name */
    bool exact; /* as of tp_bytes */
};

/* The rows before `top` and from `end` on are shown. */
struct chosen {
    size_t top, end;
};

/* Takes from both ends the row that differs most. */
static struct chosen choose(const struct tp_site_rows *r, size_t shown)
{
    struct chosen c = {.end = r->count};
    while (c.top < c.end && c.top + r->count - c.end < shown) {
        const struct tp_site_row *top = &r->rows[c.top], *last = &r->rows[c.end - 1];
        if (tp_apart(top->bytes) < tp_apart(last->bytes))
            c.end--;
        else if (tp_site_changed(top))
            c.top++;
        else
            break;
    }
    return c;
}

static void add_numbers(struct tp_table *t, const uint64_t bytes[2], const uint64_t blocks[2],
                        bool exact)
{
    tp_table_add(t, NULL); /* the first column of a table is aligned left */
    tp_table_add(t, "%s", tp_grown_bytes(bytes, exact).s);
    for (int side = 0; side < 2; side++)
        tp_table_bytes(t, bytes[side], exact);
    tp_table_add(t, "%s", tp_grown_count(blocks).s);
}

static void add_name(const struct tp_site_row *row, const struct tp_site_rows *r,
                     enum tp_sites_by by, struct tp_str *out)
{
    bool initial = row->kind == TP_SITE_INITIAL || row->kind == TP_SITE_INITIAL_OTHER;
    if (initial)
        tp_str_add(out, "initial heap");
    if (row->name) {
        tp_str_add(out, "%s", initial ? ": " : "");
        tp_place_short(row->name, out);
    } else if (by == TP_BY_PLACE || !initial) {
        tp_str_add(out, initial ? ": " : "");
        tp_str_add(out, by == TP_BY_PHASE ? "in no phase" : "%s not known", site_words[by]);
        tp_str_add(out, "%s", r->left_out[0] + r->left_out[1] ? ", and smaller sites" : "");
    }
}

static void add_middle(const struct tp_site_rows *r, const struct chosen *c,
                       const struct site_filling *f)
{
    uint64_t bytes[2] = {0}, blocks[2] = {0}, same = 0;
    struct tp_str name = {0};
    const char *word = site_words[f->screen->by];
    for (size_t i = c->top; i < c->end; i++) {
        for (int side = 0; side < 2; side++) {
            bytes[side] += r->rows[i].bytes[side];
            blocks[side] += r->rows[i].blocks[side];
        }
        same += !tp_site_changed(&r->rows[i]);
    }
    add_numbers(f->table, bytes, blocks, f->exact);
    struct tp_text noun = tp_text_of("%s %s", same < c->end - c->top ? "more" : "unchanged", word);
    tp_str_add(&name, "%s", tp_plural(c->end - c->top, noun.s).s);
    if (same && same < c->end - c->top)
        tp_str_add(&name, ", %s of them unchanged", tp_count(same).s);
    tp_table_cut(f->table, tp_str_text(&name), f->room); /* --json has the whole name */
    tp_str_drop(&name);
}

static void add_row(const struct tp_site_row *row, const struct tp_site_rows *r,
                    const struct site_filling *f)
{
    struct tp_str name = {0};
    add_numbers(f->table, row->bytes, row->blocks, f->exact);
    add_name(row, r, f->screen->by, &name);
    tp_table_cut(f->table, tp_str_text(&name), f->room);
    tp_str_drop(&name);
}

static void fill(const struct tp_site_rows *r, const struct site_filling *f)
{
    const struct chosen c = choose(r, f->screen->shown);
    for (size_t i = 0; i < c.top; i++)
        add_row(&r->rows[i], r, f);
    if (c.top < c.end)
        add_middle(r, &c, f);
    for (size_t i = c.end; i < r->count; i++)
        add_row(&r->rows[i], r, f);
    add_numbers(f->table, r->bytes, r->blocks, f->exact);
    tp_table_add(f->table, "total");
}

static void print_initial(const struct tp_site_rows *r, const struct tp_site_screen *screen,
                          struct tp_page *page)
{
    if (!r->initial_blocks[0] && !r->initial_blocks[1])
        return;
    tp_page_put(page, 2, "Initial heap: %s %s in %s, %s %s in %s (%s)", screen->heads[0],
                tp_bytes(r->initial_bytes[0], page->exact).s,
                tp_plural(r->initial_blocks[0], "block").s, screen->heads[1],
                tp_bytes(r->initial_bytes[1], page->exact).s,
                tp_plural(r->initial_blocks[1], "block").s,
                tp_grown_bytes(r->initial_bytes, page->exact).s);
}

void tp_site_rows_print(const struct tp_site_rows *r, const struct tp_site_screen *screen,
                        struct tp_page *page)
{
    struct tp_column columns[] = {{.head = {"", ""}},       {.head = {"", "growth"}},
                                  {.head = {"", ""}},       {.head = {"", ""}},
                                  {.head = {"", "blocks"}}, {.head = {"", ""}, .left = true}};
    struct tp_table numbers = {0}, table = {0};
    if (!r->changed) {
        tp_page_put(page, 2, "no %s differs: %s in %s on both sides", site_words[screen->by],
                    tp_bytes(r->bytes[0], page->exact).s, tp_plural(r->blocks[0], "block").s);
        return;
    }
    for (int side = 0; side < 2; side++)
        snprintf(columns[2 + side].head[1], TP_COLUMN_HEAD, "%s", screen->heads[side]);
    tp_table_columns(&numbers, columns, NAME + 1);
    fill(r, &(struct site_filling){&numbers, screen, NAME_MIN, page->exact});
    int room = page->width - tp_table_width(&numbers) + NAME_MIN;
    snprintf(columns[NAME].head[1], TP_COLUMN_HEAD, "%s", site_words[screen->by]);
    tp_table_columns(&table, columns, NAME + 1);
    fill(r, &(struct site_filling){&table, screen, room > NAME_MIN ? room : NAME_MIN, page->exact});
    tp_table_print(&table, page, 0, TP_TABLE_WIDE);
    tp_table_drop(&numbers);
    tp_table_drop(&table);
    print_initial(r, screen, page);
}

/* ---- documents ---- */

void tp_json_two(struct tp_json *j, cJSON *in, const char *name, const uint64_t value[2])
{
    cJSON *values = tp_json_array(j, in, name);
    for (int i = 0; i < 2; i++)
        tp_json_push(j, values, tp_json_number(j, value[i]));
}

static void write_unchanged(struct tp_json *j, cJSON *in, const struct tp_site_rows *r)
{
    uint64_t bytes = 0, blocks = 0;
    for (size_t i = 0; i < r->count; i++) {
        bytes += tp_site_changed(&r->rows[i]) ? 0 : r->rows[i].bytes[0];
        blocks += tp_site_changed(&r->rows[i]) ? 0 : r->rows[i].blocks[0];
    }
    cJSON *o = tp_json_object(j, in, "unchanged");
    tp_json_uint(j, o, "count", r->count - r->changed);
    tp_json_uint(j, o, "bytes", bytes);
    tp_json_uint(j, o, "blocks", blocks);
}

static void write_row(struct tp_json *j, cJSON *o, const struct tp_site_row *row)
{
    tp_json_text(j, o, "kind", tp_site_kind_words[row->kind]);
    tp_json_text(j, o, "name", row->name);
    tp_json_two(j, o, "bytes", row->bytes);
    tp_json_two(j, o, "blocks", row->blocks);
}

void tp_json_site_rows(struct tp_json *j, cJSON *in, const char *name, const struct tp_site_rows *r,
                       enum tp_sites_by by)
{
    cJSON *o = tp_json_object(j, in, name);
    tp_json_text(j, o, "by", tp_sites_by_words[by]);
    tp_json_bool(j, o, "estimated", r->estimated);
    tp_json_two(j, o, "bytes", r->bytes);
    tp_json_two(j, o, "blocks", r->blocks);
    cJSON *initial = tp_json_object(j, o, "initial_heap");
    tp_json_two(j, initial, "bytes", r->initial_bytes);
    tp_json_two(j, initial, "blocks", r->initial_blocks);
    write_unchanged(j, o, r);
    cJSON *rows = tp_json_array(j, o, "rows");
    for (size_t i = 0; i < r->count; i++)
        if (tp_site_changed(&r->rows[i]))
            write_row(j, tp_json_item(j, rows), &r->rows[i]);
}
