/* See tpt_block.h. The checksum of a block covers its header too, because a flipped bit in a length
 * does as much harm as one in the payload. */
#include "traces/formats/tpt/tpt_block.h"

#include "traces/formats/tpt/crc32c.h"

enum { CRC_AT = 44, HEADER_CRC_AT = 28 };

void tp_tpt_header_put(const struct tp_tpt_header *h, uint8_t *bytes)
{
    memset(bytes, 0, TP_TPT_HEADER_SIZE);
    memcpy(bytes, TP_TPT_MAGIC, TP_TPT_MAGIC_SIZE);
    tp_store16(bytes + 8, h->version);
    tp_store16(bytes + 10, h->flags);
    bytes[12] = h->kind;
    tp_store64(bytes + 16, h->events);
    tp_store32(bytes + HEADER_CRC_AT, tp_tpt_crc32c(0, bytes, HEADER_CRC_AT));
}

int tp_tpt_header_get(const uint8_t *bytes, struct tp_tpt_header *out, struct tp_err *err)
{
    static const uint8_t zeros[4];
    if (memcmp(bytes, TP_TPT_MAGIC, TP_TPT_MAGIC_SIZE) != 0)
        return tp_fail(err, TP_EINPUT, "this is not a .tpt file");
    uint32_t crc = tp_tpt_crc32c(0, bytes, HEADER_CRC_AT), said = tp_load32(bytes + HEADER_CRC_AT);
    if (crc != said)
        return tp_fail(err, TP_EINPUT,
                       "the header (byte 0) is damaged: CRC-32C is 0x%08x, not 0x%08x", crc, said);
    *out = (struct tp_tpt_header){.version = tp_load16(bytes + 8),
                                  .flags = tp_load16(bytes + 10),
                                  .kind = bytes[12],
                                  .events = tp_load64(bytes + 16)};
    if (out->version != TP_TPT_VERSION)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "version %u of .tpt: this tapool reads version %d",
                               out->version, TP_TPT_VERSION),
                       "convert it with the tapool that wrote it, or take a newer one");
    if (out->flags || out->kind > TP_KIND_DEVICE || memcmp(bytes + 13, zeros, 3) != 0 ||
        memcmp(bytes + 24, zeros, 4) != 0)
        return tp_fail(err, TP_EINPUT, "the header (byte 0) says what version 1 does not know");
    return TP_OK;
}

void tp_tpt_block_get(const uint8_t *bytes, struct tp_tpt_block *out)
{
    *out = (struct tp_tpt_block){.type = tp_load32(bytes),
                                 .flags = tp_load32(bytes + 4),
                                 .count = tp_load32(bytes + 8),
                                 .tick_ns = tp_load32(bytes + 12),
                                 .first_event = tp_load64(bytes + 16),
                                 .first_time = tp_load64(bytes + 24),
                                 .stored = tp_load32(bytes + 32),
                                 .raw = tp_load32(bytes + 36),
                                 .index = tp_load32(bytes + 40),
                                 .crc = tp_load32(bytes + CRC_AT)};
}

uint32_t tp_tpt_block_crc(const uint8_t *bytes, const void *payload, uint32_t stored)
{
    static const uint8_t zeros[4];
    uint32_t crc = tp_tpt_crc32c(0, bytes, CRC_AT);
    crc = tp_tpt_crc32c(crc, zeros, sizeof zeros);
    return tp_tpt_crc32c(crc, payload, stored);
}

void tp_tpt_block_put(struct tp_tpt_block *b, const void *payload, uint8_t *bytes)
{
    uint8_t *at = tp_store32(bytes, b->type);
    at = tp_store32(at, b->flags);
    at = tp_store32(at, b->count);
    at = tp_store32(at, b->tick_ns);
    at = tp_store64(at, b->first_event);
    at = tp_store64(at, b->first_time);
    at = tp_store32(at, b->stored);
    at = tp_store32(at, b->raw);
    at = tp_store32(at, b->index);
    b->crc = tp_tpt_block_crc(bytes, payload, b->stored);
    tp_store32(at, b->crc);
}

static const char *insns_wrong(const struct tp_tpt_block *b)
{
    if (b->count < 1 || b->count > TP_WINDOW_MAX)
        return "it holds no or too many instructions";
    if (b->raw < b->count || b->raw > b->count * TP_TPT_RECORD_MAX)
        return "its length does not go with its instructions";
    if (b->flags & TP_TPT_ZSTD ? b->stored >= b->raw : b->stored != b->raw)
        return "its lengths do not agree";
    if (b->tick_ns < 1 || b->tick_ns > TP_TPT_TICK_MAX)
        return "its unit of time is out of range";
    if (b->type == TP_TPT_PROL && (b->first_event || b->first_time))
        return "the initial heap has events or time";
    if (b->type == TP_TPT_DATA && !b->first_event)
        return "its first event has no number";
    return NULL;
}

static const char *places_wrong(const struct tp_tpt_block *b)
{
    if (b->flags != TP_TPT_SKIP || b->first_time || b->tick_ns)
        return "it has flags or time";
    if (b->count < 1 || b->count > TP_TPT_PLACES_EVENTS)
        return "it holds no or too many events";
    if (b->first_event < 1 || b->first_event > UINT64_C(1) << 62)
        return "its first event has no number";
    return b->stored != b->raw ? "its lengths do not agree" : NULL;
}

static const char *heap_wrong(const struct tp_tpt_block *b)
{
    if (b->flags != TP_TPT_SKIP || b->first_event || b->first_time || b->tick_ns)
        return "it has flags, events or time";
    if (b->count < 1 || b->count > TP_TPT_HEAP_ITEMS)
        return "it holds no or too many items";
    return b->stored != b->raw ? "its lengths do not agree" : NULL;
}

const char *tp_tpt_block_wrong(const struct tp_tpt_block *b)
{
    if (b->flags & ~(uint32_t)TP_TPT_FLAGS)
        return "it has unknown flags";
    if (tp_tpt_has_insns(b))
        return b->flags & TP_TPT_SKIP ? "it may not be left out" : insns_wrong(b);
    if (b->type == TP_TPT_PLAC || b->type == TP_TPT_STAK)
        return places_wrong(b);
    if (b->type == TP_TPT_HEAP)
        return heap_wrong(b);
    bool known = b->type == TP_TPT_META || b->type == TP_TPT_NAME || b->type == TP_TPT_FACT ||
                 b->type == TP_TPT_END;
    if (!known)
        return b->flags & TP_TPT_SKIP ? NULL : "its type is unknown";
    if (b->flags || b->first_event || b->first_time || b->tick_ns)
        return "it has flags, events or time";
    if (b->stored != b->raw)
        return "its lengths do not agree";
    if (b->type == TP_TPT_END && b->stored != TP_TPT_END_SIZE)
        return "the end has another length";
    return NULL;
}
