/* Umpire's replay logs: real ones, and every line that can be wrong. */
#include "tests/unit/importer_rig.h"

#include <unistd.h>

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

static const struct importer umpire = {.format = &tp_format_umpire};

/* ---- real logs ---- */

static const struct importer_row real_logs[] = {
    /* a block of 0 bytes, at the address of the next one */
    {.path = TAPOOL_ROOT "/tests/data/umpire/tut_replay_log.json",
     .facts = "events=128 allocs=64 frees=64 live_at_end=0 peak=32880 zero_size=1 double_alloc=1 "
              "unknown_free=1 ",
     .kind = "host",
     .capture = "Umpire 0.3.3 replay log",
     .taken = "pool",
     .settings = "the allocator is a QuickPool",
     .unknown = "threads, streams, alignment",
     .left_out = NOT_SAID,
     .remarks = NOT_SAID},
    {.path = TAPOOL_ROOT "/tests/data/umpire/output-head.replay",
     .facts = "allocs=33 frees=33 live_at_end=0 time_known=1 zero_size=12 repairs=12 ",
     .capture = "Umpire 2022.3.1 replay log",
     .taken = "HOST"},
};

/* Logs of the corpus: what is allocated in each is freed, and nothing is repaired. */
TEST(test_corpus)
{
    static const struct {
        const char *file;
        uint32_t devices;
        uint64_t allocs; /* 177, 183 and 382 less those inside pairs, 4 of 5 of which come back */
        uint64_t reallocs;
    } logs[] = {{"output.replay", 49, 177 - 15 + 6 + 9, 27},
                {"output.numa.replay", 51, 183 - 15 + 6 + 9, 27},
                {"output.omp.replay", 98, 382 - 57 + 12 + 18, 54}};
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char path[512], facts[200];
        const char *shared = getenv("TAPOOL_SHARED");
        snprintf(path, sizeof path, "%s/corpus/umpire/%s",
                 shared ? shared : TAPOOL_ROOT "/../shared", logs[i].file);
        if (access(path, R_OK) != 0) {
            print_message("no %s: skipped\n", path);
            skip();
        }
        snprintf(facts, sizeof facts,
                 "devices=%" PRIu32 " allocs=%" PRIu64 " frees=%" PRIu64 " reallocs=%" PRIu64
                 " unknown_free=0 double_alloc=0 live_at_end=0 ",
                 logs[i].devices, logs[i].allocs, logs[i].allocs, logs[i].reallocs);
        struct reading r = check_reading(
            &umpire, &(struct importer_row){.path = path, .space = "all", .facts = facts});
        assert_non_null(r.meta.remarks);
        forget(&r);
    }
}

/* ---- lines ---- */

static const char shared_address[] = MADE("0x1", "HOST") POOL("0x2", "pool", "HOST")
    ALLOC("0x1", "0x90", "4096", "110") ALLOC("0x2", "0x90", "32", "120") FREE("0x2", "0x90", "130")
        ALLOC("0x2", "0x90", "48", "140") FREE("0x1", "0x90", "150");
static const struct importer_row same_address_in_two_allocators[] = {
    REPLAYS(shared_address, "alloc 0 4096 a4 +10 @1; free 0 4096 a4 +40 @2; "),
    REPLAYS(shared_address, "alloc 0 32 a4 +20 @1; free 0 32 a4 +10 @2; alloc 0 48 a4 +10 @3; ",
            .space = "pool"),
    REPLAYS(shared_address,
            "alloc 0 4096 a4 +10 @1; alloc 1 32 a4 s1 d1 +10 @2; free 1 32 a4 s1 d1 +10 @3; "
            "alloc 1 48 a4 s1 d1 +10 @4; free 0 4096 a4 +10 @5; ",
            .space = "all"),
};

