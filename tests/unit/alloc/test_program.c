/* Building and reading programs: what goes in comes out, whether kept in memory, spooled or handed
 * to another process; demand against a naive model; every refusal; damaged files. */
#include "alloc/base/random.h"
#include "alloc/program/program_internal.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a recorded input and a naive model of what the builder must say about it ---- */

enum { SLOTS = 400, DEVICES = 3 };

struct object {
    uint64_t size;
    uint32_t extra;
    uint16_t device;
    uint8_t align_log2;
};

struct input {
    struct tp_insn *insns; /* the initial heap first */
    uint64_t *events;
    uint32_t count, initial_heap;
    uint32_t slots, threads; /* highest used, plus 1 */
    struct tp_demand demand[DEVICES];
    uint64_t live_bytes, live_objects, objects, duration, ops[TP_OP_COUNT];
};

static uint32_t pick_slot(const struct object *objects, uint32_t *slots, bool live, uint64_t r)
{
    for (uint32_t i = 0, at = (uint32_t)(r % SLOTS); i < SLOTS; i++, at = (at + 1) % SLOTS)
        if (at < *slots && (objects[at].size != 0) == live)
            return at;
    return live || *slots == SLOTS ? UINT32_MAX : (*slots)++;
}

static void make_object_insn(struct tp_insn *in, struct object *o, uint64_t r)
{
    switch (in->op) {
    case TP_ALLOC:
    case TP_ADOPT:
    case TP_REALLOC:
        in->size = 1 + r % 100000;
        in->align_log2 = (uint8_t)(r % 13);
        if (in->op != TP_REALLOC)
            *o = (struct object){.device = in->device};
        o->size = in->size;
        o->align_log2 = in->align_log2;
        break;
    case TP_FREE:
        in->size = o->size;
        in->align_log2 = o->align_log2;
        o->size = 0;
        break;
    case TP_RETAIN:
        o->extra++;
        break;
    case TP_RELEASE:
        o->extra--;
        break;
    default:
        break;
    }
    in->device = o->device;
}

/* Sums over all slots, deliberately without running totals. */
static void model_demand(struct input *in, const struct object *objects, uint64_t event,
                         uint64_t insn)
{
    uint64_t bytes[DEVICES] = {0};
    in->live_bytes = in->live_objects = 0;
    for (uint32_t i = 0; i < in->slots; i++) {
        bytes[objects[i].device] += objects[i].size;
        in->live_bytes += objects[i].size;
        in->live_objects += objects[i].size != 0;
    }
    for (uint32_t d = 0; d < DEVICES; d++) {
        if (bytes[d] > in->demand[d].bytes)
            in->demand[d] = (struct tp_demand){bytes[d], event, insn, in->duration,
                                               in->demand[d].initial_heap_bytes};
        if (insn == UINT64_MAX)
            in->demand[d].initial_heap_bytes = bytes[d];
    }
}

static uint8_t pick_op(struct object *o, bool live, uint64_t r)
{
    static const uint8_t on_live[] = {TP_FREE, TP_FREE, TP_FREE,    TP_FREE,  TP_REALLOC,
                                      TP_USE,  TP_FREE, TP_REALLOC, TP_RETAIN};
    static const uint8_t other[] = {TP_SYNC, TP_TRIM, TP_THREAD_END, TP_NOTE,
                                    TP_IDLE, TP_MARK, TP_SYNC,       TP_IDLE};
    if (r % 16 == 0)
        return r % 4096 == 0 ? TP_RESET : other[r / 16 % 8];
    if (!live)
        return r % 50 == 1 ? TP_ADOPT : TP_ALLOC;
    return o->extra ? TP_RELEASE : on_live[r / 16 % 9];
}

