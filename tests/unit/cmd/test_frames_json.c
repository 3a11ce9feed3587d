/* Frames on their way to a page: a replay in another process fills them, and what is written of
 * them is read again from its text and says the same. */
#include "cmd/jobs/fork_replay.h"
#include "cmd/page/frame_events.h"
#include "cmd/page/frames_json.h"
#include "tests/unit/base64_reading.h"
#include "tests/unit/one_run.h"
#include "tests/unit/some_program.h"
#include "traces/places/place_table.h"

extern const struct tp_strategy tp_strategy_direct, tp_strategy_torch;

enum { MOST = 40, TEXTS = 600 };

static struct shown {
    struct tp_trace trace;
    struct tp_captured captured;
    struct tp_replay_cfg cfg;
    struct tp_result result;
    struct tp_frames *frames;
} shown;

/* Every event but each tenth has a place, of which there are more than can be named. */
static void place_text(uint64_t event, char *out, size_t size)
{
    snprintf(out, size, "<f%u>.py:7 \"g\"", (unsigned)(event * event % TEXTS));
}

static int some_places(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                       struct tp_err *error)
{
    (void)ctx, (void)error;
    for (size_t i = 0; i < count; i++) {
        out[i][0] = '\0';
        if (events[i] % 10)
            place_text(events[i], out[i], TP_PLACE_TEXT);
    }
    return TP_OK;
}

static int go_on(struct tp_err *error)
{
    (void)error;
    return TP_OK;
}

static int setup_with(const struct tp_strategy *s)
{
    int rc = new_run();
    memset(&shown, 0, sizeof shown);
    shown.trace.program = some_program();
    shown.trace.places.find = some_places;
    shown.cfg = run_on(&tp_source_virtual, s, shown.trace.program, TP_PASS_USAGE);
    const struct tp_program_facts *facts = tp_program_facts(shown.trace.program);
    if (tp_replay_frames_open(s, facts, MOST, &shown.frames, &err))
        return -1;
    shown.cfg.frames = shown.frames;
    shown.result = (struct tp_result){
        .trace = &shown.trace, .facts = facts, .captured = &shown.captured, .run = run};
    if (tp_fork_replay(&shown.cfg, "test", run, &err))
        return -1;
    shown.result.frames = tp_replay_frames_of(shown.frames, facts, MOST);
    tp_frame_places_find(&shown.captured, &shown.trace, &shown.result, 1, go_on);
    return rc;
}

static int setup(void **state)
{
    (void)state;
    return setup_with(&tp_strategy_torch);
}

static int setup_direct(void **state)
{
    (void)state;
    return setup_with(&tp_strategy_direct);
}

static int release(void **state)
{
    tp_replay_frames_close(shown.frames, shown.result.facts, MOST);
    tp_captured_release(&shown.captured);
    tp_program_release(shown.trace.program);
    return teardown(state);
}

/* ---- reading it again, as a page does ---- */

static int64_t signed_number(struct reading *r)
{
    uint64_t n = number(r);
    return n % 2 ? -(int64_t)((n + 1) / 2) : (int64_t)(n / 2);
}

static double value_of(const cJSON *o, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, name);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static const char *text_of(const cJSON *o, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, name));
    assert_non_null(text);
    return text;
}

/* The bytes of all pieces of a frame, read from its text; `live` notes the events of live ones. */
static uint64_t sum_rows(const cJSON *frame, bool *live)
{
    static struct reading r;
    uint64_t unit = (uint64_t)value_of(frame, "unit"), all = 0, ranges = 0;
    int64_t event = 0;
    read_base64(&r, text_of(frame, "rows"));
    while (r.at < r.end) {
        assert_true(number(&r) > 0);
        ranges += number(&r) + 1;
        uint64_t size = number(&r) * unit, offset = 0;
        for (uint8_t head; (head = r.bytes[r.at++]) != 0;) {
            uint64_t bytes = number(&r) * unit, kinds = 0;
            unsigned kind = (head & 7u) - 1;
            offset += bytes + (head & 8 ? number(&r) * unit : 0);
            if (kind == TP_FRAME_MIXED) {
                assert_true(number(&r) > 1);
                kinds = number(&r);
                for (unsigned k = 0; k < TP_WALK_COUNT; k++)
                    all += kinds >> k & 1 ? number(&r) * unit : 0;
            } else {
                kinds = 1u << kind;
                all += bytes;
            }
            if (kinds & 1u << TP_WALK_LIVE) {
                event += signed_number(&r);
                assert_true(event >= 0 && event <= INSNS);
                live[event] = true;
            }
        }
        assert_int_equal(offset, size);
    }
    assert_true((double)ranges == value_of(frame, "ranges"));
    return all + (uint64_t)value_of(frame, "page_rest");
}

/* Events that are live in a frame have their places, but every tenth, and no others have one. */
static void read_places(const cJSON *table, const bool *live)
{
    static struct reading r;
    const cJSON *places = cJSON_GetObjectItemCaseSensitive(table, "texts");
    int count = cJSON_GetArraySize(places);
    uint64_t event = 0, others = 0;
    bool seen[INSNS + 1] = {false};
    assert_true(count > 0 && count <= TP_PLACES_NAMED);
    read_base64(&r, text_of(table, "events"));
    while (r.at < r.end) {
        char text[TP_PLACE_TEXT];
        event += number(&r);
        uint64_t place = number(&r);
        assert_true(place % 2 == 0);
        place /= 2;
        assert_true(event <= INSNS && event % 10 && live[event] && place <= (uint64_t)count);
        place_text(event, text, sizeof text);
        seen[event] = true;
        others += place == (uint64_t)count;
        if (place < (uint64_t)count)
            assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(places, (int)place)), text);
    }
    for (uint64_t i = 1; i <= INSNS; i++)
        assert_true(seen[i] == (live[i] && i % 10 != 0));
    assert_true(!others || count == TP_PLACES_NAMED);
}