static const struct importer_row reallocate[] = {
    /* in place, and then moved by an allocation, a copy and a free */
    REPLAYS(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110") REALLOC("0x1", "0x10", "12")
                REALLOCED("0x1", "0x10") REALLOC("0x1", "0x10", "36")
                    ALLOC("0x1", "0x90", "36", "203") FREE("0x1", "0x10", "204")
                        REALLOCED("0x1", "0x90") FREE("0x1", "0x90", "220"),
            "alloc 0 8 a4 +10 @1; realloc 0 12 a4 +100 @2; realloc 0 36 a4 @3; "
            "free 0 36 a4 +10 @4; "),
    /* of nothing */
    REPLAYS(MADE("0x1", "HOST") REALLOC("0x1", "0", "8") ALLOC("0x1", "0x10", "8", "205")
                REALLOCED("0x1", "0x10") FREE("0x1", "0x10", "220"),
            "alloc 0 8 a4 +110 @1; free 0 8 a4 +10 @2; "),
    /* to nothing: a free and a block of 0 bytes */
    REPLAYS(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110") REALLOC("0x1", "0x10", "0")
                FREE("0x1", "0x10", "201") ALLOC("0x1", "0x20", "0", "202") REALLOCED("0x1", "0x20")
                    FREE("0x1", "0x20", "220"),
            "alloc 0 8 a4 +10 @1; free 0 8 a4 +100 @2; alloc 0 1 a4 @3; free 0 1 a4 +10 @4; "
            "zero_size=1 "),
    /* what others do in the meantime is theirs */
    REPLAYS(MADE("0x1", "HOST") MADE("0x2", "PINNED") ALLOC("0x1", "0x10", "8", "110")
                REALLOC("0x1", "0x10", "12") ALLOC("0x1", "0x50", "100", "201")
                    ALLOC("0x2", "0x10", "12", "202") FREE("0x1", "0x50", "203")
                        REALLOCED("0x1", "0x10") FREE("0x2", "0x10", "215"),
            "alloc 0 8 a4 +10 @1; alloc 1 100 a4 +91 @2; alloc 2 12 a4 s1 d1 +1 @3; "
            "free 1 100 a4 +1 @4; realloc 0 12 a4 +7 @5; free 2 12 a4 s1 d1 +5 @6; ",
            .space = "all"),
    /* to where another block still is, whose free is missing: that one does not live on unseen */
    REPLAYS(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110") ALLOC("0x1", "0x90", "100", "111")
                REALLOC("0x1", "0x10", "36") REALLOCED("0x1", "0x90") FREE("0x1", "0x90", "220"),
            "alloc 0 8 a4 +10 @1; alloc 1 100 a4 +1 @2; free 0 8 a4 +99 @3; "
            "free 1 100 a4 @3; alloc 1 36 a4 @3; free 1 36 a4 +10 @4; double_alloc=1 ",
            .facts = "live_at_end=0 "),
};

/* Everything else has a number and makes nothing; without an allocator it has none. */
static const struct importer_row other_lines[] = {
    REPLAYS(MADE("0x1", "HOST") OTHER("set_default_allocator", "\"allocator_ref\":\"0x1\"", "")
                OTHER("coalesce", "", "\"allocator_name\":\"HOST\"")
                    OTHER("copy", "\"src\":\"0x5\",\"dst_allocator_ref\":\"0x1\"", "")
                        OTHER("deregister_external_allocation", "", "")
                            OTHER("release", "\"allocator_ref\":\"0x77\"", "")
                                ALLOC("0x1", "0x10", "8", "310") FREE("0x1", "0", "311"),
            "alloc 0 8 a4 +210 @4; "),
    READS(MADE("0x1", "HOST") "{\"category\":\"statistic\",\"name\":\"allocate\","
                              "\"numeric_args\":{\"size\":1},\"string_args\":{},\"timestamp\":1}\n",
          .nothing = "no allocator of this log allocated anything",
          .nothing_hint = "Umpire records when UMPIRE_REPLAY=On stands in the environment"),
};

static const struct importer_row named_allocate[] = {
    REPLAYS(
        "\xef\xbb\xbf" MADE(
            "0x1",
            "HOST") "{\"timestamp\":105,\"string_args\":{\"allocation_name\":\"a\\\"b\","
                    "\"pointer\":"
                    "\"0x10\",\"allocator_ref\":\"0x1\"},\"name\":\"named_allocate\",\"tags\":{},"
                    "\"numeric_args\":{\"size\":64},\"category\":\"operation\"}\r\n"
                    "\r\n" FREE("0x1", "0x10", "106"),
        "alloc 0 64 a4 +5 @1; free 0 64 a4 +1 @2; "),
};

