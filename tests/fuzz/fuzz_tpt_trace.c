/* Fuzz target: the reader of .tpt. The bytes are read as they are, and once more with the checksums
 * of header and blocks put right, so that what lies behind them is reached.
 *
 * Whatever they are: a program that can be replayed twice with the same outcome, or TP_EINPUT. */
#include "tests/fuzz/fuzz_format.h"

#include "traces/formats/tpt/tpt_block.h"

extern const struct tp_format tp_format_tpt;

/* Follows the lengths as long as they make sense. */
static void reseal(uint8_t *data, size_t size)
{
    if (size < TP_TPT_HEADER_SIZE)
        return;
    uint8_t head[TP_TPT_HEADER_SIZE];
    const struct tp_tpt_header h = {
        .version = TP_TPT_VERSION, .kind = data[12] & 1, .events = tp_load64(data + 16)};
    tp_tpt_header_put(&h, head);
    memcpy(data, head, sizeof head);
    size_t at = sizeof head;
    for (uint32_t index = 0; size - at >= TP_TPT_BLOCK_SIZE; index++) {
        struct tp_tpt_block b;
        tp_tpt_block_get(data + at, &b);
        if (b.stored > size - at - TP_TPT_BLOCK_SIZE)
            break;
        b.index = index;
        tp_tpt_block_put(&b, data + at + TP_TPT_BLOCK_SIZE, data + at);
        at += TP_TPT_BLOCK_SIZE + b.stored;
    }
}

/* What a pass ends with; every window must go on where the one before it ended. */
static int pass(struct tp_program *program)
{
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    struct tp_err err = {0};
    uint64_t count = 0, event = 0;
    int got = 0;
    must(tp_cursor_open(program, &cursor, NULL) == TP_OK);
    while ((got = tp_cursor_next(cursor, &w, &err)) == 1) {
        must(w.initial_heap || w.first_insn == count);
        count += w.initial_heap ? 0 : w.count;
        for (uint32_t i = 0; i < w.count; i++) {
            must(tp_window_event(&w, i) >= event);
            event = tp_window_event(&w, i);
        }
    }
    tp_cursor_close(cursor);
    if (got < 0)
        check_error(-got, &err);
    else
        must(count == tp_program_facts(program)->instructions);
    must(event <= tp_program_facts(program)->events);
    return got;
}

static void read_once(const uint8_t *data, size_t size)
{
    const struct tp_read_opts opts = {.device = -1, .max_memory = UINT64_C(64) << 20};
    struct tp_input *in = NULL;
    struct tp_program *program = NULL;
    struct tp_meta meta = {0};
    struct tp_recorded recorded = {0};
    struct tp_places places = {0};
    struct tp_err err = {0};
    uint64_t repairs[TP_REPAIR_COUNT];
    int rc = tp_input_memory("fuzz", data, size, 0, &in, &err);
    if (rc == TP_OK)
        rc = tp_format_tpt.open(
            &(struct tp_reading){
                .in = in, .meta = &meta, .recorded = &recorded, .places = &places, .opts = &opts},
            &program, repairs, &err);
    if (rc == TP_OK)
        must(pass(program) == pass(program));
    else
        check_error(rc, &err);
    if (places.release)
        places.release(places.ctx);
    tp_program_release(program);
    tp_meta_release(&meta);
    tp_recorded_release(&recorded);
    tp_input_close(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int score = tp_format_tpt.probe(data, size < 65536 ? size : 65536);
    must(score == 0 || score == 100);
    uint8_t *copy = malloc(size ? size : 1);
    must(copy != NULL);
    if (size)
        memcpy(copy, data, size);
    read_once(copy, size);
    reseal(copy, size);
    read_once(copy, size);
    free(copy);
    return 0;
}
