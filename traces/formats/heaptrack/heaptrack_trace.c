/* What heaptrack records, in its two forms: raw, as it is written while the program runs, and
 * interpreted, as `heaptrack` leaves it. A line each, numbers in hexadecimal:
 *
 *     v 10400 3            versions of heaptrack and of the file
 *     X ./server --port 1  command line
 *     c 1a                 milliseconds since the start
 *     + 40 b 55f0469101d0  raw: size, call site, address
 *     - 55f0469101d0
 *     a 40 b               interpreted: a class of blocks, with size and call site; numbered from 0
 *     + 3                  a block of class 3 appears, and one disappears
 *     - 3
 *
 * Strings, frames and stacks, which say who asked, are in heaptrack_stacks.h; a raw file has
 * addresses there and no names. A realloc is a free and an allocation. A command line has its line
 * breaks as they are, so lines behind it that are none belong to it.
 *
 * Known weakness: the interpreted form does not say which block of a class was freed. The youngest
 * is taken: counts, sizes and peaks are exact, lifetimes of equal blocks of one call site are not.
 */
#include "traces/formats/heaptrack/heaptrack_stacks.h"
#include "traces/lower/bad_line.h"
#include "traces/lower/host_calls.h"

#include <inttypes.h>

#define NS_PER_MS UINT64_C(1000000)
#define NO_BLOCK  UINT64_MAX /* address at which no block lies */

enum { VERSION_MAX = 3, SIZED_TEXTS = 3 /* first version whose strings have their length */ };

struct block_class {
    uint64_t size;
    uint32_t youngest; /* its youngest block; 0: none is live */
    uint32_t place;    /* who asked, or TP_NO_PLACE */
};

enum heaptrack_form { UNKNOWN, RAW, INTERPRETED };

struct heaptrack {
    const struct tp_reading *reading;
    struct tp_lines lines;
    struct tp_host_counts counts;
    struct tp_host_calls calls;
    /* Of the interpreted form. A block is a number from 1, in place of its address; `older` has for
     * each the next older of its class, or the next unused one; 0: there is none. */
    struct block_class *classes;
    uint32_t *older;
    size_t class_count, class_room, block_count, block_room;
    uint32_t unused; /* the first unused block */
    uint32_t place;  /* who asked for the block that is allocated, or TP_NO_PLACE */
    enum heaptrack_form form;
    struct tp_heaptrack_stacks stacks;
    uint64_t version, now_ns;
    bool ticked;     /* no event has had `now_ns` yet */
    bool in_command; /* the line before was the command, or belonged to it */
    bool attached;
};

/* Behind the letter of the line. */
static bool cut_version(struct tp_cut line, uint64_t *version)
{
    uint64_t program = 0;
    if (!tp_cut_hex(&line, &program))
        return false;
    tp_cut_blanks(&line);
    return tp_cut_hex(&line, version) && tp_cut_done(&line);
}

static int probe_heaptrack(const unsigned char *data, size_t size)
{
    struct tp_cut text = tp_cut_start(data, size), line;
    uint64_t version = 0;
    return tp_cut_line(&text, &line) && tp_cut_text(&line, "v ") && cut_version(line, &version) ? 95
                                                                                                : 0;
}

/* ---- events ---- */

/* The clock of the file stands still between two of its lines, so only the first event after one
 * has a known time. */
static struct tp_event event_of(const struct heaptrack *h, uint64_t size)
{
    return (struct tp_event){
        .line = h->lines.number, .size = size, .time_ns = h->now_ns, .has_time = h->ticked};
}

static int take_event(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct heaptrack *h = ctx;
    struct tp_place_table *table = NULL;
    int rc = tp_lower_read_event(h->reading->lower, ev, err);
    h->ticked = h->ticked && ev->op == TP_EV_SKIP;
    if (rc || ev->op != TP_EV_ALLOC || h->place == TP_NO_PLACE)
        return rc;
    rc = tp_place_table_of(h->reading->places, &table, err);
    return rc ? rc : tp_place_table_set(table, tp_lower_count(h->reading->lower), h->place, err);
}

static int take_alloc(struct heaptrack *h, uint64_t address, uint64_t size, uint32_t place,
                      struct tp_err *err)
{
    struct tp_event ev = event_of(h, size);
    h->place = place;
    return tp_host_alloc(&h->calls, &ev, address, err);
}

