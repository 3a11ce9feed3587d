/* What all fuzz targets of trace formats share: from the probe to the finished program.
 *
 * Whatever the bytes are, the only outcomes are a program that reads back, or TP_EINPUT with one
 * clean sentence. */
#ifndef TP_FUZZ_FORMAT_H
#define TP_FUZZ_FORMAT_H

#include "traces/format.h"
#include "traces/lower/unknown_formats.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(bool holds)
{
    if (!holds)
        abort();
}

static inline void check_error(int rc, const struct tp_err *err)
{
    must(rc == TP_EINPUT && err->status == TP_EINPUT && err->text[0] != '\0');
    for (const char *c = err->text; *c; c++)
        must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

/* Every instruction once: the windows must add up to what the facts say. */
static inline void check_program(struct tp_program *program)
{
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    uint64_t count = 0, event = 0;
    must(tp_cursor_open(program, &cursor, NULL) == TP_OK);
    while (tp_cursor_next(cursor, &w, NULL) == 1) {
        for (uint32_t i = 0; i < w.count; i++) {
            must(tp_window_event(&w, i) >= event);
            event = tp_window_event(&w, i);
        }
        count += w.initial_heap ? 0 : w.count;
    }
    tp_cursor_close(cursor);
    must(count == tp_program_facts(program)->instructions);
    must(event <= tp_program_facts(program)->events);
}

static inline void fuzz_format_with(const struct tp_format *format, bool strict,
                                    const struct tp_read_opts *opts, const uint8_t *data,
                                    size_t size)
{
    struct tp_budget budget = {.limit = tp_max_memory(opts)};
    const struct tp_lower_cfg cfg = {
        .path = "fuzz", .strict = strict, .max_memory = budget.limit, .budget = &budget};
    struct tp_input *in = NULL;
    struct tp_lower *lo = NULL;
    struct tp_program *program = NULL;
    struct tp_meta meta = {0};
    struct tp_recorded recorded = {0};
    struct tp_places places = {0};
    struct tp_err err = {0};
    uint64_t repairs[TP_REPAIR_COUNT];
    size_t head = size < TP_PROBE_BYTES ? size : TP_PROBE_BYTES;
    const struct tp_unknown_format *unknown_format = tp_unknown_format_of(data, head);
    int score = format->probe(data, head);
    must(score >= 0 && score <= 100);
    must(!unknown_format || (unknown_format->name && unknown_format->why && unknown_format->hint));
    int rc = tp_input_memory("fuzz", data, size, 0, &in, &err);
    if (rc == TP_OK)
        rc = tp_lower_new(&cfg, &lo, &err);
    if (rc == TP_OK)
        rc = format->read(&(struct tp_reading){in, lo, &meta, &recorded, &places, opts, &budget},
                          &err);
    if (rc == TP_OK)
        rc = tp_lower_finish(lo, &program, repairs, &err);
    if (rc == TP_OK)
        check_program(program);
    else
        check_error(rc, &err);
    if (places.release)
        places.release(places.ctx);
    tp_program_release(program);
    tp_meta_release(&meta);
    tp_recorded_release(&recorded);
    tp_lower_free(lo);
    tp_input_close(in);
}

/* Memory is kept small, so that what a length claims is not believed. */
static inline void fuzz_format(const struct tp_format *format, bool strict, const uint8_t *data,
                               size_t size)
{
    const struct tp_read_opts opts = {.device = -1, .max_memory = UINT64_C(64) << 20};
    fuzz_format_with(format, strict, &opts, data, size);
}

#endif
