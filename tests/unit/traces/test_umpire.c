/* Umpire's replay logs: real ones, and every line that can be wrong. */
#include "tests/unit/trace_fixture.h"

extern const struct tp_format tp_format_umpire;

#define MADE(ref, name)                                                                            \
    "{\"category\":\"operation\",\"name\":\"make_memory_resource\",\"numeric_args\":"              \
    "{\"introspection\":1},\"string_args\":{\"allocator_ref\":\"" ref "\"},"                       \
    "\"tags\":{\"allocator_name\":\"" name "\",\"replay\":\"true\"},\"timestamp\":100}\n"
#define POOL(ref, name, base)                                                                      \
    "{\"category\":\"operation\",\"name\":\"make_allocator\",\"numeric_args\":"                    \
    "{\"introspection\":1},\"string_args\":{\"allocator_ref\":\"" ref "\",\"arg0\":\"" base        \
    "\",\"type\":\"N6umpire8strategy9QuickPoolE\"},"                                               \
    "\"tags\":{\"allocator_name\":\"" name "\"},\"timestamp\":101}\n"
#define ALLOC(ref, ptr, size, time)                                                                \
    "{\"category\":\"operation\",\"name\":\"allocate\",\"numeric_args\":{\"size\":" size           \
    "},\"string_args\":{\"allocator_ref\":\"" ref "\",\"pointer\":\"" ptr                          \
    "\"},\"tags\":{\"replay\":\"true\"},\"timestamp\":" time "}\n"
#define FREE(ref, ptr, time)                                                                       \
    "{\"category\":\"operation\",\"name\":\"deallocate\",\"string_args\":{\"allocator_ref\":"      \
    "\"" ref "\",\"pointer\":\"" ptr "\"},\"tags\":{\"replay\":\"true\"},\"timestamp\":" time      \
    "}\n"
#define REALLOC(ref, ptr, size)                                                                    \
    "{\"category\":\"operation\",\"name\":\"reallocate\",\"numeric_args\":{\"size\":" size         \
    "},\"string_args\":{\"allocator_ref\":\"" ref "\",\"current_ptr\":\"" ptr                      \
    "\"},\"tags\":{},\"timestamp\":200}\n"
#define REALLOCED(ref, ptr)                                                                        \
    "{\"category\":\"operation\",\"name\":\"reallocate\",\"numeric_args\":{},\"string_args\":"     \
    "{\"allocator_ref\":\"" ref "\",\"new_ptr\":\"" ptr "\"},\"tags\":{},\"timestamp\":210}\n"
#define OTHER(name, args, tags)                                                                    \
    "{\"category\":\"operation\",\"name\":\"" name "\",\"numeric_args\":{},\"string_args\":{" args \
    "},\"tags\":{" tags "},\"timestamp\":300}\n"

static struct reading read_space(const char *text, const char *space)
{
    struct tp_input *in = NULL;
    assert_int_equal(tp_input_memory("x.json", text, strlen(text), 0, &in, NULL), TP_OK);
    struct reading r = read_input_as(&tp_format_umpire, in, false,
                                     &(struct tp_read_opts){.space = space, .device = -1});
    tp_input_close(in);
    return r;
}

/* The program of a log, and that nothing had to be repaired. */
static void expect(const char *text, const char *space, const char *program)
{
    char got[4096];
    struct reading r = read_space(text, space);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, program);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(i == TP_REPAIR_ZERO_SIZE ? 0 : r.repairs[i], 0);
    forget(&r);
}

/* ---- real logs ---- */

static int read_file(const char *path, const char *space, struct reading *r)
{
    struct tp_input *in = NULL;
    if (tp_input_open(path, 0, NULL, &in, &r->err) != TP_OK)
        return -1;
    *r = read_input_as(&tp_format_umpire, in, false,
                       &(struct tp_read_opts){.space = space, .device = -1});
    tp_input_close(in);
    if (r->rc != TP_OK)
        fail_msg("%s", r->err.text);
    return 0;
}

