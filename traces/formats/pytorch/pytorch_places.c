/* See pytorch_places.h.
 *
 *     event --> place of its frames --> ] ( } ( 'filename' 'a.py' ... u  h 31  j 5023 ... e
 *                                           a frame                   one that was there before
 *
 *     memo entry 5,023 --> place of entry 4,992, kept --> 31 entries on, reading opcodes
 *
 * The innermost frame comes first. Stacks share most of their frames, so frames that were read
 * through a reference stay in a small cache, for callers that ask for every event. Known weakness:
 * frames are not found if the memo was not filled in order, or if the input can be read only
 * once. */
#include "traces/formats/pytorch/pytorch_places.h"

#include "traces/formats/pytorch/pytorch_events.h"
#include "traces/formats/pytorch/pytorch_frame.h"
#include "traces/input/pickle_ops.h"
#include "traces/places/place_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IN_MEMORY  ((size_t)4 << 20)  /* bytes of frame places kept before they go to a file */
#define WINDOW     ((size_t)16 << 10) /* bytes of the file that are read at a time */
#define FRAMES_MAX 200                /* frames looked at per event */
#define BUDGET     ((size_t)32 << 20) /* most bytes read for one event, since files are hostile */
/* most bytes read per event on average, when all are asked for */
#define SHARE   ((size_t)128 << 10)
#define MARKS   64 /* nested marks that are tracked */
#define UNKNOWN UINT64_MAX
#define KEYS    8    /* short texts cached by their memo entry */
#define FRAMES  1024 /* frames cached by their memo entry */
#define CALLERS (TP_PLACE_DEPTH_MAX - 1)

struct known_frame {
    uint64_t entry; /* plus 1 */
    struct tp_pytorch_frame frame;
};

struct tp_pytorch_places {
    int fd;
    struct tp_memo memo;       /* memo of the pickle, without its cells */
    struct tp_spill frames;    /* of events */
    struct tp_spill initial;   /* of blocks of the initial heap */
    uint64_t spent;            /* bytes read so far */
    struct known_frame *known; /* cache of FRAMES frames; NULL: nobody asked yet */
    bool labelled;
    struct tp_pytorch_labels labels;
};

int tp_pytorch_places_label(struct tp_pytorch_places **p, const struct tp_reading *r,
                            struct tp_err *err)
{
    if (!*p && !(*p = calloc(1, sizeof **p)))
        return tp_fail(err, TP_ENOMEM, "out of memory for the metadata");
    if (!(*p)->frames.item) {
        (*p)->fd = -1;
        tp_spill_init(&(*p)->frames, sizeof(uint64_t), IN_MEMORY);
        tp_spill_init(&(*p)->initial, sizeof(uint64_t), IN_MEMORY);
    }
    (*p)->labelled = true;
    return tp_pytorch_labels_init(&(*p)->labels, r, err);
}

struct tp_pytorch_labels *tp_pytorch_places_labels(struct tp_pytorch_places *p)
{
    return p && p->labelled ? &p->labels : NULL;
}

int tp_pytorch_places_new(const struct tp_input *in, struct tp_memo *memo,
                          struct tp_pytorch_places **out, struct tp_err *err)
{
    int fd = -1;
    *out = NULL;
    int rc = memo->in_order ? tp_input_reopen(in, &fd, err) : TP_EUNSUP;
    struct tp_pytorch_places *p = rc == TP_OK ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        tp_memo_release(memo);
        if (fd >= 0)
            close(fd);
        if (rc == TP_EUNSUP)
            return TP_OK;
        return rc != TP_OK ? rc : tp_fail(err, TP_ENOMEM, "out of memory for the stack frames");
    }
    free(memo->cells);
    memo->cells = NULL;
    p->fd = fd;
    p->memo = *memo;
    tp_spill_init(&p->frames, sizeof(uint64_t), IN_MEMORY);
    tp_spill_init(&p->initial, sizeof(uint64_t), IN_MEMORY);
    *out = p;
    return TP_OK;
}

void tp_pytorch_places_free(struct tp_pytorch_places *p)
{
    if (!p)
        return;
    if (p->fd >= 0)
        close(p->fd);
    if (p->labelled)
        tp_pytorch_labels_release(&p->labels);
    free(p->known);
    tp_memo_release(&p->memo);
    tp_spill_release(&p->frames);
    tp_spill_release(&p->initial);
    free(p);
}

