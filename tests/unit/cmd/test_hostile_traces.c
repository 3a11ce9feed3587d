/* What every format must stand: damaged files. Each file of a format's fuzz corpus is a specimen;
 * those that read well are cut at every byte, changed at every byte and at random, and each time
 * the outcome is a program that reads back, or TP_EINPUT with one clean sentence. Specimens are
 * detected as what they are, and no two formats claim the same.
 *
 * A new format is here as soon as it is registered and has tests/fuzz/corpus/NAME (a dash in its
 * name is an underscore there); what differs from that is a line in `rows`.
 *
 * TAPOOL_SEED=N changes the random ones. TAPOOL_KEEP=FILE writes every input there before it is
 * read, so that after a crash the one that did it is left. */
#include "alloc/base/random.h"
#include "cmd/jobs/catalog.h"
#include "tests/unit/trace_fixture.h"
#include "traces/trace.h"

#include <ctype.h>
#include <dirent.h>
#include <unistd.h>

#define CORPUS    TAPOOL_ROOT "/tests/fuzz/corpus/"
#define NAME      "hostile.bin"
#define FILE_MAX  ((size_t)64 << 10)
#define FILES_MAX 64

/* A format. A sanitizer sees what is read beyond its end, and is many times as slow: fewer
 * positions in all but the smallest specimen, and the first random ones of the same series. */
#if defined(__SANITIZE_ADDRESS__)
#define MUTATIONS  1000
#define BEGINNINGS 100
#define SAMPLED    40
#else
#define MUTATIONS  20000
#define BEGINNINGS 2000
#define SAMPLED    250
#endif

/* Formats whose specimens lie elsewhere. */
static const struct row {
    const char *format, *folder;
} rows[] = {{"jsonl", "json"}};

struct specimen {
    char *name;
    unsigned char *data;
    size_t size;
    bool good; /* its format reads it */
};

struct specimens {
    const struct tp_format *format;
    struct specimen files[FILES_MAX];
    size_t count, good;
};

/* What is tried: for messages. */
struct trial {
    const struct tp_format *format;
    const char *specimen, *change;
    size_t at;
    bool strict;
};

/* ---- one trial ---- */

__attribute__((noreturn, format(printf, 2, 3))) static void fail_trial(const struct trial *t,
                                                                       const char *format, ...)
{
    char text[2 * TP_ERR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_msg("%s, specimen %s, %s %zu%s: %s\n  (TAPOOL_KEEP=FILE keeps the input)", t->format->name,
             t->specimen, t->change, t->at, t->strict ? ", strict" : "", text);
    exit(1); /* fail_msg does not come back */
}

static void must_be_clean(const struct trial *t, const char *text, bool lines)
{
    for (const char *c = text ? text : ""; *c; c++)
        if (((unsigned char)*c < 0x20 && !(lines && *c == '\n')) || *c == 0x7f)
            fail_trial(t, "a control character in: %s", text);
}

/* "hostile.bin:3: event 2" and what a place may be besides; the sentence begins behind it. */
static const char *behind_place(const char *text)
{
    static const char *const words[] = {"byte ", "event ", "before event "};
    const char *at = text + strlen(NAME);
    for (bool moved = true; moved;) {
        const char *from = at;
        while (*at == ':' || *at == ' ')
            at++;
        if (from < at && from[0] == ':')
            while (isdigit((unsigned char)*at))
                at++;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t length = strlen(words[i]);
            if (strncmp(at, words[i], length) != 0 || !isdigit((unsigned char)at[length]))
                continue;
            for (at += length; isdigit((unsigned char)*at) || *at == ',';)
                at++;
        }
        moved = at > from;
    }
    return at;
}

static void check_sentence(const struct trial *t, int rc, const struct tp_err *err)
{
    size_t length = strlen(err->text);
    if (rc != TP_EINPUT || err->status != TP_EINPUT)
        fail_trial(t, "status %d: %s", rc, err->text);
    must_be_clean(t, err->text, false);
    must_be_clean(t, err->hint, false);
    if (strncmp(err->text, NAME, strlen(NAME)) != 0)
        fail_trial(t, "the sentence does not begin with the file: %s", err->text);
    const char *said = behind_place(err->text);
    if (!*said)
        fail_trial(t, "the sentence says nothing: %s", err->text);
    if (isupper((unsigned char)said[0]) && islower((unsigned char)said[1]))
        fail_trial(t, "the sentence begins with a capital: %s", err->text);
    if (err->text[length - 1] == '.' && strcmp(err->text + length - 3, "...") != 0)
        fail_trial(t, "the sentence ends with a full stop: %s", err->text);
}