#define OF_KIND(is, log) READS(log, .kind = is)
#define ONE(name)        MADE("0x1", name) ALLOC("0x1", "0x10", "8", "110")
static const struct importer_row kinds[] = {
    OF_KIND("host", ONE("HOST")),
    OF_KIND("host", ONE("PINNED")),
    OF_KIND("host", ONE("FILE")),
    OF_KIND("host", ONE("UMBRELLA")),
    OF_KIND("device", ONE("DEVICE")),
    OF_KIND("device", ONE("DEVICE::3")),
    OF_KIND("device", ONE("UM")),
    OF_KIND("device", MADE("0x1", "DEVICE") POOL("0x2", "p", "DEVICE") POOL("0x3", "q", "p")
                          ALLOC("0x3", "0x10", "8", "110")),
    OF_KIND("device", POOL("0x2", "p", "DEVICE_CONST") ALLOC("0x2", "0x10", "8", "110")),
    OF_KIND("host", ALLOC("0x3", "0x10", "8", "110")),
};

/* An address that a second allocator gets is another allocator; without `make` it has no name. */
static const char renamed[] = POOL("0x2", "pool", "HOST") ALLOC("0x2", "0x10", "8", "110")
    POOL("0x2", "pool", "HOST") ALLOC("0x2", "0x10", "16", "120") ALLOC("0xab", "0x10", "4", "130");
static const struct importer_row allocator_names[] = {
    REPLAYS(renamed, "alloc 0 8 a4 +9 @1; ", .space = "pool"),
    REPLAYS(renamed, "alloc 0 16 a4 +19 @1; ", .space = "pool#2"),
    REPLAYS(renamed, "alloc 0 4 a4 +29 @1; ", .space = "allocator 0xab"),
};

#define OLD(event, payload, rest)                                                                  \
    "{ \"kind\":\"replay\", \"uid\":7, \"timestamp\":5, \"event\": \"" event                       \
    "\", \"payload\": { \"allocator_ref\": \"0x1\"" payload " }" rest " }\n"
static const struct importer_row old_reallocate[] = {
    REPLAYS(OLD("allocate", ", \"size\": 8", "") OLD("allocate", ", \"size\": 8",
                                                     ", \"result\": { \"memory_ptr\": \"0x10\" }")
                OLD("reallocate", ", \"ptr\": \"0x10\", \"size\": 20", "") OLD("allocate",
                                                                               ", \"size\": 20", "")
                    OLD("allocate", ", \"size\": 20", ", \"result\": { \"memory_ptr\": \"0x30\" }")
                        OLD("deallocate", ", \"memory_ptr\": \"0x10\"", "") OLD(
                            "reallocate", ", \"ptr\": \"0x10\", \"size\": 20",
                            ", \"result\": { \"memory_ptr\": \"0x30\" }") OLD("coalesce", "", "")
                            OLD("deallocate", ", \"memory_ptr\": \"0x30\"", ""),
            "alloc 0 8 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @4; "),
};

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

static const char two[] = OLD_MADE("0x1", "HOST") OLD_MADE("0x2", "pool")
    OLD_ALLOC("0x1", "0x10", "64") OLD_ALLOC("0x2", "0x10", "8") BEGIN("0x10", "9")
        OLD_ALLOC("0x2", "0x18", "9") OLD_FREE("0x2", "0x10") END("0x10", "9", "0x18")
            OLD_FREE("0x2", "0x18") OLD_FREE("0x1", "0x10");
