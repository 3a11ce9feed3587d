/* CRC-32C with the CPU's instruction if there is one, else with tables, eight bytes at a time
 * ("slicing by 8": M. Kounavis and F. Berry, A Systematic Approach to Building High Performance,
 * Software-based, CRC Generators, 2005).
 *
 *     crc ^ first four bytes | next four bytes      each of the eight bytes looks up in a table
 *       t[7] t[6] t[5] t[4]  | t[3] t[2] t[1] t[0]  of its own how it changes the checksum
 *
 * Known weakness: the instructions form one chain, in which each waits three cycles for the one
 * before it. That gives 2.7 bytes per cycle, several times as much as decoding needs. */
#include "traces/formats/tpt/crc32c.h"

#include "traces/formats/tpt/crc32c_tables.h"

#include <endian.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

static uint64_t load(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

static uint32_t one_byte(uint32_t crc, unsigned char byte)
{
    return crc >> 8 ^ tp_crc32c_tables[0][(crc ^ byte) & 255];
}

uint32_t tp_tpt_crc32c_plain(uint32_t crc, const void *data, size_t size)
{
    const unsigned char *at = data;
    crc = ~crc;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word = load(at) ^ crc;
        crc = 0;
        for (unsigned i = 0; i < 8; i++)
            crc ^= tp_crc32c_tables[7 - i][word >> 8 * i & 255];
    }
    for (; size > 0; size--)
        crc = one_byte(crc, *at++);
    return ~crc;
}

#if defined(__x86_64__)

static int has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint32_t crc, const unsigned char *at, size_t size)
{
    uint64_t wide = crc;
    for (; size >= 8; size -= 8, at += 8)
        wide = _mm_crc32_u64(wide, load(at));
    crc = (uint32_t)wide;
    for (; size > 0; size--)
        crc = _mm_crc32_u8(crc, *at++);
    return crc;
}

#elif defined(__aarch64__)

static int has_instruction(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

#if defined(__clang__)
__attribute__((target("crc")))
#else
__attribute__((target("+crc")))
#endif
static uint32_t
by_instruction(uint32_t crc, const unsigned char *at, size_t size)
{
    for (; size >= 8; size -= 8, at += 8)
        crc = __crc32cd(crc, load(at));
    for (; size > 0; size--)
        crc = __crc32cb(crc, *at++);
    return crc;
}

#else

static int has_instruction(void)
{
    return 0;
}

static uint32_t by_instruction(uint32_t crc, const unsigned char *at, size_t size)
{
    return ~tp_tpt_crc32c_plain(~crc, at, size);
}

#endif

uint32_t tp_tpt_crc32c(uint32_t crc, const void *data, size_t size)
{
    if (!has_instruction())
        return tp_tpt_crc32c_plain(crc, data, size);
    return ~by_instruction(~crc, data, size);
}
