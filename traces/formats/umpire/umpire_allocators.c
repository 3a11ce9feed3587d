/* Each allocator is a memory space. A block is identified by allocator and address, because the
 * first block of a pool has the address of the chunk that the pool took from its resource.
 *
 *     reallocate, size 36, current_ptr 0x10   opens a pair on this allocator
 *         allocate   36 -> 0x90               belongs to it: nothing
 *         deallocate 0x10                     belongs to it: nothing
 *     reallocate, new_ptr 0x90                one REALLOC; the block's id moves to 0x90
 *
 * Umpire 2.1 to 6.0 (2020 to 2022) wrote reallocations without their allocator; then it is the
 * allocator that had the address last. For a reallocation of NULL, only the allocation in between
 * counts.
 *
 * Umpire reallocates to 0 bytes with a free and an allocation of 0 bytes, which become two events.
 *
 * Resources named DEVICE..., and UM (managed memory), are device memory; HOST, PINNED, FILE, SHARED
 * and all others are host memory. An allocator has the kind of the one that it is made from. Known
 * weakness: if two threads reallocate to the same size in the same allocator at the same time,
 * their lines are mixed up. */
#include "traces/formats/umpire/umpire_allocators.h"

#include "alloc/base/clean.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_KEPT 100
#define TYPE_KEPT     60
/* space in tp_block_ids that maps an address to the allocator that had it last */
#define OWNERS UINT32_MAX

struct tp_umpire_allocator {
    uint64_t name_hash;
    enum tp_kind kind;
    char type[TYPE_KEPT]; /* "QuickPool", or "" */
    bool pair_open, pair_allocated, pair_freed;
    uint64_t pair_old, pair_size;
};

int tp_umpire_init(struct tp_umpire *u, const struct tp_reading *r, struct tp_err *err)
{
    const struct tp_growth how = tp_reading_growth(r, "allocators");
    *u = (struct tp_umpire){.reading = r, .refs.how = how, .names.how = how};
    tp_block_ids_init(&u->ids, r->budget);
    return tp_spaces_new(r, &u->spaces, err);
}

void tp_umpire_release(struct tp_umpire *u)
{
    tp_spaces_free(u->spaces);
    tp_id_map_release(&u->refs);
    tp_id_map_release(&u->names);
    tp_block_ids_release(&u->ids);
    TP_GROW_END(&u->allocators, &u->room, .budget = u->reading->budget);
}

/* Puts the place of the line before a message. */
static int placed(const struct tp_umpire *u, const struct tp_umpire_line *l, int rc,
                  struct tp_err *err)
{
    return tp_input_at_line(u->reading->in, l->line, rc, err);
}

static int wrong(const struct tp_umpire *u, const struct tp_umpire_line *l, const char *what,
                 struct tp_err *err)
{
    return tp_input_fail_line(u->reading->in, l->line, err, "%s", what);
}

/* ---- allocators ---- */

/* FNV-1a. An attacker can make names collide, but gains nothing: equal names would do the same. */
static uint64_t hash_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static enum tp_kind resource_kind(const char *name)
{
    bool device = starts(name, "DEVICE") || strcmp(name, "UM") == 0 || starts(name, "UM:") ||
                  starts(name, "UM_");
    return device ? TP_KIND_DEVICE : TP_KIND_HOST;
}

static int map_set(struct tp_id_map *map, uint64_t key, uint32_t index, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = tp_id_map_need(map, (int64_t)key, index, &entry, err);
    if (rc == TP_OK)
        entry->index = index;
    return rc;
}

static struct tp_umpire_allocator *by_name(const struct tp_umpire *u, const char *name)
{
    const struct tp_id_entry *entry = tp_id_map_find(&u->names, (int64_t)hash_text(name));
    return entry ? &u->allocators[entry->index] : NULL;
}