static const struct importer_row reallocate_without_allocator[] = {
    /* moved by realloc(3), which no other line shows; moved by three lines; where it is */
    REPLAYS(OLD_MADE("0x1", "HOST") OLD_ALLOC("0x1", "0x10", "8") BEGIN("0x10", "20")
                END("0x10", "20", "0x30") OLD_FREE("0x1", "0x30"),
            "alloc 0 8 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @3; "),
    REPLAYS(OLD_MADE("0x1", "DEVICE") OLD_ALLOC("0x1", "0x10", "8") BEGIN("0x10", "20")
                OLD_ALLOC("0x1", "0x30", "20") OLD_FREE("0x1", "0x10") END("0x10", "20", "0x30")
                    BEGIN("0x30", "24") END("0x30", "24", "0x30") OLD_FREE("0x1", "0x30"),
            "alloc 0 8 a8 @1; realloc 0 20 a8 @2; realloc 0 24 a8 @3; free 0 24 a8 @4; "),
    /* the one that had the address last: the pool, whose first block is at that of its chunk */
    REPLAYS(two, "alloc 0 8 a4 @1; realloc 0 9 a4 @2; free 0 9 a4 @3; ", .space = "pool"),
    REPLAYS(two, "alloc 0 64 a4 @1; free 0 64 a4 @2; ", .space = "HOST"),
    /* of nothing: the allocation that follows is the event; to nothing */
    REPLAYS(OLD_MADE("0x1", "HOST") BEGIN("0", "8") OLD_ALLOC("0x1", "0x10", "8")
                END("0", "8", "0x10") BEGIN("0x10", "0") OLD_FREE("0x1", "0x10")
                    OLD_ALLOC("0x1", "0x20", "0") END("0x10", "0", "0x20"),
            "alloc 0 8 a4 @1; free 0 8 a4 @2; alloc 0 1 a4 @3; zero_size=1 "),
    /* with its allocator, under another name */
    REPLAYS(OLD_MADE("0x1", "HOST") OLD_ALLOC("0x1", "0x10", "8") LINE(
                "reallocate_ex", "\"ptr\": \"0x10\", \"size\": 20, \"allocator_ref\": \"0x1\"", "")
                LINE("reallocate_ex", "\"ptr\": \"0x10\", \"size\": 20, \"allocator_ref\": \"0x1\"",
                     ", \"result\": { \"memory_ptr\": \"0x30\" }") OLD_FREE("0x1", "0x30"),
            "alloc 0 8 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @3; "),
    /* of a block that the log does not have: nobody knows whose it is, and that is said */
    REPLAYS(LINE("version", "\"major\":5, \"minor\":0, \"patch\":1", "") OLD_MADE("0x1", "HOST")
                OLD_ALLOC("0x1", "0x10", "8") BEGIN("0x77", "20") END("0x77", "20", "0x30"),
            "alloc 0 8 a4 @1; ", .capture = "Umpire 5.0.1 replay log",
            .remarks = "1 reallocation of a block that the log does not have left out."),
    REFUSED(LINE("reallocate", "\"ptr\": \"0x10\"", ""),
            "x.json:1: the event has no 'allocator_ref' that is an address"),
};

/* In both forms. */
#define VERSION(numbers, said)                                                                     \
    READS(LINE("version", numbers, "") OLD_ALLOC("0x1", "0x10", "8"), .capture = said),            \
        READS("{\"category\":\"metadata\",\"name\":\"version\",\"numeric_args\":{" numbers         \
              "},\"string_args\":{},\"tags\":{},\"timestamp\":1}\n" ALLOC("0x1", "0x10", "8",      \
                                                                          "110"),                  \
              .capture = said)
static const struct importer_row versions[] = {
    VERSION("\"major\":0, \"minor\":3, \"patch\":3", "Umpire 0.3.3 replay log"),
    VERSION("\"major\":\"x\", \"minor\":3, \"patch\":3", "Umpire replay log"),
    VERSION("\"major\":1, \"minor\":3", "Umpire replay log"),
    VERSION("\"major\":18446744073709551615, \"minor\":18446744073709551615, "
            "\"patch\":18446744073709551615",
            "Umpire replay log"),
    VERSION("\"major\":-1, \"minor\":3, \"patch\":3", "Umpire replay log"),
};

static const struct importer_row left_out_lines[] = {
    READS(
        "Hello from rank 0\n" OLD("deallocate", ", \"memory_ptr\": \"0x30\"", "") OLD(
            "allocate", ", \"size\": 8",
            ", \"result\": { \"memory_ptr\": \"0x10\" }") "# a comment\n{\"kind\":\"statistic\"}\n"
                                                          "{ \"kind\":\"replay\", \"uid\":8, "
                                                          "\"event\": \"allocate\", \"payload\": { "
                                                          "} }\n",
        .remarks = "2 lines that are no events of Umpire left out.\n"
                   "1 line of other processes left out.",
        .facts = "events=2 unknown_free=1 "),
};