/* Every instruction once: the windows add up to what the facts say. */
static void check_program(const struct trial *t, struct tp_program *program)
{
    const struct tp_program_facts *facts = tp_program_facts(program);
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    uint64_t count = 0, event = 0;
    int more = 0;
    assert_int_equal(tp_cursor_open(program, &cursor, NULL), TP_OK);
    while ((more = tp_cursor_next(cursor, &w, NULL)) == 1) {
        for (uint32_t i = 0; i < w.count; i++) {
            if (tp_window_event(&w, i) < event)
                fail_trial(t, "events fall");
            event = tp_window_event(&w, i);
        }
        count += w.initial_heap ? 0 : w.count;
    }
    tp_cursor_close(cursor);
    if (more != 0 || count != facts->instructions || event > facts->events)
        fail_trial(t, "the program does not read back");
}

static void check_meta(const struct trial *t, const struct tp_meta *m)
{
    const char *const texts[] = {m->name,  m->program,  m->capture, m->settings,    m->unknown,
                                 m->space, m->left_out, m->nothing, m->nothing_hint};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        must_be_clean(t, texts[i], false);
    must_be_clean(t, m->remarks, true);
    if (!t->format->own && !m->capture)
        fail_trial(t, "it is read and does not say what it is");
}

/* A format whose files are programs as they stand finds some of what is wrong when it replays them.
 */
static int open_all(const struct trial *t, struct tp_input *in, struct tp_read_opts opts,
                    struct reading *r)
{
    struct tp_places places = {0};
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    opts.strict = t->strict;
    int rc = t->format->open(
        &(struct tp_reading){
            .in = in, .meta = &r->meta, .recorded = &r->recorded, .places = &places, .opts = &opts},
        &r->program, r->repairs, &r->err);
    if (rc == TP_OK)
        rc = tp_cursor_open(r->program, &cursor, &r->err);
    int more = rc == TP_OK;
    while (more == 1)
        more = tp_cursor_next(cursor, &w, &r->err);
    tp_cursor_close(cursor);
    if (places.release)
        places.release(places.ctx);
    return rc == TP_OK ? -more : rc;
}

static int read_all(const struct trial *t, const void *data, size_t size, struct reading *r)
{
    const struct tp_read_opts opts = {.device = -1, .max_memory = UINT64_C(64) << 20};
    struct tp_budget budget = {.limit = opts.max_memory};
    const struct tp_lower_cfg cfg = {
        .path = NAME, .strict = t->strict, .max_memory = opts.max_memory, .budget = &budget};
    struct tp_places places = {0};
    struct tp_input *in = NULL;
    struct tp_lower *lo = NULL;
    int rc = tp_input_memory(NAME, data, size, 0, &in, &r->err);
    if (rc == TP_OK && t->format->open) {
        rc = open_all(t, in, opts, r);
        tp_input_close(in);
        return rc;
    }
    if (rc == TP_OK)
        rc = tp_lower_new(&cfg, &lo, &r->err);
    if (rc == TP_OK)
        rc = t->format->read(
            &(struct tp_reading){in, lo, &r->meta, &r->recorded, &places, &opts, &budget}, &r->err);
    if (rc == TP_OK)
        rc = tp_lower_finish(lo, &r->program, r->repairs, &r->err);
    if (places.release)
        places.release(places.ctx);
    tp_lower_free(lo);
    tp_input_close(in);
    return rc;
}

static void keep(const void *data, size_t size)
{
    const char *path = getenv("TAPOOL_KEEP");
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (!f)
        return;
    fwrite(data, 1, size, f);
    fclose(f);
}

/* Reads bytes and checks the outcome; returns its status. The copy has exactly their size, so that
 * a sanitizer sees its end. */
