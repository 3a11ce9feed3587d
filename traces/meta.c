/* The meta of a trace: sets, cleans and releases its texts. */
#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"
#include "traces/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define META_TEXT_MAX 1000 /* bytes kept of one text */

const char *const tp_meta_text_names[TP_META_TEXTS] = {
    "name",    "program",  "capture",     "settings",         "unknown",
    "space",   "left_out", "allocator",   "allocator_device", "allocator_release",
    "written", "nothing",  "nothing_hint"};
const char *const tp_meta_number_names[TP_META_NUMBERS] = {
    "not_recorded",  "cpu_low_ns",     "cpu_high_ns",        "wall_ns",
    "malloc_low_ns", "malloc_high_ns", "garbage_collections"};

char **tp_meta_text(struct tp_meta *meta, size_t i)
{
    char **const texts[TP_META_TEXTS] = {&meta->name,
                                         &meta->program,
                                         &meta->capture,
                                         &meta->settings,
                                         &meta->unknown,
                                         &meta->space,
                                         &meta->left_out,
                                         &meta->allocator,
                                         &meta->allocator_device,
                                         &meta->allocator_release,
                                         &meta->written,
                                         &meta->nothing,
                                         &meta->nothing_hint};
    return texts[i];
}

static uint64_t *number_of(struct tp_meta *meta, size_t i)
{
    uint64_t *const numbers[TP_META_NUMBERS] = {
        &meta->not_recorded,  &meta->cpu_low_ns,     &meta->cpu_high_ns,        &meta->wall_ns,
        &meta->malloc_low_ns, &meta->malloc_high_ns, &meta->garbage_collections};
    return numbers[i];
}

uint64_t tp_meta_number(const struct tp_meta *meta, size_t i)
{
    struct tp_meta copy = *meta;
    return *number_of(&copy, i);
}

void tp_meta_set_number(struct tp_meta *meta, size_t i, double value)
{
    double kept = value < TP_META_NUMBER_MAX ? value : TP_META_NUMBER_MAX;
    *number_of(meta, i) = value > 0 ? (uint64_t)kept : 0;
}

void tp_meta_release(struct tp_meta *meta)
{
    for (size_t i = 0; i < TP_META_TEXTS; i++) {
        free(*tp_meta_text(meta, i));
        *tp_meta_text(meta, i) = NULL;
    }
    free(meta->remarks);
    meta->remarks = NULL;
}

/* A new text: `before` and a newline, unless it is NULL, then the formatted text, cleaned. */
__attribute__((format(printf, 3, 0))) static char *text_of(struct tp_meta *meta, const char *before,
                                                           const char *format, va_list args)
{
    char *raw = NULL, *all = NULL;
    if (vasprintf(&raw, format, args) < 0)
        raw = NULL;
    char *clean = raw ? tp_clean_copy(raw, META_TEXT_MAX) : NULL;
    if (!clean || asprintf(&all, "%s%s%s", before ? before : "", before ? "\n" : "", clean) < 0)
        all = NULL;
    meta->lost |= !all;
    free(raw);
    free(clean);
    return all;
}

void tp_meta_set(struct tp_meta *meta, char **field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of(meta, NULL, format, args);
    va_end(args);
    free(*field);
    *field = text;
}

void tp_meta_remark(struct tp_meta *meta, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of(meta, meta->remarks, format, args);
    va_end(args);
    free(meta->remarks);
    meta->remarks = text;
}

void tp_meta_too_large(struct tp_meta *meta, uint64_t count)
{
    if (count > 0)
        tp_meta_remark(meta, "Failed requests of more than 2^48 bytes are left out: %s.",
                       tp_count(count).s);
}

void tp_meta_set_written(struct tp_meta *meta, const uint64_t large[TP_TOUCHED_OCTAVES],
                         const uint64_t written[TP_TOUCHED_OCTAVES])
{
    char text[TP_TOUCHED_OCTAVES * 48] = "";
    struct tp_str s = TP_STR_IN(text);
    for (unsigned i = 0; i < TP_TOUCHED_OCTAVES; i++)
        if (large[i])
            tp_str_item(&s, " ", "%u:%" PRIu64 ":%" PRIu64, TP_TOUCHED_LOG2 + i, large[i],
                        written[i] < large[i] ? written[i] : large[i]);
    if (text[0])
        tp_meta_set(meta, &meta->written, "%s", text);
}

/* Reads a number that ends in `end`; false: there is none. */
static bool take_number(const char **at, char end, uint64_t *out)
{
    char *behind;
    if (**at < '0' || **at > '9')
        return false;
    *out = strtoull(*at, &behind, 10);
    bool good = *behind == end || (end == ' ' && !*behind);
    *at = *behind ? behind + 1 : behind;
    return good;
}

double tp_meta_touched(const struct tp_meta *meta, struct tp_touched *out)
{
    const char *at = meta->written ? meta->written : "";
    uint64_t log2, bytes, written;
    double all = 0, found = 0;
    for (unsigned i = 0; i < TP_TOUCHED_OCTAVES; i++)
        out->parts[i] = 1000;
    while (*at && take_number(&at, ':', &log2) && take_number(&at, ':', &bytes) &&
           take_number(&at, ' ', &written)) {
        if (log2 < TP_TOUCHED_LOG2 || log2 >= TP_TOUCHED_LOG2 + TP_TOUCHED_OCTAVES || !bytes ||
            written > bytes)
            continue;
        all += (double)bytes;
        found += (double)written;
        out->parts[log2 - TP_TOUCHED_LOG2] = (uint16_t)(1000 * ((double)written / (double)bytes));
    }
    return all > 0 ? found / all : 1;
}

bool tp_meta_malloc_share(const struct tp_meta *meta, double *low, double *high)
{
    if (!meta->cpu_low_ns || !meta->malloc_low_ns)
        return false;
    *low = (double)meta->malloc_low_ns / (double)meta->cpu_high_ns;
    *high = fmin(1, (double)meta->malloc_high_ns / (double)meta->cpu_low_ns);
    return *low < 1 && *high <= 2 * *low;
}

int tp_meta_status(const struct tp_meta *meta, struct tp_err *err)
{
    return meta->lost ? tp_fail(err, TP_ENOMEM, "out of memory for what a trace says of itself")
                      : TP_OK;
}
