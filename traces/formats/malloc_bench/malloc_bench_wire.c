/* See malloc_bench_wire.h. A field is a head, which is its number and how it lies there, and a
 * number or a length with that many bytes behind it:
 *
 *     0a 06                    line, 6 bytes:
 *           0a 04                  malloc, 4 bytes:
 *                 08 05                result_id 5
 *                       10 40          input_size 64
 *
 * Fields of unknown numbers are passed over, as the form promises its later versions. */
#include "traces/formats/malloc_bench/malloc_bench_wire.h"

enum { NUMBER = 0, BYTES_8 = 1, MESSAGE = 2, BYTES_4 = 5 }; /* how a field lies there */

/* Seven bits a byte, the lowest first; the top bit says that more follow. */
static bool cut_number(struct tp_malloc_bench_wire *w, uint64_t *value)
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

static bool skip(struct tp_malloc_bench_wire *w, size_t bytes)
{
    size_t there = (size_t)(w->end - w->at);
    w->at += bytes < there ? bytes : there;
    return bytes <= there;
}

bool tp_malloc_bench_cut(struct tp_malloc_bench_wire *w, struct tp_malloc_bench_field *field)
{
    uint64_t head = 0;
    *field = (struct tp_malloc_bench_field){.whole = true};
    if (!cut_number(w, &head) || head >> 3 == 0 || head >> 32)
        return false;
    unsigned form = head & 7;
    field->number = (uint32_t)(head >> 3);
    field->message = form == MESSAGE;
    if (form == BYTES_8 || form == BYTES_4)
        return skip(w, form == BYTES_8 ? 8 : 4);
    if ((form != NUMBER && form != MESSAGE) || !cut_number(w, &field->value))
        return false;
    if (!field->message)
        return true;
    field->whole = field->value <= (uint64_t)(w->end - w->at);
    if (field->whole) {
        field->body = (struct tp_malloc_bench_wire){w->at, w->at + field->value};
        w->at += field->value;
    }
    return true;
}

static bool read_values(struct tp_malloc_bench_wire body, struct tp_malloc_bench_line *call)
{
    struct tp_malloc_bench_field f;
    while (body.at < body.end) {
        if (!tp_malloc_bench_cut(&body, &f) || !f.whole)
            return false;
        if (f.number >= TP_BENCH_FIELDS)
            continue;
        if (f.message)
            return false;
        call->value[f.number] = f.value;
        call->given[f.number] = true;
    }
    return true;
}

bool tp_malloc_bench_call(struct tp_malloc_bench_wire line, struct tp_malloc_bench_line *call)
{
    struct tp_malloc_bench_field f;
    *call = (struct tp_malloc_bench_line){.kind = TP_BENCH_NONE};
    while (line.at < line.end) {
        if (!tp_malloc_bench_cut(&line, &f) || !f.whole)
            return false;
        if (f.number > TP_BENCH_CALLOC)
            continue;
        *call = (struct tp_malloc_bench_line){.kind = (enum tp_malloc_bench_kind)f.number};
        if (!f.message || !read_values(f.body, call))
            return false;
    }
    return true;
}
