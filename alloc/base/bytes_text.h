/* Bytes as sentences of the readers show them: 32.11 KiB. */
#ifndef TP_BYTES_TEXT_H
#define TP_BYTES_TEXT_H

#include <stdint.h>

#define TP_BYTES_TEXT 32

/* At most four digits with a binary unit, as in the reports; returns `out`. */
const char *tp_bytes_text(uint64_t bytes, char out[TP_BYTES_TEXT]);

#endif