static struct input make_input(uint64_t seed, uint32_t initial_heap, uint32_t count)
{
    struct input in = {.count = initial_heap + count, .initial_heap = initial_heap};
    in.insns = calloc(in.count + 1, sizeof *in.insns);
    in.events = calloc(in.count + 1, sizeof *in.events);
    struct object *objects = calloc(SLOTS, sizeof *objects);
    uint64_t event = 0;
    for (uint32_t d = 0; d < DEVICES; d++)
        in.demand[d].insn = UINT64_MAX;
    for (uint32_t i = 0; i < in.count; i++) {
        struct tp_insn *insn = &in.insns[i];
        uint64_t r = tp_random_split(&seed);
        bool start = i < initial_heap;
        bool live = !start && tp_random_split(&seed) % 100 < 48;
        uint32_t slot = pick_slot(objects, &in.slots, live, tp_random_split(&seed));
        if (slot == UINT32_MAX)
            slot = pick_slot(objects, &in.slots, live = !live, r);
        insn->op = start ? TP_ALLOC : pick_op(&objects[slot], live, r);
        insn->device = (uint16_t)(tp_random_split(&seed) % DEVICES);
        insn->thread = (uint16_t)(tp_random_split(&seed) % 5);
        insn->stream =
            insn->op == TP_SYNC ? TP_ALL_STREAMS : (uint16_t)(tp_random_split(&seed) % 7);
        insn->gap_ns = start ? 0 : (uint32_t)(tp_random_split(&seed) % 1000);
        if (insn->op <= TP_USE) {
            insn->slot = slot;
            make_object_insn(insn, &objects[slot], tp_random_split(&seed));
        } else if (insn->op == TP_RESET) {
            for (uint32_t s = 0; s < in.slots; s++)
                if (objects[s].device == insn->device)
                    objects[s] = (struct object){0};
        } else if (insn->op == TP_MARK) {
            insn->slot = (uint32_t)(r / 256 % 2);
        }
        in.objects += insn->op == TP_ALLOC || insn->op == TP_ADOPT;
        if (insn->thread >= in.threads)
            in.threads = insn->thread + 1u;
        in.duration += insn->gap_ns;
        in.ops[insn->op] += !start;
        if (!start) /* mostly the next one; at times a few are missing, or it is the same again */
            event += r % 97 == 3 ? 1 + r / 97 % 5 : !(r % 89 == 5 && event);
        in.events[i] = event;
        model_demand(&in, objects, event, start ? UINT64_MAX : i - initial_heap);
    }
    free(objects);
    return in;
}

static void free_input(struct input *in)
{
    free(in->insns);
    free(in->events);
}

/* ---- building and comparing ---- */

struct hashed {
    const struct tp_insn *expected;
    size_t done; /* bytes */
    uint32_t initial_heap, boundaries;
};

static void compare_hashed(void *ctx, const void *data, size_t size)
{
    struct hashed *h = ctx;
    assert_true(size > 0);
    if (*(const uint8_t *)data == 0xff) { /* no instruction: the initial heap ends */
        assert_int_equal(size, sizeof(struct tp_insn));
        assert_int_equal(h->done, h->initial_heap * sizeof(struct tp_insn));
        h->boundaries++;
        return;
    }
    assert_memory_equal(data, (const char *)h->expected + h->done, size);
    h->done += size;
}

static struct tp_program *build(const struct input *in, uint64_t memory_limit)
{
    struct hashed h = {.expected = in->insns, .initial_heap = in->initial_heap};
    struct tp_builder_cfg cfg = {.kind = TP_KIND_DEVICE,
                                 .hash = compare_hashed,
                                 .hash_ctx = &h,
                                 .memory_limit = memory_limit};
    struct tp_builder *b;
    struct tp_program *p;
    struct tp_err err;
    uint32_t mark;
    assert_int_equal(tp_builder_new(&cfg, &b, &err), TP_OK);
    assert_int_equal(tp_builder_mark(b, "load all", &mark, &err), TP_OK);
    assert_int_equal(tp_builder_mark(b, "step 2", &mark, &err), TP_OK);
    assert_int_equal(mark, 1);
    for (uint32_t i = 0; i < in->count; i++) {
        int rc = i < in->initial_heap ? tp_builder_initial_heap(b, &in->insns[i], &err)
                                      : tp_builder_add(b, &in->insns[i], in->events[i], &err);
        if (rc)
            fail_msg("%s", err.text);
        if (i == in->count / 2)
            tp_builder_flush(b);
    }
    tp_builder_flush(b);
    assert_true(h.done == in->count * sizeof *in->insns);
    assert_int_equal(h.boundaries, in->initial_heap && in->initial_heap < in->count);
    uint8_t hash[TP_HASH_SIZE] = "the front end's";
    struct tp_builder_end end = {.events = in->count ? in->events[in->count - 1] + 3 : 0,
                                 .time_known = true,
                                 .recorded_threads = 6,
                                 .streams = 9,
                                 .devices = DEVICES,
                                 .hash = hash};
    assert_int_equal(tp_builder_finish(b, &end, &p, &err), TP_OK);
    assert_true(h.done == in->count * sizeof *in->insns);
    return p;
}

