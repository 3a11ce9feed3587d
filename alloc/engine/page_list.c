/* See page_list.h: reading, and what lies on a page. */
#include "alloc/engine/page_list.h"

#include "alloc/base/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* The bytes of what follows a head; UINT64_MAX: more than any file has. */
static uint64_t body_of(const struct tp_page_list_head *h, uint64_t left)
{
    if (h->blocks > left / sizeof(struct tp_page_block) || h->pages > left / sizeof(tp_listed_page))
        return UINT64_MAX;
    return h->blocks * sizeof(struct tp_page_block) + h->pages * sizeof(tp_listed_page);
}

static bool are_blocks(const struct tp_page_list *l, uint64_t slots)
{
    uint64_t end = 0;
    for (uint64_t i = 0; i < l->head.blocks; i++) {
        const struct tp_page_block *b = &l->blocks[i];
        if (b->addr < end || b->slot >= slots || b->requested > b->allocated ||
            b->allocated > UINT64_MAX - b->addr)
            return false;
        end = b->addr + b->allocated;
    }
    return true;
}

static bool are_pages(const struct tp_page_list *l)
{
    uint64_t page = l->head.page, every = l->head.every, next = 0;
    if (page < 512 || page > TP_LISTED_PAGE_MOST || page & (page - 1))
        return false;
    if (!every || l->head.pages > UINT64_MAX / every / page)
        return false;
    for (uint64_t i = 0; i < l->head.pages; i++) {
        uint64_t number = tp_listed_number(l->pages[i]);
        if (number < next || number >= UINT64_MAX / page || tp_listed_covered(l->pages[i]) > page)
            return false;
        next = number + 1;
    }
    return true;
}

/* Whether the parts are known and add up, as they do of every list that is written. */
static bool are_parts(const struct tp_page_parts *p)
{
    uint64_t rounding = p->rounding == TP_NONE ? 0 : p->rounding;
    return p->resident != TP_NONE &&
           p->resident == p->live + rounding + p->partly_free + p->free_pages + p->own;
}

/* Reads the list at *at, and goes behind it. false: there is none. */
static bool read_list(const struct tp_page_lists *l, size_t *at, uint64_t slots,
                      struct tp_page_list *out)
{
    const char *from = (const char *)l->file + *at;
    uint64_t left = l->size - *at;
    if (left < sizeof out->head)
        return false;
    memcpy(&out->head, from, sizeof out->head);
    left -= sizeof out->head;
    uint64_t body = body_of(&out->head, left);
    if (out->head.magic != TP_PAGE_LIST_MAGIC || body > left)
        return false;
    out->blocks = (const void *)(from + sizeof out->head);
    out->pages = (const void *)(out->blocks + out->head.blocks);
    *at += sizeof out->head + (size_t)body;
    return are_blocks(out, slots) && are_pages(out) && are_parts(&out->head.parts);
}

int tp_page_lists_open(int fd, uint64_t slots, struct tp_page_lists *out, struct tp_err *err)
{
    struct stat st;
    size_t at = 0;
    *out = (struct tp_page_lists){.lists = calloc(TP_PAGE_MOMENTS + 1, sizeof *out->lists)};
    if (!out->lists)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    if (fstat(fd, &st) || st.st_size <= 0)
        return TP_OK;
    void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return tp_fail(err, TP_EIO, "the list of pages cannot be read: %s", strerror(errno));
    out->file = file;
    out->size = (size_t)st.st_size;
    while (out->count <= TP_PAGE_MOMENTS && read_list(out, &at, slots, &out->lists[out->count]))
        out->count++;
    return TP_OK;
}

void tp_page_use_at(struct tp_page_use *u, const struct tp_page_block *blocks, size_t count,
                    uint64_t low, uint64_t high)
{
    u->live = u->taken = 0;
    while (u->first < count && blocks[u->first].addr + blocks[u->first].allocated <= low)
        u->first++;
    for (u->end = u->first; u->end < count && blocks[u->end].addr < high; u->end++) {
        const struct tp_page_block *b = &blocks[u->end];
        u->live += tp_overlap(b->addr, b->addr + b->requested, low, high);
        u->taken += tp_overlap(b->addr, b->addr + b->allocated, low, high);
    }
}

void tp_page_lists_close(struct tp_page_lists *l)
{
    if (l->file)
        munmap(l->file, l->size);
    free(l->lists);
    *l = (struct tp_page_lists){.count = 0};
}
