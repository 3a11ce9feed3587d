/* zstd (RFC 8878), with libzstd: frames, and skippable frames, which are ignored.
 *
 * A frame declares its window, up to terabytes, and libzstd would take that much memory, so its
 * limit is set to the largest power of two within max_memory. The decoder is fed block by block, as
 * it asks, so that the bad block is known after an error. */
#include "traces/input/packing.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define SKIPPABLE_MASK 0xfffffff0u

struct decoder {
    ZSTD_DStream *stream;
    /* bytes that the decoder asks for: the rest of a block and the head of the next */
    size_t wanted;
};

static bool begins(const unsigned char *data, size_t size)
{
    if (size < 4)
        return false;
    uint32_t magic = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
                     (uint32_t)data[3] << 24;
    return magic == ZSTD_MAGICNUMBER || (magic & SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

static int window_log(uint64_t max_memory)
{
    ZSTD_bounds bounds = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    int log = bounds.lowerBound;
    while (log < bounds.upperBound && UINT64_C(2) << log <= max_memory)
        log++;
    return log;
}

static void close_zstd(void *state)
{
    struct decoder *d = state;
    ZSTD_freeDStream(d->stream);
    free(d);
}

static void *open_zstd(uint64_t max_memory)
{
    struct decoder *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->stream = ZSTD_createDStream();
    d->wanted = d->stream ? ZSTD_initDStream(d->stream) : 0;
    if (!d->stream || ZSTD_isError(ZSTD_DCtx_setParameter(d->stream, ZSTD_d_windowLogMax,
                                                          window_log(max_memory)))) {
        close_zstd(d);
        return NULL;
    }
    return d;
}

static enum tp_unpacked failure(size_t rc)
{
    switch (ZSTD_getErrorCode(rc)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return TP_UNPACKED_WINDOW;
    case ZSTD_error_dictionary_wrong:
        return TP_UNPACKED_DICTIONARY;
    case ZSTD_error_memory_allocation:
        return TP_UNPACKED_NOMEM;
    default:
        return TP_UNPACKED_DAMAGED;
    }
}

static enum tp_unpacked step_zstd(void *state, struct tp_packed_bytes *in,
                                  struct tp_packed_room *out)
{
    struct decoder *d = state;
    ZSTD_inBuffer from = {in->at, in->size < d->wanted ? in->size : d->wanted, 0};
    ZSTD_outBuffer to = {out->at, out->size, 0};
    size_t rc = ZSTD_decompressStream(d->stream, &to, &from);
    if (ZSTD_isError(rc))
        return failure(rc);
    in->at += from.pos;
    in->size -= from.pos;
    out->at += to.pos;
    out->size -= to.pos;
    d->wanted = rc ? rc : ZSTD_initDStream(d->stream);
    return rc ? TP_UNPACKED_SOME : TP_UNPACKED_MEMBER;
}

const struct tp_packing tp_packing_zstd = {.name = "zstd",
                                           .tool = "zstd -d",
                                           .begins = begins,
                                           .open = open_zstd,
                                           .close = close_zstd,
                                           .step = step_zstd};
