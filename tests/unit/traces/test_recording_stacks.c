/* Call stacks of recordings: frames become places with their callers, functions are named where the
 * file is the one that was recorded, and bodies that are wrong give no place. */
#include "tests/unit/recording_rig.h"
#include "traces/places/place_table.h"
#include "traces/places/place_text.h"
#include "traces/symbols/symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#define A 0x5581c0de2a0
#define B 0x5581c0de2d0

static void module(struct file *f, int thread, uint64_t number, const void *id, size_t id_bytes,
                   const char *path)
{
    unsigned char body[1200], *at = tp_rec_put(tp_rec_put(body, number), id_bytes);
    memcpy(at, id, id_bytes);
    memcpy(at + id_bytes, path, strlen(path));
    put_more(f, thread, f->threads[thread].time, TP_MORE_MODULE, body,
             (size_t)(at - body) + id_bytes + strlen(path));
}

struct frame {
    uint64_t module, address; /* the module's number + 1 */
};

static void stack(struct file *f, int thread, const struct frame *frames, size_t count)
{
    unsigned char body[1200], *at = body;
    for (size_t i = 0; i < count; i++) {
        at = tp_rec_put(at, frames[i].module);
        at = tp_rec_put(at, tp_rec_zigzag(frames[i].address - (i ? frames[i - 1].address : 0)));
    }
    put_more(f, thread, f->threads[thread].time, TP_MORE_STACK, body, (size_t)(at - body));
}

/* "place < its caller < ..." of an event; "-": it has none. */
static const char *stack_of(const struct reading *r, uint64_t event)
{
    static char got[4000];
    const struct tp_place_table *t = r->places.ctx;
    struct tp_place_cursor c = {.table = t};
    const struct tp_place_item *item = NULL;
    snprintf(got, sizeof got, "-");
    assert_int_equal(tp_place_cursor_look(&c, event, &item, NULL), TP_OK);
    if (item && item->event == event) {
        snprintf(got, sizeof got, "%s", tp_place_table_get(t, item->text));
        for (uint32_t s = item->stack ? tp_place_table_stack(t, item->stack - 1)->caller : 0; s;
             s = tp_place_table_stack(t, s - 1)->caller)
            tp_append(got, sizeof got, " < %s",
                      tp_place_table_get(t, tp_place_table_stack(t, s - 1)->text));
    }
    return got;
}

static void expect_stack(const struct reading *r, uint64_t event, const char *expected)
{
    assert_string_equal(stack_of(r, event), expected);
}

static struct reading read_it(struct file *f)
{
    const struct importer_row row = {.text = f->bytes, .size = f->size};
    struct reading r = check_reading(&recording, &row);
    free(f);
    return r;
}

TEST(frames_become_places)
{
    struct file *f = begin_file(2);
    head_of(f)->stacks = 8;
    head_of(f)->stack_size = 4096;
    head_of(f)->stack_every = 100;
    module(f, 0, 0, "", 0, "/none/libone.so");
    module(f, 0, 1, "\x12\x34", 2, "/none/two");
    stack(f, 0, (const struct frame[]){{1, 0x10}, {1, 0x2000}, {2, 0x30}}, 3);
    alloc(f, 0, 1000, A, 24);
    alloc(f, 0, 1001, B, 24); /* without a stack */
    stack(f, 0, (const struct frame[]){{2, 0x40}, {0, 0x7f0000001234}, {9, 0x1}, {2, 0x30}}, 4);
    move(f, 0, 1002, 1, B, B + 64, 32);
    /* another thread numbers its modules by itself */
    module(f, 1, 0, "\x12\x34", 2, "/none/two");
    stack(f, 1, (const struct frame[]){{1, 0x50}}, 1);
    alloc(f, 1, 1010, B + 128, 5);
    struct reading r = read_it(f);
    expect_stack(&r, 1, "libone.so+0x10 < libone.so+0x2000 < two+0x30");
    expect_stack(&r, 2, "-");
    expect_stack(&r, 3, "two+0x40 < two+0x30");
    expect_stack(&r, 4, "two+0x50");
    const struct tp_place_sampling s = tp_place_table_sampling(r.places.ctx);
    assert_int_equal(s.size, 4096);
    assert_int_equal(s.every, 100);
    assert_non_null(strstr(r.meta.remarks, "3 call stacks: of each allocation of 4 KiB or more, "
                                           "and of one in 100 below that"));
    assert_non_null(strstr(r.meta.remarks, tp_symbols_built ? "no symbols for 2 files: not found"
                                                            : "without libdw"));
    forget(&r);
}

