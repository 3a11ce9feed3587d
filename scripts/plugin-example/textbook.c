/* The allocators of textbooks as a plug-in of tapool; README.md beside this file says how to build
 * and run it.
 *
 * The heap is one range of addresses that grows at its end. A block has a word of header and one of
 * footer, both with its size and whether it is allocated, so that a freed block finds its two
 * neighbours and merges with those that are free.
 *
 *     padding | 2 a  2 a | 6 a  .  .  .  .  6 a | 4 f  .  .  4 f | 0 a
 *             | prologue | an allocated block   | a free one     | epilogue
 *
 * The allocators differ only in where they look for a free block (`list`). The words of tags and
 * links lie in a table beside the heap, one entry for each word of it: a heap that cannot be
 * written has them too, and a wrong free is detected. Each block pays for its two words.
 *
 * Known weakness: the heap never shrinks, and a search may walk over all blocks. */
#include <tapool/strategy.h>

#include <string.h>

enum {
    TAG = 2,      /* set in every header and footer, so that it is not zero */
    FIRST = 3,    /* header of the first block: behind the padding and the prologue */
    SMALLEST = 4, /* words of a block */
    CHUNK = 4096, /* least bytes by which the heap grows */
    CLASSES = 10  /* of segregated lists: up to 16, 32, 64, ... 4096 bytes, and above */
};

struct opts {
    uint64_t word, heap_max;
    uint32_t list;
};

struct heap {
    const struct tp_env *env;
    uint32_t *tag; /* of each word: words of its block << 2 | TAG | allocated */
    size_t room;   /* entries of `tag` */
    tp_addr base;
    uint64_t word, unit; /* bytes of a word; of what is mapped at once */
    uint64_t end;        /* words of the heap */
    uint64_t mapped, space;
    const struct list *list;
    uint32_t next; /* next fit: where the last search ended */
    uint32_t heads[CLASSES];
};

/* What the allocators differ in. A block is named by the word of its header; 0: there is none. */
struct list {
    uint32_t (*find)(struct heap *h, uint32_t words);
    void (*insert)(struct heap *h, uint32_t block);
    void (*withdraw)(struct heap *h, uint32_t block);
};

static uint32_t words_of(const struct heap *h, uint32_t block)
{
    return h->tag[block] >> 2;
}

static bool is_free(const struct heap *h, uint32_t tag)
{
    return !(h->tag[tag] & 1);
}

static void mark(struct heap *h, uint32_t block, uint32_t words, bool allocated)
{
    h->tag[block] = h->tag[block + words - 1] = words << 2 | TAG | allocated;
}

/* ---- implicit list: all blocks ---- */

static uint32_t fit_between(const struct heap *h, uint32_t block, uint32_t end, uint32_t words)
{
    for (; block < end && words_of(h, block); block += words_of(h, block)) {
        if (is_free(h, block) && words_of(h, block) >= words)
            return block;
    }
    return 0;
}

static uint32_t first_find(struct heap *h, uint32_t words)
{
    return fit_between(h, FIRST, (uint32_t)h->end, words);
}

static uint32_t next_find(struct heap *h, uint32_t words)
{
    uint32_t block = fit_between(h, h->next, (uint32_t)h->end, words);
    if (!block)
        block = fit_between(h, FIRST, h->next, words);
    h->next = block ? block : (uint32_t)h->end - 1;
    return block;
}

/* The next search begins at a block, not within one that was merged. */
static void next_insert(struct heap *h, uint32_t block)
{
    if (h->next > block && h->next < block + words_of(h, block))
        h->next = block;
}

static void nothing(struct heap *h, uint32_t block)
{
    (void)h;
    (void)block;
}

/* ---- lists of free blocks: their links are the two words behind a header ---- */

static uint32_t following(const struct heap *h, uint32_t block)
{
    return h->tag[block + 1] >> 2;
}

/* Puts `block` behind `before`, or at the head if that is 0. */
static void link_in(struct heap *h, uint32_t *head, uint32_t before, uint32_t block)
{
    uint32_t after = before ? following(h, before) : *head;
    h->tag[block + 1] = after << 2;
    h->tag[block + 2] = before << 2;
    if (after)
        h->tag[after + 2] = block << 2;
    if (before)
        h->tag[before + 1] = block << 2;
    else
        *head = block;
}