int tp_pytorch_places_add(struct tp_pytorch_places *p, uint64_t frames, struct tp_err *err)
{
    return p ? tp_spill_add(&p->frames, &frames, err) : TP_OK;
}

int tp_pytorch_places_add_initial(struct tp_pytorch_places *p, uint64_t frames, struct tp_err *err)
{
    return p ? tp_spill_add(&p->initial, &frames, err) : TP_OK;
}

/* The byte of the frames of a number (TP_PLACE_INITIAL); 0: there are none. */
static int frames_of(const struct tp_pytorch_places *p, uint64_t number, uint64_t *frames,
                     struct tp_err *err)
{
    bool initial = number >= TP_PLACE_INITIAL;
    const struct tp_spill *from = initial ? &p->initial : &p->frames;
    uint64_t at = initial ? number - TP_PLACE_INITIAL : number - 1; /* of 0: beyond the last one */
    *frames = 0;
    return at < tp_spill_count(from) ? tp_spill_read(from, at, 1, frames, err) : TP_OK;
}

/* ---- opcodes ---- */

/* A window of the file, which moves on as it is read. */
struct view {
    int fd;
    size_t *budget;
    uint64_t begin; /* byte in the file of data[0] */
    size_t size, at;
    unsigned char data[WINDOW];
};

struct opcode {
    uint8_t effect;   /* enum tp_pickle_effect; TP_OP_UNKNOWN: none was read */
    uint64_t offset;  /* byte of the opcode in the file */
    uint64_t number;  /* its argument */
    const char *text; /* text of a TEXT: `number` bytes, valid until the view moves */
};

static bool look(struct view *v, uint64_t offset)
{
    v->begin = offset;
    v->size = v->at = 0;
    if (*v->budget < WINDOW)
        return false;
    *v->budget -= WINDOW;
    while (v->size < WINDOW) {
        ssize_t n = pread(v->fd, v->data + v->size, WINDOW - v->size, (off_t)(offset + v->size));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        v->size += (size_t)n;
    }
    return v->size > 0;
}

/* Makes `want` bytes available and moves the view if necessary. False: the file or the budget
 * ends. */
static bool there(struct view *v, size_t want)
{
    if (v->size - v->at >= want)
        return true;
    return want <= WINDOW && look(v, v->begin + v->at) && v->size >= want;
}

/* Reads the next opcode. A text longer than a view is skipped and reported as TP_OP_BYTES. */
static bool next(struct view *v, struct opcode *out)
{
    *out = (struct opcode){.offset = v->begin + v->at};
    if (!there(v, 1))
        return false;
    const struct tp_pickle_op *op = &tp_pickle_ops[v->data[v->at]];
    if (op->effect <= TP_OP_FOREIGN || !there(v, 1u + op->fixed))
        return false;
    out->effect = op->effect;
    for (size_t i = op->fixed; i > 0; i--)
        out->number = out->number << 8 | v->data[v->at + i];
    v->at += 1u + op->fixed;
    if (op->effect != TP_OP_TEXT && op->effect != TP_OP_LONG && op->effect != TP_OP_BYTES)
        return true;
    if (out->number > WINDOW) {
        out->effect = TP_OP_BYTES;
        return out->number < INT64_MAX / 2 && look(v, v->begin + v->at + out->number);
    }
    if (!there(v, (size_t)out->number))
        return false;
    out->text = (const char *)v->data + v->at;
    v->at += (size_t)out->number;
    return true;
}

static bool is_aside(const struct opcode *op)
{
    return op->effect == TP_OP_MEMOIZE || op->effect == TP_OP_PUT || op->effect == TP_OP_FRAME ||
           op->effect == TP_OP_PROTO;
}

/* Tracks which opcode pushed the value on top. C++ picklers memoize a container only after it is
 * filled, so at each mark the opcode of the container below it is kept. */
struct pushed {
    uint64_t last; /* byte of the opcode; UNKNOWN: before the view began */
    uint64_t below[MARKS];
    size_t marks;
};

