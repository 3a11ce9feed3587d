/* Reading a plan (planned_plan.h). A line is read into numbers, and these are held against what the
 * lines before allow; at the end the lives and places of all requests are held against each other,
 * in n log n steps. */
#include "alloc/strategies/planned/planned_plan.h"

#include "alloc/program/program.h"
#include "alloc/strategies/planned/planned_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELDS = 5 };

/* The part of a stream in the pool. */
struct plan_part {
    uint64_t base, size;
    uint16_t stream;
};

struct plan_reader {
    const struct tp_env *env;
    struct planned_plan *plan;
    const char *name, *at, *end; /* behind the line */
    const char *line;
    size_t length, number; /* of the line */
    struct plan_part parts[TP_PLAN_STREAMS];
    uint32_t part_count, room; /* room: rows that the plan says it has */
    bool counted;              /* the line `requests` was there */
    struct tp_err *err;
};

static int wrong(const struct plan_reader *r, const char *what)
{
    return tp_fail(r->err, TP_EINPUT, "%.255s:%zu: %s", r->name, r->number, what);
}

/* ---- lines ---- */

static bool next_line(struct plan_reader *r)
{
    if (r->at == r->end)
        return false;
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->line = r->at;
    r->length = (size_t)((newline ? newline : r->end) - r->at);
    r->at = newline ? newline + 1 : r->end;
    r->length -= r->length && r->line[r->length - 1] == '\r';
    r->number++;
    return true;
}

/* Does the line begin with this word and a blank? *rest: what follows. */
static bool begins(const struct plan_reader *r, const char *word, const char **rest)
{
    size_t length = strlen(word);
    *rest = r->line + length + 1;
    return r->length > length && !memcmp(r->line, word, length) && r->line[length] == ' ';
}

/* A whole number, or "-" as UINT64_MAX. False: it is none. */
static bool read_number(const char *text, size_t length, uint64_t *out)
{
    enum { DIGITS = 19 };
    *out = length == 1 && *text == '-' ? UINT64_MAX : 0;
    if (*out)
        return true;
    for (size_t i = 0; i < length && length <= DIGITS; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *out = *out * 10 + (uint64_t)(text[i] - '0');
    }
    return length > 0 && length <= DIGITS;
}

/* Reads the numbers from `at` to the end of the line, one blank apart. False: there are not so
 * many. */
static bool read_numbers(const struct plan_reader *r, const char *at, uint64_t *out, size_t count)
{
    const char *end = r->line + r->length;
    for (size_t i = 0; i < count; i++) {
        const char *blank = at < end ? memchr(at, ' ', (size_t)(end - at)) : NULL;
        const char *stop = blank ? blank : end;
        if (at > end || (blank == NULL) != (i + 1 == count) ||
            !read_number(at, (size_t)(stop - at), &out[i]))
            return false;
        at = stop + 1;
    }
    return true;
}

/* ---- what a line says ---- */

static int read_mark(struct plan_reader *r, const char *rest)
{
    size_t length = r->length - (size_t)(rest - r->line);
    if (r->plan->mark[0])
        return wrong(r, "a second mark");
    if (!length || length >= sizeof r->plan->mark || memchr(rest, '\0', length))
        return wrong(r, "the name of a mark has 1 to 255 bytes");
    memcpy(r->plan->mark, rest, length);
    return TP_OK;
}

static int read_part(struct plan_reader *r, const char *rest)
{
    uint64_t n[2];
    if (!read_numbers(r, rest, n, 2))
        return wrong(r, "not 'stream NUMBER BYTES'");
    if (n[0] >= TP_MAX_STREAMS)
        return wrong(r, "there is no such stream");
    if (r->part_count == TP_PLAN_STREAMS)
        return wrong(r, "more than 64 streams");
    if (n[1] > TP_PLAN_POOL - r->plan->pool || n[1] % TP_PLAN_GRAIN)
        return wrong(r, "the bytes of a stream are a multiple of 512, those of all at most 1 PiB");
    for (uint32_t i = 0; i < r->part_count; i++)
        if (r->parts[i].stream == n[0])
            return wrong(r, "a stream has two lines");
    r->parts[r->part_count++] = (struct plan_part){r->plan->pool, n[1], (uint16_t)n[0]};
    r->plan->pool += n[1];
    return TP_OK;
}

