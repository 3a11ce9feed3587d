/* See pickler.h. Numbers are written in the shortest form that Python's own writer would use.
 * Lists are filled in batches, as it does: a reader keeps the items of a batch on its stack. */
#include "cmd/pytorch/snapshot/pickler.h"

#include <assert.h>
#include <string.h>

enum { BATCH = 1000, PROTOCOL = 4 };

enum pickler_code {
    OP_PROTO = 0x80,
    OP_STOP = '.',
    OP_MARK = '(',
    OP_EMPTY_DICT = '}',
    OP_SETITEMS = 'u',
    OP_EMPTY_LIST = ']',
    OP_APPENDS = 'e',
    OP_SHORT_TEXT = 0x8c,
    OP_TEXT = 'X',
    OP_MEMOIZE = 0x94,
    OP_GET = 'h',
    OP_LONG_GET = 'j',
    OP_INT1 = 'K',
    OP_INT2 = 'M',
    OP_INT4 = 'J',
    OP_LONG1 = 0x8a,
    OP_TRUE = 0x88,
    OP_FALSE = 0x89,
    OP_PAIR = 0x86
};

static void put(struct tp_pickler *w, enum pickler_code op)
{
    putc((int)op, w->out);
}

/* Writes the lowest `bytes` bytes of a number, the lowest first. */
static void put_number(struct tp_pickler *w, uint64_t n, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        putc((int)(n >> 8 * i & 0xff), w->out);
}

void tp_pickler_begin(struct tp_pickler *w, FILE *out, const char *const *words)
{
    *w = (struct tp_pickler){.out = out, .words = words};
    put(w, OP_PROTO);
    put_number(w, PROTOCOL, 1);
}

void tp_pickler_end(struct tp_pickler *w)
{
    assert(!w->depth);
    put(w, OP_STOP);
}

void tp_pickler_begin_dict(struct tp_pickler *w)
{
    put(w, OP_EMPTY_DICT);
    put(w, OP_MARK);
}

void tp_pickler_end_dict(struct tp_pickler *w)
{
    put(w, OP_SETITEMS);
}

void tp_pickler_begin_list(struct tp_pickler *w)
{
    assert(w->depth < TP_PICKLER_DEEP);
    put(w, OP_EMPTY_LIST);
    w->batch[w->depth++] = 0;
}

void tp_pickler_item(struct tp_pickler *w)
{
    uint32_t *batch = &w->batch[w->depth - 1];
    if (*batch == BATCH) {
        put(w, OP_APPENDS);
        *batch = 0;
    }
    if (!*batch)
        put(w, OP_MARK);
    ++*batch;
}

void tp_pickler_end_list(struct tp_pickler *w)
{
    assert(w->depth);
    if (w->batch[--w->depth])
        put(w, OP_APPENDS);
}

uint32_t tp_pickler_remember(struct tp_pickler *w)
{
    put(w, OP_MEMOIZE);
    return w->texts++;
}

void tp_pickler_again(struct tp_pickler *w, uint32_t number)
{
    bool small = number <= UINT8_MAX;
    put(w, small ? OP_GET : OP_LONG_GET);
    put_number(w, number, small ? 1 : 4);
}

uint32_t tp_pickler_text(struct tp_pickler *w, const char *text)
{
    size_t size = strlen(text);
    bool small = size <= UINT8_MAX;
    put(w, small ? OP_SHORT_TEXT : OP_TEXT);
    put_number(w, size, small ? 1 : 4);
    fwrite(text, 1, size, w->out);
    return tp_pickler_remember(w);
}

void tp_pickler_word(struct tp_pickler *w, unsigned word)
{
    assert(word < TP_PICKLER_WORDS);
    if (w->numbers[word])
        tp_pickler_again(w, w->numbers[word] - 1);
    else
        w->numbers[word] = tp_pickler_text(w, w->words[word]) + 1;
}

void tp_pickler_int(struct tp_pickler *w, uint64_t n)
{
    static const struct {
        uint64_t most;
        enum pickler_code op;
        unsigned bytes;
    } forms[] = {{UINT8_MAX, OP_INT1, 1}, {UINT16_MAX, OP_INT2, 2}, {INT32_MAX, OP_INT4, 4}};
    unsigned bytes = 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (n <= forms[i].most) {
            put(w, forms[i].op);
            put_number(w, n, forms[i].bytes);
            return;
        }
    while (bytes < 8 && n >> (8 * bytes - 1)) /* the highest bit is the sign */
        bytes++;
    bytes += n >> 63 != 0;
    put(w, OP_LONG1);
    put_number(w, bytes, 1);
    put_number(w, n, bytes < 8 ? bytes : 8);
    if (bytes > 8)
        put_number(w, 0, 1);
}

void tp_pickler_bool(struct tp_pickler *w, bool truth)
{
    put(w, truth ? OP_TRUE : OP_FALSE);
}

void tp_pickler_pair(struct tp_pickler *w)
{
    put(w, OP_PAIR);
}