/* Bodies that are cut anywhere, and bytes of any kind: no place, or another one; never more. */
TEST(wrong_bodies)
{
    static const unsigned char good[] = {1, 0x20, 1, 0x80, 0x20, 0, 0xff, 0x7f};
    unsigned char body[TP_RECORDING_BODY];
    unsigned seed = 1;
    for (unsigned n = 0; n < 300; n++) {
        struct file *f = begin_file(1);
        head_of(f)->stacks = 8;
        size_t bytes = n < sizeof good ? n : n * 3u;
        for (size_t i = 0; i < bytes; i++)
            body[i] = n < sizeof good ? good[i]
                                      : (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
        module(f, 0, n % 2 ? 0 : UINT64_MAX, "", 0, "/none/libone.so");
        put_more(f, 0, f->threads[0].time, n % 3 ? TP_MORE_STACK : TP_MORE_MODULE, body, bytes);
        alloc(f, 0, 1000, A, 24);
        struct reading r = read_it(f);
        assert_int_equal(tp_program_facts(r.program)->events, 1);
        forget(&r);
    }
}

/* ---- functions ---- */

__attribute__((noinline)) static void known_function(void)
{
    __asm__ volatile("" ::: "memory");
}
enum { KNOWN_LINE = __LINE__ }; /* behind the function */

/* The build id of this program, from its own headers. */
static size_t own_id(uintptr_t bias, unsigned char *id)
{
    const ElfW(Ehdr) *e = (const void *)bias;
    const ElfW(Phdr) *p = (const void *)(bias + e->e_phoff);
    for (unsigned i = 0; i < e->e_phnum; i++) {
        const ElfW(Nhdr) *n = (const void *)(bias + p[i].p_vaddr);
        if (p[i].p_type != PT_NOTE)
            continue;
        for (const char *end = (const char *)n + p[i].p_memsz; (const char *)n < end;) {
            const unsigned char *desc = (const unsigned char *)(n + 1) + ((n->n_namesz + 3u) & ~3u);
            if (n->n_type == NT_GNU_BUILD_ID)
                return memcpy(id, desc, n->n_descsz) ? n->n_descsz : 0;
            n = (const void *)(desc + ((n->n_descsz + 3u) & ~3u));
        }
    }
    return 0;
}

/* By its line of code; in a build without debug information by its file. */
static void expect_known(const char *said, const char *file)
{
    char unit[1100];
    int nth = 0, read = 0;
    snprintf(unit, sizeof unit, "known_function (%s)", file);
    if (!TAPOOL_HAS_LINES)
        assert_string_equal(said, unit);
    else if (sscanf(said, "test_recording_stacks.c:%d known_function%n", &nth, &read) != 1 ||
             !read || nth >= KNOWN_LINE || nth < KNOWN_LINE - 6)
        fail_msg("%s", said);
}

TEST(functions_of_the_same_file)
{
    char path[1000] = "", line[1100];
    unsigned char id[64];
    Dl_info info;
    void (*function)(void) = known_function;
    void *at = NULL;
    memcpy(&at, &function, sizeof at);
    known_function();
    assert_true(dladdr(at, &info) && readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    uintptr_t bias = (uintptr_t)info.dli_fbase;
    size_t id_bytes = own_id(bias, id);
    if (!tp_symbols_built || !id_bytes)
        skip();
    const struct frame frame = {1, (uintptr_t)at - bias};
    for (int other = 0; other < 2; other++) {
        struct file *f = begin_file(1);
        head_of(f)->stacks = 8;
        id[0] = (unsigned char)(id[0] ^ other);
        module(f, 0, 0, id, id_bytes, path);
        stack(f, 0, &frame, 1);
        alloc(f, 0, 1000, A, 24);
        struct reading r = read_it(f);
        snprintf(line, sizeof line, "%s+0x%" PRIx64, strrchr(path, '/') + 1, frame.address);
        if (other)
            expect_stack(&r, 1, line);
        else
            expect_known(stack_of(&r, 1), strrchr(path, '/') + 1);
        assert_int_equal(!strstr(r.meta.remarks, "build ID differs"), !other);
        forget(&r);
    }
}

/* What is not a regular file, or not ELF, is not even read. */
TEST(no_program)
{
    static const char *const paths[] = {"/dev/zero", "/proc/self/environ", "/", "", "/etc/passwd"};
    struct tp_symbols *s = NULL;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(tp_symbols_open(paths[i], NULL, 0, &s), TP_SYMBOLS_MISSING);
        assert_null(s);
    }
}

TEST(texts)
{
    static const struct {
        struct tp_place_parts parts;
        const char *text;
    } rows[] = {
        {{"grow", "/src/parse.c", 7, "/lib/libp.so", 16}, "parse.c:7 grow"},
        {{"grow", NULL, 0, "/lib/libp.so", 16}, "grow (libp.so)"},
        {{"", "", 0, "/lib/libp.so", 0x1f3}, "libp.so+0x1f3"},
        {{NULL, NULL, 0, "libp.so", 0}, "libp.so"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        struct tp_str str = TP_STR_IN(text);
        tp_place_text(&rows[i].parts, &str);
        assert_string_equal(text, rows[i].text);
    }
    assert_int_equal(tp_place_role("operator new(unsigned long)"), TP_PLACE_PASSES_ON);
    assert_int_equal(tp_place_role("g_malloc"), TP_PLACE_PASSES_ON);
    static const char *const pass[] = {"AllocSetAlloc",
                                       "CRYPTO_zalloc",
                                       "PyObject_Malloc",
                                       "_PyMem_RawMalloc",
                                       "__libc_malloc",
                                       "Perl_safesysrealloc",
                                       "apr_palloc",
                                       "av_malloc",
                                       "je_calloc",
                                       "malloc",
                                       "ngx_palloc",
                                       "sqlite3DbMallocRawNN",
                                       "sqlite3MemMalloc",
                                       "ztrymalloc_usable_internal.part.0",
                                       "sqlite3Realloc.constprop.0",
                                       "CRYPTO_malloc@@OPENSSL_3.0.0",
                                       "zmalloc",
                                       "zrealloc",
                                       "xmalloc",
                                       "zstrdup"};
    for (size_t i = 0; i < sizeof pass / sizeof *pass; i++)
        if (tp_place_role(pass[i]) != TP_PLACE_PASSES_ON)
            fail_msg("%s asks", pass[i]);
    static const char *const ask[] = {"g_malloc_of_mine",    "zmalloc_get_rss",
                                      "sqlite3_mutex_alloc", "mallo",
                                      "PyList_New",          ".part.0"};
    for (size_t i = 0; i < sizeof ask / sizeof *ask; i++)
        if (tp_place_role(ask[i]) != TP_PLACE_ASKS)
            fail_msg("%s does not ask", ask[i]);
    assert_int_equal(tp_place_role(""), TP_PLACE_ASKS);
    assert_int_equal(tp_place_role("start_thread"), TP_PLACE_STARTS);
}
