/* The owners of `arena`: remote frees, orphans, start and end of a thread; see arena_owner.h. */
#include "alloc/strategies/arena/arena_core.h"

static void orphans_lock(struct arena *st, uint32_t size_class)
{
    tp_lock_take(&st->owners->locks[size_class].lock);
}

static void orphans_unlock(struct arena *st, uint32_t size_class)
{
    tp_lock_drop(&st->owners->locks[size_class].lock);
}

static void orphans_stocked(struct arena *st, uint32_t size_class)
{
    __atomic_store_n(&st->owners->locks[size_class].stocked, true, __ATOMIC_RELAXED);
}

static struct arena_page *link_page(uint64_t link)
{
    return &link_chunk(link)->pages[link_word(link) / PAGE_WORDS];
}

static uint64_t *link_gone(uint64_t link)
{
    return &link_page(link)->gone[link_word(link) % PAGE_WORDS];
}

static uint64_t *link_behind(uint64_t link)
{
    return &link_chunk(link)->next[link_word(link)];
}

static uint64_t link_tag(uint64_t link)
{
    return page_tag(link_page(link));
}

/* ---- taking back: the caller owns the pool, or holds its lock ---- */

/* Moves the blocks of a word that others have freed to the pool of its owner. From now on the word
 * is in no list. */
