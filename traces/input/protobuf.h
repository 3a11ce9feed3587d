/* Protocol Buffers, cut field by field out of bytes in memory. A field is a head, which is its
 * number and how it lies there, and a value, or a length with that many bytes behind it:
 *
 *     0a 06                    field 1, 6 bytes:
 *           0a 04                  field 1, 4 bytes:
 *                 08 05                field 1, the number 5
 *                       10 40          field 2, the number 64 */
#ifndef TP_PROTOBUF_H
#define TP_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rest of some bytes, while fields are cut off their front. */
struct tp_protobuf {
    const unsigned char *at, *end;
};

/* How a field lies there. */
enum tp_protobuf_kind {
    TP_PROTOBUF_VARINT = 0, /* a number; a signed one is the two's complement */
    TP_PROTOBUF_FIXED64 = 1,
    TP_PROTOBUF_BYTES = 2, /* a text, or a message */
    TP_PROTOBUF_FIXED32 = 5
};

struct tp_protobuf_field {
    uint32_t number; /* at least 1 */
    enum tp_protobuf_kind kind;
    uint64_t value;          /* the number, or the bits of a fixed one, or the length of bytes */
    struct tp_protobuf body; /* of bytes; empty unless `whole` */
    bool whole;              /* the bytes are all there */
};

/* Cuts a field. False: it ends within its head or its number, or is none. Where only a part of its
 * bytes is there, it is not `whole`, and w->at stands at the first of them. */
bool tp_protobuf_cut(struct tp_protobuf *w, struct tp_protobuf_field *field);

#endif
