/* See protobuf.h. */
#include "traces/input/protobuf.h"

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
static bool cut_varint(struct tp_protobuf *w, uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        unsigned char byte = *w->at++;
        uint64_t bits = byte & 0x7f;
        if (shift == 63 && bits > 1)
            return false;
        v |= bits << shift;
        if (byte < 0x80) {
            *value = v;
            return true;
        }
    }
    return false;
}

/* The lowest byte comes first. */
static bool cut_fixed(struct tp_protobuf *w, size_t bytes, uint64_t *value)
{
    if ((size_t)(w->end - w->at) < bytes) {
        w->at = w->end;
        return false;
    }
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)*w->at++ << (8 * i);
    return true;
}

bool tp_protobuf_cut(struct tp_protobuf *w, struct tp_protobuf_field *field)
{
    uint64_t head = 0;
    *field = (struct tp_protobuf_field){.whole = true};
    if (!cut_varint(w, &head) || head >> 3 == 0 || head >> 32)
        return false;
    field->number = (uint32_t)(head >> 3);
    field->kind = (enum tp_protobuf_kind)(head & 7);
    if (field->kind == TP_PROTOBUF_FIXED64 || field->kind == TP_PROTOBUF_FIXED32)
        return cut_fixed(w, field->kind == TP_PROTOBUF_FIXED64 ? 8 : 4, &field->value);
    bool bytes = field->kind == TP_PROTOBUF_BYTES;
    if ((!bytes && field->kind != TP_PROTOBUF_VARINT) || !cut_varint(w, &field->value))
        return false;
    if (!bytes)
        return true;
    field->whole = field->value <= (uint64_t)(w->end - w->at);
    if (field->whole) {
        field->body = (struct tp_protobuf){w->at, w->at + field->value};
        w->at += field->value;
    }
    return true;
}