static void link_out(struct heap *h, uint32_t *head, uint32_t block)
{
    uint32_t before = h->tag[block + 2] >> 2, after = following(h, block);
    if (after)
        h->tag[after + 2] = before << 2;
    if (before)
        h->tag[before + 1] = after << 2;
    else
        *head = after;
    h->tag[block + 1] = h->tag[block + 2] = 0;
}

static uint32_t fit_along(const struct heap *h, uint32_t block, uint32_t words)
{
    while (block && words_of(h, block) < words)
        block = following(h, block);
    return block;
}

static uint32_t explicit_find(struct heap *h, uint32_t words)
{
    return fit_along(h, h->heads[0], words);
}

static void explicit_insert(struct heap *h, uint32_t block) /* the newest first */
{
    link_in(h, &h->heads[0], 0, block);
}

static void explicit_withdraw(struct heap *h, uint32_t block)
{
    link_out(h, &h->heads[0], block);
}

static unsigned class_of(const struct heap *h, uint32_t words)
{
    unsigned c = 0;
    while (c < CLASSES - 1 && words * h->word > 16u << c)
        c++;
    return c;
}

static uint32_t segregated_find(struct heap *h, uint32_t words)
{
    uint32_t block = 0;
    for (unsigned c = class_of(h, words); c < CLASSES && !block; c++)
        block = fit_along(h, h->heads[c], words);
    return block;
}

static void segregated_insert(struct heap *h, uint32_t block) /* in the order of sizes */
{
    uint32_t *head = &h->heads[class_of(h, words_of(h, block))], before = 0, after = *head;
    for (; after && words_of(h, after) < words_of(h, block); after = following(h, after))
        before = after;
    link_in(h, head, before, block);
}

static void segregated_withdraw(struct heap *h, uint32_t block)
{
    link_out(h, &h->heads[class_of(h, words_of(h, block))], block);
}

static const char *const list_names[] = {"first-fit", "next-fit", "explicit", "segregated", NULL};
static const struct list lists[] = {
    {first_find, nothing, nothing},
    {next_find, next_insert, nothing},
    {explicit_find, explicit_insert, explicit_withdraw},
    {segregated_find, segregated_insert, segregated_withdraw},
};

/* ---- blocks ---- */

/* A free block that stops being one: its tags are no longer those of a block. */
static void forget(struct heap *h, uint32_t block)
{
    uint32_t last = block + words_of(h, block) - 1;
    h->list->withdraw(h, block);
    h->tag[block] = h->tag[last] = 0;
}

static uint32_t merge(struct heap *h, uint32_t block)
{
    uint32_t words = words_of(h, block), after = block + words;
    if (is_free(h, after)) {
        words += words_of(h, after);
        h->tag[after - 1] = 0;
        forget(h, after);
    }
    if (is_free(h, block - 1)) {
        uint32_t before = block - words_of(h, block - 1);
        words += block - before;
        h->tag[block] = 0;
        forget(h, before);
        block = before;
    }
    mark(h, block, words, false);
    h->list->insert(h, block);
    return block;
}

static int make_room(struct heap *h, uint64_t words)
{
    size_t room = h->room ? h->room : CHUNK;
    while (room < words)
        room *= 2;
    if (room == h->room)
        return TP_OK;
    uint32_t *tag = tp_meta_get(h->env, room * sizeof *tag);
    if (!tag)
        return TP_ENOMEM;
    if (h->tag)
        memcpy(tag, h->tag, h->room * sizeof *tag);
    tp_meta_put(h->env, h->tag, h->room * sizeof *tag);
    h->tag = tag;
    h->room = room;
    return TP_OK;
}

static int reach(struct heap *h, uint64_t end)
{
    if (end * h->word > h->space)
        return TP_EOOM;
    uint64_t mapped = (end * h->word + h->unit - 1) / h->unit * h->unit;
    int rc = make_room(h, end);
    if (!rc && mapped > h->mapped)
        rc = tp_src_map(h->env->source, h->base, h->mapped, mapped - h->mapped);
    if (!rc && mapped > h->mapped)
        h->mapped = mapped;
    if (!rc)
        h->end = end;
    return rc;
}

/* Grows the heap by a free block of at least so many words, merged with a free one before it. */
static int grow(struct heap *h, uint32_t words, uint32_t *block)
{
    uint32_t header = (uint32_t)h->end - 1; /* in place of the epilogue */
    if (words < CHUNK / h->word)
        words = (uint32_t)(CHUNK / h->word);
    int rc = reach(h, h->end + words);
    if (rc)
        return rc;
    mark(h, header, words, false);
    h->tag[h->end - 1] = TAG | 1;
    *block = merge(h, header);
    return TP_OK;
}