static int attempt(struct trial t, const unsigned char *data, size_t size)
{
    struct reading r = {0};
    unsigned char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, data, size);
    keep(exact, size);
    for (size_t i = 0; tp_formats[i]; i++) {
        int score = tp_formats[i]->probe(exact, size);
        if (score < 0 || score > 100)
            fail_trial(&t, "%s gives the score %d", tp_formats[i]->name, score);
    }
    int rc = read_all(&t, exact, size, &r);
    if (rc == TP_OK) {
        check_program(&t, r.program);
        check_meta(&t, &r.meta);
    } else {
        check_sentence(&t, rc, &r.err);
    }
    forget(&r);
    free(exact);
    return rc;
}

/* ---- specimens ---- */

static struct row row_of(const struct tp_format *format, char *folder, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].format, format->name) == 0)
            return rows[i];
    snprintf(folder, size, "%s", format->name);
    for (char *c = folder; *c; c++)
        *c = (char)(*c == '-' ? '_' : *c);
    return (struct row){format->name, folder};
}

static void load_file(struct specimens *s, const char *folder, const char *name)
{
    char path[4096];
    struct specimen *f = &s->files[s->count];
    unsigned char *data = malloc(FILE_MAX);
    snprintf(path, sizeof path, CORPUS "%s/%s", folder, name);
    FILE *in = fopen(path, "rb");
    assert_non_null(data);
    assert_non_null(in);
    size_t size = fread(data, 1, FILE_MAX, in);
    fclose(in);
    if (size == 0) {
        free(data);
        return;
    }
    *f = (struct specimen){.name = strdup(name), .data = data, .size = size};
    const struct trial as_it_is = {s->format, name, "as it is", 0, false};
    f->good = attempt(as_it_is, f->data, f->size) == TP_OK;
    s->good += f->good;
    s->count++;
}

static int by_size(const void *a, const void *b)
{
    const struct specimen *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* All files of a format, the smallest first; at least one reads well. */
static struct specimens load(const struct tp_format *format)
{
    char folder[128], path[4096];
    struct specimens s = {.format = format};
    const struct row row = row_of(format, folder, sizeof folder);
    snprintf(path, sizeof path, CORPUS "%s", row.folder);
    DIR *dir = opendir(path);
    if (!dir)
        fail_msg("%s: no specimens: tests/fuzz/corpus/%s is missing", format->name, row.folder);
    for (const struct dirent *e = readdir(dir); e && s.count < FILES_MAX; e = readdir(dir))
        if (e->d_name[0] != '.')
            load_file(&s, row.folder, e->d_name);
    closedir(dir);
    qsort(s.files, s.count, sizeof *s.files, by_size);
    if (!s.good)
        fail_msg("%s: no specimen in tests/fuzz/corpus/%s reads well", format->name, row.folder);
    return s;
}

static void unload(struct specimens *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->files[i].name);
        free(s->files[i].data);
    }
}

/* The n-th of those that read well. */
static const struct specimen *good_one(const struct specimens *s, size_t n)
{
    for (size_t i = 0;; i++)
        if (s->files[i].good && n-- == 0)
            return &s->files[i];
}

/* ---- detection ---- */

static void check_scores(const struct tp_format *own, const struct specimen *f)
{
    const struct tp_format *best = NULL;
    int score = 0, own_score = own->probe(f->data, f->size);
    for (size_t i = 0; tp_formats[i]; i++) {
        int n = tp_formats[i]->probe(f->data, f->size);
        if (n > 0 && n == score)
            fail_msg("%s, specimen %s: %s and %s both claim it with %d", own->name, f->name,
                     best->name, tp_formats[i]->name, n);
        if (n > score) {
            score = n;
            best = tp_formats[i];
        }
    }
    if (f->good && best != own && (best || own_score))
        fail_msg("%s, specimen %s: detected as %s", own->name, f->name, best->name);
}

/* Through the front door, as a file. */
static bool check_open(const struct tp_format *own, const struct specimen *f)
{
    char path[] = "/tmp/tapool-hostile-XXXXXX";
    struct tp_err err = {0};
    struct tp_trace t;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, f->data, f->size), f->size);
    close(fd);
    const struct tp_trace_cfg cfg = {
        .path = path, .formats = tp_formats, .read = {.device = -1}, .allow_empty = true};
    int rc = tp_trace_open(&cfg, &t, &err);
    unlink(path);
    if (rc == TP_OK && strcmp(t.format, own->name) != 0)
        fail_msg("%s, specimen %s: opened as %s", own->name, f->name, t.format);
    if (rc != TP_OK && rc != TP_EINPUT)
        fail_msg("%s, specimen %s: status %d: %s", own->name, f->name, rc, err.text);
    if (rc == TP_OK)
        tp_trace_close(&t);
    return rc == TP_OK;
}