static int take_free(struct heaptrack *h, uint64_t address, struct tp_err *err)
{
    struct tp_event ev = event_of(h, 0);
    return tp_host_free(&h->calls, &ev, address, err);
}

/* An index of `older`, plus 1, for a new block; 0: `err` says why there is none. */
static uint32_t new_block(struct heaptrack *h, struct tp_err *err)
{
    uint32_t at = h->unused;
    if (at) {
        h->unused = h->older[at - 1];
        return at;
    }
    if (h->block_count == UINT32_MAX - 1) {
        tp_lines_fail(&h->lines, 0, err, "more blocks are live than can be told apart");
        return 0;
    }
    if (TP_READ_GROW(h->reading, &h->older, &h->block_room, h->block_count + 1, "blocks", err))
        return 0;
    return (uint32_t)++h->block_count;
}

static int add_to_class(struct heaptrack *h, struct block_class *c, struct tp_err *err)
{
    uint32_t at = new_block(h, err);
    if (!at)
        return (int)err->status;
    h->older[at - 1] = c->youngest;
    c->youngest = at;
    return take_alloc(h, at, c->size, c->place, err);
}

static int remove_from_class(struct heaptrack *h, struct block_class *c, struct tp_err *err)
{
    uint32_t at = c->youngest;
    if (!at)
        return take_free(h, NO_BLOCK, err);
    c->youngest = h->older[at - 1];
    h->older[at - 1] = h->unused;
    h->unused = at;
    return take_free(h, at, err);
}

/* ---- lines ---- */

static bool set_form(struct heaptrack *h, enum heaptrack_form form)
{
    h->form = h->form == UNKNOWN ? form : h->form;
    return h->form == form;
}

static struct block_class *class_of(const struct heaptrack *h, uint64_t number)
{
    return number < h->class_count ? &h->classes[number] : NULL;
}

/* Each takes a line behind its letter. *good is false for one that does not follow the format. */

static int take_class(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    struct block_class c = {.youngest = 0};
    uint64_t site = 0;
    *good = tp_cut_hex(&line, &c.size) && tp_cut_byte(&line, ' ') && tp_cut_hex(&line, &site) &&
            tp_cut_done(&line) && set_form(h, INTERPRETED);
    if (!*good)
        return TP_OK;
    int rc = TP_READ_GROW(h->reading, &h->classes, &h->class_room, h->class_count + 1,
                          "classes of blocks", err);
    if (!rc)
        rc = tp_heaptrack_place(&h->stacks, site, &c.place, err);
    if (!rc)
        h->classes[h->class_count++] = c;
    return rc;
}

static int take_appears(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    uint64_t first = 0, site = 0, address = 0;
    *good = tp_cut_hex(&line, &first);
    if (*good && tp_cut_done(&line)) {
        struct block_class *c = h->form == RAW ? NULL : class_of(h, first);
        *good = c != NULL;
        return c ? add_to_class(h, c, err) : TP_OK;
    }
    *good = *good && tp_cut_hex(&line, &site) && tp_cut_byte(&line, ' ') &&
            tp_cut_hex(&line, &address) && tp_cut_done(&line) && set_form(h, RAW);
    return *good ? take_alloc(h, address, first, TP_NO_PLACE, err) : TP_OK;
}

static int take_disappears(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    uint64_t value = 0;
    *good = tp_cut_hex(&line, &value) && tp_cut_done(&line);
    if (!*good)
        return TP_OK;
    if (h->form != INTERPRETED)
        return take_free(h, value, err);
    struct block_class *c = class_of(h, value);
    *good = c != NULL;
    return c ? remove_from_class(h, c, err) : TP_OK;
}

static int take_clock(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    uint64_t ms = 0;
    (void)err;
    *good = tp_cut_hex(&line, &ms) && tp_cut_done(&line);
    h->ticked |= *good;
    h->now_ns = ms < TP_MAX_TIME / NS_PER_MS ? ms * NS_PER_MS : TP_MAX_TIME;
    return TP_OK;
}

static int take_command(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    struct tp_meta *meta = h->reading->meta;
    size_t length = (size_t)(line.end - line.at);
    (void)err;
    *good = true;
    tp_meta_set(meta, &meta->program, "%.*s", (int)length, line.at);
    return TP_OK;
}

