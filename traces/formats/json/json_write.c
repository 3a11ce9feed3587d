/* Writes JSON traces. An event is composed in a buffer and written in one piece.
 *
 * Texts are cleaned as the reader cleans them, so that they read back unchanged. Numbers above 2^53
 * - 1 are quoted, as the format requires. */
#include "traces/formats/json/json_write.h"

#include "alloc/base/clean.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX ((UINT64_C(1) << 53) - 1)
#define TEXT_MAX  1000 /* bytes kept of a text, as in the reader */

/* A line without its texts. All keys with 20 digits each need far less room. */
struct line {
    char text[512];
    size_t used;
};

static void put(struct line *l, const char *text)
{
    size_t length = strlen(text);
    assert(l->used + length <= sizeof l->text);
    memcpy(l->text + l->used, text, length);
    l->used += length;
}

static void put_digits(struct line *l, uint64_t value, bool negative)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    if (value > EXACT_MAX)
        *--at = '"';
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    if (negative)
        *--at = '-';
    put(l, digits[sizeof digits - 2] == '"' ? "\"" : "");
    put(l, at);
}

static void put_number(struct line *l, const char *key, uint64_t value)
{
    put(l, key);
    put_digits(l, value, false);
}

static void put_signed(struct line *l, const char *key, int64_t value)
{
    put(l, key);
    put_digits(l, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

static int check(const struct tp_json_writer *w, struct tp_err *err)
{
    return ferror(w->out) ? tp_fail_write(err, w->path) : TP_OK;
}

/* Writes a quoted text. A cleaned text has no control characters, so only quotes and backslashes
 * are escaped. */
static int write_text(const struct tp_json_writer *w, const char *text, struct tp_err *err)
{
    char *clean = tp_clean_copy(text, TEXT_MAX);
    if (!clean)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing %s", w->path);
    fputc('"', w->out);
    for (const char *at = clean; *at; at++) {
        if (*at == '"' || *at == '\\')
            fputc('\\', w->out);
        fputc(*at, w->out);
    }
    fputc('"', w->out);
    free(clean);
    return TP_OK;
}

/* Writes a member of "meta" behind the separator `before`; writes nothing if `text` is NULL. */
static int write_member(const struct tp_json_writer *w, const char *before, const char *name,
                        const char *text, struct tp_err *err)
{
    if (!text)
        return TP_OK;
    fprintf(w->out, "%s\"%s\": ", before, name);
    return write_text(w, text, err);
}

/* Writes remarks, which are kept as lines, as a list. */
static int write_remarks(const struct tp_json_writer *w, const char *remarks, struct tp_err *err)
{
    int rc = TP_OK;
    fputs(", \"remarks\": [", w->out);
    for (const char *at = remarks; rc == TP_OK && *at;) {
        size_t length = strcspn(at, "\n");
        char *line = tp_clean_copy(at, length);
        if (!line)
            return tp_fail(err, TP_ENOMEM, "out of memory while writing %s", w->path);
        fputs(at == remarks ? "" : ", ", w->out);
        rc = write_text(w, line, err);
        free(line);
        at += length;
        at += *at == '\n';
    }
    fputs("]", w->out);
    return rc;
}

static void write_numbers(const struct tp_json_writer *w, const struct tp_meta *meta)
{
    for (size_t i = 0; i < TP_META_NUMBERS; i++)
        if (tp_meta_number(meta, i))
            fprintf(w->out, ", \"%s\": %" PRIu64, tp_meta_number_names[i], tp_meta_number(meta, i));
}

/* Writes which allocations have a place, where not all do. */
static void write_sampled(const struct tp_json_writer *w, struct tp_place_sampling sampling)
{
    struct line l = {.used = 0};
    if (sampling.every <= 1)
        return;
    put_number(&l, ", \"sampled\": {\"below\": ", sampling.size);
    put_number(&l, ", \"one_in\": ", sampling.every);
    put(&l, "}");
    fwrite(l.text, 1, l.used, w->out);
}

static int write_meta(const struct tp_json_writer *w, const struct tp_meta *meta,
                      struct tp_place_sampling sampling, struct tp_err *err)
{
    struct tp_meta copy = *meta; /* tp_meta_text needs a struct that is not const */
    fputs("\"meta\": {", w->out);
    int rc = write_member(w, "", "name", meta->name, err);
    fprintf(w->out, "%s\"kind\": \"%s\"", meta->name ? ", " : "",
            meta->kind == TP_KIND_DEVICE ? "device" : "host");
    /* index 0, the name, was written above */
    for (size_t i = 1; rc == TP_OK && i < TP_META_JSON_TEXTS; i++)
        rc = write_member(w, ", ", tp_meta_text_names[i], *tp_meta_text(&copy, i), err);
    if (rc == TP_OK && meta->remarks)
        rc = write_remarks(w, meta->remarks, err);
    if (meta->loop)
        fputs(", \"loop\": true", w->out);
    write_sampled(w, sampling);
    write_numbers(w, meta);
    fputs(meta->wrapped ? ", \"wrapped\": true}" : "}", w->out);
    return rc;
}

static void write_streams(const struct tp_json_writer *w, const struct tp_json_write_cfg *cfg,
                          const char *separator)
{
    if (!cfg->streams)
        return;
    fprintf(w->out, ",%s\"streams\": [", separator);
    for (uint64_t i = 0; i < cfg->streams; i++) {
        struct line l = {.used = 0};
        put_number(&l, i ? ", {\"id\": " : "{\"id\": ", i);
        put_number(&l, ", \"device\": ", cfg->device_of ? cfg->device_of[i] : 0);
        put(&l, "}");
        fwrite(l.text, 1, l.used, w->out);
    }
    fputs("]", w->out);
}

static void put_pool(struct line *l, const uint64_t pool[2])
{
    if (!(pool[0] | pool[1]))
        return;
    put_number(l, ", \"pool\": ", pool[0]);
    put_number(l, ", \"pool_2\": ", pool[1]);
}

/* Blocks are written with their events. */
static void write_segments(const struct tp_json_writer *w, const struct tp_heap *heap,
                           const char *separator)
{
    if (!heap)
        return;
    fprintf(w->out, ",%s\"segments\": [", separator);
    for (uint64_t i = 0; i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        struct line l = {.used = 0};
        put_number(&l, i ? ", {\"stream\": " : "{\"stream\": ", s->stream);
        put_number(&l, ", \"base\": ", s->base);
        put_number(&l, ", \"size\": ", s->size);
        put(&l, s->flags & TP_HEAP_SMALL ? ", \"small\": true" : "");
        put(&l, s->flags & TP_HEAP_EXPANDABLE ? ", \"expandable\": true" : "");
        put_pool(&l, s->pool);
        put(&l, "}");
        fwrite(l.text, 1, l.used, w->out);
    }
    fputs("]", w->out);
}

static int write_recorded(const struct tp_json_writer *w, const struct tp_recorded *recorded,
                          const char *separator, struct tp_err *err)
{
    if (!recorded || !recorded->by)
        return TP_OK;
    cJSON *json = tp_recorded_to_json(recorded);
    char *text = json ? cJSON_PrintUnformatted(json) : NULL;
    cJSON_Delete(json);
    if (!text)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing %s", w->path);
    fprintf(w->out, ",%s\"recorded\": %s", separator, text);
    cJSON_free(text);
    return TP_OK;
}

/* Writes the repairs with a count above 0; writes nothing if there are none. */
static void write_repairs(const struct tp_json_writer *w, const uint64_t *repairs,
                          const char *separator)
{
    bool some = false;
    for (size_t i = 0; repairs && i < TP_REPAIR_COUNT; i++) {
        struct line l = {.used = 0};
        if (!repairs[i])
            continue;
        put_digits(&l, repairs[i], false);
        fprintf(w->out, "%s%s%s\"%s\": %.*s", some ? "" : ",", some ? ", " : separator,
                some ? "" : "\"repairs\": {", tp_repair_names[i], (int)l.used, l.text);
        some = true;
    }
    fputs(some ? "}" : "", w->out);
}

int tp_json_write_begin(struct tp_json_writer *w, const struct tp_json_write_cfg *cfg,
                        struct tp_err *err)
{
    const char *separator = cfg->lines ? " " : "\n  ";
    *w = (struct tp_json_writer){cfg->out, cfg->path, cfg->lines, false};
    errno = 0;
    fprintf(w->out, "{ \"format\": \"tapool-trace\", \"version\": 1,%s", separator);
    int rc = write_meta(w, cfg->meta, cfg->sampling, err);
    if (rc == TP_OK)
        rc = write_recorded(w, cfg->recorded, separator, err);
    if (rc != TP_OK)
        return rc;
    write_repairs(w, cfg->repairs, separator);
    write_streams(w, cfg, separator);
    write_segments(w, cfg->heap, separator);
    fputs(cfg->lines ? " }\n" : ",\n  \"events\": [", w->out);
    return check(w, err);
}

static void put_members(struct line *l, const struct tp_event *ev)
{
    unsigned flags = tp_op_rows[tp_event_asks(ev->op)].flags;
    put(l, "\"op\": \"");
    put(l, tp_event_name(ev->op));
    put(l, "\"");
    if (flags & TP_HAS_NOTE) {
        put(l, ", \"name\": \"");
        put(l, tp_note_names[ev->note]);
        put(l, "\"");
    }
    if (flags & (TP_IS_NEW | TP_IS_LIVE) ||
        (flags & TP_HAS_NOTE && ev->note == TP_NOTE_FREE_REQUESTED))
        put_signed(l, ", \"id\": ", ev->id);
    if (flags & (TP_ASKS | TP_HAS_NOTE) || ev->has_size)
        put_number(l, ", \"size\": ", ev->size);
    if (ev->has_free)
        put_number(l, ", \"free\": ", ev->free_bytes);
    if (ev->has_align)
        put_number(l, ", \"align\": ", ev->align);
    if (ev->thread)
        put_number(l, ", \"thread\": ", ev->thread);
    if (ev->has_stream)
        put_signed(l, ", \"stream\": ", ev->stream);
    if (ev->number)
        put_number(l, ", \"event_number\": ", ev->number);
    if (ev->has_at)
        put_number(l, ", \"at\": ", ev->at);
    if (ev->bytes)
        put_number(l, ", \"bytes\": ", ev->bytes);
    if (ev->behind)
        put_number(l, ", \"behind\": ", ev->behind);
    put_pool(l, ev->pool);
}

int tp_json_write_event(struct tp_json_writer *w, const struct tp_event *ev, struct tp_err *err)
{
    struct line l = {.used = 0};
    int rc = TP_OK;
    assert((unsigned)ev->op < TP_EV_COUNT);
    if (!w->lines)
        put(&l, w->some ? ",\n    " : "\n    ");
    put(&l, "{");
    if (ev->has_time)
        put_number(&l, "\"t\": ", ev->time_ns);
    put(&l, ev->has_time ? ", " : "");
    put_members(&l, ev);
    errno = 0;
    fwrite(l.text, 1, l.used, w->out);
    if (tp_op_is(tp_event_asks(ev->op), TP_HAS_NAME)) {
        fputs(", \"name\": ", w->out);
        rc = write_text(w, ev->name, err);
    }
    if (rc == TP_OK && ev->place_bytes) {
        char place[TP_PLACE_TEXT];
        snprintf(place, sizeof place, "%.*s", (int)ev->place_bytes, ev->place);
        fputs(", \"place\": ", w->out);
        rc = write_text(w, place, err);
    }
    fputs(w->lines ? "}\n" : "}", w->out);
    w->some = true;
    return rc == TP_OK ? check(w, err) : rc;
}

int tp_json_write_end(struct tp_json_writer *w, struct tp_err *err)
{
    if (!w->lines)
        fputs(w->some ? "\n  ]\n}\n" : "]\n}\n", w->out);
    return check(w, err);
}
