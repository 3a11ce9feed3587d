/* The layout of .tpt files, shared by writer and reader. traces/README.md specifies it; the names
 * here are those of its tables.
 *
 *     header | META | PROL ... | NAME | DATA | DATA | NAME | DATA | ... | HEAP | FACT | END
 *     32       every block: 48 bytes of header, then stored_bytes of payload
 *
 * Numbers are little-endian. Loads and stores use memcpy, so that nothing must be aligned. */
#ifndef TP_TPT_LAYOUT_H
#define TP_TPT_LAYOUT_H

#include "alloc/program/program.h"

#include <endian.h>
#include <string.h>

#define TP_TPT_MAGIC       "\x89TPT\r\n\x1a\n" /* 8 bytes; a transfer as text damages them */
#define TP_TPT_END_MAGIC   "TPT-END\n"         /* 8 bytes; a whole file ends with them */
#define TP_TPT_MAGIC_SIZE  8
#define TP_TPT_VERSION     1
#define TP_TPT_HEADER_SIZE 32
#define TP_TPT_BLOCK_SIZE  48 /* bytes of a block's header */
#define TP_TPT_END_SIZE    32 /* bytes of the payload of END */
/* ns; 65,535 ticks of this length are 2^32-1 ns, the longest gap */
#define TP_TPT_TICK_MAX      65537u
#define TP_TPT_META_MAX      (1u << 20)
#define TP_TPT_NAMES_MAX     (1u << 20) /* bytes in one NAME block */
#define TP_TPT_NAME_MAX      1000       /* bytes kept of one name */
#define TP_TPT_PLACES_EVENTS 65536u     /* events in one PLAC or STAK block */
#define TP_TPT_HEAP_ITEMS    65536u     /* segments and blocks in one HEAP block */

#define TP_TPT_FOURCC(a, b, c, d)                                                                  \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum tp_tpt_type {
    TP_TPT_META = TP_TPT_FOURCC('M', 'E', 'T', 'A'),
    TP_TPT_NAME = TP_TPT_FOURCC('N', 'A', 'M', 'E'),
    TP_TPT_PROL = TP_TPT_FOURCC('P', 'R', 'O', 'L'),
    TP_TPT_DATA = TP_TPT_FOURCC('D', 'A', 'T', 'A'),
    TP_TPT_PLAC = TP_TPT_FOURCC('P', 'L', 'A', 'C'),
    TP_TPT_STAK = TP_TPT_FOURCC('S', 'T', 'A', 'K'),
    TP_TPT_HEAP = TP_TPT_FOURCC('H', 'E', 'A', 'P'),
    TP_TPT_FACT = TP_TPT_FOURCC('F', 'A', 'C', 'T'),
    TP_TPT_END = TP_TPT_FOURCC('E', 'N', 'D', ' ')
};

/* Flags of a block. */
enum {
    TP_TPT_ZSTD = 1,  /* DATA, PROL: the payload is one zstd frame of raw_bytes */
    TP_TPT_SLOTS = 2, /* DATA, PROL: records of new objects contain their slots */
    TP_TPT_SKIP = 4,  /* a reader that does not know the type may skip the block */
    TP_TPT_FLAGS = 7
};

/* Fields of the op byte of a record: op, width of the gap, whether a context byte follows, and a
 * bit whose meaning depends on the op. */
enum {
    TP_TPT_OP = 15,
    TP_TPT_GAP_SHIFT = 4, /* two bits: 0, 1, 2 or 4 bytes */
    TP_TPT_CONTEXT = 64,
    TP_TPT_SPECIAL = 128,
    TP_TPT_RAW = 15 /* the op of a record that contains a whole instruction of 24 bytes */
};

/* Bits of the context byte: the numbers that follow it, in this order. */
enum {
    TP_TPT_SET_THREAD = 1,
    TP_TPT_SET_STREAM = 2,
    TP_TPT_SET_DEVICE = 4,
    TP_TPT_SET_ALIGN = 8,
    TP_TPT_SET_EVENT = 16,
    TP_TPT_SET_ALL = 31
};

/* The byte of a NOTE: its kind, and bits for the numbers that follow, in this order. */
enum { TP_TPT_NOTE_KIND = 63, TP_TPT_NOTE_SLOT = 64, TP_TPT_NOTE_SIZE = 128 };

#define TP_TPT_RING 256 /* recent sizes that one byte can refer to */

/* Upper bound of the bytes of a record: op, gap, context with five numbers, slot and size, with
 * some to spare. A reader may read this far behind the end of a payload before it checks its
 * position. */
#define TP_TPT_RECORD_MAX 80

static inline uint16_t tp_load16(const uint8_t *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return le16toh(v);
}

static inline uint32_t tp_load32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return le32toh(v);
}

static inline uint64_t tp_load64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

static inline uint8_t *tp_store16(uint8_t *at, uint16_t v)
{
    v = htole16(v);
    memcpy(at, &v, sizeof v);
    return at + sizeof v;
}

static inline uint8_t *tp_store32(uint8_t *at, uint32_t v)
{
    v = htole32(v);
    memcpy(at, &v, sizeof v);
    return at + sizeof v;
}

static inline uint8_t *tp_store64(uint8_t *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof v);
    return at + sizeof v;
}

/* Reads a number of 1 to 9 bytes and returns the byte behind it. The zero bits at the bottom of the
 * first byte say how many bytes follow, so that the length needs no loop. After a first byte of 0,
 * the number is in the next eight bytes.
 *
 *     vvvvvvv1 | vvvvvv10 vvvvvvvv | vvvvv100 vvvvvvvv vvvvvvvv | ... | 00000000 + 8 bytes
 *
 * Nine bytes must be readable, whatever the length. */
static inline const uint8_t *tp_varint(const uint8_t *at, uint64_t *value)
{
    uint64_t word = tp_load64(at);
    unsigned length = (unsigned)__builtin_ctzll(word | 256) + 1;
    if (__builtin_expect(length > 8, 0)) {
        *value = tp_load64(at + 1);
        return at + 9;
    }
    *value = word << (64 - 8 * length) >> (64 - 7 * length);
    return at + length;
}

static inline uint8_t *tp_put_varint(uint8_t *at, uint64_t value)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned length = (bits + 6) / 7;
    if (length > 8) {
        *at = 0;
        return tp_store64(at + 1, value);
    }
    uint64_t word = (value << 1 | 1) << (length - 1);
    for (unsigned i = 0; i < length; i++)
        *at++ = (uint8_t)(word >> 8 * i);
    return at;
}

#endif
