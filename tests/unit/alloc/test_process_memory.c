/* What the kernel says of a process, read from folders that stand for kernels, and from this one.
 */
#include "alloc/base/own.h"
#include "alloc/base/process_memory.h"
#include "alloc/base/units.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static struct tp_written written;

static int new_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tapool-written-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    tp_written_close(&written);
    snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    return system(command);
}

static void write_rollup(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/smaps_rollup", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static uint64_t read_rollup(const char *text)
{
    write_rollup(text);
    assert_true(tp_written_open(&written, folder));
    uint64_t bytes = tp_written_read(&written);
    tp_written_close(&written);
    return bytes;
}

/* 300 kB of its own and 100 shared with its parent, 40 of its own in swap and 20 shared, 8 given
 * back; pages of files in many lines. */
TEST_WITH(own_pages_in_memory_and_in_swap_count_and_nothing_else, new_folder, remove_folder)
{
    assert_int_equal(read_rollup("00400000-7ffe60daa000 ---p 00000000 00:00 0    [rollup]\n"
                                 "Rss:              900 kB\nPss:              700 kB\n"
                                 "Pss_Dirty:        600 kB\nPss_Anon:         350 kB\n"
                                 "Pss_File:         350 kB\nShared_Dirty:     100 kB\n"
                                 "Private_Dirty:    650 kB\nAnonymous:        400 kB\n"
                                 "LazyFree:           8 kB\nAnonHugePages:      0 kB\n"
                                 "Private_Hugetlb:    0 kB\nSwap:              60 kB\n"
                                 "SwapPss:           50 kB\nLocked:             0 kB\n"),
                     (300 + 40 - 8) << 10);
}

TEST_WITH(huge_pages_of_a_pool_count, new_folder, remove_folder)
{
    assert_int_equal(read_rollup("Pss_Anon: 4 kB\nAnonymous: 4 kB\nPrivate_Hugetlb: 2048 kB\n"),
                     2052 << 10);
}

TEST_WITH(a_reading_begins_at_the_start_each_time, new_folder, remove_folder)
{
    write_rollup("Pss_Anon: 4 kB\nAnonymous: 4 kB\n");
    assert_true(tp_written_open(&written, folder));
    assert_int_equal(tp_written_read(&written), 4096);
    write_rollup("Pss_Anon: 8 kB\nAnonymous: 8 kB\n");
    assert_int_equal(tp_written_read(&written), 8192);
}

TEST_WITH(a_kernel_that_does_not_say_is_not_zero, new_folder, remove_folder)
{
    char longer[TP_WRITTEN_BUFFER + 64];
    assert_false(tp_written_open(&written, folder));
    assert_true(read_rollup("") == TP_NONE);
    assert_true(read_rollup("Rss: 9 kB\nAnonymous: 8 kB\nPrivate_Dirty: 8 kB\n") == TP_NONE);
    snprintf(longer, sizeof longer, "Pss_Anon: 4 kB\nAnonymous: 4 kB\n%*s", TP_WRITTEN_BUFFER, "");
    assert_true(read_rollup(longer) == TP_NONE);
}

/* Pages of this process: those that were written, not those that were only mapped or read. A kernel
 * without a page of zeros for all gives memory to what is read, too, and what is written there
 * later needs no more. */
TEST_WITH(written_pages_of_this_process_are_counted, new_folder, remove_folder)
{
    enum { BYTES = 4 << 20, SHADOW = TP_SANITIZED ? BYTES / 4 : 0, NOISE = (64 << 10) + SHADOW };
    if (!tp_written_open(&written, "/proc/self") || tp_written_read(&written) == TP_NONE) {
        print_message("skipped: this kernel does not say what was written\n");
        skip();
    }
    uint64_t before = tp_written_read(&written), sum = 0;
    volatile char *pages = mmap(NULL, (size_t)2 * BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_in_range(tp_written_read(&written), before, before + NOISE);
    for (size_t i = BYTES; i < (size_t)2 * BYTES; i += 4096)
        sum += (uint64_t)pages[i];
    uint64_t read = tp_written_read(&written) >= before + BYTES ? BYTES : 0;
    assert_in_range(tp_written_read(&written), before + read, before + read + NOISE);
    for (size_t i = 0; i < (size_t)2 * BYTES; i += 4096)
        pages[i] = (char)(sum + 1);
    assert_in_range(tp_written_read(&written), before + 2 * BYTES, before + 2 * BYTES + NOISE);
    munmap((void *)(uintptr_t)pages, (size_t)2 * BYTES);
    assert_in_range(tp_written_read(&written), 0, before + NOISE);
}

/* A child has what its parent wrote, and owns what it writes there itself. */
TEST_WITH(a_forked_process_owns_what_it_writes, new_folder, remove_folder)
{
    enum { BYTES = 4 << 20, NOISE = 64 << 10 };
    volatile char *pages = malloc(BYTES);
    int how = 0;
    assert_non_null((void *)(uintptr_t)pages);
    memset((void *)(uintptr_t)pages, 1, BYTES);
    pid_t child = fork();
    if (!child) {
        bool known = tp_written_open(&written, "/proc/self");
        uint64_t before = known ? tp_written_read(&written) : TP_NONE;
        for (size_t i = 0; i < BYTES / 4; i += 4096)
            pages[i] = 2;
        uint64_t now = known ? tp_written_read(&written) : TP_NONE, least = before + BYTES / 4;
        _exit(before == TP_NONE ? 2 : before > BYTES || now < least || now > least + NOISE);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    free((void *)(uintptr_t)pages);
    assert_true(WIFEXITED(how));
    if (WEXITSTATUS(how) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(how), 0);
}

TEST_WITH(huge_pages_are_as_they_were_before, new_folder, remove_folder)
{
    bool before = tp_huge_pages_off(true), off = tp_huge_pages_off(before);
    assert_true(off || before == off); /* a kernel without the switch says no both times */
    assert_int_equal(tp_huge_pages_off(before), before);
}