TEST(test_detection)
{
    for (size_t i = 0; tp_formats[i]; i++) {
        struct specimens s = load(tp_formats[i]);
        size_t opened = 0;
        for (size_t k = 0; k < s.count; k++) {
            check_scores(s.format, &s.files[k]);
            if (s.files[k].good)
                opened += check_open(s.format, &s.files[k]);
        }
        if (!opened)
            fail_msg("%s: no specimen is opened without being told its format", s.format->name);
        unload(&s);
    }
}

/* ---- damage in one place ---- */

struct random {
    uint64_t state;
};

static uint64_t seed(void)
{
    const char *given = getenv("TAPOOL_SEED");
    return given ? strtoull(given, NULL, 10) : 20240229;
}

/* splitmix64 */
static uint64_t next(struct random *r)
{
    return tp_random_split(&r->state);
}

static size_t below(struct random *r, size_t limit)
{
    return limit ? (size_t)(next(r) % limit) : 0;
}

static void damage_each(const struct tp_format *format, const struct specimen *f, size_t step,
                        struct random *random)
{
    unsigned char *copy = malloc(f->size);
    assert_non_null(copy);
    memcpy(copy, f->data, f->size);
    for (size_t at = 0; at < f->size; at += step) {
        const unsigned char values[] = {0, 0xff, '\n', (unsigned char)next(random)};
        attempt((struct trial){format, f->name, "cut at", at, false}, f->data, at);
        for (size_t i = 0; i < sizeof values; i++) {
            copy[at] = values[i];
            attempt((struct trial){format, f->name, "another byte at", at, i & 1}, copy, f->size);
        }
        copy[at] = f->data[at];
    }
    free(copy);
}

TEST(test_every_byte)
{
    struct random random = {seed()};
    for (size_t i = 0; tp_formats[i]; i++) {
        struct specimens s = load(tp_formats[i]);
        for (size_t k = 0; k < s.good; k++) {
            const struct specimen *f = good_one(&s, k);
            size_t step = k == 0 || f->size < SAMPLED ? 1 : f->size / SAMPLED;
            damage_each(s.format, f, step, &random);
        }
        unload(&s);
    }
}

/* ---- damage in many places ---- */

struct buffer {
    unsigned char data[2 * FILE_MAX];
    size_t size;
};

static void splice(struct buffer *b, size_t at, const unsigned char *from, size_t count)
{
    if (b->size + count > sizeof b->data)
        return;
    memmove(b->data + at + count, b->data + at, b->size - at);
    memmove(b->data + at, from, count);
    b->size += count;
}

static void remove_bytes(struct buffer *b, size_t at, size_t count)
{
    memmove(b->data + at, b->data + at + count, b->size - at - count);
    b->size -= count;
}

/* Numbers that readers get wrong, as text and as bytes. */
static void insert_number(struct buffer *b, size_t at, struct random *r)
{
    static const char *const texts[] = {
        "0",     "-1", "4294967296",  "9223372036854775807", "18446744073709551616",
        "1e400", "0x", "999999999999"};
    static const uint64_t words[] = {0, UINT64_MAX, INT64_MAX, UINT32_MAX, INT32_MAX, 1u << 31};
    if (next(r) & 1) {
        const char *text = texts[below(r, sizeof texts / sizeof *texts)];
        splice(b, at, (const unsigned char *)text, strlen(text));
        return;
    }
    size_t width = (size_t)1 << below(r, 4);
    uint64_t word = words[below(r, sizeof words / sizeof *words)];
    if (at + width <= b->size)
        memcpy(b->data + at, &word, width);
}

