/* Guesses from the first bytes of a file whether it is a JSON trace, and in which form.
 *
 * One pass over the top-level object looks at its keys, the value of "format" and whether it
 * closes. Known weakness: with a header above 64 KiB the two forms look the same. Then the
 * whole-document form is chosen, and its reader continues with lines if the header turns out to be
 * one line. */
#include "traces/formats/json/json_header.h"

#include <string.h>

/* What was found in the object at the beginning of a text. */
struct look {
    bool format, other_format, events, op;
    struct tp_span_walk walk;
};

static struct look look_at(struct tp_span text)
{
    struct look l = {.walk = tp_span_members(text)};
    struct tp_span key, value;
    while (!l.events && tp_span_more(&l.walk) && tp_span_take_key(&l.walk, &key)) {
        l.events = tp_span_is(key, "events");
        l.op |= tp_span_is(key, "op");
        bool format = tp_span_is(key, "format");
        if (l.events || !tp_span_take(&l.walk, &value) || !format)
            continue;
        l.format = tp_span_is(value, "tapool-trace");
        l.other_format = !l.format;
    }
    return l;
}

struct tp_json_look tp_json_look(const unsigned char *data, size_t size)
{
    struct tp_span text = {(const char *)data, size};
    if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)
        text = (struct tp_span){text.at + 3, size - 3};
    text = tp_span_trim(text);
    struct look l = look_at(text);
    if (!l.format)
        return (struct tp_json_look){.document = l.events || l.other_format ? 10 : 0,
                                     .lines = l.op ? 10 : 0};
    if (l.events)
        return (struct tp_json_look){.document = 100};
    struct tp_span rest = {l.walk.at, (size_t)(l.walk.end - l.walk.at)};
    if (l.walk.closed && (tp_span_trim(rest).size > 0 || size >= TP_PROBE_BYTES))
        return (struct tp_json_look){.lines = 100};
    return (struct tp_json_look){.document = 60, .lines = 50};
}