static void place(struct heap *h, uint32_t block, uint32_t words)
{
    uint32_t whole = words_of(h, block);
    forget(h, block);
    if (whole - words < SMALLEST) {
        mark(h, block, whole, true);
        return;
    }
    mark(h, block, words, true);
    mark(h, block + words, whole - words, false);
    h->list->insert(h, block + words);
}

static int textbook_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct heap *h = st;
    (void)thr;
    if (!rq->size || !rq->align || rq->align & (rq->align - 1))
        return TP_EINVAL;
    if (rq->align > 2 * h->word)
        return TP_EUNSUP;
    if (rq->size > h->space)
        return TP_EOOM;
    uint32_t words = (uint32_t)((rq->size + 4 * h->word - 1) / (2 * h->word)) * 2;
    uint32_t block = h->list->find(h, words);
    int rc = block ? TP_OK : grow(h, words, &block);
    if (rc)
        return rc;
    place(h, block, words);
    *out = (struct tp_block){h->base + (block + 1) * h->word, (words_of(h, block) - 2) * h->word};
    return TP_OK;
}

static int textbook_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct heap *h = st;
    uint64_t at = (addr - h->base) / h->word;
    (void)thr;
    if (addr < h->base || (addr - h->base) % (2 * h->word) || at <= FIRST || at >= h->end)
        return TP_EINVAL;
    uint32_t block = (uint32_t)at - 1;
    if ((h->tag[block] & 3) != (TAG | 1) || rq->size > (words_of(h, block) - 2) * h->word)
        return TP_EINVAL;
    mark(h, block, words_of(h, block), false);
    merge(h, block);
    return TP_OK;
}

static void textbook_fini(void *st)
{
    struct heap *h = st;
    struct tp_source *source = h->env->source;
    if (h->mapped && tp_src_unmap(source, h->base, 0, h->mapped)) /* refused for now */
        tp_src_unmap(source, h->base, 0, h->mapped);
    if (h->base && tp_src_space_put(source, h->base, h->space))
        tp_src_space_put(source, h->base, h->space);
    tp_meta_put(h->env, h->tag, h->room * sizeof *h->tag);
}

static int textbook_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    const struct opts *o = opts;
    struct heap *h = st;
    uint32_t block;
    (void)err;
    *h = (struct heap){
        .env = env, .word = o->word < 8 ? 4 : 8, .next = FIRST, .list = &lists[o->list]};
    h->unit = tp_src_map_page(env->source);
    if (!h->unit)
        return TP_EUNSUP;
    h->space = (o->heap_max + h->unit - 1) / h->unit * h->unit;
    int rc = tp_src_space_get(env->source, h->space, h->unit, &h->base);
    if (!rc)
        rc = reach(h, FIRST + 1);
    if (!rc) {
        mark(h, 1, 2, true);
        h->tag[FIRST] = TAG | 1;
        rc = grow(h, 0, &block);
    }
    if (rc)
        textbook_fini(h);
    return rc;
}

static void textbook_stats(void *st, struct tp_stats *out)
{
    const struct heap *h = st;
    *out =
        (struct tp_stats){.carved_bytes = h->end * h->word, .peak_carved_bytes = h->end * h->word};
}

static const struct tp_opt rows[] = {
    TP_CHOICE_ROW(struct opts, list, .def = "first-fit", .choices = list_names, .arg = "LIST",
                  .help =
                      "where a free block is looked for: along all blocks from the start or from "
                      "the last search's end, in one list, in lists by size"),
    TP_UINT_ROW(struct opts, word, .def = "8", .min = 4, .max = 8,
                .help = "bytes of a header or footer, 4 or 8; blocks are aligned to twice as many"),
    TP_SIZE_ROW(struct opts, heap_max, .def = "1GiB", .min = 4096, .max = 1ull << 32,
                .help = "addresses for the heap"),
    {.name = NULL}};

static const struct tp_strategy textbook = {.name = "textbook",
                                            .summary = "boundary tags, lists of blocks",
                                            .state_size = sizeof(struct heap),
                                            .opts_size = sizeof(struct opts),
                                            .options = rows,
                                            .init = textbook_init,
                                            .fini = textbook_fini,
                                            .alloc = textbook_alloc,
                                            .free = textbook_free,
                                            .stats = textbook_stats};
TP_PLUGIN(&textbook, "1.0")