static void test_form_of_2019(void **state)
{
    (void)state;
    struct reading r = {0};
    assert_int_equal(read_file(TAPOOL_ROOT "/tests/data/umpire/tut_replay_log.json", NULL, &r), 0);
    const struct tp_program_facts *f = tp_program_facts(r.program);
    assert_int_equal(f->events, 128);
    assert_int_equal(f->ops[TP_ALLOC], 64);
    assert_int_equal(f->ops[TP_FREE], 64);
    assert_int_equal(f->live_at_end, 0);
    assert_int_equal(tp_program_demand(r.program, 0)->bytes, 32880); /* 32.11 KiB */
    assert_int_equal(r.repairs[TP_REPAIR_ZERO_SIZE],
                     1); /* a block of 0 bytes, at the address ... */
    assert_int_equal(r.repairs[TP_REPAIR_DOUBLE_ALLOC], 1); /* ... of the next one */
    assert_int_equal(r.repairs[TP_REPAIR_UNKNOWN_FREE], 1);
    assert_string_equal(r.meta.capture, "Umpire 0.3.3 replay log");
    assert_string_equal(r.meta.space, "pool");
    assert_string_equal(r.meta.settings, "the allocator is a QuickPool");
    assert_string_equal(r.meta.unknown, "threads, streams, alignment");
    assert_null(r.meta.left_out);
    assert_null(r.meta.remarks);
    assert_int_equal(r.meta.kind, TP_KIND_HOST);
    forget(&r);
}

static void test_form_of_2022(void **state)
{
    (void)state;
    struct reading r = {0};
    assert_int_equal(read_file(TAPOOL_ROOT "/tests/data/umpire/output-head.replay", NULL, &r), 0);
    const struct tp_program_facts *f = tp_program_facts(r.program);
    assert_string_equal(r.meta.capture, "Umpire 2022.3.1 replay log");
    assert_string_equal(r.meta.space, "HOST");
    assert_int_equal(f->ops[TP_ALLOC], f->ops[TP_FREE]);
    assert_int_equal(f->live_at_end, 0);
    assert_true(f->time_known);
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        assert_int_equal(i == TP_REPAIR_ZERO_SIZE ? 0 : r.repairs[i], 0);
    forget(&r);
}

/* Logs of the corpus: what is allocated in each is freed, and nothing is repaired. */
static void test_corpus(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        uint32_t devices;
        uint64_t allocs; /* 177, 183 and 382 less those inside pairs, 4 of 5 of which come back */
        uint64_t reallocs;
    } logs[] = {{"output.replay", 49, 177 - 15 + 6 + 9, 27},
                {"output.numa.replay", 51, 183 - 15 + 6 + 9, 27},
                {"output.omp.replay", 98, 382 - 57 + 12 + 18, 54}};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char path[512];
        struct reading r = {0};
        const char *shared = getenv("TAPOOL_SHARED");
        snprintf(path, sizeof path, "%s/corpus/umpire/%s",
                 shared ? shared : TAPOOL_ROOT "/../shared", logs[i].file);
        if (read_file(path, "all", &r) != 0) {
            print_message("no %s: skipped\n", path);
            skip();
        }
        const struct tp_program_facts *f = tp_program_facts(r.program);
        assert_int_equal(f->devices, logs[i].devices);
        assert_int_equal(f->ops[TP_ALLOC], logs[i].allocs);
        assert_int_equal(f->ops[TP_FREE], logs[i].allocs);
        assert_int_equal(f->ops[TP_REALLOC], logs[i].reallocs);
        assert_int_equal(r.repairs[TP_REPAIR_UNKNOWN_FREE], 0);
        assert_int_equal(r.repairs[TP_REPAIR_DOUBLE_ALLOC], 0);
        assert_int_equal(f->live_at_end, 0);
        assert_non_null(r.meta.remarks);
        forget(&r);
    }
}

/* ---- lines ---- */

static void test_same_address_in_two_allocators(void **state)
{
    (void)state;
    static const char log[] = MADE("0x1", "HOST") POOL("0x2", "pool", "HOST")
        ALLOC("0x1", "0x90", "4096", "110") ALLOC("0x2", "0x90", "32", "120")
            FREE("0x2", "0x90", "130") ALLOC("0x2", "0x90", "48", "140") FREE("0x1", "0x90", "150");
    expect(log, NULL, "alloc 0 4096 a4 +10 @1; free 0 4096 a4 +40 @2; ");
    expect(log, "pool", "alloc 0 32 a4 +20 @1; free 0 32 a4 +10 @2; alloc 0 48 a4 +10 @3; ");
    expect(log, "all",
           "alloc 0 4096 a4 +10 @1; alloc 1 32 a4 s1 d1 +10 @2; free 1 32 a4 s1 d1 +10 @3; "
           "alloc 1 48 a4 s1 d1 +10 @4; free 0 4096 a4 +10 @5; ");
}

