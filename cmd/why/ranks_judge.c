/* See ranks.h: the names of ranks, the median, and the one that is farthest from it. */
#include "cmd/why/ranks.h"

#include "alloc/base/ascending.h"
#include "alloc/base/clean.h"
#include "cmd/ui/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

static bool same_run(char a, char b)
{
    bool digits = isdigit((unsigned char)a) && isdigit((unsigned char)b);
    return digits || ((isalpha((unsigned char)a) || (signed char)a < 0) &&
                      (isalpha((unsigned char)b) || (signed char)b < 0));
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash && slash[1] ? slash + 1 : file;
}

/* What names are made of: file names without folders, unless two are the same. */
static const char *text_of(const struct tp_ranks *r, const char *file)
{
    return r->in_folders ? file : base_name(file);
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(base_name(*x), base_name(*y));
}

static int look_for_folders(struct tp_ranks *r, struct tp_err *err)
{
    char **sorted = malloc((r->file_count + 1) * sizeof *sorted);
    if (!sorted)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    memcpy(sorted, r->files, r->file_count * sizeof *sorted);
    qsort(sorted, r->file_count, sizeof *sorted, by_text);
    for (size_t i = 1; i < r->file_count; i++)
        r->in_folders |= by_text(&sorted[i - 1], &sorted[i]) == 0;
    free(sorted);
    return TP_OK;
}

/* Bytes that all names begin with, and end with. */
struct common {
    size_t before, behind;
};

static bool cuts_begin(const struct tp_ranks *r, size_t at)
{
    bool cuts = false;
    for (size_t i = 0; at && i < r->file_count; i++) {
        const char *text = text_of(r, r->files[i]);
        cuts |= same_run(text[at - 1], text[at]);
    }
    return cuts;
}

static bool cuts_end(const struct tp_ranks *r, size_t bytes)
{
    bool cuts = false;
    for (size_t i = 0; bytes && i < r->file_count; i++) {
        const char *text = text_of(r, r->files[i]), *end = text + strlen(text) - bytes;
        cuts |= end > text && same_run(end[-1], end[0]);
    }
    return cuts;
}

/* No run of letters or of digits is cut: of rank10 and rank11 the numbers differ, not their last
 * digits. */
static struct common common_of(const struct tp_ranks *r)
{
    const char *one = text_of(r, r->files[0]);
    size_t length = strlen(one);
    struct common c = {length, length};
    for (size_t i = 1; i < r->file_count; i++) {
        const char *other = text_of(r, r->files[i]);
        size_t size = strlen(other), at = 0, end = 0;
        while (at < c.before && one[at] == other[at])
            at++;
        while (end < c.behind && end < size && one[length - 1 - end] == other[size - 1 - end])
            end++;
        c = (struct common){at, end};
    }
    while (cuts_begin(r, c.before))
        c.before--;
    while (cuts_end(r, c.behind))
        c.behind--;
    return c;
}

/* Whether something is left of each name. */
static bool all_differ(const struct tp_ranks *r, const struct common *c)
{
    bool differ = r->file_count > 1;
    for (size_t i = 0; i < r->file_count; i++)
        differ &= strlen(text_of(r, r->files[i])) > c->before + c->behind;
    return differ;
}

/* The end of a long name tells more than its beginning. */
static void set_name(struct tp_rank *rank, const char *text, size_t length)
{
    enum { ROOM = TP_RANK_NAME - 1 };
    size_t skip = length > ROOM ? length - ROOM : 0;
    while (skip < length && ((unsigned char)text[skip] & 0xc0) == 0x80)
        skip++;
    snprintf(rank->name, sizeof rank->name, "%.*s", (int)(length - skip), text + skip);
}

static int name_ranks(struct tp_ranks *r, struct tp_err *err)
{
    int rc = look_for_folders(r, err);
    const struct common c = common_of(r);
    bool differ = all_differ(r, &c);
    for (size_t i = 0; i < r->count; i++) {
        const char *text = text_of(r, r->list[i].file), *base = base_name(r->list[i].file);
        if (differ)
            set_name(&r->list[i], text + c.before, strlen(text) - c.before - c.behind);
        else
            set_name(&r->list[i], base, strlen(base));
    }
    return rc;
}