static void compare_facts(const struct input *in, const struct tp_program *p)
{
    const struct tp_program_facts *f = tp_program_facts(p);
    uint64_t operations = 0;
    for (unsigned op = 0; op < TP_OP_COUNT; op++) {
        assert_true(f->ops[op] == in->ops[op]);
        operations += op <= TP_THREAD_END ? in->ops[op] : 0;
    }
    assert_string_equal((const char *)f->hash, "the front end's");
    assert_true(f->kind == TP_KIND_DEVICE && f->time_known == 1 && f->devices == DEVICES);
    assert_true(f->slots == in->slots && f->threads == in->threads && f->streams == 9 &&
                f->marks == 2);
    assert_true(f->events == in->events[in->count - 1] + 3);
    assert_true(f->instructions == in->count - in->initial_heap &&
                f->initial_heap == in->initial_heap);
    assert_true(f->operations == operations && f->objects == in->objects);
    assert_true(f->live_at_end == in->live_objects && f->live_at_end_bytes == in->live_bytes);
    assert_true(f->duration_ns == in->duration && f->recorded_threads == 6);
    for (uint16_t d = 0; d < DEVICES; d++)
        assert_memory_equal(tp_program_demand(p, d), &in->demand[d], sizeof in->demand[d]);
    assert_null(tp_program_demand(p, DEVICES));
    assert_string_equal(tp_program_mark(p, 0), "load all");
    assert_string_equal(tp_program_mark(p, 1), "step 2");
    assert_null(tp_program_mark(p, 2));
}