static void test_reallocate(void **state)
{
    (void)state;
    /* in place, and then moved by an allocation, a copy and a free */
    expect(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110") REALLOC("0x1", "0x10", "12")
               REALLOCED("0x1", "0x10") REALLOC("0x1", "0x10", "36")
                   ALLOC("0x1", "0x90", "36", "203") FREE("0x1", "0x10", "204")
                       REALLOCED("0x1", "0x90") FREE("0x1", "0x90", "220"),
           NULL,
           "alloc 0 8 a4 +10 @1; realloc 0 12 a4 +100 @2; realloc 0 36 a4 @3; "
           "free 0 36 a4 +10 @4; ");
    /* of nothing */
    expect(MADE("0x1", "HOST") REALLOC("0x1", "0", "8") ALLOC("0x1", "0x10", "8", "205")
               REALLOCED("0x1", "0x10") FREE("0x1", "0x10", "220"),
           NULL, "alloc 0 8 a4 +110 @1; free 0 8 a4 +10 @2; ");
    /* to nothing: a free and a block of 0 bytes */
    expect(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110") REALLOC("0x1", "0x10", "0")
               FREE("0x1", "0x10", "201") ALLOC("0x1", "0x20", "0", "202") REALLOCED("0x1", "0x20")
                   FREE("0x1", "0x20", "220"),
           NULL, "alloc 0 8 a4 +10 @1; free 0 8 a4 +100 @2; alloc 0 1 a4 @3; free 0 1 a4 +10 @4; ");
    /* what others do in the meantime is theirs */
    expect(MADE("0x1", "HOST") MADE("0x2", "PINNED") ALLOC("0x1", "0x10", "8", "110")
               REALLOC("0x1", "0x10", "12") ALLOC("0x1", "0x50", "100", "201")
                   ALLOC("0x2", "0x10", "12", "202") FREE("0x1", "0x50", "203")
                       REALLOCED("0x1", "0x10") FREE("0x2", "0x10", "215"),
           "all",
           "alloc 0 8 a4 +10 @1; alloc 1 100 a4 +91 @2; alloc 2 12 a4 s1 d1 +1 @3; "
           "free 1 100 a4 +1 @4; realloc 0 12 a4 +7 @5; free 2 12 a4 s1 d1 +5 @6; ");
}

/* To where another block still is, whose free is missing: that one does not live on unseen. */
static void test_reallocate_onto(void **state)
{
    (void)state;
    char got[4096];
    struct reading r = read_space(
        MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110") ALLOC("0x1", "0x90", "100", "111")
            REALLOC("0x1", "0x10", "36") REALLOCED("0x1", "0x90") FREE("0x1", "0x90", "220"),
        NULL);
    assert_int_equal(r.rc, TP_OK);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, "alloc 0 8 a4 +10 @1; alloc 1 100 a4 +1 @2; free 0 8 a4 +99 @3; "
                             "free 1 100 a4 @3; alloc 1 36 a4 @3; free 1 36 a4 +10 @4; ");
    assert_int_equal(r.repairs[TP_REPAIR_DOUBLE_ALLOC], 1);
    assert_int_equal(tp_program_facts(r.program)->live_at_end, 0);
    forget(&r);
}

/* Everything else has a number and makes nothing; without an allocator it has none. */
static void test_other_lines(void **state)
{
    (void)state;
    expect(MADE("0x1", "HOST") OTHER("set_default_allocator", "\"allocator_ref\":\"0x1\"", "")
               OTHER("coalesce", "", "\"allocator_name\":\"HOST\"")
                   OTHER("copy", "\"src\":\"0x5\",\"dst_allocator_ref\":\"0x1\"", "")
                       OTHER("deregister_external_allocation", "", "")
                           OTHER("release", "\"allocator_ref\":\"0x77\"", "")
                               ALLOC("0x1", "0x10", "8", "310") FREE("0x1", "0", "311"),
           NULL, "alloc 0 8 a4 +210 @4; ");
    struct reading r = read_space(
        MADE("0x1", "HOST") "{\"category\":\"statistic\",\"name\":\"allocate\","
                            "\"numeric_args\":{\"size\":1},\"string_args\":{},\"timestamp\":1}\n",
        NULL);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.nothing, "no allocator of this log allocated anything");
    assert_non_null(r.meta.nothing_hint);
    forget(&r);
}

