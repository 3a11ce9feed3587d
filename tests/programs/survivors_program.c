/* A program that keeps one small block on every fourth page of its heap, from one of twenty sites.
 * It prints what it knows: the pages with a survivor, the bytes of blocks on them that it has
 * freed, and the bytes of survivors.
 *
 *     blocks    0 1 2 ... 19 0 1 2 ... 19 ...      each made by the site of its number
 *     kept          ^ 7 on a page whose number is a multiple of 4, one a page
 *
 * With an argument the blocks of that site lie in a region of their own. */
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SITES = 20, BLOCKS = 200000, BYTES = 240, KEPT_SITE = 7, EVERY = 4, PAGE = 4096 };

static char *region; /* the rest of it; NULL: there is none */

#define SITE(number)                                                                               \
    __attribute__((noinline)) void *site_##number(void);                                           \
    void *site_##number(void)                                                                      \
    {                                                                                              \
        bool apart = number == KEPT_SITE && region;                                                \
        char *p = apart ? (region += BYTES) - BYTES : malloc(BYTES);                               \
        for (int i = 0; p && i < BYTES; i++)                                                       \
            ((volatile char *)p)[i] = number;                                                      \
        return p;                                                                                  \
    }
SITE(0)
SITE(1)
SITE(2)
SITE(3)
SITE(4)
SITE(5)
SITE(6)
SITE(7)
SITE(8)
SITE(9)
SITE(10)
SITE(11)
SITE(12)
SITE(13)
SITE(14)
SITE(15)
SITE(16)
SITE(17)
SITE(18)
SITE(19)

typedef void *take(void);
static take *const sites[SITES] = {site_0,  site_1,  site_2,  site_3,  site_4,  site_5,  site_6,
                                   site_7,  site_8,  site_9,  site_10, site_11, site_12, site_13,
                                   site_14, site_15, site_16, site_17, site_18, site_19};

static uintptr_t page_of(const void *p)
{
    return (uintptr_t)p / PAGE;
}

/* Bytes of a block on a page. */
static size_t on_page(const char *p, uintptr_t page)
{
    uintptr_t from = (uintptr_t)p, to = from + malloc_usable_size((void *)(uintptr_t)p);
    from = from > page * PAGE ? from : page * PAGE;
    to = to < (page + 1) * PAGE ? to : (page + 1) * PAGE;
    return to > from ? to - from : 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    void **blocks = mmap(NULL, BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool *keep = mmap(NULL, BLOCKS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t pages = 0, freed = 0, live = 0;
    uintptr_t last = 0;
    bool apart = argc > 1;
    if (apart)
        region = mmap(NULL, BLOCKS / SITES * BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (blocks == MAP_FAILED || keep == MAP_FAILED || region == MAP_FAILED)
        return 1;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = sites[i % SITES]();
    for (int i = KEPT_SITE; i < BLOCKS; i += SITES) {
        uintptr_t page = page_of(blocks[i]);
        keep[i] =
            page % EVERY == 0 && page != last && page_of((char *)blocks[i] + BYTES - 1) == page;
        last = keep[i] ? page : last;
        for (int k = i - PAGE / BYTES; keep[i] && k <= i + PAGE / BYTES; k++)
            freed += k >= 0 && k < BLOCKS && k != i ? on_page(blocks[k], page) : 0;
        pages += keep[i];
        live += keep[i] ? BYTES : 0;
    }
    for (int i = 0; i < BLOCKS; i++)
        if (!keep[i] && (!apart || i % SITES != KEPT_SITE))
            free(blocks[i]);
    char said[96];
    int length = snprintf(said, sizeof said, "%zu %zu %zu\n", pages, freed, live);
    _exit(write(STDOUT_FILENO, said, (size_t)length) != length);
}
