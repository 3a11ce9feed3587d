/* See aliases.h. */
#include "alloc/base/aliases.h"

void tp_aliases_init(struct tp_aliases *t)
{
    *t = (struct tp_aliases){.first = {0}};
    tp_addr_map_init_plain(&t->first);
}

int tp_aliases_reserve(struct tp_aliases *t)
{
    return tp_ranges_reserve(&t->second);
}

void tp_aliases_add(struct tp_aliases *t, uint64_t addr, uint64_t size, uint64_t of)
{
    tp_ranges_insert(&t->second, (struct tp_address_range){addr, size, of, size});
}

void tp_aliases_drop(struct tp_aliases *t, uint64_t addr, uint64_t size)
{
    for (uint64_t end = addr + size; addr < end;) {
        const struct tp_address_range *r = tp_ranges_find(&t->second, addr);
        addr = r->addr + r->size;
        tp_ranges_remove(&t->second, r);
    }
}

/* The memory from `addr` on that is mapped side by side where it is first, at most `size` bytes. */
static struct tp_address_range piece_at(const struct tp_aliases *t, uint64_t addr, uint64_t size)
{
    const struct tp_address_range *r = tp_ranges_find(&t->second, addr);
    const struct tp_address_range *next = r ? NULL : tp_ranges_from(&t->second, addr);
    uint64_t into = r ? addr - r->addr : 0, most = size;
    if (r)
        most = r->size - into;
    else if (next)
        most = next->addr - addr;
    return (struct tp_address_range){.addr = r ? r->tag_addr + into : addr,
                                     .size = most < size ? most : size};
}

int tp_aliases_claim(struct tp_aliases *t, uint64_t addr, uint64_t size)
{
    struct tp_address_range *last = NULL;
    uint64_t at = addr;
    int rc = TP_OK;
    for (uint64_t left = size; left && !rc;) {
        struct tp_address_range piece = piece_at(t, at, left);
        piece.tag_addr = addr;
        at += piece.size;
        left -= piece.size;
        if (tp_ranges_overlap(&t->claimed, piece.addr, piece.size))
            rc = TP_EINVAL;
        else if (tp_ranges_reserve(&t->claimed) ||
                 (!last && piece.addr != addr && tp_addr_map_insert(&t->first, addr, piece.addr)))
            rc = TP_ENOMEM;
        else {
            tp_ranges_insert(&t->claimed, piece);
            if (last)
                last->tag_size = piece.addr;
            last = (struct tp_address_range *)(uintptr_t)tp_ranges_find(&t->claimed, piece.addr);
        }
    }
    if (rc)
        tp_aliases_disclaim(t, addr);
    return rc;
}

void tp_aliases_disclaim(struct tp_aliases *t, uint64_t addr)
{
    uint64_t at = addr;
    tp_addr_map_remove(&t->first, addr, &at);
    while (at) {
        const struct tp_address_range *r = tp_ranges_find(&t->claimed, at);
        if (!r || r->tag_addr != addr)
            return;
        at = r->tag_size;
        tp_ranges_remove(&t->claimed, r);
    }
}

void tp_aliases_fini(struct tp_aliases *t)
{
    tp_ranges_fini(&t->second);
    tp_ranges_fini(&t->claimed);
    tp_addr_map_fini(&t->first);
}
