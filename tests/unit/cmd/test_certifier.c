/* The certificate of an allocator that is no PyTorch's: named devices, block sizes and a recorded
 * figure, no streams and no segments at the end; and the options that its recordings do not take.
 */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"
#include "cmd/why/why.h"

#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define AGREEMENT(member) .agreement = true, .at = offsetof(struct tp_verified, member)

static const struct tp_verify_row rows[] = {
    {TP_ROW_HEAD, "fidelity", AGREEMENT(addresses), .after = " addresses"},
    {TP_ROW_HEAD, "fidelity", AGREEMENT(sizes), .after = " chunk sizes"},
    {TP_ROW_DRIVER, "regions", AGREEMENT(taken), .after = " taken as recorded"},
    {TP_ROW_DRIVER, "regions", AGREEMENT(fragmentation), .joins = true, .after = " as full"},
    {.label = NULL}};
static const struct tp_verify_sentence sentences[TP_DIFFERENCE_KINDS] = {
    [TP_OTHER_SIZE] = {"chunk for", NULL, NULL}};
static const char *const no_options[] = {NULL};

static const char *no_kind(const void *state)
{
    (void)state;
    return NULL;
}

static struct tp_recorded_part named(const void *state, uint32_t device)
{
    (void)state, (void)device;
    return (struct tp_recorded_part){.name = "GPU_4_tiny", .events = true, .memory = true};
}

static const struct tp_certifier tiny = {.by = "Tiny",
                                         .part = named,
                                         .segment = "region",
                                         .options = no_options,
                                         .rows = rows,
                                         .sentences = sentences,
                                         .allocator = no_kind};

static struct tp_verified found(enum tp_verify_kind kind, uint64_t expected, uint64_t got)
{
    return (struct tp_verified){
        .name = "GPU_4_tiny",
        .events = 9,
        .addresses = {3, 3},
        .sizes = {2, 3},
        .taken = {1, 1},
        .fragmentation = {4, 5},
        .start_known = TP_START_EMPTY,
        .first = {.kind = kind, .event = 2, .size = 100, .expected = expected, .got = got}};
}

static void certifies(const struct tp_verified *v, const char *text)
{
    const struct tp_recorded_file f = {.by = &tiny};
    struct tp_page page;
    char *out = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&out, &size);
    assert_non_null(file);
    tp_page_init(&page, file, 0);
    tp_verify_text(&f, v, true, &page);
    fclose(file);
    assert_string_equal(out, text);
    free(out);
}

TEST(another_allocator_has_its_own_words)
{
    struct tp_verified v = found(TP_OTHER_SIZE, 256, 512);
    certifies(&v, "GPU_4_tiny\n"
                  "fidelity 3 of 3 addresses, 2 of 3 chunk sizes\n"
                  "first difference: event 2, chunk for 100 B\n"
                  "  file           256 B\n"
                  "  rules          512 B\n"
                  "  allocator      Tiny\n"
                  "  regions        1 of 1 taken as recorded\n"
                  "                 4 of 5 as full\n"
                  "  at the start   empty: the recording begins with the allocator\n");
    v = found(TP_OTHER_FRAGMENTATION, 250000, 500000);
    v.fragmentation.all = v.taken.all = 0;
    v.start_known = TP_START_REBUILT;
    certifies(&v, "GPU_4_tiny\n"
                  "fidelity 3 of 3 addresses, 2 of 3 chunk sizes\n"
                  "first difference: event 2, fragmentation after 100 B\n"
                  "  file           0.2500\n"
                  "  rules          0.5000\n"
                  "  allocator      Tiny\n");
}

TEST(values_that_are_no_addresses_are_told_as_such)
{
    const struct tp_verified v = found(TP_OTHER_SIZE, 256, 512);
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL), *list = tp_json_array(&j, root, "devices");
    tp_verify_json(&j, list, &tiny, &v);
    char *text = cJSON_PrintUnformatted(root);
    assert_non_null(text);
    assert_non_null(strstr(text, "\"name\":\"GPU_4_tiny\""));
    assert_non_null(strstr(text, "\"known\":\"empty\""));
    assert_non_null(strstr(text, "\"recorded_address\":null,\"replayed_address\":null,"
                                 "\"recorded_value\":256,\"replayed_value\":512"));
    assert_null(strstr(text, "stream"));
    free(text);
    cJSON_Delete(root);
}

TEST(options_of_another_allocator_are_refused)
{
    static const struct tp_opt opts[] = {
        TP_FLAG_AT("json", 0, .help = ""), TP_FLAG_AT("conf", 0, .help = ""), {.name = NULL}};
    struct tp_origin origins[] = {{.level = TP_LEVEL_FLAG}, {.level = TP_LEVEL_DEFAULT}};
    const struct tp_args args = {.origins = origins};
    struct tp_err err = {0};
    assert_int_equal(tp_certifier_refuses(&tiny, &args, opts, &err), TP_OK);
    origins[1].level = TP_LEVEL_FLAG;
    assert_int_equal(tp_certifier_refuses(&tiny, &args, opts, &err), TP_EUSAGE);
    assert_string_equal(err.text, "--conf takes a recording of PyTorch");
    assert_int_equal(tp_certifier_refuses(tp_certifiers[0], &args, opts, &err), TP_OK);
}

