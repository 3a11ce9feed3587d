/* Guessing, from the first bytes, whether they begin a JSON trace and in which form.
 *
 * One pass over the top-level object: its keys, the value of "format", whether it closes. Known
 * weakness: with a header over 64 KiB the two forms look the same; it is called the whole document,
 * whose reader goes on with lines where the header turns out to be one. */
#include "traces/formats/json/json_header.h"

#include <string.h>

struct look {
    const unsigned char *data;
    size_t size, at;
    unsigned depth;
    bool value;        /* the next string at the top level is a value */
    bool after_format; /* and that of "format" */
    bool format, other_format, events, op;
};

static bool is_space(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(struct look *l)
{
    while (l->at < l->size && is_space(l->data[l->at]))
        l->at++;
}

static bool same(const struct look *l, size_t from, const char *word)
{
    size_t length = strlen(word);
    return l->at - from == length && memcmp(l->data + from, word, length) == 0;
}

/* `at` is behind the opening quote; leaves it behind the closing one. */
static void take_string(struct look *l)
{
    size_t from = l->at;
    while (l->at < l->size && l->data[l->at] != '"')
        l->at += l->data[l->at] == '\\' ? 2 : 1;
    if (l->at >= l->size) {
        l->at = l->size;
        return;
    }
    if (l->depth == 1 && !l->value) {
        l->after_format = same(l, from, "format");
        l->events |= same(l, from, "events");
        l->op |= same(l, from, "op");
    } else if (l->depth == 1 && l->after_format) {
        l->format = same(l, from, "tapool-trace");
        l->other_format = !l->format;
    }
    l->at++;
}

/* Over the top-level object; stops where it closes, at "events", or at the end of what is there. */
static void take_object(struct look *l)
{
    while (l->at < l->size && !l->events) {
        unsigned char c = l->data[l->at++];
        if (c == '"')
            take_string(l);
        else if (c == '{' || c == '[')
            l->depth++;
        else if ((c == '}' || c == ']') && --l->depth == 0)
            return;
        else if (l->depth == 1 && (c == ':' || c == ','))
            l->value = c == ':';
    }
}

struct tp_json_look tp_json_look(const unsigned char *data, size_t size)
{
    struct look l = {.data = data, .size = size};
    if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        l.at = 3;
    skip_space(&l);
    if (l.at == size || data[l.at] != '{')
        return (struct tp_json_look){0, 0};
    take_object(&l);
    if (!l.format)
        return (struct tp_json_look){.document = l.events || l.other_format ? 10 : 0,
                                     .lines = l.op ? 10 : 0};
    if (l.events)
        return (struct tp_json_look){.document = 100};
    bool closed = l.depth == 0;
    skip_space(&l);
    if (closed && (l.at < size || size >= TP_PROBE_BYTES))
        return (struct tp_json_look){.lines = 100};
    return (struct tp_json_look){.document = 60, .lines = 50};
}
