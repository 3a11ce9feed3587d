/* Profile `web-server`: bursts of requests in several threads, with state that lives long.
 *
 *     state      sessions and cached pages: a table that fills up and is replaced place by place,
 *                by any thread, so blocks are often freed by another thread than their own
 *     requests   a thread's steps, a few at a time, mixed with those of the others:
 *                  temporaries  small and many; some die at once, the rest with the request
 *                  a response   a buffer that doubles by realloc
 *                  a record     for the log, freed by another thread when it begins a request
 *
 * Known weakness: the mixture is invented. If the behaviour of a real server matters, record
 * one. */
#include "traces/profiles/common/emit.h"

#include <stdlib.h>

struct web_opts {
    uint64_t count, live, threads;
};

enum {
    MAX_REQUESTS = 100000000,
    MAX_STATE = 1 << 20,
    MAX_WORKERS = 1024,
    EVENT_NS = 100,
    STATIC_OBJECTS = 4000, /* routes, templates, configuration: never freed */
    TEMPORARIES = 64,      /* temporaries of one request at once */
    RECORDS = 32,          /* records that wait for one worker */
    PAUSE_NS = 1000000     /* shortest pause between two bursts, ns; the longest is 20 times that */
};

static const struct tp_opt rows[] = {
    TP_PROFILE_COUNT_ROW(struct web_opts, count, "33000", MAX_REQUESTS,
                         "number of requests, about 60 events each"),
    TP_PROFILE_COUNT_ROW(struct web_opts, live, "13700", MAX_STATE,
                         "max number of sessions and cached pages, about 9 KiB each"),
    TP_PROFILE_COUNT_ROW(struct web_opts, threads, "8", MAX_WORKERS, "number of worker threads"),
    {.name = NULL}};

struct web_object {
    int64_t id;
    uint64_t size;
};

struct web_worker {
    bool busy;
    uint64_t steps; /* steps left in the request */
    int64_t temporaries[TEMPORARIES];
    uint32_t temporary_count;
    struct web_object response;
    uint64_t response_end; /* size at which the response stops growing */
    int64_t records[RECORDS];
    uint32_t record_count;
};

struct web_server {
    struct tp_emit emit;
    const struct web_opts *o;
    struct web_worker *workers;
    struct web_object *state; /* `filled` objects: sessions at even places, pages at odd ones */
    uint64_t filled;
    uint64_t begun; /* requests begun */
    uint64_t busy;  /* workers with a request */
    int64_t next_id;
};

static int64_t allocate(struct web_server *s, uint64_t thread, uint64_t size)
{
    tp_emit_alloc(&s->emit, thread, s->next_id, size);
    return s->next_id++;
}

/* ---- the state ---- */

static bool is_session(uint64_t place)
{
    return place % 2 == 0;
}

static void fill(struct web_server *s, uint64_t thread, uint64_t place)
{
    struct tp_random *random = &s->emit.random;
    uint64_t size =
        is_session(place) ? tp_random_bell(random, 128, 6) : tp_random_bell(random, 256, 9);
    s->state[place] = (struct web_object){allocate(s, thread, size), size};
}

/* Fills the state: a quarter at the start, the rest during the first four fifths of the
 * requests. */
static void fill_up(struct web_server *s, uint64_t thread)
{
    uint64_t live = s->o->live, start = live / 4, end = s->o->count / 5 * 4 + 1;
    uint64_t target = s->begun < end ? start + (live - start) * s->begun / end : live;
    for (; s->filled < target && s->emit.status == TP_OK; s->filled++)
        fill(s, thread, s->filled);
}

/* Replaces a page by another one, or replaces or grows a session. */
static void visit_state(struct web_server *s, uint64_t thread)
{
    if (!s->filled)
        return;
    uint64_t place = tp_random_below(&s->emit.random, s->filled);
    struct web_object *object = &s->state[place];
    bool grows = is_session(place) && object->size < 16384 && tp_random_one_in(&s->emit.random, 2);
    if (grows) {
        object->size += object->size / 4 + 32;
        tp_emit_realloc(&s->emit, thread, object->id, object->size);
        return;
    }
    tp_emit_free(&s->emit, thread, object->id);
    fill(s, thread, place);
}

static void start_up(struct web_server *s)
{
    struct tp_random *random = &s->emit.random;
    tp_emit_mark(&s->emit, "start-up");
    for (int i = 0; i < STATIC_OBJECTS && s->emit.status == TP_OK; i++) {
        bool table = i % 250 == 0;
        allocate(s, 0, table ? tp_random_bell(random, 16384, 4) : tp_random_bell(random, 16, 6));
    }
    fill_up(s, 0);
    tp_emit_mark(&s->emit, "requests");
}

/* ---- requests ---- */

static void free_records(struct web_server *s, uint64_t thread)
{
    struct web_worker *w = &s->workers[thread];
    for (uint32_t i = 0; i < w->record_count; i++)
        tp_emit_free(&s->emit, thread, w->records[i]);
    w->record_count = 0;
}

