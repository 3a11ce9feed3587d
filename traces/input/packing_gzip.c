/* gzip (RFC 1952), with zlib. The window is always 32 KiB. */
#include "traces/input/packing.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP_ALONE (MAX_WBITS + 16) /* windowBits by which zlib accepts only gzip */

static bool begins(const unsigned char *data, size_t size)
{
    return size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

static void *open_gzip(uint64_t max_memory)
{
    (void)max_memory;
    z_stream *z = calloc(1, sizeof *z);
    if (z && inflateInit2(z, GZIP_ALONE) != Z_OK) {
        free(z);
        return NULL;
    }
    return z;
}

static void close_gzip(void *state)
{
    inflateEnd(state);
    free(state);
}

static uInt at_most(size_t size)
{
    return size < UINT_MAX ? (uInt)size : UINT_MAX;
}

static enum tp_unpacked step_gzip(void *state, struct tp_packed_bytes *in,
                                  struct tp_packed_room *out)
{
    z_stream *z = state;
    z->next_in = (z_const Bytef *)in->at;
    z->avail_in = at_most(in->size);
    z->next_out = out->at;
    z->avail_out = at_most(out->size);
    int rc = inflate(z, Z_NO_FLUSH);
    in->size -= (size_t)(z->next_in - in->at);
    in->at = z->next_in;
    out->size -= (size_t)(z->next_out - out->at);
    out->at = z->next_out;
    if (rc == Z_STREAM_END)
        return inflateReset(z) == Z_OK ? TP_UNPACKED_MEMBER : TP_UNPACKED_DAMAGED;
    if (rc == Z_OK || rc == Z_BUF_ERROR) /* Z_BUF_ERROR is not fatal: no progress was possible */
        return TP_UNPACKED_SOME;
    return rc == Z_MEM_ERROR ? TP_UNPACKED_NOMEM : TP_UNPACKED_DAMAGED;
}

const struct tp_packing tp_packing_gzip = {.name = "gzip",
                                           .tool = "gzip -d",
                                           .zeros_follow = true,
                                           .begins = begins,
                                           .open = open_gzip,
                                           .close = close_gzip,
                                           .step = step_gzip};
