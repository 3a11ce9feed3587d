/* The tables of crc32c.c: tp_crc32c_tables[k][b] is the change of the checksum by byte b when k
 * more bytes follow it in a group of eight. The polynomial is 0x82f63b78 (0x1edc6f41 with its bits
 * reversed). The change by a byte is the sum (XOR) of the changes by its bits, so eight numbers
 * make a table; test_crc32c.c computes them again. */
#ifndef TP_CRC32C_TABLES_H
#define TP_CRC32C_TABLES_H

#include <stdint.h>

/* clang-format off */
#define TP_CRC_BIT(b, n, t) ((b) >> (n) & 1 ? (t) : 0u)
#define TP_CRC_BYTE(b, t0, t1, t2, t3, t4, t5, t6, t7) \
    (TP_CRC_BIT(b, 0, t0) ^ TP_CRC_BIT(b, 1, t1) ^ TP_CRC_BIT(b, 2, t2) ^ TP_CRC_BIT(b, 3, t3) ^ \
     TP_CRC_BIT(b, 4, t4) ^ TP_CRC_BIT(b, 5, t5) ^ TP_CRC_BIT(b, 6, t6) ^ TP_CRC_BIT(b, 7, t7))
#define TP_CRC_4(b, ...) \
    TP_CRC_BYTE(b, __VA_ARGS__), TP_CRC_BYTE(b + 1, __VA_ARGS__), \
    TP_CRC_BYTE(b + 2, __VA_ARGS__), TP_CRC_BYTE(b + 3, __VA_ARGS__)
#define TP_CRC_16(b, ...) \
    TP_CRC_4(b, __VA_ARGS__), TP_CRC_4(b + 4, __VA_ARGS__), \
    TP_CRC_4(b + 8, __VA_ARGS__), TP_CRC_4(b + 12, __VA_ARGS__)
#define TP_CRC_64(b, ...) \
    TP_CRC_16(b, __VA_ARGS__), TP_CRC_16(b + 16, __VA_ARGS__), \
    TP_CRC_16(b + 32, __VA_ARGS__), TP_CRC_16(b + 48, __VA_ARGS__)
#define TP_CRC_TABLE(...) \
    {TP_CRC_64(0, __VA_ARGS__), TP_CRC_64(64, __VA_ARGS__), \
     TP_CRC_64(128, __VA_ARGS__), TP_CRC_64(192, __VA_ARGS__)}

static const uint32_t tp_crc32c_tables[8][256] = {
    TP_CRC_TABLE(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf,
                 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78),
    TP_CRC_TABLE(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8,
                 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9),
    TP_CRC_TABLE(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5,
                 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743),
    TP_CRC_TABLE(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6,
                 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f),
    TP_CRC_TABLE(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91,
                 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c),
    TP_CRC_TABLE(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f,
                 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6),
    TP_CRC_TABLE(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53,
                 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4),
    TP_CRC_TABLE(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da,
                 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664),
};
/* clang-format on */

#endif