static void word_take_back(struct arena *st, struct arena_owner *owner, uint64_t link)
{
    struct arena_page *page = link_page(link);
    uint64_t i = link_word(link), *word = &page->live[i % PAGE_WORDS];
    uint64_t live = __atomic_load_n(word, __ATOMIC_RELAXED), gone;
    do { /* live bits first: between the two no bit may say that a block lives */
        gone = __atomic_load_n(link_gone(link), __ATOMIC_ACQUIRE);
        __atomic_store_n(word, live & ~gone, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(link_gone(link), &gone, 0, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    /* a wrong free may have looked at a block that lived, and set the bit too late */
    uint64_t taken = st->checked ? gone & live : gone;
    if (!taken)
        return;
    struct arena_span *s = page->span;
    struct arena_central *pool = &owner->pools[s->size_class];
    tp_addr at = (link_chunk(link)->index << CHUNK_SHIFT) +
                 (i * 64 + (uint64_t)__builtin_ctzll(taken)) * ARENA_STEP;
    uint32_t count = (uint32_t)__builtin_popcountll(taken);
    *word_pooled(&st->chunks, word) |= taken;
    if (!s->pooled)
        pool_link(pool, s);
    s->low = at < s->low ? at : s->low;
    s->pooled += count;
    pool->count += count;
    if (s->pooled == s->blocks)
        tp_arena_span_is_idle(st, pool, s);
}

/* Gives a span another owner. Both pools belong to the caller. */
static void span_hand_over(struct arena *st, struct arena_span *s, struct arena_owner *from,
                           struct arena_owner *to)
{
    struct arena_central *old = &from->pools[s->size_class], *fresh = &to->pools[s->size_class];
    uint64_t idle = s->pooled == s->blocks;
    if (s->pooled) {
        pool_unlink(old, s);
        pool_link(fresh, s);
    }
    old->count -= s->pooled;
    fresh->count += s->pooled;
    old->pages -= s->pages;
    fresh->pages += s->pages;
    old->idle -= idle;
    fresh->idle += idle;
    tp_arena_chunks_tag(&st->chunks, s, st->classes.size[s->size_class], tag_of(to, s->size_class));
}

/* ---- delivery ---- */

/* Puts words, linked from `first` to the link `last`, into an inbox. False: it is closed. */
static bool inbox_put(struct arena_owner *owner, uint64_t first, uint64_t *last)
{
    uint64_t top = __atomic_load_n(&owner->inbox, __ATOMIC_RELAXED);
    do {
        bool closed = top == INBOX_CLOSED; /* an exchange that failed may have left a link */
        __atomic_store_n(last, closed ? 0 : top, __ATOMIC_RELAXED);
        if (closed)
            return false;
    } while (!__atomic_compare_exchange_n(&owner->inbox, &top, first, true, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    return true;
}

/* Takes the bits of a word back for the orphans if its owner has no thread; its span is theirs from
 * then on. False: it has one. The lock of the orphans is held. */
static bool orphan_word(struct arena *st, uint64_t link, uint64_t tag)
{
    struct arena_owner *owner = tag_owner(tag), *orphans = st->owners->orphans;
    tp_lock_take(&st->heap); /* no owner gets a thread or loses it */
    bool orphaned = link_tag(link) == tag && !owner->thr;
    if (orphaned && owner != orphans)
        span_hand_over(st, link_page(link)->span, owner, orphans);
    tp_lock_drop(&st->heap);
    if (orphaned) {
        word_take_back(st, orphans, link);
        orphans_stocked(st, tag_class(tag));
    }
    return orphaned;
}

/* Takes the bits of a word in whose page no small block lives: wrong frees. False: small blocks
 * live there by now; the bits are back, and the word is the caller's to deliver. */
static bool word_ignored(uint64_t link)
{
    uint64_t bits = __atomic_exchange_n(link_gone(link), 0, __ATOMIC_ACQ_REL);
    uint64_t tag = link_tag(link);
    return !tag || tag_class(tag) >= ARENA_ENDED ||
           __atomic_fetch_or(link_gone(link), bits, __ATOMIC_ACQ_REL);
}

/* Delivers one word to whoever owns it now. Its page may be free by now, or one of a large object,
 * if the free was a wrong one. */
static void deliver(struct arena *st, uint64_t link)
{
    bool done = false;
    while (!done) {
        uint64_t tag = link_tag(link);
        if (!tag || tag_class(tag) >= ARENA_ENDED) {
            done = word_ignored(link);
            continue;
        }
        if (inbox_put(tag_owner(tag), link, link_behind(link)))
            return;
        orphans_lock(st, tag_class(tag));
        done = orphan_word(st, link, tag);
        orphans_unlock(st, tag_class(tag));
    }
}

static uint64_t link_next(uint64_t link)
{
    return __atomic_load_n(link_behind(link), __ATOMIC_RELAXED);
}

static void deliver_all(struct arena *st, uint64_t first)
{
    for (uint64_t link = first, next; link; link = next) {
        next = link_next(link);
        deliver(st, link);
    }
}

static void outbox_send(struct arena *st, struct arena_outbox *box)
{
    if (box->first && !inbox_put(box->to, box->first, box->last))
        deliver_all(st, box->first);
    *box = (struct arena_outbox){.to = box->to};
}

/* The outbox of a thread for an owner; another owner's goes first. */
static struct arena_outbox *outbox_for(struct arena *st, struct arena_thread *thr,
                                       struct arena_owner *to)
{
    struct arena_outbox *box = &thr->owner->outboxes[(uintptr_t)to / OWNER_ALIGN % OUTBOXES];
    if (UNLIKELY(box->to != to)) {
        outbox_send(st, box);
        box->to = to;
    }
    return box;
}

int tp_arena_free_remote(struct arena *st, struct arena_thread *thr, struct arena_chunk *chunk,
                         uint64_t granule, uint64_t tag)
{
    uint64_t before = page_claim(chunk_page(chunk, granule), granule);
    if (UNLIKELY(before & granule_bit(granule)))
        return TP_EINVAL;
    struct arena_outbox *box = outbox_for(st, thr, tag_owner(tag));
    if (!before) {
        uint64_t link = word_link(chunk, granule), *next = link_behind(link);
        __atomic_store_n(next, box->first, __ATOMIC_RELAXED);
        box->last = box->first ? box->last : next;
        box->first = link;
    }
    uint64_t block = st->classes.size[tag_class(tag)];
    box->bytes += block > OUTBOX_BLOCK ? block : OUTBOX_BLOCK;
    if (UNLIKELY(box->bytes >= st->refill_target))
        outbox_send(st, box);
    return TP_OK;
}

static void outboxes_send(struct arena *st, struct arena_owner *owner)
{
    for (struct arena_outbox *box = owner->outboxes; box < owner->outboxes + OUTBOXES; box++)
        outbox_send(st, box);
}

/* Takes back what lies in the inbox of the calling thread. */
static void inbox_empty(struct arena *st, struct arena_owner *owner)
{
    if (!__atomic_load_n(&owner->inbox, __ATOMIC_RELAXED))
        return;
    uint64_t link = __atomic_exchange_n(&owner->inbox, 0, __ATOMIC_ACQUIRE);
    for (uint64_t next; link; link = next) {
        next = link_next(link);
        uint64_t tag = link_tag(link);
        if (LIKELY(tag_owner(tag) == owner && tag_class(tag) < ARENA_ENDED))
            word_take_back(st, owner, link);
        else
            deliver(st, link);
    }
}

/* Counts the words of a list, `most` at most. False: one has no bit in `gone`. */
static bool list_count(uint64_t link, uint64_t most, uint64_t *count)
{
    for (; link && *count <= most; link = link_next(link), ++*count)
        if (!__atomic_load_n(link_gone(link), __ATOMIC_RELAXED))
            return false;
    return true;
}

/* Words with bits in `gone`. */
static uint64_t words_gone(const struct arena *st)
{
    uint64_t table = st->chunks.table, words = 0;
    for (uint64_t i = 0; i <= table_mask(table); i++) {
        const struct arena_chunk *chunk = table_slots(table)[i];
        for (uint64_t page = 0; chunk != &tp_arena_no_chunk && page < CHUNK_PAGES; page++)
            for (uint64_t w = 0; w < PAGE_WORDS; w++)
                words += chunk->pages[page].gone[w] != 0;
    }
    return words;
}

const char *tp_arena_frees_fault(const struct arena *st)
{
    uint64_t words = words_gone(st), listed = 0;
    bool sound = true;
    for (const struct arena_owner *o = st->owners->all; o && sound; o = o->older) {
        if ((o->inbox == INBOX_CLOSED) != !o->thr)
            return "the inbox of a thread is open, and no other";
        sound = !o->thr || list_count(o->inbox, words, &listed);
        for (uint32_t i = 0; sound && i < OUTBOXES; i++)
            sound = list_count(o->outboxes[i].first, words, &listed);
    }
    return sound && listed == words ? NULL : "words that others have freed are in one list each";
}

/* ---- orphans ---- */

/* Makes a span without an owner, if there is one of the class with pooled blocks, the thread's. */
static void adopt(struct arena *st, struct arena_owner *owner, uint32_t size_class)
{
    struct arena_owner *orphans = st->owners->orphans;
    bool *stocked = &st->owners->locks[size_class].stocked;
    if (!__atomic_load_n(stocked, __ATOMIC_RELAXED))
        return;
    orphans_lock(st, size_class);
    struct arena_span *s = orphans->pools[size_class].first;
    if (s)
        span_hand_over(st, s, orphans, owner);
    __atomic_store_n(stocked, orphans->pools[size_class].first != NULL, __ATOMIC_RELAXED);
    orphans_unlock(st, size_class);
}

void tp_arena_gather(struct arena *st, struct arena_thread *thr, uint32_t size_class)
{
    inbox_empty(st, thr->owner);
    if (!thr->owner->pools[size_class].count)
        adopt(st, thr->owner, size_class);
}

/* Gives the spans of a pool of a thread that has ended to the orphans. */
static void owner_orphan(struct arena *st, struct arena_owner *owner, uint32_t size_class)
{
    struct arena_central *pool = &owner->pools[size_class];
    orphans_lock(st, size_class);
    tp_arena_release_idle(st, pool, 0);
    if (pool->first)
        orphans_stocked(st, size_class);
    while (pool->first)
        span_hand_over(st, pool->first, owner, st->owners->orphans);
    orphans_unlock(st, size_class);
}

/* ---- reclaim ---- */

static void reclaim_owner(struct arena *st, struct arena_owner *owner)
{
    inbox_empty(st, owner);
    for (uint32_t c = 0; c < st->classes.count; c++) {
        tp_arena_empty(st, owner->thr, c);
        tp_arena_release_idle(st, &owner->pools[c], 0);
    }
    tp_lock_take(&st->heap);
    tp_arena_kept_release(st, &owner->kept, owner->kept.count);
    tp_lock_drop(&st->heap);
}

static void reclaim_orphans(struct arena *st)
{
    for (uint32_t c = 0; c < st->classes.count; c++) {
        orphans_lock(st, c);
        tp_arena_release_idle(st, &st->owners->orphans->pools[c], 0);
        orphans_unlock(st, c);
    }
}

/* Where no thread is running: delivers what waits anywhere. A word may come to an owner who has to
 * pass it on, but not twice. */
static void deliver_everything(struct arena *st)
{
    struct arena_owner *o;
    for (o = st->owners->all; o; o = o->older)
        outboxes_send(st, o);
    for (o = st->owners->all; o; o = o->older)
        if (o->thr)
            inbox_empty(st, o);
}

void tp_arena_reclaim_owned(struct arena *st, struct arena_thread *own)
{
    if (own) {
        outboxes_send(st, own->owner);
        reclaim_owner(st, own->owner);
    } else {
        deliver_everything(st);
        for (struct arena_owner *o = st->owners->all; o; o = o->older)
            if (o->thr)
                reclaim_owner(st, o);
    }
    reclaim_orphans(st);
}

/* ---- start and end ---- */

static struct arena_owner *owner_new(struct arena *st)
{
    struct arena_owner *owner =
        tp_arena_piece_new(st->env, &st->owners->pieces, sizeof *owner, OWNER_ALIGN);
    if (owner)
        owner->inbox = INBOX_CLOSED;
    return owner;
}

int tp_arena_owners_init(struct arena *st)
{
    struct arena_piece *pieces = NULL;
    struct arena_owners *all = tp_arena_piece_new(st->env, &pieces, sizeof *all, OWNER_ALIGN);
    if (!all)
        return TP_ENOMEM;
    st->owners = all;
    all->pieces = pieces;
    for (uint32_t c = 0; c < ARENA_MAX_CLASSES; c++)
        tp_lock_init(&all->locks[c].lock, true);
    all->orphans = owner_new(st);
    return all->orphans ? TP_OK : TP_ENOMEM;
}

void tp_arena_owners_fini(struct arena *st)
{
    if (!st->owners)
        return;
    struct arena_piece *pieces = st->owners->pieces; /* one of them holds st->owners */
    for (uint32_t c = 0; c < ARENA_MAX_CLASSES; c++)
        tp_lock_fini(&st->owners->locks[c].lock);
    tp_arena_pieces_fini(st->env, &pieces);
    st->owners = NULL;
}

/* The owner of a thread that ended, or a new one. The heap lock is held. */
static struct arena_owner *owner_take(struct arena *st)
{
    struct arena_owner *owner = st->owners->vacant;
    if (owner) {
        st->owners->vacant = owner->vacant;
        return owner;
    }
    owner = owner_new(st);
    if (owner) {
        owner->older = st->owners->all;
        st->owners->all = owner;
    }
    return owner;
}

int tp_arena_owner_start(struct arena *st, struct arena_thread *thr)
{
    tp_lock_take(&st->heap);
    struct arena_owner *owner = thr->owner = owner_take(st);
    if (owner) {
        owner->thr = thr;
        __atomic_store_n(&owner->inbox, 0, __ATOMIC_RELEASE);
    }
    tp_lock_drop(&st->heap);
    return owner ? TP_OK : TP_ENOMEM;
}

/* From the moment when the inbox is closed, others may give the owner's spans to the orphans, each
 * under the lock of its class; a new thread comes after all of it. */
void tp_arena_owner_end(struct arena *st, struct arena_thread *thr)
{
    struct arena_owner *owner = thr->owner;
    outboxes_send(st, owner);
    tp_lock_take(&st->heap);
    tp_arena_kept_release(st, &owner->kept, owner->kept.count);
    owner->thr = NULL;
    uint64_t left = __atomic_exchange_n(&owner->inbox, INBOX_CLOSED, __ATOMIC_ACQ_REL);
    tp_lock_drop(&st->heap);
    deliver_all(st, left);
    for (uint32_t c = 0; c < st->classes.count; c++)
        owner_orphan(st, owner, c);
    tp_lock_take(&st->heap);
    owner->vacant = st->owners->vacant;
    st->owners->vacant = owner;
    tp_lock_drop(&st->heap);
}
