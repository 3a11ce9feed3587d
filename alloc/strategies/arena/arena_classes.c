/* The tables of size classes; see arena_classes.h. */
#include "alloc/strategies/arena/arena_classes.h"

/* Adds a class unless rounding to the alignment made it equal to the previous one. */
static void classes_add(struct arena_classes *t, uint64_t size)
{
    size = round_up(size, t->alignment);
    if (t->count && t->size[t->count - 1] == size)
        return;
    assert(t->count < ARENA_MAX_CLASSES);
    t->size[t->count++] = size;
}

static void classes_list(struct arena_classes *t, enum arena_table table)
{
    static const uint64_t coarse6[] = {64, 256, 4 << 10, 256 << 10, 1 << 20, 16 << 20, 0};
    static const uint64_t coarse12[] = {64,       256,      4 << 10,  6 << 10,   8 << 10,
                                        16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10,
                                        1 << 20,  16 << 20, 0};
    if (table != ARENA_FINE) {
        for (const uint64_t *size = table == ARENA_COARSE6 ? coarse6 : coarse12; *size; size++)
            classes_add(t, *size);
        return;
    }
    for (uint64_t size = 16; size <= 128; size += 16)
        classes_add(t, size);
    for (uint64_t base = 128; base < 32768; base *= 2)
        for (uint64_t eighth = 1; eighth <= 8; eighth++)
            classes_add(t, base + base / 8 * eighth);
}

void tp_arena_classes_init(struct arena_classes *t, enum arena_table table, uint64_t alignment,
                           uint64_t refill_target, uint32_t cache_target)
{
    t->alignment = alignment;
    t->cache_target = cache_target;
    classes_list(t, table);
    t->largest = t->size[t->count - 1];
    t->direct = t->largest < ARENA_DIRECT ? t->largest : ARENA_DIRECT;
    for (uint32_t c = 0, step = 0; step < t->direct / ARENA_STEP; step++) {
        if ((step + UINT64_C(1)) * ARENA_STEP > t->size[c])
            c++;
        t->of[step] = (uint8_t)c;
    }
    for (uint32_t c = 0; c < t->count; c++) {
        uint64_t refill = refill_target / t->size[c];
        uint64_t limit = cache_target / t->size[c];
        t->refill[c] = (uint32_t)(refill ? refill : 1);
        t->limit[c] = (uint32_t)(limit > 2 ? limit : 2);
        t->drain[c] = t->refill[c] > 3 ? t->refill[c] / 2 : 1;
    }
}