static void test_named_allocate(void **state)
{
    (void)state;
    expect(
        "\xef\xbb\xbf" MADE(
            "0x1",
            "HOST") "{\"timestamp\":105,\"string_args\":{\"allocation_name\":\"a\\\"b\","
                    "\"pointer\":"
                    "\"0x10\",\"allocator_ref\":\"0x1\"},\"name\":\"named_allocate\",\"tags\":{},"
                    "\"numeric_args\":{\"size\":64},\"category\":\"operation\"}\r\n"
                    "\r\n" FREE("0x1", "0x10", "106"),
        NULL, "alloc 0 64 a4 +5 @1; free 0 64 a4 +1 @2; ");
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        enum tp_kind kind;
    } cases[] = {
        {MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110"), TP_KIND_HOST},
        {MADE("0x1", "PINNED") ALLOC("0x1", "0x10", "8", "110"), TP_KIND_HOST},
        {MADE("0x1", "FILE") ALLOC("0x1", "0x10", "8", "110"), TP_KIND_HOST},
        {MADE("0x1", "UMBRELLA") ALLOC("0x1", "0x10", "8", "110"), TP_KIND_HOST},
        {MADE("0x1", "DEVICE") ALLOC("0x1", "0x10", "8", "110"), TP_KIND_DEVICE},
        {MADE("0x1", "DEVICE::3") ALLOC("0x1", "0x10", "8", "110"), TP_KIND_DEVICE},
        {MADE("0x1", "UM") ALLOC("0x1", "0x10", "8", "110"), TP_KIND_DEVICE},
        {MADE("0x1", "DEVICE") POOL("0x2", "p", "DEVICE") POOL("0x3", "q", "p")
             ALLOC("0x3", "0x10", "8", "110"),
         TP_KIND_DEVICE},
        {POOL("0x2", "p", "DEVICE_CONST") ALLOC("0x2", "0x10", "8", "110"), TP_KIND_DEVICE},
        {ALLOC("0x3", "0x10", "8", "110"), TP_KIND_HOST}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_space(cases[i].log, NULL);
        assert_int_equal(r.rc, TP_OK);
        assert_int_equal(r.meta.kind, cases[i].kind);
        assert_int_equal(tp_program_facts(r.program)->kind, cases[i].kind);
        forget(&r);
    }
}

/* An address that a second allocator gets is another allocator; without `make` it has no name. */
static void test_allocator_names(void **state)
{
    (void)state;
    static const char log[] =
        POOL("0x2", "pool", "HOST") ALLOC("0x2", "0x10", "8", "110") POOL("0x2", "pool", "HOST")
            ALLOC("0x2", "0x10", "16", "120") ALLOC("0xab", "0x10", "4", "130");
    expect(log, "pool", "alloc 0 8 a4 +9 @1; ");
    expect(log, "pool#2", "alloc 0 16 a4 +19 @1; ");
    expect(log, "allocator 0xab", "alloc 0 4 a4 +29 @1; ");
}

static void test_old_reallocate(void **state)
{
    (void)state;
#define OLD(event, payload, rest)                                                                  \
    "{ \"kind\":\"replay\", \"uid\":7, \"timestamp\":5, \"event\": \"" event                       \
    "\", \"payload\": { \"allocator_ref\": \"0x1\"" payload " }" rest " }\n"
    expect(OLD("allocate", ", \"size\": 8", "") OLD("allocate", ", \"size\": 8",
                                                    ", \"result\": { \"memory_ptr\": \"0x10\" }")
               OLD("reallocate", ", \"ptr\": \"0x10\", \"size\": 20", "") OLD("allocate",
                                                                              ", \"size\": 20", "")
                   OLD("allocate", ", \"size\": 20", ", \"result\": { \"memory_ptr\": \"0x30\" }")
                       OLD("deallocate", ", \"memory_ptr\": \"0x10\"", "")
                           OLD("reallocate", ", \"ptr\": \"0x10\", \"size\": 20",
                               ", \"result\": { \"memory_ptr\": \"0x30\" }") OLD("coalesce", "", "")
                               OLD("deallocate", ", \"memory_ptr\": \"0x30\"", ""),
           NULL, "alloc 0 8 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @4; ");
}