static void mutate(struct buffer *b, const struct specimen *other, struct random *r)
{
    size_t at = below(r, b->size), left = b->size - at;
    size_t count = 1 + below(r, left < 64 ? left : 64);
    unsigned char chunk[64];
    if (b->size < 2)
        return;
    switch (below(r, 8)) {
    case 0:
        b->data[at] = (unsigned char)next(r);
        break;
    case 1:
        b->data[at] ^= (unsigned char)(1u << below(r, 8));
        break;
    case 2:
        remove_bytes(b, at, count < b->size ? count : 1);
        break;
    case 3:
        memcpy(chunk, b->data + at, count);
        splice(b, below(r, b->size), chunk, count);
        break;
    case 4:
        insert_number(b, at, r);
        break;
    case 5: {
        size_t from = below(r, other->size), most = other->size - from;
        splice(b, at, other->data + from, 1 + below(r, most < 64 ? most : 64));
        break;
    }
    case 6:
        memset(b->data + at, (int)(next(r) & 0xff), count);
        break;
    default:
        b->size = next(r) % 8 ? b->size : at + 1;
    }
}

TEST(test_mutations)
{
    struct buffer *b = malloc(sizeof *b);
    assert_non_null(b);
    print_message("seed %" PRIu64 "\n", seed());
    for (size_t i = 0; tp_formats[i]; i++) {
        struct specimens s = load(tp_formats[i]);
        struct random random = {seed()};
        size_t read = 0;
        for (size_t n = 0; n < MUTATIONS; n++) {
            const struct specimen *f = good_one(&s, below(&random, s.good));
            memcpy(b->data, f->data, f->size);
            b->size = f->size;
            for (size_t left = 1 + below(&random, 1 + below(&random, 8)); left > 0; left--)
                mutate(b, good_one(&s, below(&random, s.good)), &random);
            const struct trial t = {s.format, f->name, "mutation", n, n % 4 == 0};
            read += attempt(t, b->data, b->size) == TP_OK;
        }
        print_message("%s: %zu of %d mutations of %zu specimens still read\n", s.format->name, read,
                      MUTATIONS, s.good);
        unload(&s);
    }
    free(b);
}

/* The beginning of a good file, and nonsense behind it. */
TEST(test_good_beginning)
{
    static const size_t kept[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096};
    unsigned char noise[8192];
    struct random random = {seed()};
    for (size_t i = 0; tp_formats[i]; i++) {
        struct specimens s = load(tp_formats[i]);
        for (size_t n = 0; n < BEGINNINGS; n++) {
            const struct specimen *f = good_one(&s, n % s.good);
            size_t head = kept[n % (sizeof kept / sizeof *kept)];
            size_t size = head + 1 + below(&random, n % 16 ? 300 : 4000);
            for (size_t k = 0; k < size; k++)
                noise[k] = (unsigned char)next(&random);
            memcpy(noise, f->data, head < f->size ? head : f->size);
            attempt((struct trial){s.format, f->name, "nonsense, number", n, false}, noise, size);
        }
        unload(&s);
    }
}

/* ---- text as other systems write it ---- */

static bool is_text(const struct specimen *f)
{
    for (size_t i = 0; i < f->size; i++)
        if (f->data[i] == 0x7f || (f->data[i] < 0x20 && !strchr("\t\n\r", f->data[i])) ||
            !f->data[i])
            return false;
    return true;
}

static void rewrite(const struct specimen *f, const char *mark, const char *line_end,
                    struct buffer *b)
{
    b->size = strlen(mark);
    memcpy(b->data, mark, b->size);
    for (size_t i = 0; i < f->size; i++) {
        if (f->data[i] == '\n')
            splice(b, b->size, (const unsigned char *)line_end, strlen(line_end));
        else
            b->data[b->size++] = f->data[i];
    }
}

TEST(test_text)
{
    static const char *const marks[] = {"", "\xef\xbb\xbf", "\xff\xfe", "\n", " "};
    static const char *const ends[] = {"\r\n", "\n", "\r", "\n\n", ""};
    struct buffer *b = malloc(sizeof *b);
    assert_non_null(b);
    for (size_t i = 0; tp_formats[i]; i++) {
        struct specimens s = load(tp_formats[i]);
        for (size_t n = 0; n < s.good * 25; n++) {
            const struct specimen *f = good_one(&s, n / 25);
            if (!is_text(f))
                continue;
            rewrite(f, marks[n / 5 % 5], ends[n % 5], b);
            attempt((struct trial){s.format, f->name, "form of text", n % 25, false}, b->data,
                    b->size);
        }
        unload(&s);
    }
    free(b);
}
