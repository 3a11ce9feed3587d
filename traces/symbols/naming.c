/* See naming.h. What the fork writes:
 *
 *     STATE state | NAME line, function, file | NAME .. | DONE | STATE ..
 *
 * in the order of the files and their addresses. */
#include "traces/symbols/naming.h"

#include "alloc/base/clock.h"
#include "traces/symbols/confined.h"

#include <string.h>
#include <sys/stat.h>

#define SECOND       UINT64_C(1000000000)
#define FILES_MAPPED (UINT64_C(8) << 30) /* bytes at most, of the files themselves */

enum record_kind { RECORD_STATE, RECORD_NAME, RECORD_DONE };

struct naming_record {
    uint32_t value; /* the state, or the line */
    uint8_t kind;
    uint8_t function_bytes, file_bytes; /* 0: not known; they follow */
    uint8_t none;
};

enum { TEXT_MOST = UINT8_MAX, RECORD_MOST = sizeof(struct naming_record) + 2 * TEXT_MOST };

struct naming_bytes {
    size_t used;
    char bytes[1 << 16];
};

/* ---- in the fork ---- */

struct work {
    const struct tp_naming *n;
    size_t first; /* file */
    struct naming_bytes out;
    int to;
};

static void flush(struct work *w)
{
    tp_confined_write(w->to, w->out.bytes, w->out.used);
    w->out.used = 0;
}

static void put(struct work *w, const void *bytes, size_t size)
{
    memcpy(w->out.bytes + w->out.used, bytes, size);
    w->out.used += size;
}

static void give(struct work *w, enum record_kind kind, uint32_t value, const struct tp_symbol *s)
{
    size_t function = s->function ? strnlen(s->function, TEXT_MOST) : 0;
    size_t file = s->file ? strlen(s->file) : 0;
    size_t kept = file < TEXT_MOST ? file : TEXT_MOST;
    const struct naming_record r = {.value = value,
                                    .kind = (uint8_t)kind,
                                    .function_bytes = (uint8_t)function,
                                    .file_bytes = (uint8_t)kept};
    if (sizeof w->out.bytes - w->out.used < RECORD_MOST)
        flush(w);
    put(w, &r, sizeof r);
    if (function)
        put(w, s->function, function);
    if (kept)
        put(w, s->file + file - kept, kept);
}

static void name_file(struct work *w, const struct tp_naming_file *f, struct tp_cxx_names *cxx)
{
    struct tp_symbols *s = NULL;
    enum tp_symbols_state state = tp_symbols_open(f->path, f->id, f->id_bytes, &s);
    give(w, RECORD_STATE, state, &(struct tp_symbol){0});
    for (size_t i = 0; s && i < f->count; i++) {
        struct tp_symbol found =
            (w->n->find ? w->n->find : tp_symbols_find)(s, cxx, f->addresses[i]);
        give(w, RECORD_NAME, found.line, &found);
    }
    tp_symbols_close(s);
    give(w, RECORD_DONE, 0, &(struct tp_symbol){0});
    flush(w);
}

static void name_files(void *ctx, int out)
{
    struct work *w = ctx;
    struct tp_cxx_names cxx = {0};
    w->to = out;
    for (size_t i = w->first; i < w->n->count; i++)
        name_file(w, &w->n->files[i], &cxx);
}

/* ---- here ---- */

struct taken {
    const struct tp_naming *n;
    size_t file, nth; /* what comes next */
    struct naming_bytes in;
};

/* Takes a record, which is whole. False: nothing that this program writes is like that. */
static bool take_record(struct taken *t, const struct naming_record *r, const char *texts, int *rc,
                        struct tp_err *err)
{
    char function[TEXT_MOST + 1], file[TEXT_MOST + 1];
    const struct tp_naming *n = t->n;
    if (t->file == n->count || r->kind > RECORD_DONE)
        return false;
    if (r->kind == RECORD_STATE && r->value <= TP_SYMBOLS_OTHER) {
        n->state(n->ctx, t->file, (enum tp_symbols_state)r->value);
    } else if (r->kind == RECORD_DONE) {
        t->file++;
        t->nth = 0;
    } else if (r->kind == RECORD_NAME && t->nth < n->files[t->file].count) {
        memcpy(function, texts, r->function_bytes);
        memcpy(file, texts + r->function_bytes, r->file_bytes);
        function[r->function_bytes] = file[r->file_bytes] = '\0';
        const struct tp_symbol s = {r->function_bytes ? function : NULL,
                                    r->file_bytes ? file : NULL, r->value};
        *rc = n->name(n->ctx, t->file, t->nth++, &s, err);
    } else {
        return false;
    }
    return true;
}

/* Takes what is whole of what has come. */
static bool take_all(struct taken *t, int *rc, struct tp_err *err)
{
    size_t at = 0;
    bool sound = true;
    while (!*rc && sound && t->in.used - at >= sizeof(struct naming_record)) {
        struct naming_record r;
        memcpy(&r, t->in.bytes + at, sizeof r);
        size_t whole = sizeof r + r.function_bytes + r.file_bytes;
        if (t->in.used - at < whole)
            break;
        sound = take_record(t, &r, t->in.bytes + at + sizeof r, rc, err);
        at += whole;
    }
    t->in.used -= at;
    memmove(t->in.bytes, t->in.bytes + at, t->in.used);
    return sound;
}

/* One fork, from the file that comes next on. */
static int take_fork(struct taken *t, const struct tp_confined_cfg *cfg, uint64_t *spent,
                     struct tp_err *err)
{
    struct tp_confined c;
    size_t got = 1;
    bool sound = true;
    int rc = TP_OK;
    if (tp_confined_start(&c, cfg, NULL))
        return TP_OK;
    t->in.used = t->nth = 0;
    while (!rc && got && sound) {
        rc = tp_confined_read(&c, t->in.bytes + t->in.used, sizeof t->in.bytes - t->in.used, &got,
                              err);
        t->in.used += got;
        sound = rc || take_all(t, &rc, err);
    }
    *spent += tp_confined_end(&c);
    return rc;
}

/* Files are mapped whole. */
static uint64_t mapped_bytes(const struct tp_naming *n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n->count; i++) {
        struct stat st;
        if (stat(n->files[i].path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
            sum += (uint64_t)st.st_size;
    }
    return sum < FILES_MAPPED ? sum : FILES_MAPPED;
}

int tp_naming_run(const struct tp_naming *n, struct tp_err *err)
{
    struct taken *t = calloc(1, sizeof *t);
    struct work *w = calloc(1, sizeof *w);
    uint64_t spent = 0;
    struct tp_confined_cfg cfg = {.run = name_files,
                                  .ctx = w,
                                  .memory = TP_NAMING_MEMORY + mapped_bytes(n),
                                  .until = tp_wall_ns() + TP_NAMING_WAIT * SECOND,
                                  .stop = n->stop};
    int rc = t && w ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!rc) {
        t->n = w->n = n;
        while (!rc && t->file < n->count && spent < TP_NAMING_SECONDS * SECOND &&
               tp_wall_ns() < cfg.until) {
            w->first = t->file;
            cfg.seconds = (TP_NAMING_SECONDS * SECOND - spent + SECOND - 1) / SECOND;
            rc = take_fork(t, &cfg, &spent, err);
            if (!rc && t->file < n->count) /* this one has ended it */
                n->state(n->ctx, t->file++, TP_SYMBOLS_FAILED);
        }
        for (; !rc && t->file < n->count; t->file++)
            n->state(n->ctx, t->file, TP_SYMBOLS_FAILED);
    }
    free(t);
    free(w);
    return rc;
}
