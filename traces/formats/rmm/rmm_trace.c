/* RMM's log (rmm::mr::logging_resource_adaptor, CSV): one row per allocation or free of device
 * memory.
 *
 *     line --> row --> clock --> queue, empty unless a free is looked for --> lowering
 *
 * RMM writes a row without a lock over the call and the row, so with several threads the row that
 * allocates an address again may come before the row that frees it:
 *
 *     thread 1   frees P ............................. writes its row
 *     thread 2             gets P, writes its row
 *
 * If an allocate meets a live pointer, the next AHEAD rows are searched for the free of that
 * pointer and size by another thread, which is then moved before the allocate. Times are times of
 * day without a date: a fall by more than half a day begins the next day. Known weakness: rows do
 * not name their device, so one log is taken for one device. */
#include "traces/format.h"
#include "traces/lower/bad_line.h"

#include "alloc/base/numbers.h"
#include "traces/input/lines.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- rmm row ---- */

/* Rows of RMM's logs. */

struct tp_rmm_row {
    enum { TP_RMM_ALLOCATE, TP_RMM_FREE, TP_RMM_FAILURE } action;
    int64_t device;
    uint64_t thread;
    uint64_t time_ns; /* ns since midnight or since the program began, depending on the form */
    uint64_t pointer; /* 0: none */
    uint64_t size;    /* bytes */
    uint64_t stream;
};

struct tp_rmm_form {
    const char *header;  /* first line of a file; NULL: there are only rows */
    const char *capture; /* kind of file, for people */
    const char *unknown;
    bool of_day;  /* times are times of day and restart at midnight */
    bool threads; /* threads and the sizes of freed blocks are known */

    /* Parses a row. Returns NULL, or the name of the field that was expected at row->at: "time". */
    const char *(*cut)(struct tp_cut *row, struct tp_rmm_row *out);
};

enum { TP_RMM_FORMS = 3 };
extern const struct tp_rmm_form tp_rmm_forms[TP_RMM_FORMS];

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
        return "event ('Alloc', 'Free')";
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

/* The form of a file whose first line is `line`, or NULL. */
static const struct tp_rmm_form *rmm_form_of(struct tp_cut line)
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

#define AHEAD  256 /* rows that are searched */
#define DAY    (UINT64_C(86400) * 1000000000)
#define MINUTE (UINT64_C(60) * 1000000000)

struct rmm_row {
    struct tp_rmm_row r;
    uint64_t line;
    uint64_t time_ns; /* since the first row */
    bool early;       /* the time is before that of the first row */
};

struct rmm {
    const struct tp_reading *reading;
    struct tp_lines lines;
    const struct tp_rmm_form *form;
    bool ended, started;
    /* time of day of the first row and of the last one; ns from the first midnight to the current
     * one */
    uint64_t first_ns, last_ns, day_ns;
    struct rmm_row queue[AHEAD]; /* ring of rows that were read ahead */
    size_t first, queued;
    int later; /* status that ended reading ahead, returned once the queue is empty */
    struct tp_err later_err;
    uint64_t lowered_ns; /* latest time that was lowered */
    uint64_t filtered;   /* rows of other devices */
    uint64_t too_large;  /* failed requests of more than 2^48 bytes */
};

/* ---- rows ---- */

/* Turns the time of day of a row into ns since the first row. */
static void set_time(struct rmm *m, struct rmm_row *row)
{
    uint64_t of_day = row->r.time_ns, base = m->day_ns;
    if (m->started && m->form->of_day && of_day < m->last_ns && m->last_ns - of_day > DAY / 2)
        base = m->day_ns += DAY;
    else if (m->day_ns > 0 && of_day > m->last_ns && of_day - m->last_ns > DAY - MINUTE)
        base -= DAY; /* a row of the previous day that was written late */
    if (!m->started)
        m->first_ns = of_day;
    if (base == m->day_ns)
        m->last_ns = of_day;
    m->started = true;
    row->early = base + of_day < m->first_ns;
    row->time_ns = row->early ? 0 : base + of_day - m->first_ns;
}

static int bad_row(struct rmm *m, struct tp_cut rest, const char *expected, struct tp_err *err)
{
    char shown[TP_CUT_SHOWN];
    int rc = rest.at == rest.end
                 ? tp_lines_bad(&m->lines, m->reading->lower, err, "the row ends before its %s",
                                expected)
                 : tp_lines_bad(&m->lines, m->reading->lower, err, "'%s' is not a valid %s",
                                tp_cut_show(tp_cut_field(&rest, ','), shown), expected);
    if (rc != TP_EINPUT || m->lines.unended)
        return rc;
    return tp_hint(err, rc, "rows are %s",
                   m->form->header ? m->form->header : tp_rmm_forms[0].header);
}

