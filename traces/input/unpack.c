/* Unpacks the members of a packed file, one behind the other.
 *
 *     raw --> buffer | start ... end |  --> decoder --> the caller's room
 *             member, member, ..., zeros (gzip), end
 *
 * A bomb is recognised by two conditions together, because each alone is normal: it unpacks to more
 * than max_memory and to more than TP_BOMB_RATIO times its packed size. Real traces pack 5:1 to
 * 100:1. Known weakness: a small file that unpacks to less than max_memory passes, whatever its
 * ratio. */
#include "traces/input/unpack.h"

#include "alloc/base/numbers.h"
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_SIZE TP_UNPACK_HEAD

extern const struct tp_packing tp_packing_gzip, tp_packing_zstd;

static const struct tp_packing *const packings[] = {&tp_packing_gzip, &tp_packing_zstd, NULL};

struct tp_unpack {
    const struct tp_packing *how;
    struct tp_raw *raw;
    void *state;
    uint64_t max_memory;
    uint64_t taken, made; /* packed and unpacked bytes so far */
    bool inside;          /* a member has begun and has not ended */
    bool ended;           /* `raw` has ended */
    size_t start, end;    /* range of the bytes in `buffer` */
    unsigned char buffer[BUFFER_SIZE];
};

const struct tp_packing *tp_packing_of(const unsigned char *data, size_t size)
{
    for (size_t i = 0; packings[i]; i++)
        if (packings[i]->begins(data, size))
            return packings[i];
    return NULL;
}

int tp_unpack_new(const struct tp_unpack_cfg *cfg, struct tp_unpack **out, struct tp_err *err)
{
    assert(cfg->head_size <= BUFFER_SIZE);
    struct tp_unpack *z = malloc(sizeof *z);
    void *state = z ? cfg->how->open(cfg->max_memory) : NULL;
    if (!state) {
        free(z);
        return tp_fail(err, TP_ENOMEM, "out of memory while unpacking %s", cfg->raw->name);
    }
    z->how = cfg->how;
    z->raw = cfg->raw;
    z->state = state;
    z->max_memory = cfg->max_memory;
    z->taken = z->made = 0;
    z->inside = z->ended = false;
    z->start = 0;
    z->end = cfg->head_size;
    if (cfg->head_size > 0)
        memcpy(z->buffer, cfg->head, cfg->head_size);
    *out = z;
    return TP_OK;
}

void tp_unpack_free(struct tp_unpack *z)
{
    if (!z)
        return;
    z->how->close(z->state);
    free(z);
}

static int check_bomb(const struct tp_unpack *z, struct tp_err *err)
{
    if (z->made <= z->max_memory || z->made / TP_BOMB_RATIO <= z->taken)
        return TP_OK;
    int rc = tp_fail(err, TP_EINPUT, "%s: unpacks to more than %s from %s: a decompression bomb?",
                     z->raw->name, tp_bytes(z->max_memory, false).s, tp_bytes(z->taken, false).s);
    return tp_hint(err, rc, "--max-memory=SIZE reads on");
}

static int refuse(const struct tp_unpack *z, enum tp_unpacked outcome, struct tp_err *err)
{
    if (outcome == TP_UNPACKED_NOMEM)
        return tp_fail(err, TP_ENOMEM, "out of memory while unpacking %s", z->raw->name);
    if (outcome == TP_UNPACKED_DICTIONARY)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s: the %s data was packed with a dictionary",
                               z->raw->name, z->how->name),
                       "unpack it with its dictionary and read what comes out");
    if (outcome == TP_UNPACKED_WINDOW)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s: to unpack the %s data takes more than %s",
                               z->raw->name, z->how->name, tp_bytes(z->max_memory, false).s),
                       "--max-memory=SIZE reads on");
    return tp_fail(err, TP_EINPUT, "%s: the %s data is damaged at byte %" PRIu64, z->raw->name,
                   z->how->name, z->taken);
}

/* Reads until `want` packed bytes are in the buffer or no more are left. */
static int refill(struct tp_unpack *z, size_t want, struct tp_err *err)
{
    if (z->end - z->start >= want || z->ended)
        return TP_OK;
    memmove(z->buffer, z->buffer + z->start, z->end - z->start);
    z->end -= z->start;
    z->start = 0;
    while (z->end < want && !z->ended) {
        size_t got = 0;
        int rc = tp_raw_read(z->raw, z->buffer + z->end, BUFFER_SIZE - z->end, &got, err);
        if (rc != TP_OK)
            return rc;
        z->end += got;
        z->ended = got == 0;
    }
    return TP_OK;
}

/* Takes the zeros in the buffer. *some is set if there were any. */
static int skip_zeros(struct tp_unpack *z, bool *some, struct tp_err *err)
{
    *some = false;
    for (;;) {
        int rc = refill(z, 1, err);
        if (rc != TP_OK || z->start == z->end || z->buffer[z->start] != 0)
            return rc;
        z->start++;
        z->taken++;
        *some = true;
    }
}

/* Between members: enters the next one, or finds the end. */
static int next_member(struct tp_unpack *z, struct tp_err *err)
{
    bool padded = false;
    int rc = refill(z, TP_PACKING_MAGIC, err);
    if (rc == TP_OK && z->how->zeros_follow)
        rc = skip_zeros(z, &padded, err);
    if (rc != TP_OK || z->start == z->end)
        return rc;
    z->inside = !padded && z->how->begins(z->buffer + z->start, z->end - z->start);
    if (z->inside)
        return TP_OK;
    return tp_fail(err, TP_EINPUT,
                   "%s: something else follows the end of the %s data at byte %" PRIu64,
                   z->raw->name, z->how->name, z->taken);
}

/* Runs the decoder once. If it neither took nor made any bytes, reads more input. */
static int decode(struct tp_unpack *z, unsigned char *into, size_t room, size_t *got,
                  struct tp_err *err)
{
    struct tp_packed_bytes in = {z->buffer + z->start, z->end - z->start};
    struct tp_packed_room out = {into, room};
    enum tp_unpacked outcome = z->how->step(z->state, &in, &out);
    size_t taken = z->end - z->start - in.size;
    *got = room - out.size;
    z->start += taken;
    z->taken += taken;
    z->made += *got;
    z->inside = outcome != TP_UNPACKED_MEMBER;
    /* first return the bytes before the damage; the next call fails again */
    if (outcome > TP_UNPACKED_MEMBER)
        return *got > 0 ? TP_OK : refuse(z, outcome, err);
    if (!z->inside || taken > 0 || *got > 0)
        return check_bomb(z, err);
    int rc = refill(z, z->end - z->start + 1, err);
    if (rc == TP_OK && z->ended)
        rc = tp_fail(err, TP_EINPUT, "%s: the %s data ends too early: truncated?", z->raw->name,
                     z->how->name);
    return rc;
}

int tp_unpack_read(struct tp_unpack *z, void *into, size_t room, size_t *got, struct tp_err *err)
{
    *got = 0;
    while (*got == 0) {
        int rc = z->inside ? TP_OK : next_member(z, err);
        if (rc == TP_OK && !z->inside)
            return TP_OK;
        if (rc == TP_OK)
            rc = decode(z, into, room, got, err);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}