static const struct importer_row time_that_falls[] = {
    READS(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "120") ALLOC("0x1", "0x20", "8", "90")
              ALLOC("0x1", "0x30", "8", "115"),
          .facts = "time_backwards=2 duration_ns=20 "),
};

/* ---- wrong input ---- */

static const struct importer_row refusals[] = {
    REFUSED(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8.5", "1"),
            "x.json:2: 'size' is not a whole number"),
    REFUSED(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "-8", "1"),
            "x.json:2: 'size' is not a whole number"),
    REFUSED(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "99999999999999999999", "1"),
            "x.json:2: 'size' is not a whole number"),
    REFUSED(MADE("0x1", "HOST") ALLOC("0x1", "pointer", "8", "1"),
            "x.json:2: not an address: 0x..."),
    REFUSED(MADE("0x1", "HOST") ALLOC("0x1", "0x11223344556677889", "8", "1"),
            "x.json:2: not an address: 0x..."),
    REFUSED(MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "\"soon\""),
            "x.json:2: 'timestamp' is not a whole number of ns"),
    REFUSED(MADE("0x1", "HOST") ALLOC("", "0x10", "8", "1"),
            "x.json:2: the event has no 'allocator_ref' that is an address"),
    REFUSED(MADE("", "HOST"), "x.json:1: an allocator is made without an address"),
    REFUSED("{\"category\":\"operation\",\"name\":\"make_allocator\",\"string_args\":"
            "{\"allocator_ref\":\"0x1\"}}",
            "x.json:1: an allocator is made without a name"),
    REFUSED(MADE("0x1", "HOST") REALLOCED("0x1", "0x10"),
            "x.json:2: a reallocation ends that never began"),
    REFUSED(MADE("0x1", "HOST") "{\"category\":\"operation\",\"name\":\"allocate\",\"string_args\":"
                                "{\"allocator_ref\":\"0x1\",\"pointer\":\"0x1\"}}",
            "x.json:2: an allocation needs a size in bytes and an address"),
    REFUSED(
        MADE("0x1", "HOST") "{\"category\":\"operation\",\"name\":\"deallocate\",\"string_args\":"
                            "{\"allocator_ref\":\"0x1\"}}",
        "x.json:2: a deallocation needs an address"),
    REFUSED("{\"category\":\"operation\",\"name\":\"allocate\",\"string_args\":[]}",
            "x.json:1: the event is not valid JSON, or its arguments are no objects"),
    REFUSED(MADE("0x1", "HOST") "{\"category\":\"opera",
            "x.json:2: the file ends inside the event: "
            "truncated?"),
    REFUSED("{\"category\"}", "x.json:1: the event is not valid JSON"),
    REFUSED("{\"category\":[}}", "x.json:1: the event has brackets that do not match"),
    REFUSED("{\"category\":\n\"operation\"}", "x.json:1: the event is not complete on its line"),
};

/* Cut anywhere, a log is read or refused with a sentence that begins with its name. */
static const char whole[] = MADE("0x1", "HOST") ALLOC("0x1", "0x10", "8", "110")
    REALLOC("0x1", "0x10", "12") REALLOCED("0x1", "0x10") FREE("0x1", "0x10", "220")
        OLD("allocate", ", \"size\": 8", ", \"result\": { \"memory_ptr\": \"0x10\" }");

static const struct importer_score scores[] = {
    SCORE(MADE("0x1", "HOST"), 90),
    SCORE(OLD("version", "", ""), 90),
    SCORE("{\"format\": \"tapool-trace\", \"version\": 1}", 0),
    SCORE("\0{", 0),
};

TESTS(ROWS(umpire, real_logs), ROWS(umpire, same_address_in_two_allocators),
      ROWS(umpire, reallocate), ROWS(umpire, other_lines), ROWS(umpire, named_allocate),
      ROWS(umpire, kinds), ROWS(umpire, allocator_names), ROWS(umpire, old_reallocate),
      ROWS(umpire, reallocate_without_allocator), ROWS(umpire, versions),
      ROWS(umpire, left_out_lines), ROWS(umpire, time_that_falls), ROWS(umpire, refusals),
      CUTS(umpire, whole, 0, SIZE_MAX), SCORES(umpire, scores))
