/* CRC-32C (Castagnoli), the checksum of .tpt blocks: iSCSI's (RFC 3720), of which CPUs have an
 * instruction. */
#ifndef TP_CRC32C_H
#define TP_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum, which is 0 before the first byte: the checksum of two pieces is
 * tp_tpt_crc32c(tp_tpt_crc32c(0, a), b). Of "123456789" it is 0xe3069283. */
uint32_t tp_tpt_crc32c(uint32_t crc, const void *data, size_t size);

/* The same without the CPU's instruction: for machines without one, and for tests. */
uint32_t tp_tpt_crc32c_plain(uint32_t crc, const void *data, size_t size);

#endif
