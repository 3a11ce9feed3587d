/* Names of addresses: the symbol that begins last around an address, the same for every order of
 * the table, and what a file may cost that does harm to the one that reads it. */
#include "tests/unit/small_elf.h"
#include "tests/unit/test.h"
#include "traces/symbols/confined.h"
#include "traces/symbols/naming.h"

#include "alloc/base/clock.h"
#include "alloc/base/random.h"

#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

/* ---- tables of symbols ---- */

static struct tp_symbols *open_elf_of(struct small_elf *e, int *fd)
{
    struct tp_symbols *s = NULL;
    char path[64];
    *fd = end_elf(e, path, sizeof path);
    assert_int_equal(tp_symbols_open(path, NULL, 0, &s), TP_SYMBOLS_GOOD);
    return s;
}

TEST(which_symbol)
{
    static const struct {
        uint64_t at;
        const char *name; /* NULL: none */
    } rows[] = {{0x00f, NULL},        {0x100, "outer"},  {0x11f, "outer"},    {0x120, "inner"},
                {0x12f, "inner"},     {0x130, "outer"},  {0x1ff, "outer"},    {0x200, NULL},
                {0x300, "first"},     {0x340, "second"}, {0x35f, "second"},   {0x360, NULL},
                {0x400, "api"},       {0x480, "api"},    {0x500, "label"},    {0x5ff, "label"},
                {0x600, "next"},      {0x610, NULL},     {0x720, "has_size"}, {0x900, "to_the_end"},
                {0xfff, "to_the_end"}};
    struct small_elf *e = malloc(sizeof *e);
    struct tp_cxx_names cxx = {0};
    int fd = -1;
    if (!tp_symbols_built)
        skip();
    begin_elf(e);
    add_elf_symbol(e, "outer", 0x100, 0x100, STB_GLOBAL);
    add_elf_symbol(e, "inner", 0x120, 0x10, STB_LOCAL);
    add_elf_symbol(e, "first", 0x300, 0x50, STB_GLOBAL); /* neither is in the other */
    add_elf_symbol(e, "second", 0x340, 0x20, STB_GLOBAL);
    add_elf_symbol(e, "hidden", 0x400, 0x90, STB_LOCAL); /* three names of one function */
    add_elf_symbol(e, "api@@V_1", 0x400, 0x90, STB_GLOBAL);
    add_elf_symbol(e, "weak", 0x400, 0x90, STB_WEAK);
    add_elf_symbol(e, "label", 0x500, 0, STB_LOCAL);
    add_elf_symbol(e, "next", 0x600, 0x10, STB_GLOBAL);
    add_elf_symbol(e, "has_size", 0x700, 0x80, STB_GLOBAL);
    add_elf_symbol(e, "label_within", 0x710, 0, STB_GLOBAL);
    add_elf_symbol(e, "to_the_end", 0x900, 0, STB_GLOBAL);
    struct tp_symbols *s = open_elf_of(e, &fd);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *got = tp_symbols_find(s, &cxx, CODE_AT + rows[i].at).function;
        if (!got != !rows[i].name || (got && strcmp(got, rows[i].name) != 0))
            fail_msg("0x%x: %s instead of %s", (unsigned)rows[i].at, got ? got : "none",
                     rows[i].name ? rows[i].name : "none");
    }
    assert_null(tp_symbols_find(s, &cxx, CODE_AT + CODE_BYTES).function);
    tp_symbols_close(s);
    tp_cxx_close(&cxx);
    close(fd);
    free(e);
}

/* The symbol that begins last around an address, found by looking at each. */
static const char *looked_through(const struct small_elf *e, uint64_t at)
{
    const Elf64_Sym *found = NULL;
    for (size_t i = 1; i < e->count; i++) {
        const Elf64_Sym *s = &e->symbols[i];
        if (s->st_value <= at && at - s->st_value < s->st_size &&
            (!found || s->st_value > found->st_value))
            found = s;
    }
    return found ? e->names + found->st_name : NULL;
}

TEST(random_tables)
{
    struct small_elf *e = malloc(sizeof *e);
    struct tp_cxx_names cxx = {0};
    if (!tp_symbols_built)
        skip();
    for (unsigned seed = 1; seed <= 40; seed++) {
        struct tp_random random;
        int fd = -1;
        tp_random_seed(&random, seed);
        begin_elf(e);
        for (unsigned i = 0; i < 100; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%u", i);
            uint64_t at = tp_random_below(&random, CODE_BYTES / 2);
            add_elf_symbol(e, name, at, 1 + tp_random_below(&random, seed * 8), STB_GLOBAL);
        }
        struct tp_symbols *s = open_elf_of(e, &fd);
        for (uint64_t at = CODE_AT; at < CODE_AT + CODE_BYTES; at += 7) {
            const char *got = tp_symbols_find(s, &cxx, at).function;
            const char *expected = looked_through(e, at);
            if (!got != !expected || (got && strcmp(got, expected) != 0))
                fail_msg("seed %u, 0x%x: %s instead of %s", seed, (unsigned)at, got ? got : "none",
                         expected ? expected : "none");
        }
        tp_symbols_close(s);
        close(fd);
    }
    tp_cxx_close(&cxx);
    free(e);
}

/* ---- what is confined ---- */

static void says(void *ctx, int out)
{
    (void)ctx;
    tp_confined_write(out, "all is well", 11);
}