static int take_text(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    return tp_heaptrack_add_text(&h->stacks, line, h->version >= SIZED_TEXTS, good, err);
}

static int take_frame(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    return tp_heaptrack_add_frame(&h->stacks, line, good, err);
}

static int take_stack(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    return tp_heaptrack_add_stack(&h->stacks, line, good, err);
}

static int take_attached(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    (void)line, (void)err;
    *good = true;
    h->attached = true;
    return TP_OK;
}

static int take_version(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    uint64_t version = 0;
    *good = cut_version(line, &version);
    h->version = version;
    if (!*good || (version >= 1 && version <= VERSION_MAX))
        return TP_OK;
    return tp_lines_fail(&h->lines, 0, err,
                         "heaptrack's file format %" PRIu64 "; this tapool reads 1 to %d", version,
                         VERSION_MAX);
}

static int take_nothing(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err)
{
    (void)h, (void)line, (void)err;
    *good = true;
    return TP_OK;
}

static int take_line(struct heaptrack *h, struct tp_cut line, struct tp_err *err)
{
    static const struct {
        const char *letters;
        int (*take)(struct heaptrack *h, struct tp_cut line, bool *good, struct tp_err *err);
    } takers[] = {{"+", take_appears},  {"-", take_disappears},  {"a", take_class},
                  {"c", take_clock},    {"X", take_command},     {"v", take_version},
                  {"s", take_text},     {"i", take_frame},       {"t", take_stack},
                  {"A", take_attached}, {"xImRS#", take_nothing}};
    char shown[TP_CUT_SHOWN];
    struct tp_cut rest = line;
    bool good = false;
    if (tp_cut_done(&rest))
        return TP_OK;
    char letter = *line.at;
    rest = (struct tp_cut){line.at + 1, line.end};
    bool spaced = tp_cut_byte(&rest, ' ') || rest.at == rest.end;
    for (size_t i = 0; spaced && letter && i < sizeof takers / sizeof *takers; i++)
        if (strchr(takers[i].letters, letter)) {
            int rc = takers[i].take(h, rest, &good, err);
            if (rc || good) {
                h->in_command = letter == 'X';
                return rc;
            }
        }
    if (h->in_command)
        return TP_OK;
    return tp_lines_bad(&h->lines, h->reading->lower, err, "'%s' is not a heaptrack line",
                        tp_cut_show(line, shown));
}

static void describe(const struct heaptrack *h)
{
    struct tp_meta *meta = h->reading->meta;
    bool classes = h->form == INTERPRETED;
    tp_meta_set(meta, &meta->capture, "heaptrack recording%s", classes ? ", interpreted" : "");
    tp_meta_set(meta, &meta->unknown, "threads, alignment, times (steps of 10 ms), reallocs");
    tp_meta_remark(meta, "A realloc is a free and an allocation there.");
    if (h->attached)
        tp_meta_remark(meta, "It was attached to a running program: what was live before is not in "
                             "the file.");
    if (classes)
        tp_meta_remark(meta, "It does not say which of the equal blocks of a call site was freed: "
                             "the youngest is taken.");
    tp_host_describe(&h->counts, meta);
}

static int read_heaptrack(const struct tp_reading *reading, struct tp_err *err)
{
    struct heaptrack h = {
        .reading = reading,
        .lines = {.in = reading->in, .skip_long = true},
        .stacks = {.reading = reading, .texts.how = tp_reading_growth(reading, "names")}};
    struct tp_cut line;
    int rc = tp_host_kind(reading, err);
    tp_host_calls_init(&h.calls, reading, (struct tp_event_sink){take_event, &h}, &h.counts);
    while (tp_lines_more(&h.lines, &line, &rc, err))
        rc = take_line(&h, line, err);
    describe(&h);
    tp_host_calls_release(&h.calls);
    tp_heaptrack_stacks_release(&h.stacks);
    TP_GROW_END(&h.classes, &h.class_room, .budget = reading->budget);
    TP_GROW_END(&h.older, &h.block_room, .budget = reading->budget);
    return rc;
}

const struct tp_format tp_format_heaptrack = {
    .name = "heaptrack",
    .summary = "recordings of heaptrack, raw or interpreted (.zst, .gz)",
    .record = "heaptrack PROGRAM",
    .probe = probe_heaptrack,
    .read = read_heaptrack,
};