static int read_count(struct plan_reader *r, const char *rest)
{
    uint64_t n;
    if (r->counted || !read_numbers(r, rest, &n, 1) || !n || n > TP_PLAN_REQUESTS)
        return wrong(r, "not 'requests N', with N from 1 to 1,048,576");
    r->plan->rows = tp_meta_get(r->env, n * sizeof *r->plan->rows);
    if (!r->plan->rows)
        return tp_fail(r->err, TP_ENOMEM, "out of memory");
    r->room = (uint32_t)n;
    r->counted = true;
    return TP_OK;
}

static const struct plan_part *part_of(const struct plan_reader *r, uint64_t stream)
{
    for (uint32_t i = 0; i < r->part_count; i++)
        if (r->parts[i].stream == stream)
            return &r->parts[i];
    return NULL;
}

/* Gives a row its place in the part of its stream. */
static int read_place(struct plan_reader *r, const uint64_t *n, struct planned_row *row)
{
    const struct plan_part *part = part_of(r, n[0]);
    uint64_t bytes = round_up(row->size, TP_PLAN_GRAIN);
    if (!n[3] || n[3] > r->room + UINT64_C(1))
        return wrong(r, "there is no such request before which it is freed");
    if (!part || bytes > part->size || n[4] > part->size - bytes)
        return wrong(r, "it does not fit into the part of its stream");
    row->offset = part->base + n[4];
    row->until = (uint32_t)(n[3] - 1);
    if (row->offset % TP_PLAN_GRAIN || row->offset % row->align)
        return wrong(r, "its place is not aligned");
    if (row->align > r->plan->align)
        r->plan->align = row->align;
    return TP_OK;
}

static int read_row(struct plan_reader *r)
{
    uint64_t n[FIELDS];
    if (r->plan->count == r->room)
        return wrong(r, "a request more than the plan says it has");
    if (!read_numbers(r, r->line, n, FIELDS))
        return wrong(r, "not 'STREAM SIZE ALIGN UNTIL OFFSET'");
    if (n[0] >= TP_MAX_STREAMS || !n[1] || n[1] > TP_MAX_SIZE || !n[2] ||
        n[2] > UINT64_C(1) << TP_MAX_ALIGN_LOG2 || n[2] & (n[2] - 1))
        return wrong(r, "no such stream, size or alignment");
    if ((n[3] == UINT64_MAX) != (n[4] == UINT64_MAX))
        return wrong(r, "it has an end and no place, or a place and no end");
    struct planned_row *row = &r->plan->rows[r->plan->count];
    *row = (struct planned_row){.size = n[1],
                                .align = n[2],
                                .offset = TP_PLAN_KEPT,
                                .line = (uint32_t)r->number,
                                .stream = (uint16_t)n[0]};
    int rc = n[4] == UINT64_MAX ? TP_OK : read_place(r, n, row);
    r->plan->count += rc == TP_OK;
    return rc;
}

static int read_line(struct plan_reader *r)
{
    const char *rest;
    if (!r->length || *r->line == '#')
        return TP_OK;
    if (r->counted)
        return read_row(r);
    if (begins(r, "mark", &rest))
        return read_mark(r, rest);
    if (begins(r, "stream", &rest))
        return read_part(r, rest);
    if (begins(r, "requests", &rest))
        return read_count(r, rest);
    return wrong(r, "not 'mark', 'stream' or 'requests'");
}

/* ---- the whole ---- */

static void drop_due(struct planned_pool *pool, uint32_t *due, const uint32_t *behind,
                     struct planned_block *const *placed)
{
    for (uint32_t d = *due; d; d = behind[d - 1])
        tp_planned_drop(pool, placed[d - 1]);
    *due = 0;
}

/* Places all requests of a step in their order and frees each when its time has come. `due` and
 * `behind` are lists of those that end before a request. */
static int place_step(const struct plan_reader *r, struct planned_pool *pool, uint32_t *due,
                      uint32_t *behind, struct planned_block **placed)
{
    const struct planned_plan *plan = r->plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct planned_row *row = &plan->rows[i];
        uint64_t bytes = round_up(row->size, TP_PLAN_GRAIN);
        drop_due(pool, &due[i], behind, placed);
        if (row->offset == TP_PLAN_KEPT)
            continue;
        if (tp_planned_over(pool, row->offset, bytes))
            return tp_fail(r->err, TP_EINPUT,
                           "%.255s:%" PRIu32 ": its place overlaps that of another request",
                           r->name, row->line);
        if (slab_reserve(&pool->blocks))
            return tp_fail(r->err, TP_ENOMEM, "out of memory");
        placed[i] = tp_planned_enter(pool, row->offset, bytes);
        behind[i] = due[row->until];
        due[row->until] = i + 1;
    }
    drop_due(pool, &due[plan->count], behind, placed);
    return TP_OK;
}