static int add(struct tp_umpire *u, const char *name, enum tp_kind kind, uint32_t *space,
               struct tp_err *err)
{
    int rc = tp_spaces_define(u->spaces, name, kind, space, err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(u->reading, &u->allocators, &u->room, u->count + 1, "allocators", err);
    if (rc != TP_OK)
        return rc;
    assert(*space == u->count);
    u->allocators[u->count++] = (struct tp_umpire_allocator){
        .name_hash = hash_text(name),
        .kind = kind,
    };
    return TP_OK;
}

/* Shortens "N6umpire8strategy9QuickPoolE" and "umpire::strategy::QuickPool" to "QuickPool". */
static void short_type(struct tp_span type, char *out, size_t size)
{
    char text[200], *at = text;
    tp_span_text(type, text, sizeof text);
    if (*at == 'N') {
        char *last = NULL, *end = text + strlen(text);
        size_t length = 0, n = 0;
        for (at++; *at >= '0' && *at <= '9'; at += n) {
            n = strtoul(at, &at, 10);
            if (n > (size_t)(end - at))
                break;
            last = at;
            length = n;
        }
        if (last)
            last[length] = '\0';
        at = last ? last : text;
    } else if (strrchr(text, ':')) {
        at = strrchr(text, ':') + 1;
    }
    tp_clean_text(at, out, size);
}

int tp_umpire_make(struct tp_umpire *u, const struct tp_umpire_line *l, struct tp_err *err)
{
    char name[NAME_MAX_KEPT], base[NAME_MAX_KEPT];
    uint64_t ref = 0;
    uint32_t space = 0;
    if (!tp_span_pointer(l->ref, &ref))
        return wrong(u, l, "an allocator is made without an address", err);
    if (!tp_span_text(l->named, name, sizeof name))
        return wrong(u, l, "an allocator is made without a name", err);
    enum tp_kind kind = resource_kind(name);
    if (tp_span_text(l->base, base, sizeof base)) {
        const struct tp_umpire_allocator *from = by_name(u, base);
        kind = from ? from->kind : resource_kind(base);
    }
    int rc = add(u, name, kind, &space, err);
    if (rc != TP_OK)
        return rc;
    short_type(l->type, u->allocators[space].type, TYPE_KEPT);
    rc = map_set(&u->names, u->allocators[space].name_hash, space, err);
    return rc == TP_OK ? map_set(&u->refs, ref, space, err) : rc;
}

/* Finds the allocator of a line. An allocator that was made before the log began is named after its
 * address. */
static int need_allocator(struct tp_umpire *u, const struct tp_umpire_line *l, uint32_t *space,
                          struct tp_err *err)
{
    char name[48];
    uint64_t ref = 0;
    if (!tp_span_pointer(l->ref, &ref))
        return wrong(u, l, "the event has no 'allocator_ref' that is an address", err);
    const struct tp_id_entry *entry = tp_id_map_find(&u->refs, (int64_t)ref);
    if (entry) {
        *space = entry->index;
        return TP_OK;
    }
    snprintf(name, sizeof name, "allocator 0x%" PRIx64, ref);
    int rc = add(u, name, TP_KIND_HOST, space, err);
    return rc == TP_OK ? map_set(&u->refs, ref, *space, err) : rc;
}

/* ---- blocks ---- */

static int emit(struct tp_umpire *u, uint32_t space, const struct tp_umpire_line *l,
                struct tp_event ev, struct tp_err *err)
{
    ev.line = l->line;
    ev.has_time = l->has_time;
    ev.time_ns = l->time_ns;
    ev.has_size = ev.op != TP_EV_FREE;
    return tp_spaces_event(u->spaces, space, 0, &ev, err);
}

/* The id of a live block, or a new id, which lowering then finds not to be live. */
static int id_at(struct tp_umpire *u, uint32_t space, uint64_t pointer, int64_t *id,
                 struct tp_err *err)
{
    if (tp_block_ids_look(&u->ids, space, pointer, id) == TP_BLOCK_LIVE)
        return TP_OK;
    return tp_block_ids_fresh(&u->ids, id, err);
}

/* Puts the block `id` at the address, and makes this allocator its last owner. */
static int bind_block(struct tp_umpire *u, uint32_t space, uint64_t pointer, int64_t id,
                      struct tp_err *err)
{
    int rc = tp_block_ids_bind(&u->ids, space, pointer, id, err);
    return rc == TP_OK && u->old_form ? tp_block_ids_bind(&u->ids, OWNERS, pointer, space, err)
                                      : rc;
}

static int end_block(struct tp_umpire *u, uint32_t space, uint64_t pointer, struct tp_err *err)
{
    int64_t owner = 0;
    int rc = tp_block_ids_end(&u->ids, space, pointer, err);
    bool last = tp_block_ids_look(&u->ids, OWNERS, pointer, &owner) == TP_BLOCK_LIVE;
    return rc == TP_OK && last && owner == space ? tp_block_ids_end(&u->ids, OWNERS, pointer, err)
                                                 : rc;
}

static int emit_alloc(struct tp_umpire *u, uint32_t space, const struct tp_umpire_line *l,
                      uint64_t pointer, uint64_t size, struct tp_err *err)
{
    int64_t id = 0;
    int rc = id_at(u, space, pointer, &id, err);
    if (rc == TP_OK)
        rc = bind_block(u, space, pointer, id, err);
    if (rc != TP_OK)
        return placed(u, l, rc, err);
    return emit(u, space, l, (struct tp_event){.op = TP_EV_ALLOC, .id = id, .size = size}, err);
}

static int emit_free(struct tp_umpire *u, uint32_t space, const struct tp_umpire_line *l,
                     uint64_t pointer, struct tp_err *err)
{
    int64_t id = 0;
    int rc = id_at(u, space, pointer, &id, err);
    if (rc == TP_OK)
        rc = end_block(u, space, pointer, err);
    if (rc != TP_OK)
        return placed(u, l, rc, err);
    return emit(u, space, l, (struct tp_event){.op = TP_EV_FREE, .id = id}, err);
}

int tp_umpire_allocate(struct tp_umpire *u, const struct tp_umpire_line *l, struct tp_err *err)
{
    uint32_t space = 0;
    int rc = need_allocator(u, l, &space, err);
    if (rc != TP_OK)
        return rc;
    if (!l->has_size || !l->has_pointer)
        return wrong(u, l, "an allocation needs a size in bytes and an address", err);
    struct tp_umpire_allocator *a = &u->allocators[space];
    if (a->pair_open && !a->pair_allocated && a->pair_size == l->size) {
        a->pair_allocated = true;
        return TP_OK;
    }
    return emit_alloc(u, space, l, l->pointer, l->size, err);
}

int tp_umpire_deallocate(struct tp_umpire *u, const struct tp_umpire_line *l, struct tp_err *err)
{
    uint32_t space = 0;
    int rc = need_allocator(u, l, &space, err);
    if (rc != TP_OK)
        return rc;
    if (!l->has_pointer)
        return wrong(u, l, "a deallocation needs an address", err);
    struct tp_umpire_allocator *a = &u->allocators[space];
    if (l->pointer == 0)
        return tp_spaces_skip(u->spaces, space, 0, err);
    if (a->pair_open && !a->pair_freed && a->pair_old == l->pointer) {
        a->pair_freed = true;
        return TP_OK;
    }
    return emit_free(u, space, l, l->pointer, err);
}

/* Moves a block onto another live one that was never freed in the log. The old address is freed,
 * and the new one is allocated while it is live, which lowering counts and repairs. */
static int move_onto(struct tp_umpire *u, uint32_t space, const struct tp_umpire_line *l,
                     struct tp_err *err)
{
    int64_t id = 0;
    const struct tp_umpire_allocator *a = &u->allocators[space];
    uint64_t size = a->pair_size;
    int rc = emit_free(u, space, l, a->pair_old, err);
    if (rc != TP_OK)
        return rc;
    tp_block_ids_look(&u->ids, space, l->pointer, &id);
    return emit(u, space, l,
                (struct tp_event){.op = TP_EV_ALLOC, .id = id, .size = size, .uncounted = true},
                err);
}

/* Ends a reallocation: size and both addresses are known, so its events can be emitted. */
static int move_block(struct tp_umpire *u, uint32_t space, const struct tp_umpire_line *l,
                      struct tp_err *err)
{
    const struct tp_umpire_allocator *a = &u->allocators[space];
    uint64_t old = a->pair_old, size = a->pair_size;
    int64_t id = 0;
    if (old == 0)
        return emit_alloc(u, space, l, l->pointer, size, err);
    if (size == 0) {
        int rc = emit_free(u, space, l, old, err);
        return rc == TP_OK ? emit_alloc(u, space, l, l->pointer, 0, err) : rc;
    }
    if (l->pointer != old && tp_block_ids_look(&u->ids, space, l->pointer, &id) == TP_BLOCK_LIVE)
        return move_onto(u, space, l, err);
    int rc = id_at(u, space, old, &id, err);
    if (rc == TP_OK)
        rc = end_block(u, space, old, err);
    if (rc == TP_OK)
        rc = bind_block(u, space, l->pointer, id, err);
    if (rc != TP_OK)
        return placed(u, l, rc, err);
    return emit(u, space, l, (struct tp_event){.op = TP_EV_REALLOC, .id = id, .size = size}, err);
}

/* Finds the allocator of a reallocation that names none. False: it is not known. */
static bool find_owner(struct tp_umpire *u, const struct tp_umpire_line *l, uint32_t *space)
{
    int64_t owner = 0;
    if (l->old == 0)
        return false;
    if (tp_block_ids_look(&u->ids, OWNERS, l->old, &owner) != TP_BLOCK_LIVE) {
        u->ownerless += l->has_pointer; /* counted once, on the last line of the pair */
        return false;
    }
    *space = (uint32_t)owner;
    return true;
}

int tp_umpire_reallocate(struct tp_umpire *u, const struct tp_umpire_line *l, struct tp_err *err)
{
    uint32_t space = 0;
    bool unnamed = u->old_form && !l->ref.at && l->has_old && l->has_size;
    if (unnamed && !find_owner(u, l, &space))
        return TP_OK;
    int rc = unnamed ? TP_OK : need_allocator(u, l, &space, err);
    if (rc != TP_OK)
        return rc;
    struct tp_umpire_allocator *a = &u->allocators[space];
    if (l->has_old && l->has_size) {
        a->pair_allocated = a->pair_freed = false;
        a->pair_old = l->old;
        a->pair_size = l->size;
        a->pair_open = true;
    }
    if (!l->has_pointer && !(l->has_old && l->has_size))
        return wrong(u, l, "a reallocation needs a size in bytes and an address", err);
    if (!l->has_pointer)
        return TP_OK;
    if (!a->pair_open)
        return wrong(u, l, "a reallocation ends that never began", err);
    a->pair_open = false;
    return move_block(u, space, l, err);
}

int tp_umpire_other(struct tp_umpire *u, const struct tp_umpire_line *l, struct tp_err *err)
{
    char name[NAME_MAX_KEPT];
    uint64_t ref = 0;
    const struct tp_umpire_allocator *named = NULL;
    const struct tp_id_entry *entry =
        tp_span_pointer(l->ref, &ref) ? tp_id_map_find(&u->refs, (int64_t)ref) : NULL;
    if (entry)
        return tp_spaces_skip(u->spaces, entry->index, 0, err);
    if (tp_span_text(l->named, name, sizeof name))
        named = by_name(u, name);
    return named ? tp_spaces_skip(u->spaces, (uint32_t)(named - u->allocators), 0, err) : TP_OK;
}

/* ---- the end ---- */

static void describe(struct tp_umpire *u)
{
    struct tp_meta *meta = u->reading->meta;
    for (uint32_t i = 0; i < u->count && !meta->settings; i++)
        if (tp_spaces_chosen(u->spaces, i) && u->allocators[i].type[0])
            tp_meta_set(meta, &meta->settings, "the allocator is a %s", u->allocators[i].type);
}

int tp_umpire_finish(struct tp_umpire *u, struct tp_err *err)
{
    const char *space = u->reading->opts->space;
    bool all = space && strcasecmp(space, "all") == 0;
    int rc = tp_spaces_lower(u->spaces, err);
    if (rc != TP_OK && rc != TP_ESTOP)
        return rc;
    if (!all)
        describe(u);
    else if (u->count > 1)
        tp_meta_remark(u->reading->meta,
                       "A pool takes its memory from its parent allocator: where the log has "
                       "both, the same bytes count in two spaces.");
    return rc;
}