static void pass(struct pushed *p, const struct opcode *op)
{
    if (op->effect == TP_OP_MARK) {
        p->below[p->marks++ % MARKS] = p->last;
        p->last = UNKNOWN;
    } else if (op->effect >= TP_OP_APPENDS && op->effect <= TP_OP_ADD) {
        p->last = p->marks ? p->below[--p->marks % MARKS] : UNKNOWN;
    } else if (op->effect >= TP_OP_APPEND && op->effect <= TP_OP_TUPLE) {
        p->last = UNKNOWN;
    } else {
        p->last = op->offset;
    }
}

/* Scans from the known place behind memo entry `count` - 1 to the opcode that pushed the value of
 * entry `index`. False: not found. */
static bool scan_from(const struct tp_memo *m, struct view *v, uint64_t count, uint64_t index)
{
    struct pushed pushed = {.last = UNKNOWN};
    struct opcode op;
    if (!look(v, count ? m->places[count / TP_MEMO_STEP] : 0))
        return false;
    while (next(v, &op)) {
        if (!is_aside(&op))
            pass(&pushed, &op);
        else if ((op.effect == TP_OP_MEMOIZE || op.effect == TP_OP_PUT) && count++ == index)
            return pushed.last != UNKNOWN && look(v, pushed.last);
    }
    return false;
}

/* Goes to the opcode of the value that became a memo entry. A container may begin before the
 * nearest known place, so the scan starts ever farther back until it succeeds. */
static bool go_to_entry(const struct tp_memo *m, struct view *v, uint64_t index)
{
    uint64_t from = index / TP_MEMO_STEP, step = 1;
    if (index >= m->count)
        return false;
    while (!scan_from(m, v, from * TP_MEMO_STEP, index)) {
        if (from == 0 || *v->budget < WINDOW)
            return false;
        from -= from < step ? from : step;
        step *= 2;
    }
    return true;
}

/* ---- frames ---- */

struct search {
    const struct tp_pytorch_places *places;
    size_t budget;
    struct view list, dict, text;
    struct tp_pytorch_frame frame, best;
    enum tp_pytorch_rank rank; /* rank of `best` */
    /* if wanted: names of functions, of which one is looked for in place of the best frame */
    const char *const *functions;
    enum tp_pytorch_frames found;
    /* if wanted: the program's frames around the best one, the innermost first */
    char (*callers)[TP_PLACE_TEXT];
    unsigned caller_count;
    struct {
        uint64_t entry; /* plus 1 */
        char text[16];
    } keys[KEYS];
};

/* Copies the text that an opcode pushes: the end of a long path, the beginning of a long name. */
static void fetch(struct search *s, const struct opcode *op, bool path,
                  char out[TP_PYTORCH_FRAME_TEXT])
{
    struct opcode there_op = *op;
    out[0] = '\0';
    if (op->effect == TP_OP_GET &&
        (!go_to_entry(&s->places->memo, &s->text, op->number) || !next(&s->text, &there_op)))
        return;
    if (there_op.effect != TP_OP_TEXT)
        return;
    size_t size = (size_t)there_op.number, kept = size;
    if (kept > TP_PYTORCH_FRAME_TEXT - 1)
        kept = TP_PYTORCH_FRAME_TEXT - 1;
    memcpy(out, there_op.text + (path ? size - kept : 0), kept);
    out[kept] = '\0';
}

/* Reads a key through a cache, because keys are nearly always the same few memo entries. */
static void fetch_key(struct search *s, const struct opcode *op, char out[TP_PYTORCH_FRAME_TEXT])
{
    size_t i = (size_t)(op->number % KEYS);
    if (op->effect == TP_OP_GET && s->keys[i].entry == op->number + 1) {
        memcpy(out, s->keys[i].text, sizeof s->keys[i].text);
        return;
    }
    fetch(s, op, false, out);
    if (op->effect == TP_OP_GET && strlen(out) < sizeof s->keys[i].text) {
        s->keys[i].entry = op->number + 1;
        memcpy(s->keys[i].text, out, sizeof s->keys[i].text);
    }
}