/* ---- tapool why ---- */

static const char *no_silence(const void *state)
{
    (void)state;
    return NULL;
}

static uint64_t three(const void *state, uint32_t device)
{
    (void)state, (void)device;
    return 3;
}

/* A region of 1,000 bytes is taken, 300 are requested of it, and a request fails. */
static int walk_three(const void *state, uint32_t device, uint64_t last, tp_why_each_fn *each,
                      void *ctx, struct tp_err *err)
{
    static const struct tp_why_event events[] = {
        {.action = TP_WHY_TAKES, .size = 1000, .time = 10, .has_time = true},
        {.action = TP_WHY_ALLOCS, .size = 300, .time = 20, .has_time = true},
        {.action = TP_WHY_FAILS, .size = 900, .time = 40, .has_time = true}};
    int rc = TP_OK;
    (void)state, (void)device;
    for (uint64_t i = 0; rc == TP_OK && i < last; i++)
        rc = each(ctx, &events[i], err);
    return rc;
}

static uint64_t whole_ns(int64_t from, int64_t to)
{
    return (uint64_t)(to - from);
}

static int two_blocks(void *state, uint32_t device, const struct tp_why_moment *m,
                      struct tp_verified *verified, struct tp_why_layout *out, struct tp_err *err)
{
    static const struct tp_why_span region = {.base = 4096, .size = 1000};
    static const struct tp_why_space fixed = {0};
    (void)state, (void)device, (void)m;
    *verified = (struct tp_verified){.addresses = {1, 1}};
    int rc = tp_why_layout_add(out, &region, &fixed, &(struct tp_why_block){4096, 320, 300}, err);
    return rc == TP_OK
               ? tp_why_layout_add(out, &region, &fixed, &(struct tp_why_block){4416, 680, 0}, err)
               : rc;
}

static int nothing_known(void *state, uint32_t device, const struct tp_why_moment *m,
                         const struct tp_why_layout *l, struct tp_why_places *places,
                         struct tp_why_held *out, struct tp_err *err)
{
    (void)state, (void)device, (void)m;
    out->list.places = &places->places;
    int rc = TP_READ_GROW(l->reading, &out->list.blocks, &out->room, 1, "blocks", err);
    if (rc == TP_OK)
        out->list.blocks[out->list.count++] = (struct tp_held_block){.size = 300, .age = 20};
    return rc;
}

static int go_on(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

TEST(another_allocator_is_explained_in_its_own_words)
{
    static const struct tp_explainer explains = {.certifier = &tiny,
                                                 .silence = no_silence,
                                                 .events = three,
                                                 .walk = walk_three,
                                                 .ns_between = whole_ns,
                                                 .heap = two_blocks,
                                                 .held = nothing_known};
    struct tp_explained x = {.file = {.by = &tiny}, .by = &explains};
    const struct tp_why_cfg cfg = {.stop = go_on};
    struct tp_why_places places = {.from = NULL};
    struct tp_page page;
    struct tp_err err = {0};
    struct tp_why w;
    char *out = NULL;
    size_t size = 0;
    x.file.reading.opts = &x.file.opts;
    x.file.reading.budget = &x.file.budget;
    x.file.budget.limit = 1 << 20;
    assert_int_equal(tp_input_memory("tiny", "x", 1, 0, &x.file.reading.in, NULL), TP_OK);
    assert_int_equal(tp_why(&x, 0, &cfg, &places, &w, NULL), TP_OK);
    FILE *file = open_memstream(&out, &size);
    assert_non_null(file);
    tp_page_init(&page, file, 0);
    tp_why_text(&w, true, &page);
    fclose(file);
    assert_string_equal(
        out, "GPU_4_tiny\n"
             "OUT OF MEMORY   900 B requested at event 3 of 3 (+30 ns)\n"
             "        300 B   1 live block                   30.0%   requested and not freed\n"
             " +       20 B   rounding                        2.0%\n"
             " +      680 B   free blocks in used regions    68.0%   1 block, largest 680 B\n"
             " +        0 B   0 unused regions                0.0%\n"
             " =    1,000 B   reserved, 1 region            100.0%\n"
             "Summary         680 B of reserved memory (68.0%) is free: 680 B is in regions with "
             "live blocks\n"
             "\n"
             "Based on        a replay by Tiny's rules: 1 of 1 addresses match the file\n");
    free(out);
    tp_why_release(&w);
    assert_int_equal(tp_why_moment(&x, 0, TP_WHY_AT, 9, &w.moment, &err), TP_EUSAGE);
    assert_string_equal(err.text, "'--at 9': GPU_4_tiny has 3 events");
    tp_input_close(x.file.reading.in);
}