/* From version 2.1 to 6.0: no allocator in the two lines of a reallocate, and a form that has it.
 */
#define LINE(event, payload, rest)                                                                 \
    "{ \"kind\":\"replay\", \"uid\":7, \"timestamp\":5, \"event\": \"" event                       \
    "\", \"payload\": { " payload " }" rest " }\n"
#define OLD_MADE(ref, name)                                                                        \
    LINE("makeMemoryResource", "\"name\": \"" name "\"", ", \"result\": \"" ref "\"")
#define OLD_ALLOC(ref, ptr, size)                                                                  \
    LINE("allocate", "\"allocator_ref\": \"" ref "\", \"size\": " size, "")                        \
    LINE("allocate", "\"allocator_ref\": \"" ref "\", \"size\": " size,                            \
         ", \"result\": { \"memory_ptr\": \"" ptr "\" }")
#define OLD_FREE(ref, ptr)                                                                         \
    LINE("deallocate", "\"allocator_ref\": \"" ref "\", \"memory_ptr\": \"" ptr "\"", "")
#define BEGIN(ptr, size) LINE("reallocate", "\"ptr\": \"" ptr "\", \"size\": " size, "")
#define END(ptr, size, moved)                                                                      \
    LINE("reallocate", "\"ptr\": \"" ptr "\", \"size\": " size,                                    \
         ", \"result\": { \"memory_ptr\": \"" moved "\" }")

static void test_reallocate_without_allocator(void **state)
{
    (void)state;
    /* moved by realloc(3), which no other line shows; moved by three lines; where it is */
    expect(OLD_MADE("0x1", "HOST") OLD_ALLOC("0x1", "0x10", "8") BEGIN("0x10", "20")
               END("0x10", "20", "0x30") OLD_FREE("0x1", "0x30"),
           NULL, "alloc 0 8 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @3; ");
    expect(OLD_MADE("0x1", "DEVICE") OLD_ALLOC("0x1", "0x10", "8") BEGIN("0x10", "20")
               OLD_ALLOC("0x1", "0x30", "20") OLD_FREE("0x1", "0x10") END("0x10", "20", "0x30")
                   BEGIN("0x30", "24") END("0x30", "24", "0x30") OLD_FREE("0x1", "0x30"),
           NULL, "alloc 0 8 a8 @1; realloc 0 20 a8 @2; realloc 0 24 a8 @3; free 0 24 a8 @4; ");
    /* the one that had the address last: the pool, whose first block is at that of its chunk */
    static const char two[] = OLD_MADE("0x1", "HOST") OLD_MADE("0x2", "pool")
        OLD_ALLOC("0x1", "0x10", "64") OLD_ALLOC("0x2", "0x10", "8") BEGIN("0x10", "9")
            OLD_ALLOC("0x2", "0x18", "9") OLD_FREE("0x2", "0x10") END("0x10", "9", "0x18")
                OLD_FREE("0x2", "0x18") OLD_FREE("0x1", "0x10");
    expect(two, "pool", "alloc 0 8 a4 @1; realloc 0 9 a4 @2; free 0 9 a4 @3; ");
    expect(two, "HOST", "alloc 0 64 a4 @1; free 0 64 a4 @2; ");
    /* of nothing: the allocation that follows is the event; to nothing */
    expect(OLD_MADE("0x1", "HOST") BEGIN("0", "8") OLD_ALLOC("0x1", "0x10", "8")
               END("0", "8", "0x10") BEGIN("0x10", "0") OLD_FREE("0x1", "0x10")
                   OLD_ALLOC("0x1", "0x20", "0") END("0x10", "0", "0x20"),
           NULL, "alloc 0 8 a4 @1; free 0 8 a4 @2; alloc 0 1 a4 @3; ");
    /* with its allocator, under another name */
    expect(OLD_MADE("0x1", "HOST") OLD_ALLOC("0x1", "0x10", "8") LINE(
               "reallocate_ex", "\"ptr\": \"0x10\", \"size\": 20, \"allocator_ref\": \"0x1\"", "")
               LINE("reallocate_ex", "\"ptr\": \"0x10\", \"size\": 20, \"allocator_ref\": \"0x1\"",
                    ", \"result\": { \"memory_ptr\": \"0x30\" }") OLD_FREE("0x1", "0x30"),
           NULL, "alloc 0 8 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @3; ");
}

