/* What is known of a start by its sum alone becomes a block and free chunks (xplane_start.h). */
#include "traces/formats/xplane/xplane_pool.h"
#include "traces/formats/xplane/xplane_start.h"

enum { CHUNKS_MOST = 64 };

static uint64_t in_grains(uint64_t bytes)
{
    return (bytes + TP_XPLANE_GRAIN - 1) / TP_XPLANE_GRAIN * TP_XPLANE_GRAIN;
}

/* Free bytes in chunks, of which all but the last have `chunk` bytes. */
struct free_chunks {
    uint64_t chunk, count, last;
};

static struct free_chunks unseen_chunks(const struct tp_xplane_start *s)
{
    uint64_t free = in_grains(s->unseen_free), chunk = in_grains(s->elsewhere);
    struct free_chunks c = {.last = free};
    if (!chunk || free <= chunk || free / chunk >= CHUNKS_MOST)
        return c;
    c = (struct free_chunks){.chunk = chunk, .count = (free - 1) / chunk};
    c.last = free - c.count * chunk;
    return c;
}

struct tp_xplane_unseen tp_xplane_unseen(const struct tp_xplane_start *s)
{
    const struct tp_xplane_range *last = s->range_count ? &s->ranges[s->range_count - 1] : NULL;
    struct tp_xplane_unseen u = {.requested = s->unseen, .bytes = s->unseen};
    u.before = s->known == TP_XPLANE_ONE_CHUNK && s->ranges[0].base > s->unseen;
    if (u.before) {
        u.at = s->ranges[0].base - s->unseen;
        return u;
    }
    const struct free_chunks free = unseen_chunks(s);
    u.bytes = in_grains(s->unseen);
    u.region = u.bytes + free.last;
    u.chunk = free.chunk;
    u.chunks = free.count;
    uint64_t end = last ? last->base + last->size : TP_XPLANE_UNIT;
    u.at = (end + 2 * TP_XPLANE_UNIT - 1) / TP_XPLANE_UNIT * TP_XPLANE_UNIT;
    return u;
}