static void begin_request(struct web_server *s, uint64_t thread)
{
    struct tp_random *random = &s->emit.random;
    struct web_worker *w = &s->workers[thread];
    free_records(s, thread);
    s->begun++;
    s->busy++;
    fill_up(s, thread);
    w->busy = true;
    w->steps = tp_random_from(random, 16, 64);
    w->temporaries[0] = allocate(s, thread, tp_random_from(random, 1024, 2048));
    w->temporary_count = 1;
    w->response_end = tp_random_bell(random, 1024, 8);
    w->response = (struct web_object){allocate(s, thread, 1024), 1024};
}

static void step_worker(struct web_server *s, uint64_t thread)
{
    struct tp_random *random = &s->emit.random;
    struct web_worker *w = &s->workers[thread];
    uint64_t draw = tp_random_below(random, 16);
    if (draw < 9 && w->temporary_count < TEMPORARIES) {
        w->temporaries[w->temporary_count++] = allocate(s, thread, tp_random_bell(random, 16, 8));
    } else if (draw < 12 && w->temporary_count > 1) {
        tp_emit_free(&s->emit, thread, w->temporaries[--w->temporary_count]);
    } else if (draw < 15 && w->response.size < w->response_end) {
        w->response.size *= 2;
        tp_emit_realloc(&s->emit, thread, w->response.id, w->response.size);
    } else if (draw == 15) {
        visit_state(s, thread);
    }
    w->steps--;
}

/* Gives a log record to a random thread, or frees it at once if too many wait there. */
static void log_request(struct web_server *s, uint64_t thread)
{
    struct tp_random *random = &s->emit.random;
    struct web_worker *to = &s->workers[tp_random_below(random, s->o->threads)];
    int64_t id = allocate(s, thread, tp_random_from(random, 100, 600));
    if (to->record_count < RECORDS)
        to->records[to->record_count++] = id;
    else
        tp_emit_free(&s->emit, thread, id);
}

static void end_request(struct web_server *s, uint64_t thread)
{
    struct web_worker *w = &s->workers[thread];
    for (uint32_t i = 0; i < w->temporary_count; i++)
        tp_emit_free(&s->emit, thread, w->temporaries[i]);
    tp_emit_free(&s->emit, thread, w->response.id);
    log_request(s, thread);
    w->busy = false;
    s->busy--;
}

/* Runs a few steps of a thread, until another one runs. */
static void run(struct web_server *s, uint64_t thread)
{
    struct web_worker *w = &s->workers[thread];
    uint64_t steps = tp_random_from(&s->emit.random, 1, 16);
    for (; steps && w->steps && s->emit.status == TP_OK; steps--)
        step_worker(s, thread);
    if (!w->steps)
        end_request(s, thread);
}

/* Emits a burst: some or all threads answer a number of requests, then there is a pause. */
static void burst(struct web_server *s)
{
    struct tp_random *random = &s->emit.random;
    uint64_t active = tp_random_from(random, 1, s->o->threads);
    uint64_t waiting = tp_random_from(random, 5 * active, 20 * active);
    if (waiting > s->o->count - s->begun)
        waiting = s->o->count - s->begun;
    while ((waiting || s->busy) && s->emit.status == TP_OK) {
        uint64_t thread = tp_random_below(random, active);
        if (s->workers[thread].busy) {
            run(s, thread);
        } else if (waiting) {
            begin_request(s, thread);
            waiting--;
        }
    }
    s->emit.now_ns += tp_random_from(random, PAUSE_NS, 20 * PAUSE_NS);
}

static int generate(const void *opts, uint64_t seed, const struct tp_event_sink *sink,
                    struct tp_err *err)
{
    struct web_server s = {.emit = tp_emit_begin(sink, seed, EVENT_NS, err), .o = opts};
    s.workers = calloc(s.o->threads, sizeof *s.workers);
    s.state = calloc(s.o->live, sizeof *s.state);
    if (!s.workers || !s.state)
        s.emit.status =
            tp_fail(err, TP_ENOMEM, "out of memory for the state of '%s'", "web-server");
    if (s.emit.status == TP_OK)
        start_up(&s);
    while (s.begun < s.o->count && s.emit.status == TP_OK)
        burst(&s);
    for (uint64_t i = 0; i < s.o->threads && s.emit.status == TP_OK; i++)
        free_records(&s, i);
    free(s.workers);
    free(s.state);
    return s.emit.status;
}

const struct tp_profile tp_profile_web_server = {
    .name = "web-server",
    .sample = "web",
    .summary = "bursts of requests in several threads, with long-lived state",
    .about =
        "'threads' threads answer 'count' requests, in bursts with pauses between them. A request "
        "allocates temporaries, mostly of 100 to 1,000 bytes, frees some at once and the rest at "
        "its end. Its response grows by realloc to 1 KiB to 512 KiB; another thread frees its log "
        "record. Sessions and cached pages are long-lived: there are 'live' of them after four "
        "fifths of the requests, replaced and grown from any thread, and live at the end. The "
        "peak is about 9 KiB * live. An event takes 100 ns on average, a pause 1 to 20 ms. The "
        "defaults make sample:web.",
    .kind = TP_KIND_HOST,
    .opts_size = sizeof(struct web_opts),
    .options = rows,
    .generate = generate,
};
