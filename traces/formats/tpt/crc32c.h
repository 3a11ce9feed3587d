/* CRC-32C (Castagnoli), the checksum of .tpt blocks: the one of iSCSI (RFC 3720), which CPUs
 * compute in hardware. */
#ifndef TP_CRC32C_H
#define TP_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum over `size` bytes. A new checksum starts with 0, so the checksum of two
 * pieces is tp_tpt_crc32c(tp_tpt_crc32c(0, a), b). The checksum of "123456789" is 0xe3069283. */
uint32_t tp_tpt_crc32c(uint32_t crc, const void *data, size_t size);

/* Computes tp_tpt_crc32c without the CPU instruction, for machines that lack it and for tests. */
uint32_t tp_tpt_crc32c_plain(uint32_t crc, const void *data, size_t size);

#endif