static void compare_windows(const struct input *in, uint64_t spooled, struct tp_cursor *c)
{
    struct tp_window w;
    struct tp_err err;
    uint64_t at = 0, time = 0, windows = 0, bytes = 0;
    int rc;
    while ((rc = tp_cursor_next(c, &w, &err)) == 1) {
        assert_true(w.count > 0 && w.count <= TP_WINDOW_MAX);
        assert_true(w.initial_heap == (at < in->initial_heap));
        assert_true(w.first_insn == (w.initial_heap ? 0 : at - in->initial_heap));
        assert_true(w.first_time == time && w.first_event == in->events[at]);
        assert_memory_equal(w.insns, in->insns + at, w.count * sizeof *w.insns);
        for (uint32_t i = 0; i < w.count; i++, at++) {
            if (tp_window_event(&w, i) != in->events[at])
                fail_msg("instruction %u has event %u instead of %u", (unsigned)at,
                         (unsigned)tp_window_event(&w, i), (unsigned)in->events[at]);
            time += in->insns[at].gap_ns;
        }
        windows++;
        bytes += w.count * sizeof *w.insns + w.jump_count * sizeof *w.jumps;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(tp_cursor_next(c, &w, &err), 0);
    assert_true(at == in->count && (!spooled || spooled == bytes));
    assert_true(windows == (in->initial_heap + TP_WINDOW_MAX - 1) / TP_WINDOW_MAX +
                               (in->count - in->initial_heap + TP_WINDOW_MAX - 1) / TP_WINDOW_MAX);
}

static void compare(const struct input *in, struct tp_program *p)
{
    struct tp_cursor *c;
    compare_facts(in, p);
    assert_int_equal(tp_cursor_open(p, &c, NULL), TP_OK);
    compare_windows(in, tp_program_facts(p)->spooled_bytes, c);
    tp_cursor_rewind(c);
    compare_windows(in, tp_program_facts(p)->spooled_bytes, c);
    tp_cursor_close(c);
    tp_cursor_close(NULL);
}

/* ---- tests ---- */

static const struct {
    uint32_t initial_heap, count;
} shapes[] = {{0, 1}, {1, 0}, {7, 500}, {0, 65536}, {0, 65537}, {300, 200000}};
static const uint64_t limits[] = {0, 1, 24 * 65536 * 2};
enum { SHAPES = sizeof shapes / sizeof *shapes, LIMITS = sizeof limits / sizeof *limits };

TEST(in_memory_and_spooled)
{
    for (size_t i = 0; i < SHAPES; i++) {
        struct input in = make_input(i + 1, shapes[i].initial_heap, shapes[i].count);
        print_message("%u + %u instructions, seed %u\n", shapes[i].initial_heap, shapes[i].count,
                      (unsigned)i + 1);
        for (size_t j = 0; j < LIMITS; j++) {
            struct tp_program *p = build(&in, limits[j]);
            uint64_t spooled = tp_program_facts(p)->spooled_bytes;
            assert_true(j == 0 ? spooled == 0 : j == 2 || spooled >= 24 * in.count);
            if (j == 2)
                assert_int_equal(spooled != 0, in.count > 150000);
            compare(&in, p);
            tp_program_release(p);
        }
        free_input(&in);
    }
    tp_program_release(NULL);
}

TEST(two_cursors)
{
    struct input in = make_input(5, 0, 140000);
    struct tp_program *p = build(&in, 1);
    struct tp_cursor *a, *b;
    struct tp_window w, v;
    assert_int_equal(tp_cursor_open(p, &a, NULL), TP_OK);
    assert_int_equal(tp_cursor_open(p, &b, NULL), TP_OK);
    assert_int_equal(tp_cursor_next(a, &w, NULL), 1);
    assert_int_equal(tp_cursor_next(a, &w, NULL), 1);
    assert_int_equal(tp_cursor_next(b, &v, NULL), 1);
    assert_true(w.first_insn == 65536 && v.first_insn == 0);
    assert_memory_equal(w.insns, in.insns + 65536, w.count * sizeof *w.insns);
    assert_memory_equal(v.insns, in.insns, v.count * sizeof *v.insns);
    tp_cursor_close(a);
    tp_cursor_close(b);
    tp_program_release(p);
    free_input(&in);
}

static struct tp_builder *new_builder(void)
{
    struct tp_builder_cfg cfg = {.kind = TP_KIND_HOST};
    struct tp_builder *b;
    assert_int_equal(tp_builder_new(&cfg, &b, NULL), TP_OK);
    return b;
}

TEST(empty_program)
{
    struct tp_builder_end end = {0};
    struct tp_program *p;
    struct tp_cursor *c;
    struct tp_window w;
    assert_int_equal(tp_builder_finish(new_builder(), &end, &p, NULL), TP_OK);
    const struct tp_program_facts *f = tp_program_facts(p);
    assert_true(f->devices == 1 && f->threads == 1 && f->streams == 1 && f->slots == 0);
    assert_true(f->instructions == 0 && f->windows == 0 && f->events == 0);
    const struct tp_demand *d = tp_program_demand(p, 0);
    assert_true(d->bytes == 0 && d->event == 0 && d->insn == UINT64_MAX);
    assert_int_equal(tp_cursor_open(p, &c, NULL), TP_OK);
    assert_int_equal(tp_cursor_next(c, &w, NULL), 0);
    tp_cursor_close(c);
    int fd;
    struct tp_program *q;
    assert_int_equal(tp_program_export(p, &fd, NULL), TP_OK);
    assert_int_equal(tp_program_import(fd, &q, NULL), TP_OK);
    assert_memory_equal(f, tp_program_facts(q), sizeof *f);
    tp_program_release(p);
    tp_program_release(q);
    tp_builder_free(NULL);
    tp_builder_free(new_builder());
}

/* ---- the spool ---- */

TEST(spool_cannot_be_made)
{
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    struct tp_builder_cfg cfg = {.memory_limit = 1};
    struct tp_insn note = {.op = TP_NOTE};
    struct tp_builder_end end = {0};
    struct tp_builder *b;
    struct tp_program *p;
    struct tp_err err;
    setenv("TMPDIR", "/nonexistent/dir", 1);
    assert_int_equal(tp_builder_new(&cfg, &b, NULL), TP_OK);
    assert_int_equal(tp_builder_add(b, &note, 1, NULL), TP_OK);
    assert_int_equal(tp_builder_finish(b, &end, &p, &err), TP_EIO);
    assert_string_equal(err.text, "cannot create a temporary file in '/nonexistent/dir': "
                                  "No such file or directory");
    assert_non_null(strstr(err.hint, "TMPDIR"));
    assert_null(p);
    if (old)
        setenv("TMPDIR", old, 1);
    else
        unsetenv("TMPDIR");
    free(old);
}

/* A file that may not grow stands for a disk that is full. */
TEST(spool_is_full)
{
    struct rlimit old, small = {.rlim_cur = 4096};
    struct tp_builder_cfg cfg = {.memory_limit = 1};
    struct tp_insn note = {.op = TP_NOTE};
    struct tp_builder *b;
    struct tp_err err = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(tp_builder_new(&cfg, &b, NULL), TP_OK);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = TP_OK;
    for (uint64_t i = 1; !rc && i <= 65537; i++)
        rc = tp_builder_add(b, &note, i, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(rc, TP_EIO);
    assert_non_null(strstr(err.text, "cannot write the temporary file in '"));
    assert_non_null(strstr(err.hint, "more room"));
    /* with room again the same instruction goes on where it was refused */
    assert_int_equal(tp_builder_add(b, &note, 65537, &err), TP_OK);
    struct tp_builder_end end = {0};
    struct tp_program *p;
    assert_int_equal(tp_builder_finish(b, &end, &p, &err), TP_OK);
    assert_true(tp_program_facts(p)->instructions == 65537);
    assert_true(tp_program_facts(p)->spooled_bytes == UINT64_C(65537) * 24);
    tp_program_release(p);
}

/* ---- handing over ---- */

static void compare_in_child(const struct input *in, int fd)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct tp_program *q;
        struct tp_err err;
        if (tp_program_import(fd, &q, &err))
            _exit(2);
        compare(in, q); /* a failed assertion here ends the child with another status */
        tp_program_release(q);
        _exit(0);
    }
    close(fd);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(export_import)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (size_t j = 0; j < LIMITS; j++) {
            struct input in = make_input(i + 1, shapes[i].initial_heap, shapes[i].count);
            struct tp_program *p = build(&in, limits[j]), *q, *r;
            int fd;
            assert_int_equal(tp_program_export(p, &fd, NULL), TP_OK);
            assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
            compare_in_child(&in, fd);
            assert_int_equal(tp_program_export(p, &fd, NULL), TP_OK); /* once more */
            assert_int_equal(tp_program_import(fd, &q, NULL), TP_OK);
            compare(&in, q);
            assert_memory_equal(tp_program_facts(p), tp_program_facts(q),
                                sizeof(struct tp_program_facts));
            assert_int_equal(tp_program_export(q, &fd, NULL), TP_OK); /* and at second hand */
            tp_program_release(q);
            compare(&in, p);
            tp_program_release(p);
            assert_int_equal(tp_program_import(fd, &r, NULL), TP_OK);
            compare(&in, r);
            tp_program_release(r);
            free_input(&in);
        }
}