static bool filtered(const struct rmm *m, const struct rmm_row *row)
{
    int64_t wanted = m->reading->opts->device;
    return !m->form->of_day && wanted >= 0 && row->r.device != wanted;
}

static int take_line(struct rmm *m, struct tp_cut line, struct rmm_row *row, bool *taken,
                     struct tp_err *err)
{
    struct tp_cut rest = line;
    *taken = false;
    if (tp_cut_done(&rest))
        return TP_OK;
    rest = line;
    const char *expected = m->form->cut(&rest, &row->r);
    if (expected)
        return bad_row(m, rest, expected, err);
    row->line = m->lines.number;
    *taken = !filtered(m, row);
    m->filtered += !*taken;
    if (*taken)
        set_time(m, row);
    return TP_OK;
}

/* Reads the next row of the file. Sets m->ended if there is none. */
static int read_row(struct rmm *m, struct rmm_row *row, struct tp_err *err)
{
    bool taken = false;
    struct tp_cut line;
    int rc = TP_OK;
    while (!taken && tp_lines_more(&m->lines, &line, &rc, err))
        rc = take_line(m, line, row, &taken, err);
    m->ended = m->lines.ended;
    return rc;
}

/* Takes the next row to lower, from the queue or the file. */
static int next_row(struct rmm *m, struct rmm_row *row, struct tp_err *err)
{
    if (m->queued > 0) {
        *row = m->queue[m->first];
        m->first = (m->first + 1) % AHEAD;
        m->queued--;
        return TP_OK;
    }
    if (m->later != TP_OK) {
        if (err)
            *err = m->later_err;
        return m->later;
    }
    return m->ended ? TP_OK : read_row(m, row, err);
}

/* ---- lowering ---- */

static int lower_row(struct rmm *m, const struct rmm_row *row, struct tp_err *err)
{
    static const enum tp_event_op ops[] = {
        [TP_RMM_ALLOCATE] = TP_EV_ALLOC, [TP_RMM_FREE] = TP_EV_FREE, [TP_RMM_FAILURE] = TP_EV_NOTE};
    struct tp_lower *lo = m->reading->lower;
    struct tp_event ev = {.op = ops[row->r.action],
                          .note = TP_NOTE_OOM,
                          .has_time = true,
                          .has_size = true,
                          .has_stream = true,
                          .id = (int64_t)row->r.pointer,
                          .size = row->r.size,
                          .thread = row->r.thread,
                          .time_ns = row->time_ns,
                          .line = row->line};
    bool null = row->r.pointer == 0 && row->r.action != TP_RMM_FAILURE;
    bool too_large = ev.op == TP_EV_NOTE && ev.size > TP_MAX_SIZE;
    m->too_large += too_large;
    /* first, so that lowering does not declare a default stream */
    int rc = tp_lower_stream_on(lo, (int64_t)row->r.stream, row->r.device, &ev.stream, err);
    if (rc != TP_OK)
        return tp_input_at_line(m->reading->in, row->line, rc, err);
    if (null || too_large) /* the row changes nothing */
        return tp_lower_skip(lo, err);
    if (row->early) {
        rc = tp_lower_repaired(lo, &ev, TP_REPAIR_TIME_BACKWARDS,
                               ": time runs backwards: it is before that of the first row", err);
        ev.time_ns = m->lowered_ns; /* only one repair is counted */
    }
    if (ev.time_ns > m->lowered_ns)
        m->lowered_ns = ev.time_ns;
    return rc == TP_OK ? tp_lower_event(lo, &ev, err) : rc;
}

/* ---- rows out of order ---- */

/* The i-th row of the queue, which is read if necessary. NULL: there are no more rows. */
static struct rmm_row *row_ahead(struct rmm *m, size_t i)
{
    struct rmm_row *row = &m->queue[(m->first + i) % AHEAD];
    if (i < m->queued)
        return row;
    if (m->ended || m->later != TP_OK)
        return NULL;
    m->lines.waiting = m->queued + 1;
    m->later = read_row(m, row, &m->later_err);
    m->lines.waiting = 0;
    if (m->ended || m->later != TP_OK)
        return NULL;
    m->queued++;
    return row;
}

static void remove_ahead(struct rmm *m, size_t i)
{
    for (; i > 0; i--)
        m->queue[(m->first + i) % AHEAD] = m->queue[(m->first + i - 1) % AHEAD];
    m->first = (m->first + 1) % AHEAD;
    m->queued--;
}

/* Whether `found` frees the live block of `size` bytes at the address that `row` allocates
 * again. */
static bool frees_for(const struct rmm_row *found, const struct rmm_row *row, uint64_t size)
{
    return found->r.action == TP_RMM_FREE && found->r.thread != row->r.thread &&
           found->r.size == size;
}

