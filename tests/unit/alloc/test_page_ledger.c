/* What resident pages hold: the kernel's list of pages, the bytes that blocks have covered, and the
 * sums over both. */
#include "alloc/base/units.h"
#include "alloc/engine/page_ledger.h"
#include "tests/unit/resident_rig.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, PAGES = 64 };

/* ---- pages ---- */

static unsigned char *new_pages(int sharing)
{
    void *p =
        mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static bool is_listed(const struct tp_own_pages *own, const void *at)
{
    for (size_t i = 0; i < own->count; i++)
        if (own->number[i] == (uintptr_t)at / own->page)
            return true;
    return false;
}

static void skip_without_pages(struct tp_own_pages *own)
{
    if (TP_SANITIZED || sysconf(_SC_PAGESIZE) != PAGE_BYTES ||
        !tp_own_pages_open(own, "/proc/self", TP_OWN_PAGES_MOST)) {
        print_message("skipped: page tables cannot be read, or pages have another size\n");
        skip();
    }
}

TEST(private_pages_that_were_written_are_listed_and_no_others)
{
    struct tp_own_pages own;
    skip_without_pages(&own);
    unsigned char *mine = new_pages(MAP_PRIVATE), *shared = new_pages(MAP_SHARED);
    mine[3 * PAGE_BYTES] = shared[3 * PAGE_BYTES] = 1;
    mine[7 * PAGE_BYTES] = 1;
    volatile unsigned char read = mine[9 * PAGE_BYTES]; /* takes the page of zeros */
    (void)read;
    assert_true(tp_own_pages_read(&own));
    for (size_t i = 0; i < PAGES; i++) {
        assert_int_equal(is_listed(&own, mine + i * PAGE_BYTES), i == 3 || i == 7);
        assert_false(is_listed(&own, shared + i * PAGE_BYTES));
    }
    for (size_t i = 1; i < own.count; i++)
        assert_true(own.number[i - 1] < own.number[i]);
    madvise(mine, PAGES * PAGE_BYTES, MADV_DONTNEED);
    assert_true(tp_own_pages_read(&own));
    assert_false(is_listed(&own, mine + 3 * PAGE_BYTES));
    munmap(mine, PAGES * PAGE_BYTES);
    munmap(shared, PAGES * PAGE_BYTES);
    tp_own_pages_close(&own);
}

TEST(the_list_is_as_long_as_the_kernel_s_figure)
{
    struct tp_own_pages own;
    struct tp_written written;
    skip_without_pages(&own);
    assert_true(tp_written_open(&written, "/proc/self"));
    written.unshared = true;
    unsigned char *mine = new_pages(MAP_PRIVATE);
    memset(mine, 1, PAGES * PAGE_BYTES);
    assert_true(tp_own_pages_read(&own));
    assert_int_equal(own.count * PAGE_BYTES, tp_written_read(&written));
    munmap(mine, PAGES * PAGE_BYTES);
    tp_written_close(&written);
    tp_own_pages_close(&own);
}

/* ---- without the page map ---- */

static char folder[64];

/* A folder in the place of /proc/self with these files; "": there is none. */
static void new_proc(const char *smaps, const char *pagemap)
{
    char path[96];
    snprintf(folder, sizeof folder, "/tmp/tapool-pages-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/smaps", folder);
    assert_true(!*smaps || !symlink(smaps, path));
    snprintf(path, sizeof path, "%s/pagemap", folder);
    assert_true(!*pagemap || !symlink(pagemap, path));
}

static void remove_proc(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* A page map that is missing, empty, or says of all pages that they are nowhere. */
TEST(without_a_page_map_resident_pages_are_listed_by_mincore)
{
    static const char *const pagemaps[] = {"", "/dev/null", "/dev/zero"};
    struct tp_own_pages own;
    skip_without_pages(&own);
    assert_true(own.pagemap >= 0);
    tp_own_pages_close(&own);
    for (size_t k = 0; k < COUNT(pagemaps); k++) {
        new_proc("/proc/self/smaps", pagemaps[k]);
        assert_true(tp_own_pages_open(&own, folder, TP_OWN_PAGES_MOST));
        assert_int_equal(own.pagemap, -1);
        unsigned char *mine = new_pages(MAP_PRIVATE), *shared = new_pages(MAP_SHARED);
        mine[3 * PAGE_BYTES] = mine[7 * PAGE_BYTES] = shared[3 * PAGE_BYTES] = 1;
        assert_true(tp_own_pages_read(&own));
        for (size_t i = 0; i < PAGES; i++) {
            assert_int_equal(is_listed(&own, mine + i * PAGE_BYTES), i == 3 || i == 7);
            assert_false(is_listed(&own, shared + i * PAGE_BYTES));
        }
        munmap(mine, PAGES * PAGE_BYTES);
        munmap(shared, PAGES * PAGE_BYTES);
        tp_own_pages_close(&own);
        remove_proc();
    }
}

/* ---- mappings ---- */

static void read_smaps(const char *text, bool expected, struct tp_own_pages *own)
{
    char path[96];
    new_proc("", "/proc/self/pagemap");
    snprintf(path, sizeof path, "%s/smaps", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_true(tp_own_pages_open(own, folder, TP_OWN_PAGES_MOST));
    assert_int_equal(tp_own_pages_read(own), expected);
    remove_proc();
}

/* Two private mappings; shared ones, of which two are neighbours. */
TEST(huge_and_locked_bytes_are_those_of_private_mappings)
{
    struct tp_own_pages own;
    skip_without_pages(&own);
    tp_own_pages_close(&own);
    read_smaps("1000-2000 rw-p 00000000 00:00 0 \nAnonymous: 0 kB\nAnonHugePages:  2048 kB\n"
               "Locked: 4 kB\nSwap: 0 kB\nVmFlags: rd wr\n"
               "2000-3000 rw-p 00000000 00:00 0    [heap]\nAnonymous: 8 kB\n"
               "Private_Hugetlb: 4096 kB\nLocked: 12 kB\n"
               "3000-4000 rw-s 00000000 00:01 5    /memfd:a: b (deleted)\nLocked: 64 kB\n"
               "4000-6000 rw-s 00000000 00:01 5    /memfd:Locked: 7 (deleted)\n"
               "8000-9000 rw-s 00000000 00:01 6    /dev/zero (deleted)\nAnonHugePages: 6 kB\n",
               true, &own);
    assert_int_equal(own.huge_page, 6144 << 10);
    assert_int_equal(own.locked, 16 << 10);
    assert_int_equal(own.shared_count, 2);
    assert_fields(own.shared[0], from, 0x3000, to, 0x6000);
    assert_fields(own.shared[1], from, 0x8000, to, 0x9000);
    tp_own_pages_close(&own);
}

/* A reserved range of 16 TiB costs nothing; one of which pages are counted is not read. */
TEST(a_mapping_is_read_where_the_kernel_counts_pages_of_it)
{
    struct tp_own_pages own;
    char text[128];
    skip_without_pages(&own);
    tp_own_pages_close(&own);
    for (int kb = 0; kb <= 4; kb += 4) {
        snprintf(text, sizeof text,
                 "100000000000-200000000000 rw-p 00000000 00:00 0 \nAnonymous: %d kB\n"
                 "Swap: 0 kB\n",
                 kb);
        read_smaps(text, !kb, &own);
        tp_own_pages_close(&own);
    }
    read_smaps("", false, &own);
    tp_own_pages_close(&own);
}

TEST(memory_for_a_list_stays_unwritten_where_future_memory_is_locked)
{
    enum { BYTES = 1 << 30 };
    struct tp_written rss;
    if (TP_SANITIZED || !tp_written_open(&rss, "/proc/self") || mlockall(MCL_FUTURE)) {
        print_message("skipped: memory cannot be locked\n");
        skip();
    }
    uint64_t before = tp_rss_read(&rss);
    unsigned char *p = tp_shared_get(BYTES);
    uint64_t after = tp_rss_read(&rss);
    munlockall();
    tp_written_close(&rss);
    if (!p) /* more than the limit of locked memory */
        skip();
    assert_in_range(after, 0, before + BYTES / 2);
    p[BYTES - 1] = 1;
    tp_shared_put(p, BYTES);
}

/* ---- sampled pages ---- */

TEST(no_stride_of_runs_decides_which_are_sampled)
{
    static const uint64_t strides[] = {1, 2, 3, 5, 8, 13, 64, 89, 512, 1000, 4096, 1 << 20};
    enum { RUNS = 4096, SHIFT = 2, MOST = 4 * 111 }; /* errors of sqrt(4 * 3 * 4096 / 4) */
    for (size_t k = 0; k < COUNT(strides); k++) {
        int listed = 0;
        for (uint64_t i = 0; i < RUNS; i++) {
            uint64_t number = (UINT64_C(0x7f0000000000) >> 21) + i * strides[k];
            listed += tp_run_is_listed(number, SHIFT);
            assert_true(tp_run_is_listed(number, SHIFT) || !tp_run_is_listed(number, SHIFT + 1));
        }
        assert_in_range(listed << SHIFT, RUNS - MOST, RUNS + MOST);
    }
}

TEST(more_pages_than_room_are_sampled_in_whole_runs)
{
    enum { RUNS = 64, RUN_PAGES = 1 << TP_RUN_SHIFT, ROOM = 16 * RUN_PAGES };
    struct tp_own_pages own;
    skip_without_pages(&own);
    tp_own_pages_close(&own);
    assert_true(tp_own_pages_open(&own, "/proc/self", ROOM));
    size_t bytes = (size_t)(RUNS + 1) * RUN_PAGES * PAGE_BYTES;
    unsigned char *p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    memset(p, 1, bytes);
    uint64_t first = ((uintptr_t)p / PAGE_BYTES + RUN_PAGES - 1) >> TP_RUN_SHIFT;
    for (int turn = 0; turn < 2; turn++) { /* the second one begins with as few runs */
        size_t of_run[RUNS] = {0};
        assert_true(tp_own_pages_read(&own));
        assert_in_range(own.shift, 2, 5);
        assert_in_range(own.count, 0, ROOM);
        for (size_t i = 0; i < own.count; i++) {
            uint64_t at = tp_run_of_page(own.number[i]);
            assert_true(tp_run_is_listed(at, own.shift));
            if (at - first < RUNS)
                of_run[at - first]++;
        }
        for (size_t i = 0; i < RUNS; i++)
            assert_int_equal(of_run[i], tp_run_is_listed(first + i, own.shift) ? RUN_PAGES : 0);
    }
    munmap(p, bytes);
    tp_own_pages_close(&own);
}

/* ---- covered bytes ---- */

TEST(covered_bytes_are_counted_once_in_steps_of_8)
{
    struct tp_cover c;
    const uint64_t border = UINT64_C(1) << 40; /* of two parts */
    assert_true(tp_cover_open(&c));
    assert_int_equal(tp_cover_bytes(&c, border, PAGE_BYTES), 0);
    tp_cover_add(&c, border + 16, 5);
    assert_int_equal(tp_cover_bytes(&c, border, PAGE_BYTES), 8);
    tp_cover_add(&c, border + 8, 24);
    assert_int_equal(tp_cover_bytes(&c, border, PAGE_BYTES), 24);
    tp_cover_add(&c, border - 2 * PAGE_BYTES - 8, 3 * PAGE_BYTES + 8);
    assert_int_equal(tp_cover_bytes(&c, border - 4 * PAGE_BYTES, 8 * PAGE_BYTES),
                     3 * PAGE_BYTES + 8);
    assert_int_equal(tp_cover_bytes(&c, border + PAGE_BYTES, PAGE_BYTES), 0);
    assert_false(c.full);
    tp_cover_close(&c);
}

static void *add_every_other(void *ctx)
{
    for (uint64_t i = 0; i < 4096; i++)
        tp_cover_add(ctx, (i << 20) + 64, 64);
    return NULL;
}

TEST(several_threads_may_add_at_once)
{
    struct tp_cover c;
    pthread_t threads[4];
    assert_true(tp_cover_open(&c));
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_every_other, &c), 0);
    for (size_t i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    for (uint64_t i = 0; i < 4096; i++)
        assert_int_equal(tp_cover_bytes(&c, i << 20, 512), 64);
    assert_int_equal(c.used, 2048);
    tp_cover_close(&c);
}

TEST(without_room_nothing_is_known)
{
    struct tp_cover c;
    assert_true(tp_cover_open(&c));
    for (uint64_t i = 1; !c.full && i <= 1 << 17; i++)
        tp_cover_add(&c, i << 21, 8);
    assert_true(c.full);
    struct tp_page_ledger l = {.cover = c};
    struct tp_page_errors errors;
    assert_int_equal(tp_page_ledger_sum(&l, NULL, 0, &errors).resident, TP_NONE);
    assert_int_equal(errors.resident, TP_NONE);
    tp_cover_close(&c);
}

/* ---- sums ---- */

static void assert_parts(const struct tp_page_parts *p, uint64_t live, uint64_t rounding,
                         uint64_t partly_free, uint64_t free_pages, uint64_t own)
{
    assert_fields(*p, live, live, rounding, rounding, partly_free, partly_free, free_pages,
                  free_pages, own, own, resident, live + rounding + partly_free + free_pages + own);
}

/* Page 10 was there before, and two more that are gone; 11 has a live block and a freed one, 12 and
 * 13 a block over both whose end lies on 14, which is not resident; 15 has a freed block, 16
 * nothing; 18 has rounding of a block on 17. */
TEST(each_byte_of_a_page_is_in_one_part)
{
    uint64_t base[] = {7, 8, 10}, now[] = {10, 11, 12, 13, 15, 16, 17, 18};
    struct tp_page_ledger l = {.base = {.page = PAGE_BYTES, .number = base, .count = COUNT(base)},
                               .now = {.page = PAGE_BYTES, .number = now, .count = COUNT(now)}};
    const struct tp_page_block blocks[] = {
        {10 * PAGE_BYTES, 100, 128, 0},
        {11 * PAGE_BYTES, 1000, 1024, 1},
        {12 * PAGE_BYTES + 2048, 2 * PAGE_BYTES, 2 * PAGE_BYTES, 2},
        {17 * PAGE_BYTES + 2048, 2000, 2048 + 1024, 3}};
    assert_true(tp_cover_open(&l.cover));
    for (size_t i = 0; i < COUNT(blocks); i++)
        tp_cover_add(&l.cover, blocks[i].addr, blocks[i].allocated);
    tp_cover_add(&l.cover, 11 * PAGE_BYTES + 2048, 512);
    tp_cover_add(&l.cover, 15 * PAGE_BYTES, 1024);
    struct tp_page_errors errors;
    struct tp_page_parts parts = tp_page_ledger_sum(&l, blocks, COUNT(blocks), &errors);
    assert_parts(&parts, 1000 + 2048 + 4096 + 2000, 24 + 48 + 1024, 512, 1024,
                 2560 + 2048 + 3072 + 4096 + 2048 + 3072);
    assert_fields(errors, resident, 0, live, 0, own, 0);
    tp_cover_close(&l.cover);
}

/* Of four runs one is sampled: two pages of a run, one of another. */
TEST(sums_of_sampled_runs_are_scaled_and_have_errors)
{
    uint64_t now[] = {5 << TP_RUN_SHIFT, (5 << TP_RUN_SHIFT) + 9, 9 << TP_RUN_SHIFT};
    struct tp_page_ledger l = {
        .now = {.page = PAGE_BYTES, .number = now, .count = COUNT(now), .shift = 2}};
    const struct tp_page_block block = {now[0] * PAGE_BYTES, 1000, 1024, 0};
    struct tp_page_errors errors;
    assert_true(tp_cover_open(&l.cover));
    tp_cover_add(&l.cover, now[0] * PAGE_BYTES, 1024);
    tp_cover_add(&l.cover, now[2] * PAGE_BYTES, 512);
    struct tp_page_parts parts = tp_page_ledger_sum(&l, &block, 1, &errors);
    assert_parts(&parts, 4 * 1000, 4 * 24, 0, 4 * 512, 4 * (3 * PAGE_BYTES - 1024 - 512));
    /* the square roots of 12 * 1000^2, 12 * 24^2, 12 * 512^2 and 12 * 5 * 4096^2 */
    assert_fields(errors, live, 3464, rounding, 83, partly_free, 0, free_pages, 1773, resident,
                  31727);
    tp_cover_close(&l.cover);
}

/* ---- a replay ---- */

/* Of three blocks of a page each of `direct` one is freed, which gives its page back. */
TEST_WITH(a_replay_says_what_its_pages_hold, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, PAGE_BYTES, 0), ALLOC_INSN(1, 100, 0),
                                    ALLOC_INSN(2, 3 * PAGE_BYTES, 0),
                                    FREE_INSN(2, 3 * PAGE_BYTES, 0)};
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &tp_strategy_direct, p, TP_PASS_RESIDENT);
    replay(&cfg);
    tp_program_release(p);
    const struct tp_page_parts *peak = &run->resident.parts_at_peak,
                               *end = &run->resident.parts_end;
    if (TP_SANITIZED) {
        assert_int_equal(peak->resident, TP_NONE);
        return;
    }
    assert_int_equal(peak->live, 4 * PAGE_BYTES + 100);
    assert_int_equal(end->live, PAGE_BYTES + 100);
    assert_int_equal(end->rounding, PAGE_BYTES - 100);
    assert_int_equal(end->free_pages, 0);
    assert_int_equal(peak->resident, run->resident.at_peak.median);
    assert_int_equal(end->resident, run->resident.end.median);
    assert_parts(end, end->live, end->rounding, end->partly_free, end->free_pages, end->own);
}

