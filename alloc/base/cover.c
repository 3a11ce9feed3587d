/* See cover.h. A part is found by its number in a table with open addressing, whose entries are
 * claimed by compare and swap. */
#include "alloc/base/cover.h"

#include "alloc/base/own_pages.h"

enum {
    PART_LOG2 = 21,               /* bytes of addresses of a part */
    WORDS = 1 << (PART_LOG2 - 9), /* 64-bit words of its bits */
    TABLE_LOG2 = 17,
    PARTS_MOST = 1 << (TABLE_LOG2 - 1) /* 128 GiB of addresses */
};
#define TABLE_BYTES ((sizeof(struct tp_cover_part)) << TABLE_LOG2)
#define PART_BYTES  (WORDS * sizeof(uint64_t))
#define BITS_BYTES  (PARTS_MOST * PART_BYTES)

struct tp_cover_part {
    uint64_t number; /* address >> PART_LOG2, plus 1; 0: free. Atomic */
    uint64_t place;  /* in the bits, plus 1; 0: not yet there. Atomic */
};

bool tp_cover_open(struct tp_cover *c)
{
    *c = (struct tp_cover){.parts = tp_shared_get(TABLE_BYTES), .bits = tp_shared_get(BITS_BYTES)};
    if (c->parts && c->bits)
        return true;
    tp_cover_close(c);
    return false;
}

void tp_cover_close(struct tp_cover *c)
{
    tp_shared_put(c->parts, TABLE_BYTES);
    tp_shared_put(c->bits, BITS_BYTES);
    *c = (struct tp_cover){0};
}

static uint64_t first_place(uint64_t number)
{
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio, odd */
    return number * golden >> (64 - TABLE_LOG2);
}

/* The entry of a part, or the free one where it would be. */
static struct tp_cover_part *find(const struct tp_cover *c, uint64_t number)
{
    uint64_t at = first_place(number);
    uint64_t there;
    while ((there = __atomic_load_n(&c->parts[at].number, __ATOMIC_ACQUIRE)) && there != number)
        at = (at + 1) & ((UINT64_C(1) << TABLE_LOG2) - 1);
    return &c->parts[at];
}

static uint64_t *words_of(const struct tp_cover *c, uint64_t place)
{
    return (uint64_t *)(void *)(c->bits + (place - 1) * PART_BYTES);
}

/* Claims the entry of a part; NULL: there is no more room. */
static struct tp_cover_part *claim(struct tp_cover *c, uint64_t number)
{
    for (;;) {
        struct tp_cover_part *part = find(c, number);
        uint64_t none = 0;
        if (__atomic_load_n(&part->number, __ATOMIC_ACQUIRE) == number)
            return part;
        if (__atomic_load_n(&c->used, __ATOMIC_RELAXED) >= PARTS_MOST)
            return NULL;
        if (!__atomic_compare_exchange_n(&part->number, &none, number, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            continue;
        uint64_t place = __atomic_add_fetch(&c->used, 1, __ATOMIC_ACQ_REL);
        if (place > PARTS_MOST) /* its entry keeps place 0 */
            return NULL;
        __atomic_store_n(&part->place, place, __ATOMIC_RELEASE);
        return part;
    }
}

/* The bits of a part, which another thread may be about to place; NULL: there is no room. */
static uint64_t *bits_of(struct tp_cover *c, uint64_t number)
{
    struct tp_cover_part *part = claim(c, number);
    uint64_t place = 0;
    while (part && !(place = __atomic_load_n(&part->place, __ATOMIC_ACQUIRE)))
        if (__atomic_load_n(&c->used, __ATOMIC_ACQUIRE) > PARTS_MOST)
            return NULL;
    return part ? words_of(c, place) : NULL;
}

/* Sets the bits [from, to) of a part. */
static void set_bits(uint64_t *words, uint64_t from, uint64_t to)
{
    for (uint64_t w = from / 64; w * 64 < to; w++) {
        uint64_t low = from > w * 64 ? from - w * 64 : 0, high = to - w * 64;
        uint64_t mask = ~UINT64_C(0) << low;
        mask &= high < 64 ? (UINT64_C(1) << high) - 1 : ~UINT64_C(0);
        if ((__atomic_load_n(&words[w], __ATOMIC_RELAXED) & mask) != mask)
            __atomic_fetch_or(&words[w], mask, __ATOMIC_RELAXED);
    }
}

void tp_cover_add(struct tp_cover *c, uint64_t addr, uint64_t size)
{
    uint64_t end = addr + size;
    for (uint64_t to; addr < end; addr = to) {
        uint64_t number = addr >> PART_LOG2, base = number << PART_LOG2;
        to = (number + 1) << PART_LOG2;
        uint64_t last = to < end ? to : end;
        uint64_t *words = bits_of(c, number + 1);
        if (!words) {
            __atomic_store_n(&c->full, true, __ATOMIC_RELAXED);
            return;
        }
        set_bits(words, (addr - base) / 8, (last - base + 7) / 8);
    }
}

uint64_t tp_cover_bytes(const struct tp_cover *c, uint64_t addr, uint64_t size)
{
    uint64_t bytes = 0;
    for (uint64_t end = addr + size; addr < end; addr += 512) {
        uint64_t number = addr >> PART_LOG2;
        const struct tp_cover_part *part = find(c, number + 1);
        if (part->place)
            bytes += 8 * (uint64_t)__builtin_popcountll(
                             words_of(c, part->place)[(addr - (number << PART_LOG2)) / 512]);
    }
    return bytes;
}