static int put_before(struct rmm *m, size_t i, const struct rmm_row *row, struct tp_err *err)
{
    struct rmm_row freed = *row_ahead(m, i);
    char text[160];
    remove_ahead(m, i);
    freed.time_ns = row->time_ns;
    freed.early = row->early;
    snprintf(text, sizeof text,
             " allocates 0x%" PRIx64 ", which is live: thread %" PRIu64
             " frees it on line %" PRIu64,
             row->r.pointer, freed.r.thread, freed.line);
    const struct tp_event at = {.op = TP_EV_ALLOC, .line = row->line};
    int rc = tp_lower_repaired(m->reading->lower, &at, TP_REPAIR_INVERTED, text, err);
    return rc == TP_OK ? lower_row(m, &freed, err) : rc;
}

/* For an allocate of a live pointer: looks for its free in the rows below and moves it up. */
static int settle(struct rmm *m, const struct rmm_row *row, struct tp_err *err)
{
    uint64_t size = 0;
    if (row->r.action != TP_RMM_ALLOCATE || !m->form->threads || row->r.pointer == 0 ||
        !tp_lower_live(m->reading->lower, (int64_t)row->r.pointer, &size))
        return TP_OK;
    for (size_t i = 0; i < AHEAD; i++) {
        const struct rmm_row *found = row_ahead(m, i);
        if (!found)
            break;
        if (found->r.pointer != row->r.pointer || found->r.action == TP_RMM_FAILURE)
            continue;
        return frees_for(found, row, size) ? put_before(m, i, row, err) : TP_OK;
    }
    return TP_OK;
}

/* ---- the whole ---- */

static int probe_rmm(const unsigned char *data, size_t size)
{
    struct tp_cut text = tp_cut_start(data, size), line;
    int rows = 0;
    while (rows < 2 && tp_cut_line(&text, &line)) {
        const struct tp_rmm_form *form = rmm_form_of(line);
        if (form && form->header)
            return rows == 0 ? 97 : 0;
        if (!form && (text.at < text.end || data[size - 1] == '\n'))
            return 0;
        rows += form != NULL;
    }
    if (rows == 0)
        return 0;
    return rows == 2 ? 80 : 60;
}

/* Reads the header, or queues the first row if there is no header. */
static int read_start(struct rmm *m, struct tp_err *err)
{
    struct tp_cut line;
    char shown[TP_CUT_SHOWN];
    struct rmm_row row;
    bool taken = false;
    int rc = tp_lines_next(&m->lines, &line, err);
    if (rc != TP_OK)
        return rc;
    m->form = m->lines.ended ? NULL : rmm_form_of(line);
    if (!m->form) {
        rc = tp_lines_fail(&m->lines, 0, err, "'%s' is neither header nor row of an RMM log",
                           m->lines.ended ? "" : tp_cut_show(line, shown));
        return tp_hint(err, rc, "the header is %s", tp_rmm_forms[0].header);
    }
    tp_meta_set(m->reading->meta, &m->reading->meta->capture, "%s", m->form->capture);
    tp_meta_set(m->reading->meta, &m->reading->meta->unknown, "%s", m->form->unknown);
    if (m->form->header)
        return rc;
    rc = take_line(m, line, &row, &taken, err);
    return rc == TP_OK ? lower_row(m, &row, err) : rc;
}

static int read_rows(struct rmm *m, struct tp_err *err)
{
    for (;;) {
        struct rmm_row row;
        bool queued = m->queued > 0;
        int rc = next_row(m, &row, err);
        if (rc != TP_OK || (m->ended && !queued))
            return rc;
        rc = settle(m, &row, err);
        if (rc == TP_OK)
            rc = lower_row(m, &row, err);
        if (rc != TP_OK)
            return rc;
    }
}

static void remark(struct rmm *m)
{
    struct tp_meta *meta = m->reading->meta;
    tp_meta_too_large(meta, m->too_large);
    if (m->filtered > 0 && tp_lower_count(m->reading->lower) == 0)
        tp_meta_set(meta, &meta->nothing, "none of its %s rows is of device %" PRId64,
                    tp_count(m->filtered).s, m->reading->opts->device);
}

static int read_rmm(const struct tp_reading *reading, struct tp_err *err)
{
    struct rmm m = {.reading = reading, .lines = {.in = reading->in}};
    reading->meta->kind = TP_KIND_DEVICE;
    int rc = tp_lower_kind(reading->lower, TP_KIND_DEVICE, err);
    if (rc == TP_OK)
        rc = read_start(&m, err);
    if (rc == TP_OK)
        rc = read_rows(&m, err);
    if (rc == TP_OK)
        remark(&m);
    return rc;
}

const struct tp_format tp_format_rmm = {
    .name = "rmm",
    .has_devices = true,
    .summary = "RMM log (CSV of rmm::mr::logging_resource_adaptor)",
    .record = "rmm.enable_logging(log_file_name=\"FILE\") in Python",
    .probe = probe_rmm,
    .read = read_rmm,
};
