/* Fuzz target: the JSON trace readers, from the probe to the finished program.
 *
 * The first byte decides: odd ('S') reads strictly, even ('R') repairs. The rest is read in both
 * forms of JSON. Whatever it is, the only outcomes are a program or TP_EINPUT with one clean
 * sentence. */
#include "traces/format.h"

#include <stdlib.h>

extern const struct tp_format tp_format_json, tp_format_jsonl;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_error(int rc, const struct tp_err *err)
{
    must(rc == TP_EINPUT && err->status == TP_EINPUT && err->text[0] != '\0');
    for (const char *c = err->text; *c; c++)
        must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

/* Every instruction once: the windows must add up to what the facts say. */
static void check_program(struct tp_program *program)
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
        count += w.count;
    }
    tp_cursor_close(cursor);
    must(count == tp_program_facts(program)->instructions);
    must(event <= tp_program_facts(program)->events);
}

static void read_as(const struct tp_format *format, bool strict, const uint8_t *data, size_t size)
{
    const struct tp_lower_cfg cfg = {.path = "fuzz", .strict = strict};
    struct tp_input *in = NULL;
    struct tp_lower *lo = NULL;
    struct tp_program *program = NULL;
    struct tp_meta meta = {0};
    struct tp_err err = {0};
    uint64_t repairs[TP_REPAIR_COUNT];
    int score = format->probe(data, size < 65536 ? size : 65536);
    must(score >= 0 && score <= 100);
    int rc = tp_input_memory("fuzz", data, size, &in, &err);
    if (rc == TP_OK)
        rc = tp_lower_new(&cfg, &lo, &err);
    if (rc == TP_OK)
        rc = format->read(in, lo, &meta, &err);
    if (rc == TP_OK)
        rc = tp_lower_finish(lo, &program, repairs, &err);
    if (rc == TP_OK)
        check_program(program);
    else
        check_error(rc, &err);
    tp_program_release(program);
    tp_meta_release(&meta);
    tp_lower_free(lo);
    tp_input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    read_as(&tp_format_json, data[0] & 1, data + 1, size - 1);
    read_as(&tp_format_jsonl, data[0] & 1, data + 1, size - 1);
    return 0;
}