/* ---- damaged files ---- */

static unsigned char *file_bytes(int fd, size_t *size)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    *size = (size_t)st.st_size;
    unsigned char *bytes = malloc(*size);
    assert_true(pread(fd, bytes, *size, 0) == (ssize_t)*size);
    return bytes;
}

static int memory_file(const unsigned char *bytes, size_t size)
{
    int fd = memfd_create("damaged", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(pwrite(fd, bytes, size, 0) == (ssize_t)size);
    return fd;
}

/* Imports and reads everything; the file is no promise, but memory must stay sound. */
static int read_through(int fd)
{
    struct tp_program *p;
    struct tp_cursor *c;
    struct tp_window w;
    struct tp_err err;
    uint64_t sum = 0;
    int rc = tp_program_import(fd, &p, &err);
    if (rc)
        return assert_true(strlen(err.text) > 0), rc;
    const struct tp_program_facts *f = tp_program_facts(p);
    assert_true(f->slots <= f->objects && f->live_at_end <= f->slots);
    for (uint16_t d = 0; d < f->devices; d++)
        sum += tp_program_demand(p, d)->bytes;
    for (uint32_t i = 0; i < f->marks; i++)
        sum += strlen(tp_program_mark(p, i));
    assert_int_equal(tp_cursor_open(p, &c, &err), TP_OK);
    while ((rc = tp_cursor_next(c, &w, &err)) == 1) {
        assert_true(w.count <= TP_WINDOW_MAX);
        for (uint32_t i = 0; i < w.jump_count; i++)
            assert_true(w.jumps[i].index < w.count &&
                        (i == 0 || w.jumps[i].index > w.jumps[i - 1].index));
        for (uint32_t i = 0; i < w.count; i++) {
            const struct tp_insn *in = &w.insns[i];
            sum += tp_window_event(&w, i);
            assert_true(in->op < TP_OP_COUNT && in->align_log2 <= TP_MAX_ALIGN_LOG2);
            assert_true(in->device < f->devices && in->thread < f->threads);
            assert_true(in->op == TP_SYNC || in->stream < f->streams);
            assert_true(in->op > TP_USE || in->slot < f->slots);
            assert_true(in->op != TP_MARK || in->slot < f->marks);
        }
    }
    tp_cursor_close(c);
    tp_program_release(p);
    return sum == 1 ? TP_OK : -rc;
}

static void damage(uint64_t limit)
{
    struct input in = make_input(3, 5, 150);
    struct tp_program *p = build(&in, limit);
    size_t size;
    int fd;
    assert_int_equal(tp_program_export(p, &fd, NULL), TP_OK);
    unsigned char *bytes = file_bytes(fd, &size);
    tp_program_release(p);
    assert_int_equal(read_through(fd), TP_OK);
    size_t data = 155 * sizeof(struct tp_insn), refused_in_tail = 0;
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(read_through(memory_file(bytes, cut)), TP_EINPUT);
    for (size_t at = 0; at < size; at++)
        for (unsigned bit = 0; bit < 10; bit++) {
            unsigned char was = bytes[at];
            unsigned whole = bit == 8 ? 0xFF : 0;
            bytes[at] = (unsigned char)(bit < 8 ? was ^ (1u << bit) : whole);
            int rc = read_through(memory_file(bytes, size));
            assert_true(rc == TP_OK || rc == TP_EINPUT);
            refused_in_tail += at >= data && rc == TP_EINPUT;
            bytes[at] = was;
        }
    print_message("%u of %u changes behind the windows are refused\n", (unsigned)refused_in_tail,
                  (unsigned)((size - data) * 10));
    assert_true(refused_in_tail * 2 > (size - data) * 10);
    assert_int_equal(read_through(memory_file(bytes, size)), TP_OK);
    free(bytes);
    free_input(&in);
}

TEST(damaged_files)
{
    damage(0);
    damage(1);
}

/* The parts of a file, to write lies into that agree with each other. */
struct parts {
    unsigned char *bytes;
    size_t size;
    struct tp_program_footer *foot;
    struct tp_program_facts *facts;
    struct tp_kept_window *windows;
};

/* So many notes, one event each: no jumps lie between the windows. */
static struct parts export_notes(uint32_t count)
{
    struct tp_builder_cfg cfg = {.memory_limit = 1};
    struct tp_builder_end end = {0};
    struct tp_insn note = {.op = TP_NOTE};
    struct tp_builder *b;
    struct tp_program *p;
    struct parts parts;
    int fd;
    assert_int_equal(tp_builder_new(&cfg, &b, NULL), TP_OK);
    for (uint64_t i = 1; i <= count; i++)
        assert_int_equal(tp_builder_add(b, &note, i, NULL), TP_OK);
    assert_int_equal(tp_builder_finish(b, &end, &p, NULL), TP_OK);
    assert_int_equal(tp_program_export(p, &fd, NULL), TP_OK);
    parts.bytes = file_bytes(fd, &parts.size);
    parts.foot = (void *)(parts.bytes + parts.size - sizeof *parts.foot);
    parts.facts = (void *)((unsigned char *)parts.foot - sizeof *parts.facts);
    parts.windows = (void *)(parts.bytes + parts.foot->data_bytes);
    close(fd);
    tp_program_release(p);
    return parts;
}

static int read_parts(const struct parts *parts, size_t size)
{
    return read_through(memory_file(parts->bytes, size));
}

/* Lengths whose sum is right only modulo 2^64. */
TEST(lengths_wrap_around)
{
    struct parts parts = export_notes(64);
    parts.foot->data_bytes += 24;
    parts.foot->names_bytes -= 24;
    parts.facts->spooled_bytes += 24;
    assert_int_equal(read_parts(&parts, parts.size), TP_EINPUT);
    parts.foot->data_bytes -= (UINT64_C(1) << 63) + 24;
    parts.foot->names_bytes += (UINT64_C(1) << 63) + 24;
    parts.facts->spooled_bytes = parts.foot->data_bytes;
    assert_int_equal(read_parts(&parts, parts.size), TP_EINPUT);
    free(parts.bytes);
    parts = export_notes(64);
    parts.facts->windows += UINT64_C(1) << 60; /* 48 of it are a multiple of 2^64 */
    assert_int_equal(read_parts(&parts, parts.size), TP_EINPUT);
    free(parts.bytes);
}

/* Two windows written as one would overrun every buffer of TP_WINDOW_MAX. */
TEST(window_is_too_long)
{
    struct parts parts = export_notes(TP_WINDOW_MAX + 9);
    struct tp_kept_window *w = parts.windows;
    assert_true(parts.facts->windows == 2);
    w[0].count += w[1].count;
    parts.facts->windows = 1;
    unsigned char *end = parts.bytes + parts.size;
    memmove(&w[1], &w[2], (size_t)(end - (unsigned char *)&w[2]));
    parts.foot = (void *)((unsigned char *)parts.foot - sizeof *w);
    parts.foot->file_bytes -= sizeof *w;
    assert_int_equal(read_parts(&parts, parts.size - sizeof *w), TP_EINPUT);
    free(parts.bytes);
}

/* A file that shrinks after it was opened is an error of reading, not a crash. */
TEST(file_shrinks)
{
    struct input in = make_input(3, 0, 140000);
    struct tp_program *p = build(&in, 1);
    struct tp_cursor *c;
    struct tp_window w;
    struct tp_err err;
    int fd;
    assert_int_equal(tp_program_export(p, &fd, &err), TP_OK);
    assert_int_equal(tp_cursor_open(p, &c, &err), TP_OK);
    assert_int_equal(tp_cursor_next(c, &w, &err), 1);
    assert_int_equal(ftruncate(fd, 65536 * 24 + 9000), 0);
    assert_int_equal(tp_cursor_next(c, &w, &err), -TP_EINPUT);
    assert_string_equal(err.text, "the program file ends too early");
    tp_cursor_close(c);
    tp_program_release(p);
    assert_int_equal(tp_program_import(fd, &p, &err), TP_EINPUT);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was taken over */
    free_input(&in);
}

TEST(no_program_files)
{
    struct tp_program *p;
    struct tp_err err;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(tp_program_import(ends[0], &p, &err), TP_EINPUT);
    assert_null(p);
    assert_int_equal(fcntl(ends[0], F_GETFD), -1);
    close(ends[1]);
    assert_int_equal(tp_program_import(-1, &p, &err), TP_EIO);
    assert_int_equal(tp_program_import(open("/dev/null", O_RDONLY), &p, &err), TP_EINPUT);
    unsigned char zeros[4096] = {0};
    assert_int_equal(read_through(memory_file(zeros, sizeof zeros)), TP_EINPUT);
}