static int check_places(const struct plan_reader *r)
{
    size_t bytes = (r->plan->count + (size_t)1) * sizeof(uint32_t);
    size_t pointers = r->plan->count * sizeof(struct planned_block *);
    struct planned_pool pool = {0};
    uint32_t *due = tp_meta_get(r->env, bytes), *behind = tp_meta_get(r->env, bytes);
    struct planned_block **placed = tp_meta_get(r->env, pointers);
    slab_init(&pool.blocks, r->env, sizeof(struct planned_block));
    int rc = due && behind && placed ? place_step(r, &pool, due, behind, placed)
                                     : tp_fail(r->err, TP_ENOMEM, "out of memory");
    if (!rc) /* beside what the first step left */
        rc = place_step(r, &pool, due, behind, placed);
    slab_fini(&pool.blocks);
    tp_meta_put(r->env, due, bytes);
    tp_meta_put(r->env, behind, bytes);
    tp_meta_put(r->env, placed, pointers);
    return rc;
}

static int read_all(struct plan_reader *r)
{
    int rc = TP_OK;
    if (!next_line(r) || r->length != strlen(TP_PLAN_FIRST) ||
        memcmp(r->line, TP_PLAN_FIRST, r->length) != 0)
        return tp_hint(r->err,
                       tp_fail(r->err, TP_EINPUT,
                               "%.255s:1: not a plan: the first line is not '%s'", r->name,
                               TP_PLAN_FIRST),
                       "tapool plan TRACE -o FILE makes one");
    while (!rc && next_line(r))
        rc = read_line(r);
    if (!rc && (!r->counted || r->plan->count < r->room))
        rc = wrong(r, "the file ends before the last request");
    return rc ? rc : check_places(r);
}

/* Rows are released by their room, which is kept in `count` from here on. */
int tp_planned_parse(const struct tp_env *env, const char *text, size_t size, const char *name,
                     struct planned_plan *out, struct tp_err *err)
{
    struct plan_reader r = {
        .env = env, .plan = out, .name = name, .at = text, .end = text + size, .err = err};
    *out = (struct planned_plan){.align = TP_PLAN_GRAIN};
    int rc = read_all(&r);
    out->count = r.room;
    if (rc)
        tp_planned_release(env, out);
    return rc;
}

void tp_planned_release(const struct tp_env *env, struct planned_plan *plan)
{
    tp_meta_put(env, plan->rows, plan->count * sizeof *plan->rows);
    *plan = (struct planned_plan){0};
}

static int read_bytes(int fd, char *text, size_t size, const char *path, struct tp_err *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, text + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return tp_fail(err, TP_EIO, "%.255s: %s", path,
                           got ? strerror(errno) : "it got shorter");
        done += (size_t)got;
    }
    return TP_OK;
}

static int read_file(const struct tp_env *env, int fd, const char *path, struct planned_plan *out,
                     struct tp_err *err)
{
    struct stat st;
    if (fstat(fd, &st))
        return tp_fail(err, TP_EIO, "%.255s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > TP_PLAN_BYTES)
        return tp_fail(err, TP_EINPUT, "%.255s: a plan is a file of at most 64 MiB", path);
    size_t size = (size_t)st.st_size;
    char *text = tp_meta_get(env, size + 1);
    if (!text)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int rc = read_bytes(fd, text, size, path, err);
    if (!rc)
        rc = tp_planned_parse(env, text, size, path, out, err);
    tp_meta_put(env, text, size + 1);
    return rc;
}

int tp_planned_read(const struct tp_env *env, const char *path, struct planned_plan *out,
                    struct tp_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tp_fail(err, TP_EINPUT, "%.255s: %s", path, strerror(errno));
    int rc = read_file(env, fd, path, out, err);
    close(fd);
    return rc;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next character of a name, with one digit for each number. */
static unsigned char next_of(const char **name)
{
    const char first = **name;
    if (!is_digit(first)) {
        *name += first != '\0' ? 1 : 0;
        return (unsigned char)first;
    }
    while (is_digit(**name))
        ++*name;
    return '0';
}

int tp_planned_mark_order(const char *a, const char *b)
{
    for (;;) {
        unsigned char x = next_of(&a), y = next_of(&b);
        if (x != y)
            return x < y ? -1 : 1;
        if (!x)
            return 0;
    }
}