/* Reads a frame, behind the opcode of its dict. */
static bool read_frame(struct search *s, struct view *v)
{
    char key[TP_PYTORCH_FRAME_TEXT];
    struct opcode op;
    bool is_key = true;
    s->frame = (struct tp_pytorch_frame){.line = 0};
    while (next(v, &op)) {
        if (op.effect == TP_OP_SETITEMS || op.effect == TP_OP_SETITEM)
            return true;
        if (is_aside(&op) || op.effect == TP_OP_MARK)
            continue;
        if (op.effect != TP_OP_TEXT && op.effect != TP_OP_GET && op.effect != TP_OP_CONSTANT &&
            op.effect != TP_OP_LONG)
            return false;
        if (is_key)
            fetch_key(s, &op, key);
        else if (strcmp(key, "filename") == 0)
            fetch(s, &op, true, s->frame.file);
        else if (strcmp(key, "name") == 0)
            fetch(s, &op, false, s->frame.function);
        else if (strcmp(key, "line") == 0 && op.effect == TP_OP_CONSTANT)
            s->frame.line = op.number;
        is_key = !is_key;
    }
    return false;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Names in C++ stand in their namespace and before their parameters. */
static bool is_named(const char *function, const char *name)
{
    const char *at = strstr(function, name);
    while (at && ((at > function && in_word(at[-1])) || in_word(at[strlen(name)])))
        at = strstr(at + 1, name);
    return at != NULL;
}

static void look_for_function(struct search *s)
{
    s->found = TP_FRAMES_OTHER;
    for (const char *const *name = s->functions; *name; name++)
        if (is_named(s->frame.function, *name))
            s->found = TP_FRAMES_CALLED;
}

/* Whether frames farther out can still change the result. */
static bool goes_on(const struct search *s)
{
    return s->functions ? s->found != TP_FRAMES_CALLED : s->callers || s->rank < TP_PYTORCH_PROGRAM;
}

static void judge(struct search *s)
{
    if (s->functions) {
        look_for_function(s);
        return;
    }
    enum tp_pytorch_rank rank = tp_pytorch_rank(&s->frame);
    if (s->rank == TP_PYTORCH_PROGRAM && rank == s->rank && s->caller_count < CALLERS)
        tp_pytorch_frame_text(&s->frame, s->callers[s->caller_count++]);
    if (rank <= s->rank)
        return;
    s->rank = rank;
    s->best = s->frame;
}

/* Reads a frame by its memo entry, from the cache if it is there. */
static bool read_known_frame(struct search *s, uint64_t entry)
{
    struct known_frame *known = &s->places->known[entry % FRAMES];
    struct opcode op;
    if (known->entry != entry + 1) {
        if (!go_to_entry(&s->places->memo, &s->dict, entry) || !next(&s->dict, &op) ||
            op.effect != TP_OP_DICT || !read_frame(s, &s->dict))
            return false;
        *known = (struct known_frame){.entry = entry + 1, .frame = s->frame};
    }
    s->frame = known->frame;
    return true;
}

/* Reads the list of frames with its opcode, or a reference to it, at `offset`. */
static void read_frames(struct search *s, uint64_t offset)
{
    struct opcode op;
    if (!look(&s->list, offset) || !next(&s->list, &op))
        return;
    if (op.effect == TP_OP_GET &&
        (!go_to_entry(&s->places->memo, &s->list, op.number) || !next(&s->list, &op)))
        return;
    if (op.effect != TP_OP_LIST)
        return;
    for (int i = 0; i < FRAMES_MAX && goes_on(s) && next(&s->list, &op);) {
        if (is_aside(&op) || op.effect == TP_OP_MARK)
            continue;
        if (op.effect == TP_OP_GET ? !read_known_frame(s, op.number)
                                   : op.effect != TP_OP_DICT || !read_frame(s, &s->list))
            return;
        judge(s);
        i++;
    }
}

/* Reads the frames at a place of the file. What all searches may read together is bounded. */
static void search_frames(struct tp_pytorch_places *p, struct search *s, uint64_t frames)
{
    uint64_t count = tp_spill_count(&p->frames) + tp_spill_count(&p->initial);
    uint64_t all = SHARE * count + TP_PLACES_MAX * BUDGET;
    size_t budget = p->spent < all ? BUDGET : 0;
    struct view *const views[] = {&s->list, &s->dict, &s->text};
    s->places = p;
    s->budget = budget;
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        views[v]->fd = p->fd;
        views[v]->budget = &s->budget;
    }
    read_frames(s, frames);
    p->spent += budget - s->budget;
}

