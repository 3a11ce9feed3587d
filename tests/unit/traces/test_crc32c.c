/* CRC-32C: known vectors, by the CPU's instruction and by tables, in pieces and unaligned. */
#include "traces/formats/tpt/crc32c.h"

#include "traces/formats/tpt/crc32c_tables.h"

#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

/* RFC 3720, B.4, and the check value of the catalogues. */
static void vectors(uint32_t (*crc)(uint32_t, const void *, size_t))
{
    unsigned char bytes[32];
    assert_int_equal(crc(0, "", 0), 0);
    assert_int_equal(crc(0, "123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crc(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc(0, bytes, sizeof bytes), 0x62a8ab43);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(crc(0, bytes, sizeof bytes), 0x46dd794e);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(31 - i);
    assert_int_equal(crc(0, bytes, sizeof bytes), 0x113fdb5c);
}

TEST(test_vectors)
{
    vectors(tp_tpt_crc32c);
    vectors(tp_tpt_crc32c_plain);
}

/* Bit by bit, as the polynomial says. */
static uint32_t slow(const unsigned char *at, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (; size > 0; size--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

TEST(test_lengths_and_pieces)
{
    unsigned char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 151 + 7);
    for (size_t from = 0; from < 9; from++) {
        for (size_t size = 0; size + from <= sizeof bytes; size++) {
            uint32_t want = slow(bytes + from, size);
            size_t half = size / 3;
            assert_int_equal(tp_tpt_crc32c(0, bytes + from, size), want);
            assert_int_equal(tp_tpt_crc32c_plain(0, bytes + from, size), want);
            assert_int_equal(tp_tpt_crc32c(tp_tpt_crc32c(0, bytes + from, half),
                                           bytes + from + half, size - half),
                             want);
            assert_int_equal(tp_tpt_crc32c_plain(tp_tpt_crc32c_plain(0, bytes + from, half),
                                                 bytes + from + half, size - half),
                             want);
        }
    }
}

TEST(test_tables)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
        assert_int_equal(tp_crc32c_tables[0][byte], crc);
        for (int k = 1; k < 8; k++) {
            crc = crc >> 8 ^ tp_crc32c_tables[0][crc & 255];
            assert_int_equal(tp_crc32c_tables[k][byte], crc);
        }
    }
}