/* ---- the median ---- */

uint64_t tp_rank_value(const struct tp_rank *rank, enum tp_rank_figure figure)
{
    return figure == TP_RANK_RESERVED ? rank->sum.reserved : rank->sum.requested;
}

static int find_medians(struct tp_ranks *r, struct tp_err *err)
{
    uint64_t *values = malloc(r->good * sizeof *values);
    if (!values)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (enum tp_rank_figure f = 0; f < TP_RANK_FIGURES; f++) {
        size_t count = 0;
        for (size_t i = 0; i < r->count; i++)
            if (r->list[i].judged)
                values[count++] = tp_rank_value(&r->list[i], f);
        qsort(values, count, sizeof *values, tp_by_number);
        r->medians[f] = values[(count - 1) / 2];
    }
    free(values);
    return TP_OK;
}

double tp_rank_apart(const struct tp_ranks *r, const struct tp_rank *rank,
                     enum tp_rank_figure figure)
{
    double value = (double)tp_rank_value(rank, figure), median = (double)r->medians[figure];
    if (median == 0)
        return value == 0 ? 0 : INFINITY;
    return (value - median) / median;
}

/* ---- the odd one ---- */

/* Reserved memory comes first: what decides is the larger distance, and of equal ones that. */
static void find_odd(struct tp_ranks *r)
{
    for (enum tp_rank_figure f = 0; f < TP_RANK_FIGURES; f++)
        for (size_t i = 0; i < r->count; i++) {
            double apart = r->list[i].judged ? tp_rank_apart(r, &r->list[i], f) : 0;
            if (fabs(apart) > fabs(r->apart[f]))
                r->apart[f] = apart;
        }
    r->figure = fabs(r->apart[TP_RANK_REQUESTED]) > fabs(r->apart[TP_RANK_RESERVED])
                    ? TP_RANK_REQUESTED
                    : TP_RANK_RESERVED;
    r->agree = fabs(r->apart[r->figure]) <= TP_RANKS_AGREE;
    for (size_t i = r->count; i-- > 0;) {
        const struct tp_rank *rank = &r->list[i];
        if (!rank->judged)
            continue;
        double apart = tp_rank_apart(r, rank, r->figure);
        if (apart == r->apart[r->figure])
            r->odd = i;
        if (tp_rank_value(rank, r->figure) == r->medians[r->figure])
            r->median = i;
        r->beyond += fabs(apart) > TP_RANKS_AGREE;
    }
}

/* Moves the odd one to the front. */
static void put_first(struct tp_ranks *r)
{
    struct tp_rank odd = r->list[r->odd];
    memmove(&r->list[1], &r->list[0], r->odd * sizeof *r->list);
    r->list[0] = odd;
    r->median += r->median < r->odd;
    r->odd = 0;
}

int tp_ranks_judge(struct tp_ranks *r, struct tp_err *err)
{
    int rc = name_ranks(r, err);
    if (rc == TP_OK && r->good > 1)
        rc = find_medians(r, err);
    if (rc != TP_OK || r->good < 2)
        return rc;
    find_odd(r);
    if (r->agree)
        return TP_OK;
    put_first(r);
    return tp_site_rows_of(&r->list[r->median].sites, &r->list[r->odd].sites, &r->sites, err);
}

int tp_ranks_status(const struct tp_ranks *r, struct tp_err *err)
{
    size_t bad = 0;
    const struct tp_rank *first = NULL;
    for (size_t i = 0; i < r->count; i++) {
        bad += r->list[i].status != TP_OK;
        first = !first && r->list[i].status != TP_OK ? &r->list[i] : first;
    }
    return first ? tp_fail(err, (enum tp_status)first->status, "%s of %s cannot be used: %s",
                           tp_count(bad).s, tp_plural(r->file_count, "snapshot").s, first->why)
                 : TP_OK;
}
