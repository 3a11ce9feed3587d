/* PyTorch snapshots made by hand with metadata: user_metadata, internal_metadata and annotations
 * (the action annotate), as _set_memory_metadata and _annotate_memory of torch.cuda.memory write
 * them. */
#include "tests/unit/pytorch_text.h"

#define SAID(action, addr, user, more)                                                             \
    " } ( 'action' '" action "' 'addr' " #addr " 'size' 9 'stream' 0 'time_us' 1 "                 \
    "'user_metadata' " user more " u"
#define ALLOC(addr, user) SAID("alloc", addr, user, "")
#define NOTE(addr, user)  SAID("annotate", addr, user, "")

/* The labels of the first events, as "a|b|". */
static void expect_labels(const char *pickle, unsigned events, const char *expected)
{
    struct reading r = read_pickle(pickle);
    char all[4096];
    size_t length = 0;
    struct tp_err err;
    if (r.rc != TP_OK)
        fail_msg("%s", r.err.text);
    assert_non_null(r.places.label);
    for (uint64_t event = 1; event <= events; event++) {
        uint32_t label = 0;
        assert_int_equal(r.places.label(r.places.ctx, event, &label, &err), TP_OK);
        length += (size_t)snprintf(all + length, sizeof all - length, "%s|",
                                   r.places.label_text(r.places.ctx, label));
    }
    assert_string_equal(all, expected);
    forget(&r);
}

TEST(an_allocation_has_the_text_that_was_set)
{
    expect_labels("} (" TRACES(TRACE(ALLOC(512, "'weights'") ALLOC(1024, "''")
                                         ALLOC(1536, "'weights'"))) " u .",
                  4, "weights||weights||");
    expect_labels("} (" TRACES(TRACE(SAID("alloc", 512, "''", " 'internal_metadata' 'tag'") SAID(
                      "alloc", 1024, "'w'", " 'internal_metadata' 'tag'"))) " u .",
                  2, "[tag]|w [tag]|");
}

TEST(annotations_of_a_live_block_are_added)
{
    expect_labels("} (" TRACES(TRACE(ALLOC(512, "'a'") NOTE(512, "'b'") NOTE(512, "'c'"))) " u .",
                  3, "a; b; c|b|c|");
    /* of a block that is not there, and of one whose address was used again */
    expect_labels(
        "} (" TRACES(TRACE(NOTE(512, "'b'") ALLOC(512, "'a'") EVENT("free_completed", 512, 9, 1)
                               NOTE(512, "'c'") ALLOC(512, "'d'") NOTE(512, "'e'"))) " u .",
        6, "b|a||c|d; e|e|");
    /* each device has addresses of its own */
    expect_labels(
        "} (" TRACES(TRACE(ALLOC(512, "'a'")) TRACE(ALLOC(512, "'b'") NOTE(512, "'c'"))) " u .", 3,
        "a|b; c|c|");
}

static const struct importer_row an_annotation_is_known_and_changes_no_memory[] = {
    REPLAYS("} (" TRACES(TRACE(ALLOC(512, "'a'") NOTE(512, "'b'") ALLOC(1024, "''"))) " u .",
            "alloc 0 9 a8 @1; alloc 1 9 a8 @3; ",
            .remarks = "2 events with metadata of the program (user_metadata).\n"
                       "1 annotation of live blocks (annotate), without effect on memory."),
};

TEST(a_file_without_metadata_has_no_labels)
{
    struct reading r = read_pickle("} (" TRACES(TRACE(ALLOC(512, "''") ALLOC(1024, "''"))) " u .");
    assert_int_equal(r.rc, TP_OK);
    assert_null(r.places.label);
    assert_null(r.meta.remarks);
    forget(&r);
}

/* What is not text is nothing; a text that is too long to be kept says so. */
TEST(odd_metadata_do_no_harm)
{
#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
    expect_labels("} (" TRACES(TRACE(ALLOC(512, "7") ALLOC(1024, "N") ALLOC(1536, "] ( 1 2 e")
                                         ALLOC(2048, "'" HUNDRED HUNDRED HUNDRED "'")
                                             ALLOC(2560, "'last'"))) " u .",
                  5, "|||(long text)|last|");
    expect_labels(
        "} (" TRACES(TRACE(ALLOC(512, "'a'") " } ( 'action' 'annotate' 'user_metadata' 'b' u" NOTE(
            512, "''"))) " u .",
        3, "a|b||");
}

/* A block that is annotated again and again has a label of bounded length, and labels are bounded.
 */
TEST(many_annotations_are_cut)
{
    static char pickle[1 << 20];
    size_t length =
        (size_t)snprintf(pickle, sizeof pickle, "} ( 'device_traces' ] ( ] (%s", ALLOC(512, "'a'"));
    for (unsigned i = 0; i < 900; i++)
        length +=
            (size_t)snprintf(pickle + length, sizeof pickle - length,
                             " } ( 'action' 'annotate' 'addr' 512 'user_metadata' 'n%u' u", i);
    snprintf(pickle + length, sizeof pickle - length, " e e u .");
    struct reading r = read_pickle(pickle);
    uint32_t label = 0;
    assert_int_equal(r.rc, TP_OK);
    assert_int_equal(r.places.label(r.places.ctx, 1, &label, NULL), TP_OK);
    const char *text = r.places.label_text(r.places.ctx, label);
    assert_true(strlen(text) < 500);
    assert_memory_equal(text, "a; n0; n1; n2", 13);
    forget(&r);
}

TESTS(ROWS(pytorch, an_annotation_is_known_and_changes_no_memory))
