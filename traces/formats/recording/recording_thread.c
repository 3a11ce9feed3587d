/* Decodes chunks; the code is that of traces/record/recording.h. */
#include "traces/formats/recording/recording_thread.h"

struct bytes {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t take_number(struct bytes *b)
{
    uint64_t value = 0;
    const unsigned char *next = tp_rec_get(b->at, b->end, &value);
    b->bad |= !next;
    b->at = next ? next : b->end;
    return next ? value : 0;
}

static uint64_t take_address(struct bytes *b, struct tp_recording_thread *t, bool in_bytes)
{
    uint64_t by = tp_rec_unzigzag(take_number(b));
    t->address = in_bytes ? t->address + by : ((t->address >> 3) + by) << 3;
    return t->address;
}

static void take_aligned(struct bytes *b, struct tp_recording_event *ev)
{
    uint64_t log = take_number(b);
    b->bad |= log > 63;
    ev->align = UINT64_C(1) << (log & 63);
}

static void take_resize(struct bytes *b, struct tp_recording_event *ev)
{
    uint64_t resize = take_number(b);
    ev->size = resize >> 1;
    ev->only_seen = resize & 1;
}

static void take_body(struct bytes *b, struct tp_recording_event *ev, uint64_t most)
{
    uint64_t length = take_number(b);
    b->bad |= length > most || length > (uint64_t)(b->end - b->at);
    if (b->bad)
        return;
    ev->body = b->at;
    ev->body_bytes = length;
    b->at += length;
}

/* Numbers that index something are within their bounds. */
static bool is_sound(const struct tp_device_call *c)
{
    bool of_device =
        c->device < TP_CALL_DEVICES || (c->kind == TP_CALL_POOL && c->device == TP_CALL_NO_DEVICE);
    return of_device && (c->kind != TP_CALL_LEFT_OUT || c->other < TP_LEFT_REASONS);
}

static void take_call(struct tp_recording_event *ev, bool *bad)
{
    struct bytes b = {ev->body, ev->body + ev->body_bytes, false};
    struct tp_device_call *c = &ev->call;
    uint64_t kind = take_number(&b);
    unsigned members = tp_device_call_members(kind < TP_CALL_KINDS ? (unsigned)kind : 0);
    *c = (struct tp_device_call){.kind = members ? (enum tp_device_call_kind)kind : TP_CALL_NONE};
    for (unsigned i = 0; members >> i; i++)
        if (members >> i & 1)
            *tp_device_call_member(c, i) = take_number(&b);
    *bad = b.bad || b.at != b.end || !members || !is_sound(c);
    if (c->kind == TP_CALL_ALLOC || c->kind == TP_CALL_ALLOC_NOW)
        ev->op = TP_REC_ALLOC;
    else if (c->kind == TP_CALL_FREE || c->kind == TP_CALL_FREE_NOW)
        ev->op = TP_REC_FREE;
    ev->address = c->object;
}

static void take_more(struct bytes *b, struct tp_recording_event *ev)
{
    uint64_t kind = take_number(b);
    b->bad |= kind == TP_MORE_NONE || kind >= TP_MORE_KINDS;
    ev->more = b->bad ? TP_MORE_NONE : (enum tp_record_more)kind;
    take_body(b, ev, TP_RECORDING_BODY);
    if (ev->more == TP_MORE_DEVICE && !b->bad)
        take_call(ev, &b->bad);
}

static void decode(struct bytes *b, struct tp_recording_thread *t, struct tp_recording_event *ev)
{
    unsigned token = *b->at++;
    bool in_bytes = (token & TP_REC_BYTES) != 0;
    uint64_t since = token >> 4;
    ev->op = (enum tp_record_op)(token & (TP_REC_BYTES - 1));
    ev->size = ev->align = 0;
    ev->more = TP_MORE_NONE;
    t->time += since < 15 ? since : 15 + take_number(b);
    ev->time = ev->end = t->time;
    switch (ev->op) {
    case TP_REC_ALIGNED:
        take_aligned(b, ev);
        /* fall through */
    case TP_REC_ALLOC:
        ev->size = take_number(b);
        /* fall through */
    case TP_REC_FREE:
        ev->address = take_address(b, t, in_bytes);
        break;
    case TP_REC_RESIZE:
        ev->address = take_address(b, t, in_bytes);
        take_resize(b, ev);
        break;
    case TP_REC_MOVE:
        ev->end = t->time += take_number(b);
        ev->address = take_address(b, t, in_bytes);
        ev->to = take_address(b, t, in_bytes);
        take_resize(b, ev);
        break;
    case TP_REC_MARK:
        take_body(b, ev, TP_RECORDING_MARK);
        break;
    case TP_REC_MORE:
        take_more(b, ev);
        break;
    case TP_REC_NONE:
    case TP_REC_OPS:
    default:
        b->bad = true;
    }
}

void tp_recording_thread_release(const struct tp_recording *rec, struct tp_recording_thread *t)
{
    TP_GROW_END(&t->data, &t->room, .budget = rec->budget);
    t->at = t->used = 0;
}

static int read_chunk(const struct tp_recording *rec, struct tp_recording_thread *t,
                      struct tp_err *err)
{
    const struct tp_recorded_chunk *c = t->chunk++;
    int rc = TP_GROW(&t->data, &t->room, c->used, err, .what = "bytes of events", .of = rec->name,
                     .budget = rec->budget);
    if (rc)
        return rc;
    t->at = 0;
    /* A chunk's time is that of the event before its first; never earlier than what was read. */
    t->time = c->time > t->time ? c->time : t->time;
    t->address = 0;
    t->ended = c->ended;
    return tp_recording_read(rec, c->offset + sizeof(struct tp_recording_chunk), t->data, c->used,
                             &t->used, err);
}

int tp_recording_next(const struct tp_recording *rec, struct tp_recording_thread *t,
                      struct tp_recording_event *ev, bool *more, struct tp_err *err)
{
    while (t->at == t->used) {
        *more = t->chunk < t->end;
        if (!*more) {
            tp_recording_thread_release(rec, t);
            return TP_OK;
        }
        int rc = read_chunk(rec, t, err);
        if (rc)
            return rc;
    }
    struct bytes b = {t->data + t->at, t->data + t->used, false};
    *more = true;
    ev->offset = t->chunk[-1].offset + sizeof(struct tp_recording_chunk) + t->at;
    decode(&b, t, ev);
    t->at = (size_t)(b.at - t->data);
    if (b.bad) {
        *more = t->ended = false;
        t->damaged = true;
        t->damage = ev->offset;
        tp_recording_thread_release(rec, t);
    }
    return TP_OK;
}