/* Of a block that the log does not have: nobody knows whose it is, and that is said. */
static void test_reallocate_of_the_unknown(void **state)
{
    (void)state;
    char got[4096];
    struct reading r = read_space(LINE("version", "\"major\":5, \"minor\":0, \"patch\":1", "")
                                      OLD_MADE("0x1", "HOST") OLD_ALLOC("0x1", "0x10", "8")
                                          BEGIN("0x77", "20") END("0x77", "20", "0x30"),
                                  NULL);
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    write_program(r.program, got, sizeof got);
    assert_string_equal(got, "alloc 0 8 a4 @1; ");
    assert_string_equal(r.meta.capture, "Umpire 5.0.1 replay log");
    assert_string_equal(r.meta.remarks, "1 reallocation of a block that the log does not have "
                                        "left out.");
    forget(&r);
    r = read_space(LINE("reallocate", "\"ptr\": \"0x10\"", ""), NULL);
    assert_int_equal(r.rc, TP_EINPUT);
    forget(&r);
}

static void test_versions(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"\"major\":0, \"minor\":3, \"patch\":3", "Umpire 0.3.3 replay log"},
        {"\"major\":\"x\", \"minor\":3, \"patch\":3", "Umpire replay log"},
        {"\"major\":1, \"minor\":3", "Umpire replay log"},
        {"\"major\":18446744073709551615, \"minor\":18446744073709551615, "
         "\"patch\":18446744073709551615",
         "Umpire replay log"},
        {"\"major\":-1, \"minor\":3, \"patch\":3", "Umpire replay log"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int form = 0; form < 2; form++) {
            char text[2000];
            snprintf(text, sizeof text,
                     form ? "{\"category\":\"metadata\",\"name\":\"version\",\"numeric_args\":{%s},"
                            "\"string_args\":{},\"tags\":{},\"timestamp\":1}\n%s"
                          : "{\"kind\":\"replay\",\"uid\":7,\"timestamp\":5,\"event\":\"version\","
                            "\"payload\":{%s}}\n%s",
                     rows[i][0],
                     form ? ALLOC("0x1", "0x10", "8", "110") : OLD_ALLOC("0x1", "0x10", "8"));
            struct reading r = read_space(text, NULL);
            if (r.rc != TP_OK)
                fail_msg("%s: %s", text, r.err.text);
            assert_string_equal(r.meta.capture, rows[i][1]);
            forget(&r);
        }
    }
}

static void test_left_out_lines(void **state)
{
    (void)state;
    struct reading r = read_space(
        "Hello from rank 0\n" OLD("deallocate", ", \"memory_ptr\": \"0x30\"", "") OLD(
            "allocate", ", \"size\": 8",
            ", \"result\": { \"memory_ptr\": \"0x10\" }") "# a comment\n{\"kind\":\"statistic\"}\n"
                                                          "{ \"kind\":\"replay\", \"uid\":8, "
                                                          "\"event\": \"allocate\", \"payload\": { "
                                                          "} }\n",
        NULL);
    assert_int_equal(r.rc, TP_OK);
    assert_string_equal(r.meta.remarks, "2 lines that are no events of Umpire left out.\n"
                                        "1 line of other processes left out.");
    assert_int_equal(tp_program_facts(r.program)->events, 2);
    assert_int_equal(r.repairs[TP_REPAIR_UNKNOWN_FREE], 1);
    forget(&r);
}

static void test_time_that_falls(void **state)
{
    (void)state;
    struct reading r =
        read_space(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "120")
                       ALLOC("0x1", "0x20", "8", "90") ALLOC("0x1", "0x30", "8", "115"),
                   NULL);
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.repairs[TP_REPAIR_TIME_BACKWARDS], 2);
    assert_int_equal(tp_program_facts(r.program)->duration_ns, 20);
    forget(&r);
}

