/* Who asked for what at events, in the JSON of a page: it is read again, and compared with the
 * program that the events are of. */
#include "cmd/page/asked.h"
#include "tests/unit/base64_reading.h"
#include "tests/unit/one_run.h"
#include "tests/unit/some_program.h"

enum { TEXTS = 300, EACH = 7 };

static struct tp_trace trace;
static uint64_t born[INSNS + 1]; /* of each event: the one that asked for what it frees */

/* Every event but those in tenths has a place. */
static bool place_text(uint64_t event, char *out)
{
    out[0] = '\0';
    if (event % 10)
        snprintf(out, TP_PLACE_TEXT, "<f%u>.py:7 \"g\"", (unsigned)(event * event % TEXTS));
    return event % 10 != 0;
}

static int some_places(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                       struct tp_err *error)
{
    (void)ctx, (void)error;
    for (size_t i = 0; i < count; i++)
        place_text(events[i], out[i]);
    return TP_OK;
}

static int go_on(struct tp_err *error)
{
    (void)error;
    return TP_OK;
}

static int follow(void *ctx, const struct tp_window *w, struct tp_err *error)
{
    uint64_t *slots = ctx;
    (void)error;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct tp_insn *in = &w->insns[i];
        if (in->op == TP_ALLOC)
            slots[in->slot] = tp_window_event(w, i);
        else
            born[tp_window_event(w, i)] = slots[in->slot];
    }
    return TP_OK;
}

static int setup(void **state)
{
    uint64_t slots[SLOTS] = {0};
    (void)state;
    memset(born, 0, sizeof born);
    trace = (struct tp_trace){.program = some_program(), .places.find = some_places};
    return tp_program_walk(trace.program, follow, slots, &err);
}

static int release(void **state)
{
    (void)state;
    tp_program_release(trace.program);
    return 0;
}

TEST_WITH(what_is_freed_was_asked_for_by_the_event_before, setup, release)
{
    uint64_t events[INSNS / EACH], found[INSNS / EACH], frees = 0;
    for (size_t i = 0; i < INSNS / EACH; i++)
        events[i] = EACH * (i + 1);
    assert_int_equal(tp_freed_events(trace.program, events, INSNS / EACH, found, &err), TP_OK);
    for (size_t i = 0; i < INSNS / EACH; i++) {
        assert_int_equal(found[i], born[events[i]]);
        frees += found[i] > 0;
    }
    assert_true(frees > INSNS / EACH / 4);
}

/* Some events free what another one asks for, and ask for some themselves. */
TEST_WITH(an_event_that_asks_frees_nothing, setup, release)
{
    const struct tp_insn insns[] = {
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 0, .size = 1},
        {.op = TP_ALLOC, .align_log2 = 4, .slot = 1, .size = 2},
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 3},
        {.op = TP_FREE, .align_log2 = 4, .slot = 1, .size = 2},
        {.op = TP_FREE, .align_log2 = 4, .slot = 0, .size = 3},
    };
    const uint64_t events[] = {1, 3, 4, 5, 6};
    uint64_t found[5];
    struct tp_program *p = test_program(insns, 5, false);
    assert_int_equal(tp_freed_events(p, events, 5, found, &err), TP_OK);
    assert_true(!found[0] && !found[1] && found[2] == 2 && found[3] == 3 && !found[4]);
    tp_program_release(p);
}

/* ---- the table ---- */

static cJSON *read_again(cJSON *root)
{
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    root = cJSON_Parse(text);
    free(text);
    return root;
}

/* What the table says of an event is right; returns the number of those that it has, up to *last.
 */
static size_t check_table(const cJSON *root, uint64_t *last)
{
    static struct reading r;
    const cJSON *table = cJSON_GetObjectItemCaseSensitive(root, "places");
    const cJSON *texts = cJSON_GetObjectItemCaseSensitive(table, "texts");
    uint64_t event = 0;
    size_t count = 0;
    read_base64(&r, cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(table, "events")));
    while (r.at < r.end) {
        char right[TP_PLACE_TEXT];
        event += number(&r);
        uint64_t value = number(&r);
        bool freed = born[event] && place_text(born[event], right);
        assert_true(freed == (value % 2 == 1));
        assert_true(freed || place_text(event, right));
        assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(texts, (int)(value / 2))),
                            right);
        count++;
    }
    *last = event;
    return count;
}

TEST_WITH(points_have_who_asked_for_what_they_free, setup, release)
{
    struct tp_json j = {false};
    struct tp_asked a = {0};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    size_t expected = 0;
    uint64_t last = 0;
    for (uint64_t event = INSNS; event > 0; event -= 2) {
        assert_int_equal(tp_asked_point(&a, event, &err), TP_OK);
        assert_int_equal(tp_asked_point(&a, event, &err), TP_OK);
        expected += event % 10 || born[event] % 10;
    }
    assert_int_equal(tp_json_asked(&j, root, &trace, &a, go_on, &err), TP_OK);
    root = read_again(root);
    assert_int_equal(check_table(root, &last), expected);
    cJSON_Delete(root);
    tp_asked_drop(&a);
}

TEST_WITH(without_places_there_is_no_table, setup, release)
{
    struct tp_json j = {false};
    struct tp_asked a = {0};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    trace.places.find = NULL;
    assert_int_equal(tp_asked_point(&a, 1, &err), TP_OK);
    assert_int_equal(tp_json_asked(&j, root, &trace, &a, go_on, &err), TP_OK);
    assert_null(root->child);
    cJSON_Delete(root);
    tp_asked_drop(&a);
}

/* Writes the places of events, every second one of rank 0; returns how many there are. */
static size_t write_ranked(const struct tp_place_table *table, const struct tp_placed_list *l,
                           size_t more, size_t *bytes)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    uint64_t last = 0;
    assert_int_equal(tp_json_places(&j, root, table, l, more), TP_OK);
    char *text = cJSON_PrintUnformatted(root);
    *bytes = strlen(text);
    free(text);
    root = read_again(root);
    size_t count = check_table(root, &last);
    assert_true(last >= INSNS - 1 || count < l->count);
    cJSON_Delete(root);
    return count;
}

/* The last ones are left out first, those of frames never. */
TEST_WITH(what_does_not_fit_is_left_out, setup, release)
{
    struct tp_place_table *table = NULL;
    struct tp_placed_list l = {0};
    size_t least = 0, before = 0, bytes = 0, grew = 0;
    assert_int_equal(tp_place_table_new(&table, &err), TP_OK);
    for (uint64_t event = 1; event < INSNS; event++) {
        struct tp_placed p = {.event = event, .rank = event % 2 ? 0 : event};
        char text[TP_PLACE_TEXT];
        p.freed = born[event] && place_text(born[event], text);
        if (!p.freed && !place_text(event, text))
            continue;
        assert_int_equal(tp_place_table_text(table, text, strlen(text), &p.text, &err), TP_OK);
        assert_int_equal(tp_placed_add(&l, p, &err), TP_OK);
    }
    tp_placed_sort(&l);
    for (size_t more = 0; more <= 1 << 16; more = more ? 2 * more : 16) {
        size_t count = write_ranked(table, &l, more, &bytes);
        least = more ? least : bytes;
        assert_true(count >= before && bytes <= least + more + (size_t)6 * TP_PLACE_TEXT);
        grew += count > before;
        before = count;
    }
    assert_true(grew > 4);
    assert_int_equal(before, l.count);
    tp_placed_drop(&l);
    tp_place_table_free(table);
}
