/* Making and dropping chunks; see arena_chunks.h. */
#include "alloc/strategies/arena/arena_chunks.h"

const struct arena_chunk tp_arena_no_chunk = {.index = UINT64_MAX};

void *tp_arena_piece_new(const struct tp_env *env, struct arena_piece **list, size_t bytes,
                         size_t align)
{
    size_t all = bytes + sizeof(struct arena_piece) + align - 1;
    struct arena_piece *piece = tp_meta_get(env, all);
    if (!piece)
        return NULL;
    *piece = (struct arena_piece){*list, all};
    *list = piece;
    uintptr_t at = (uintptr_t)(piece + 1);
    return (void *)((at + align - 1) & ~(uintptr_t)(align - 1));
}

void tp_arena_pieces_fini(const struct tp_env *env, struct arena_piece **list)
{
    for (struct arena_piece *piece = *list, *next; piece; piece = next) {
        next = piece->next;
        tp_meta_put(env, piece, piece->bytes);
    }
    *list = NULL;
}

static void table_place(uint64_t table, struct arena_chunk *chunk)
{
    uint64_t i = table_home(table, chunk->index);
    while (table_slots(table)[i] != &tp_arena_no_chunk)
        i = (i + 1) & table_mask(table);
    __atomic_store_n(&table_slots(table)[i], chunk, __ATOMIC_RELEASE);
}

/* Replaces the table by one of 2^log2 slots. TP_ENOMEM: nothing has changed. */
static int chunks_grow(struct arena_chunks *t, unsigned log2)
{
    struct arena_chunk *none =
        /* the cast is safe: this chunk is never written */
        (struct arena_chunk *)(uintptr_t)&tp_arena_no_chunk;
    struct arena_piece *outgrown = t->tables;
    if (log2 > CHUNK_MOST_LOG2)
        return TP_ENOMEM;
    uint64_t old = t->table;
    struct arena_chunk **slots =
        tp_arena_piece_new(t->env, &t->tables, sizeof(none) << log2, CHUNK_LINE);
    if (!slots)
        return TP_ENOMEM;
    uint64_t table = (uintptr_t)slots + log2;
    for (uint64_t i = 0; i <= table_mask(table); i++)
        slots[i] = none;
    for (uint64_t i = 0; old && i <= table_mask(old); i++)
        if (table_slots(old)[i] != none)
            table_place(table, table_slots(old)[i]);
    __atomic_store_n(&t->table, table, __ATOMIC_RELEASE);
    if (t->watched) {
        t->slots = slots;
        t->factor = table_factor(table);
        t->mask = table_mask(table);
    }
    if (outgrown && !t->env->concurrent) {
        t->tables->next = NULL;
        tp_arena_pieces_fini(t->env, &outgrown);
    }
    return TP_OK;
}

int tp_arena_chunks_init(struct arena_chunks *t, const struct tp_env *env, bool watched)
{
    *t = (struct arena_chunks){.env = env, .watched = watched};
    return chunks_grow(t, CHUNK_FIRST_LOG2);
}

void tp_arena_chunks_fini(struct arena_chunks *t)
{
    tp_arena_pieces_fini(t->env, &t->tables);
    tp_arena_pieces_fini(t->env, &t->slabs);
}

static size_t chunk_bytes(const struct arena_chunks *t)
{
    return t->env->concurrent ? sizeof(struct arena_chunk)
                              : offsetof(struct arena_chunk, spans[CHUNK_PAGES]);
}

static int chunks_reserve(struct arena_chunks *t)
{
    uint64_t slots = table_mask(t->table) + 1;
    if (t->count >= slots / 4 && chunks_grow(t, 1 + (unsigned)(t->table & 63)))
        return TP_ENOMEM;
    if (t->spares)
        return TP_OK;
    t->spares = tp_arena_piece_new(t->env, &t->slabs, chunk_bytes(t), CHUNK_LINE);
    return t->spares ? TP_OK : TP_ENOMEM;
}