/* ---- wrong input ---- */

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *log, *text;
    } cases[] = {
        {MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8.5", "1"),
         "x.json:2: 'size' is not a whole number"},
        {MADE("0x1", "HOST") ALLOC("0x1", "0x10", "-8", "1"),
         "x.json:2: 'size' is not a whole number"},
        {MADE("0x1", "HOST") ALLOC("0x1", "0x10", "99999999999999999999", "1"),
         "x.json:2: 'size' is not a whole number"},
        {MADE("0x1", "HOST") ALLOC("0x1", "pointer", "8", "1"), "x.json:2: not an address: 0x..."},
        {MADE("0x1", "HOST") ALLOC("0x1", "0x11223344556677889", "8", "1"),
         "x.json:2: not an address: 0x..."},
        {MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "\"soon\""),
         "x.json:2: 'timestamp' is not a whole number of ns"},
        {MADE("0x1", "HOST") ALLOC("", "0x10", "8", "1"),
         "x.json:2: the event has no 'allocator_ref' that is an address"},
        {MADE("", "HOST"), "x.json:1: an allocator is made without an address"},
        {"{\"category\":\"operation\",\"name\":\"make_allocator\",\"string_args\":"
         "{\"allocator_ref\":\"0x1\"}}",
         "x.json:1: an allocator is made without a name"},
        {MADE("0x1", "HOST") REALLOCED("0x1", "0x10"),
         "x.json:2: a reallocation ends that never began"},
        {MADE("0x1", "HOST") "{\"category\":\"operation\",\"name\":\"allocate\",\"string_args\":"
                             "{\"allocator_ref\":\"0x1\",\"pointer\":\"0x1\"}}",
         "x.json:2: an allocation needs a size in bytes and an address"},
        {MADE("0x1", "HOST") "{\"category\":\"operation\",\"name\":\"deallocate\",\"string_args\":"
                             "{\"allocator_ref\":\"0x1\"}}",
         "x.json:2: a deallocation needs an address"},
        {"{\"category\":\"operation\",\"name\":\"allocate\",\"string_args\":[]}",
         "x.json:1: the event is not valid JSON, or its arguments are no objects"},
        {MADE("0x1", "HOST") "{\"category\":\"opera", "x.json:2: the file ends inside the event: "
                                                      "truncated?"},
        {"{\"category\"}", "x.json:1: the event is not valid JSON"},
        {"{\"category\":[}}", "x.json:1: the event has brackets that do not match"},
        {"{\"category\":\n\"operation\"}", "x.json:1: the event is not complete on its line"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_space(cases[i].log, NULL);
        assert_int_equal(r.rc, TP_EINPUT);
        assert_string_equal(r.err.text, cases[i].text);
    }
}

/* Cut anywhere, a log is read or refused with a sentence that begins with its name. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    static const char log[] = MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110")
        REALLOC("0x1", "0x10", "12") REALLOCED("0x1", "0x10") FREE("0x1", "0x10", "220")
            OLD("allocate", ", \"size\": 8", ", \"result\": { \"memory_ptr\": \"0x10\" }");
    for (size_t n = 1; n < sizeof log; n++) {
        struct reading r = read_bytes(&tp_format_umpire, log, n, false);
        assert_true(r.rc == TP_OK || r.rc == TP_EINPUT);
        if (r.rc == TP_OK)
            forget(&r);
        else
            assert_memory_equal(r.err.text, "x.json:", 7);
    }
}

static void test_probe(void **state)
{
    (void)state;
    static const char now[] = MADE("0x1", "HOST"), old[] = OLD("version", "", ""),
                      other[] = "{\"format\": \"tapool-trace\", \"version\": 1}";
    assert_int_equal(tp_format_umpire.probe((const void *)now, sizeof now - 1), 90);
    assert_int_equal(tp_format_umpire.probe((const void *)old, sizeof old - 1), 90);
    assert_int_equal(tp_format_umpire.probe((const void *)other, sizeof other - 1), 0);
    assert_int_equal(tp_format_umpire.probe((const void *)"\0{", 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form_of_2019),
        cmocka_unit_test(test_reallocate_without_allocator),
        cmocka_unit_test(test_reallocate_of_the_unknown),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_form_of_2022),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_same_address_in_two_allocators),
        cmocka_unit_test(test_reallocate),
        cmocka_unit_test(test_reallocate_onto),
        cmocka_unit_test(test_other_lines),
        cmocka_unit_test(test_named_allocate),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_allocator_names),
        cmocka_unit_test(test_old_reallocate),
        cmocka_unit_test(test_left_out_lines),
        cmocka_unit_test(test_time_that_falls),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