/* Finds the best frame of an event; its text is "" if there is none. */
static int search_event(struct tp_pytorch_places *p, struct search *s, uint64_t event,
                        char out[TP_PLACE_TEXT], struct tp_err *err)
{
    uint64_t frames = 0;
    out[0] = '\0';
    s->caller_count = 0;
    int rc = frames_of(p, event, &frames, err);
    if (rc != TP_OK || !frames)
        return rc;
    s->rank = TP_PYTORCH_SILENT;
    s->best = (struct tp_pytorch_frame){.line = 0};
    search_frames(p, s, frames);
    tp_pytorch_frame_text(&s->best, out);
    return TP_OK;
}

static int new_search(struct tp_pytorch_places *p, struct search **out, struct tp_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!p->known)
        p->known = calloc(FRAMES, sizeof *p->known);
    return *out && p->known ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory for the stack frames");
}

int tp_pytorch_places_called(struct tp_pytorch_places *p, uint64_t frames,
                             const char *const *functions, enum tp_pytorch_frames *out,
                             struct tp_err *err)
{
    struct search *s = NULL;
    *out = TP_FRAMES_NONE;
    if (!p || p->fd < 0 || !frames)
        return TP_OK;
    int rc = new_search(p, &s, err);
    if (rc == TP_OK) {
        s->functions = functions;
        search_frames(p, s, frames);
        *out = s->found;
    }
    free(s);
    return rc;
}

static int find(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                struct tp_err *err)
{
    struct search *s = NULL;
    int rc = new_search(ctx, &s, err);
    for (size_t i = 0; rc == TP_OK && i < count; i++)
        rc = search_event(ctx, s, events[i], out[i], err);
    free(s);
    return rc;
}

/* Stacks are built from their outer end on. */
static int add_stack(const struct search *s, uint64_t event, const char *innermost,
                     struct tp_place_table *to, struct tp_err *err)
{
    uint32_t stack = 0, text = TP_NO_PLACE;
    int rc = TP_OK;
    for (unsigned i = s->caller_count + 1; rc == TP_OK && i-- > 0;) {
        const char *at = i ? s->callers[i - 1] : innermost;
        rc = tp_place_table_text(to, at, strlen(at), &text, err);
        if (rc == TP_OK && text != TP_NO_PLACE)
            rc = tp_place_table_call(to, text, stack, &stack, err);
    }
    return rc == TP_OK ? tp_place_table_set_stack(to, event, stack, err) : rc;
}

static int find_stacks(void *ctx, const uint64_t *events, size_t count, struct tp_place_table *to,
                       struct tp_err *err)
{
    struct search *s = NULL;
    char text[TP_PLACE_TEXT], callers[CALLERS][TP_PLACE_TEXT];
    int rc = new_search(ctx, &s, err);
    if (rc == TP_OK)
        s->callers = callers;
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        rc = search_event(ctx, s, events[i], text, err);
        if (rc == TP_OK)
            rc = add_stack(s, events[i], text, to, err);
    }
    free(s);
    return rc;
}

static void release(void *ctx)
{
    tp_pytorch_places_free(ctx);
}

static int label_of(void *ctx, uint64_t event, uint32_t *label, struct tp_err *err)
{
    struct tp_pytorch_places *p = ctx;
    return tp_pytorch_labels_find(&p->labels, event, label, err);
}

static const char *label_text(const void *ctx, uint32_t label)
{
    const struct tp_pytorch_places *p = ctx;
    return tp_texts_get(&p->labels.texts, label);
}

void tp_pytorch_places_give(struct tp_pytorch_places *p, struct tp_places *places)
{
    if (!p)
        return;
    bool framed = p->fd >= 0;
    if (p->labelled)
        tp_pytorch_labels_read(&p->labels);
    *places = (struct tp_places){.find = framed ? find : NULL,
                                 .find_stacks = framed ? find_stacks : NULL,
                                 .label = p->labelled ? label_of : NULL,
                                 .label_text = p->labelled ? label_text : NULL,
                                 .release = release,
                                 .ctx = p,
                                 .initial = framed ? tp_spill_count(&p->initial) : 0};
}