/* The chunk of an address, made if it is missing; NULL when memory is exhausted. */
static struct arena_chunk *chunk_make(struct arena_chunks *t, tp_addr addr)
{
    struct arena_chunk *chunk = chunk_find(t, addr);
    if (chunk || chunks_reserve(t))
        return chunk;
    chunk = t->spares;
    t->spares = chunk->spare;
    chunk->spare = NULL;
    chunk->index = addr >> CHUNK_SHIFT;
    table_place(t->table, chunk);
    t->count++;
    return chunk;
}

int tp_arena_chunks_mark(struct arena_chunks *t, struct arena_span *s, uint64_t block, uint64_t tag)
{
    tp_addr start = span_addr(s), end = start + s->blocks * block;
    uint64_t step = block > ARENA_PAGE ? block : ARENA_PAGE;
    struct arena_chunk *chunk = NULL;
    for (tp_addr at = start; at < end; at += step) {
        if (!chunk || chunk->index != at >> CHUNK_SHIFT)
            chunk = chunk_make(t, at);
        if (!chunk)
            return TP_ENOMEM;
        uint64_t page = granule_page(granule_of(at));
        __atomic_store_n(&chunk->size_class[page], s->size_class, __ATOMIC_RELAXED);
        if (t->env->concurrent) {
            chunk->pages[page].span = s;
            __atomic_store_n(&chunk->pages[page].tag, tag, __ATOMIC_RELEASE);
        } else
            chunk->spans[page] = s;
    }
    return TP_OK;
}

void tp_arena_chunks_tag(const struct arena_chunks *t, struct arena_span *s, uint64_t block,
                         uint64_t tag)
{
    tp_addr start = span_addr(s), end = start + s->blocks * block;
    uint64_t step = block > ARENA_PAGE ? block : ARENA_PAGE;
    for (tp_addr at = start; at < end; at += step)
        __atomic_store_n(&chunk_page(chunk_find(t, at), granule_of(at))->tag, tag,
                         __ATOMIC_RELEASE);
}

/* Takes a chunk out of the table. Later chunks move back into the hole, so there are no
 * tombstones. */
static void chunk_forget(struct arena_chunks *t, struct arena_chunk *chunk)
{
    struct arena_chunk **slots = table_slots(t->table);
    uint64_t mask = table_mask(t->table), hole = table_home(t->table, chunk->index);
    while (slots[hole] != chunk)
        hole = (hole + 1) & mask;
    for (uint64_t i = (hole + 1) & mask; slots[i] != &tp_arena_no_chunk; i = (i + 1) & mask) {
        uint64_t home = table_home(t->table, slots[i]->index);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        slots[hole] = slots[i];
        hole = i;
    }
    slots[hole] = (struct arena_chunk *)(uintptr_t)&tp_arena_no_chunk;
    t->count--;
    memset(chunk, 0, chunk_bytes(t));
    chunk->spare = t->spares;
    t->spares = chunk;
}

void tp_arena_chunks_forget(struct arena_chunks *t, tp_addr base, uint64_t bytes)
{
    uint64_t first = base >> CHUNK_SHIFT, count = (bytes + ARENA_CHUNK - 1) / ARENA_CHUNK;
    if (t->env->concurrent)
        return;
    if (count <= table_mask(t->table)) {
        for (uint64_t i = 0; i < count; i++) {
            struct arena_chunk *chunk = chunk_find(t, (first + i) << CHUNK_SHIFT);
            if (chunk)
                chunk_forget(t, chunk);
        }
        return;
    }
    for (uint64_t i = 0; i <= table_mask(t->table);) {
        struct arena_chunk *chunk = table_slots(t->table)[i];
        if (chunk->index - first < count)
            /* another chunk may have moved here, so this slot is checked again */
            chunk_forget(t, chunk);
        else
            i++;
    }
}