static void crashes(void *ctx, int out)
{
    tp_confined_write(out, "so ", 3);
    abort();
    (void)ctx;
}

static void loops(void *ctx, int out)
{
    tp_confined_write(out, "so ", 3);
    for (volatile unsigned *i = ctx;;)
        ++*i;
}

static void waits(void *ctx, int out)
{
    (void)ctx;
    tp_confined_write(out, "so ", 3);
    for (;;)
        pause();
}

static void is_silent(void *ctx, int out)
{
    (void)ctx;
    (void)out;
    for (;;)
        pause();
}

/* Whether it may map 64 MiB. */
static void maps(void *ctx, int out)
{
    void *got = mmap(NULL, 64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)ctx;
    tp_confined_write(out, got == MAP_FAILED ? "refused" : "mapped", got == MAP_FAILED ? 7 : 6);
}

static int interrupt(struct tp_err *err)
{
    return tp_fail(err, TP_ESTOP, "interrupted");
}

/* What it said. `until` counts from now on; 0: 100 s. */
static int say(struct tp_confined_cfg cfg, char *said, size_t size)
{
    volatile unsigned counter = 0;
    struct tp_confined c;
    size_t used = 0, got = 1;
    int rc = TP_OK;
    cfg.ctx = (void *)(uintptr_t)&counter;
    cfg.until = tp_wall_ns() + (cfg.until ? cfg.until : 100 * SECOND);
    assert_int_equal(tp_confined_start(&c, &cfg, NULL), TP_OK);
    for (; !rc && got; used += got)
        rc = tp_confined_read(&c, said + used, size - 1 - used, &got, NULL);
    said[used] = '\0';
    assert_in_range(tp_confined_end(&c), 0, (cfg.seconds + 1) * SECOND); /* its time on a core */
    return rc;
}

TEST(bounds)
{
    const struct {
        struct tp_confined_cfg cfg;
        const char *said;
        int status;
    } rows[] = {
        {{.run = says, .seconds = 5, .memory = 64 << 20}, "all is well", TP_OK},
        {{.run = crashes, .seconds = 5, .memory = 64 << 20}, "so ", TP_OK},
        {{.run = loops, .seconds = 1, .memory = 64 << 20}, "so ", TP_OK},
        {{.run = waits, .seconds = 5, .memory = 64 << 20, .until = 2 * SECOND}, "so ", TP_OK},
        {{.run = is_silent, .seconds = 5, .memory = 64 << 20, .stop = interrupt}, "", TP_ESTOP},
        {{.run = maps, .seconds = 5, .memory = 256 << 20}, "mapped", TP_OK},
        {{.run = maps, .seconds = 5, .memory = 8 << 20}, "refused", TP_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char said[64];
        assert_int_equal(say(rows[i].cfg, said, sizeof said), rows[i].status);
        assert_string_equal(said, rows[i].said);
    }
}

/* ---- files that do harm ---- */

enum { HARMFUL = 0x999 };

static struct tp_symbol find_or_crash(struct tp_symbols *s, struct tp_cxx_names *cxx,
                                      uint64_t address)
{
    if (address == HARMFUL)
        abort();
    return tp_symbols_find(s, cxx, address);
}

struct answers {
    enum tp_symbols_state states[4];
    char names[4][2][32];
};

static void take_state(void *ctx, size_t file, enum tp_symbols_state state)
{
    struct answers *a = ctx;
    a->states[file] = state;
}

static int take_name(void *ctx, size_t file, size_t nth, const struct tp_symbol *s,
                     struct tp_err *err)
{
    struct answers *a = ctx;
    (void)err;
    snprintf(a->names[file][nth], sizeof a->names[file][nth], "%s",
             s->function ? s->function : "-");
    return TP_OK;
}

/* The files before it and behind it have their names. */
TEST(one_file_does_harm)
{
    static const uint64_t good[] = {CODE_AT, CODE_AT + 0x20}, bad[] = {CODE_AT, HARMFUL};
    struct small_elf *e = malloc(sizeof *e);
    struct answers a = {0};
    char path[64];
    if (!tp_symbols_built)
        skip();
    begin_elf(e);
    add_elf_symbol(e, "f", 0, 0x10, STB_GLOBAL);
    add_elf_symbol(e, "g", 0x20, 0x10, STB_GLOBAL);
    int fd = end_elf(e, path, sizeof path);
    const struct tp_naming_file files[] = {{.path = path, .addresses = good, .count = 2},
                                           {.path = path, .addresses = bad, .count = 2},
                                           {.path = "/none", .addresses = good, .count = 2},
                                           {.path = path, .addresses = good, .count = 2}};
    const struct tp_naming n = {.files = files,
                                .count = 4,
                                .state = take_state,
                                .name = take_name,
                                .ctx = &a,
                                .find = find_or_crash};
    assert_int_equal(tp_naming_run(&n, NULL), TP_OK);
    assert_int_equal(a.states[0], TP_SYMBOLS_GOOD);
    assert_int_equal(a.states[1], TP_SYMBOLS_FAILED);
    assert_int_equal(a.states[2], TP_SYMBOLS_MISSING);
    assert_int_equal(a.states[3], TP_SYMBOLS_GOOD);
    assert_string_equal(a.names[0][1], "g");
    assert_string_equal(a.names[3][0], "f");
    assert_string_equal(a.names[3][1], "g");
    close(fd);
    free(e);
}
