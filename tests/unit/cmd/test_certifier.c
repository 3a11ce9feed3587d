/* The certificate of an allocator that is no PyTorch's: named devices, block sizes and a recorded
 * figure, no streams and no segments at the end; and the options that its recordings do not take.
 */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"

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

static const struct tp_certifier tiny = {.by = "Tiny",
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