/* Event 2 is a pause and the allocation behind it, event 4 what no instruction is of. */
static struct tp_program *pausing_program(void)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 100, 0),
                                    {.op = TP_IDLE, .gap_ns = 7},
                                    ALLOC_INSN(1, 200, 0),
                                    FREE_INSN(1, 200, 0)};
    const uint64_t events[] = {1, 2, 2, 3};
    struct tp_builder *b = NULL;
    struct tp_program *p = NULL;
    assert_int_equal(tp_builder_new(&(struct tp_builder_cfg){.kind = TP_KIND_HOST}, &b, NULL), 0);
    for (size_t i = 0; i < COUNT(insns); i++)
        assert_int_equal(tp_builder_add(b, &insns[i], events[i], NULL), 0);
    assert_int_equal(tp_builder_finish(b, &(struct tp_builder_end){.events = 4}, &p, NULL), 0);
    return p;
}

TEST_WITH(a_list_is_of_the_moment_after_all_of_its_event, setup, teardown)
{
    struct tp_page_asked asked = {
        .fd = memfd_create("lists", MFD_CLOEXEC), .count = 4, .events = {0, 1, 2, 4}};
    struct tp_program *p = pausing_program();
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &tp_strategy_direct, p, TP_PASS_RESIDENT);
    struct tp_page_lists lists;
    cfg.page_lists = &asked;
    replay(&cfg);
    assert_int_equal(tp_page_lists_open(asked.fd, 2, &lists, NULL), TP_OK);
    assert_int_equal(lists.count, TP_SANITIZED ? 0 : 4);
    for (size_t i = 0; i < lists.count; i++) {
        const struct tp_page_list_head *h = &lists.lists[i].head;
        assert_int_equal(h->event, i);
        assert_int_equal(h->blocks, ((const uint64_t[]){0, 1, 2, 1})[i]);
        assert_int_equal(h->parts.live, ((const uint64_t[]){0, 100, 300, 100})[i]);
    }
    tp_page_lists_close(&lists);
    close(asked.fd);
    tp_program_release(p);
}