/* Writes with a bound; returns the number of frames that the text has. */
static uint32_t write_and_read(size_t most_bytes)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL), *frame = NULL;
    bool live[INSNS + 1] = {false};
    uint32_t count = 0, at = 0;
    const struct tp_frames_shown written = tp_result_frames(&shown.result);
    struct tp_placed_list placed = {0};
    assert_int_equal(tp_json_frames(&j, root, &written, most_bytes, &placed), TP_OK);
    tp_placed_sort(&placed);
    assert_int_equal(tp_json_places(&j, root, written.places, &placed, 0), TP_OK);
    tp_placed_drop(&placed);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    assert_true(strlen(text) <= most_bytes + 2); /* and the braces of the root */
    root = cJSON_Parse(text);
    const cJSON *frames = cJSON_GetObjectItemCaseSensitive(root, "frames");
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(frames, "devices");
    cJSON_ArrayForEach(frame, cJSON_GetArrayItem(devices, 0))
    {
        const struct tp_frame *f = tp_frames_at(shown.result.frames, 0, at);
        while ((double)f->event < value_of(frame, "event"))
            f = tp_frames_at(shown.result.frames, 0, ++at);
        assert_true((double)f->event == value_of(frame, "event"));
        assert_int_equal(sum_rows(frame, live), f->reserved);
        assert_true(value_of(frame, "reserved") == (double)f->reserved);
        count++;
    }
    if (frames) {
        assert_true(value_of(frames, "left_out") ==
                    (double)(tp_frames_count(shown.result.frames, 0) - count));
        read_places(cJSON_GetObjectItemCaseSensitive(root, "places"), live);
    }
    cJSON_Delete(root);
    free(text);
    return count;
}

static void everything_is_written_where_there_is_room(void **state)
{
    (void)state;
    assert_non_null(shown.result.frames);
    assert_true(tp_frames_count(shown.result.frames, 0) > TP_FRAMES_LEAST);
    assert_int_equal(write_and_read(10 << 20), tp_frames_count(shown.result.frames, 0));
}

TESTS(cmocka_unit_test_setup_teardown(everything_is_written_where_there_is_room, setup, release),
      cmocka_unit_test_setup_teardown(everything_is_written_where_there_is_room, setup_direct,
                                      release))

static void what_does_not_fit_is_left_out(void **state)
{
    uint32_t before = 0, grew = 0;
    (void)state;
    assert_int_equal(write_and_read(0), 0);
    for (size_t most = 1 << 10; most <= 10 << 20; most *= 2) {
        uint32_t count = write_and_read(most);
        assert_true(count >= before);
        grew += count > before;
        before = count;
    }
    assert_true(grew > 3);
    assert_int_equal(before, tp_frames_count(shown.result.frames, 0));
}

TESTS(cmocka_unit_test_setup_teardown(what_does_not_fit_is_left_out, setup, release),
      cmocka_unit_test_setup_teardown(what_does_not_fit_is_left_out, setup_direct, release))

/* Those that are always kept are the last to be left out. */
TEST_WITH(the_extremes_are_left_out_last, setup, release)
{
    uint16_t ranks[TP_FRAMES_MOST];
    uint32_t kept = 0, count = tp_frames_count(shown.result.frames, 0);
    tp_frame_ranks(shown.result.frames, 0, ranks);
    for (uint32_t i = 0; i < count; i++)
        kept += (tp_frames_at(shown.result.frames, 0, i)->reasons & (TP_FRAME_MARK - 1)) != 0;
    for (uint32_t i = 0; i < count; i++) {
        bool always = tp_frames_at(shown.result.frames, 0, i)->reasons & (TP_FRAME_MARK - 1);
        assert_true(always == (ranks[i] <= kept));
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(ranks[i], ranks[k]);
    }
}

TEST_WITH(nothing_is_taken_unasked, setup, release)
{
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    struct tp_frames *none;
    const struct tp_strategy foreign = {.caps = TP_CAP_FOREIGN, .walk = tp_strategy_torch.walk};
    assert_int_equal(tp_replay_frames_open(&tp_strategy_torch, shown.result.facts, 0, &none, &err),
                     TP_OK);
    assert_null(none);
    assert_int_equal(tp_replay_frames_open(&foreign, shown.result.facts, MOST, &none, &err), TP_OK);
    assert_null(none);
    assert_null(tp_replay_frames_of(NULL, shown.result.facts, MOST));
    shown.result.frames = NULL;
    const struct tp_frames_shown frames = tp_result_frames(&shown.result);
    struct tp_placed_list placed = {0};
    assert_int_equal(tp_json_frames(&j, root, &frames, 1 << 20, &placed), TP_OK);
    assert_int_equal(placed.count, 0);
    assert_null(root->child);
    cJSON_Delete(root);
}

/* What something wrote over is not read, whatever it says of its size. */
TEST_WITH(frames_that_were_written_over_are_none, setup, release)
{
    memset(shown.frames, 0xa5, sizeof *shown.frames);
    assert_null(tp_replay_frames_of(shown.frames, shown.result.facts, MOST));
}
