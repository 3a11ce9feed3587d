/* Rows of RMM's logs, in three forms:
 *
 *     Thread,Time,Action,Pointer,Size,Stream               since 2020; the header may be missing
 *     1000,12:34:56.000123,allocate,0x7f0000000000,1024,0x2
 *
 *     Event Type,Device ID,Address,Stream,Size (bytes),...,Start,End,Elapsed,Location
 *     Alloc,0,0x7f613be00000,0,720984,0,0,1,41.7014,41.7016,0.000156924,rmm_alloc.cu:85    before
 *
 * Pointers and streams (handles) are read as hexadecimal, although some releases print them without
 * 0x; null is 0. RMM's guide shows `deallocate` and seconds since 1970, which no release is known
 * to write; both are accepted. Known weakness: the older form has times of 6 digits and no threads.
 * Its Realloc rows do not say which block became which, so they are refused. */
#include "traces/formats/rmm/rmm_row.h"

#define SECOND UINT64_C(1000000000) /* ns */

static bool cut_decimal_field(struct tp_cut *c, uint64_t *value)
{
    struct tp_cut before = *c;
    if (tp_cut_decimal(c, value) && tp_cut_byte(c, ','))
        return true;
    *c = before;
    return false;
}

static bool cut_pointer_field(struct tp_cut *c, uint64_t *value)
{
    struct tp_cut before = *c;
    if (tp_cut_pointer(c, value) && tp_cut_byte(c, ','))
        return true;
    *c = before;
    return false;
}

/* Takes a power of ten behind the digits, such as "e-06", or nothing. */
static bool cut_exponent(struct tp_cut *c, int *exponent)
{
    uint64_t value = 0;
    if (!tp_cut_byte(c, 'e'))
        return true;
    bool negative = tp_cut_byte(c, '-');
    if (!negative)
        tp_cut_byte(c, '+');
    if (!tp_cut_decimal(c, &value) || value > 30)
        return false;
    *exponent += negative ? -(int)value : (int)value;
    return true;
}

/* Takes seconds as C++ prints them: 41.7014, 9.231e-06. Fractions of a nanosecond are dropped. */
static bool cut_seconds(struct tp_cut *c, uint64_t *ns)
{
    struct tp_cut t = *c;
    uint64_t digits = 0;
    int count = 0, exponent = 9;
    unsigned digit;
    for (bool point = false; t.at < t.end; t.at++) {
        if (*t.at == '.' && !point) {
            point = true;
            continue;
        }
        digit = (unsigned)(unsigned char)*t.at - '0';
        if (digit > 9 || ++count > 18)
            break;
        digits = digits * 10 + digit;
        exponent -= point;
    }
    if (count == 0 || count > 18 || !cut_exponent(&t, &exponent) || !tp_cut_byte(&t, ','))
        return false;
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(digits, (uint64_t)10, &digits))
            return false;
    for (; exponent < 0; exponent++)
        digits /= 10;
    *ns = digits;
    *c = t;
    return true;
}

/* ---- since 2020 ---- */

/* Takes a number of two digits that is below `limit`. */
static bool cut_two(struct tp_cut *c, uint64_t limit, uint64_t *value)
{
    if (c->end - c->at < 2)
        return false;
    unsigned tens = (unsigned)(unsigned char)c->at[0] - '0';
    unsigned ones = (unsigned)(unsigned char)c->at[1] - '0';
    *value = tens * 10u + ones;
    c->at += 2;
    return tens <= 9 && ones <= 9 && *value < limit;
}

/* Takes HH:MM:SS and a fraction of up to nine digits behind a point or, in old releases, a
 * colon. */
static bool cut_time(struct tp_cut *c, uint64_t *ns)
{
    struct tp_cut t = *c;
    uint64_t hours = 0, minutes = 0, seconds = 0, fraction = 0;
    int left = 0;
    if (!cut_two(&t, 24, &hours) || !tp_cut_byte(&t, ':') || !cut_two(&t, 60, &minutes) ||
        !tp_cut_byte(&t, ':') || !cut_two(&t, 61, &seconds))
        return false;
    if (tp_cut_byte(&t, '.') || tp_cut_byte(&t, ':')) {
        const char *from = t.at;
        if (!tp_cut_decimal(&t, &fraction) || t.at - from > 9)
            return false;
        left = 9 - (int)(t.at - from);
    }
    for (; left > 0; left--)
        fraction *= 10;
    if (!tp_cut_byte(&t, ','))
        return false;
    *ns = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction;
    *c = t;
    return true;
}

static bool cut_action(struct tp_cut *c, struct tp_rmm_row *out)
{
    if (tp_cut_text(c, "allocate,"))
        out->action = TP_RMM_ALLOCATE;
    else if (tp_cut_text(c, "free,") || tp_cut_text(c, "deallocate,"))
        out->action = TP_RMM_FREE;
    else if (tp_cut_text(c, "allocate failure,"))
        out->action = TP_RMM_FAILURE;
    else
        return false;
    return true;
}

static const char *cut_row(struct tp_cut *row, struct tp_rmm_row *out)
{
    out->device = 0;
    if (!cut_decimal_field(row, &out->thread))
        return "thread";
    if (!cut_time(row, &out->time_ns) && !cut_seconds(row, &out->time_ns))
        return "time";
    if (!cut_action(row, out))
        return "action ('allocate', 'free', 'allocate failure')";
    if (!cut_pointer_field(row, &out->pointer))
        return "pointer";
    if (!cut_decimal_field(row, &out->size))
        return "size";
    if (!tp_cut_pointer(row, &out->stream))
        return "stream";
    return tp_cut_done(row) ? NULL : "end of the row";
}

/* ---- until 2020 ---- */

static const char *cut_older_row(struct tp_cut *row, struct tp_rmm_row *out)
{
    uint64_t device = 0, ignored = 0;
    out->thread = 0;
    if (tp_cut_text(row, "Alloc,"))
        out->action = TP_RMM_ALLOCATE;
    else if (tp_cut_text(row, "Free,"))
        out->action = TP_RMM_FREE;
    else
        return "event that can be replayed ('Alloc', 'Free')";
    if (!cut_decimal_field(row, &device) || device > INT32_MAX)
        return "device";
    out->device = (int64_t)device;
    if (!cut_pointer_field(row, &out->pointer))
        return "address";
    if (!cut_pointer_field(row, &out->stream))
        return "stream";
    if (!cut_decimal_field(row, &out->size))
        return "size";
    for (int i = 0; i < 3; i++)
        if (!cut_decimal_field(row, &ignored))
            return "number of bytes or allocations";
    if (!cut_seconds(row, &out->time_ns) || !cut_seconds(row, &out->time_ns))
        return "time in seconds";
    return NULL;
}

/* ---- forms ---- */

#define ROWS  "devices, alignment"
#define OLDER "threads, alignment"

const struct tp_rmm_form tp_rmm_forms[TP_RMM_FORMS] = {
    {"Thread,Time,Action,Pointer,Size,Stream", "RMM log (CSV)", ROWS, true, true, cut_row},
    {"Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,"
     "Start,End,Elapsed",
     "RMM log (CSV, the form before 2020)", OLDER, false, false, cut_older_row},
    {NULL, "RMM log (CSV without its header, as printed to a stream)", ROWS, true, true, cut_row},
};

const struct tp_rmm_form *tp_rmm_form_of(struct tp_cut line)
{
    for (int i = 0; i < TP_RMM_FORMS; i++) {
        struct tp_rmm_row row;
        struct tp_cut rest = line;
        const struct tp_rmm_form *form = &tp_rmm_forms[i];
        if (form->header ? tp_cut_text(&rest, form->header) : !form->cut(&rest, &row))
            return form;
    }
    return NULL;
}
