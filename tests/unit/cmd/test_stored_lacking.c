/* A stored result that lacks a member, whichever it is: it is read, unless without that member it
 * says of no experiment what was measured, and what it lacks is named. Every member of real results
 * is taken out in turn, and made null. */
#include "cmd/compare/compare.h"
#include "cmd/compare/compare_html.h"
#include "cmd/compare/compare_opts.h"
#include "cmd/ui/exports.h"
#include "tests/unit/stored_rig.h"

#include <sys/mman.h>
#include <unistd.h>

#define SEEDS TAPOOL_ROOT "/tests/fuzz/corpus/stored/"

enum { PATHS = 1024, PATH_BYTES = 128, FILE_BYTES = 32 };

/* Which experiment it was. */
static const char *const essential[] = {"schema",
                                        "runs",
                                        "runs[0]",
                                        "runs[0].trace",
                                        "runs[0].trace.name",
                                        "runs[0].trace.kind",
                                        "runs[0].trace.program_hash",
                                        "runs[0].trace.devices",
                                        "runs[0].strategy",
                                        "runs[0].strategy.name",
                                        "runs[0].strategy.label",
                                        "runs[0].source",
                                        "runs[0].source.name",
                                        "runs[0].touch",
                                        "runs[0].latency_scope",
                                        NULL};

/* Where there was no such call there is no such object. */
static const char *const absent_for_a_reason[] = {"runs[0].latency.alloc", "runs[0].latency.free",
                                                  "runs[0].latency.realloc", NULL};

static bool is_in(const char *path, const char *const *list)
{
    while (*list && strcmp(*list, path))
        list++;
    return *list != NULL;
}

/* ---- every member ---- */

struct paths {
    char (*items)[PATH_BYTES];
    size_t count;
};

static void collect(const cJSON *in, const char *path, struct paths *out)
{
    int i = 0;
    for (const cJSON *item = in->child; item; item = item->next, i++) {
        assert_true(out->count < PATHS);
        char *to = out->items[out->count++];
        if (cJSON_IsArray(in))
            snprintf(to, PATH_BYTES, "%.100s[%d]", path, i);
        else
            snprintf(to, PATH_BYTES, "%.60s%s%.60s", path, *path ? "." : "", item->string);
        collect(item, to, out);
    }
}

/* The tree with another value in one place; NULL: with none. */
static cJSON *change(const cJSON *tree, const char *path, const char *value)
{
    char name[PATH_BYTES];
    cJSON *copy = cJSON_Duplicate(tree, true), *in = find(copy, path, name, sizeof name);
    if (cJSON_IsArray(in))
        cJSON_ReplaceItemInArray(in, (int)strtol(name, NULL, 10), cJSON_Parse(value));
    else if (value)
        cJSON_ReplaceItemInObjectCaseSensitive(in, name, cJSON_Parse(value));
    else
        cJSON_DeleteItemFromObjectCaseSensitive(in, name);
    return copy;
}

/* ---- what becomes of it ---- */

/* Whether the reader looks at it at all: then this cannot be its value. */
static bool is_used(const cJSON *tree, const char *path)
{
    struct tp_stored s;
    struct tp_err err = {0};
    cJSON *wrong = change(tree, path, "[[true]]");
    int status = parse_tree(wrong, &s, &err);
    if (!status)
        tp_stored_release(&s);
    cJSON_Delete(wrong);
    return status != TP_OK;
}

static void expect_refused(const cJSON *tree, const char *path)
{
    struct tp_stored s;
    struct tp_err err = {0};
    char begin[PATH_BYTES + 20];
    assert_int_equal(parse_tree(tree, &s, &err), TP_EINPUT);
    snprintf(begin, sizeof begin, "a.json: %s is ", path);
    if (strncmp(err.text, begin, strlen(begin)))
        fail_msg("without %s: %s", path, err.text);
}

/* A file without a name that a report could take for a figure: random letters may spell "nan". */
static int write_tree(const cJSON *tree, char path[FILE_BYTES])
{
    char *text = cJSON_PrintUnformatted(tree);
    int fd = memfd_create("stored", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, FILE_BYTES, "/proc/self/fd/%d", fd);
    cJSON_free(text);
    return fd;
}

static void print_all(const struct tp_compare *c, FILE *out)
{
    struct tp_err err;
    const struct tp_compare_opts o = {.verbose = true};
    const struct tp_compare_page found = {.found = c, .opts = &o};
    for (uint32_t i = 0; tp_compare_exporters.list[i]; i++)
        if (i != tp_compare_index_html)
            assert_int_equal(tp_exports_print(&(struct tp_exports){.format = i},
                                              &tp_compare_exporters, &found, out, &err),
                             TP_OK);
}

/* Compared with the whole one, in every form, with the note that names what lacks. */
static void expect_compared(const cJSON *tree, char *whole, const char *path, bool said)
{
    const struct tp_compare_opts o = {0};
    struct tp_compare c;
    struct tp_stored *files = NULL;
    struct tp_err err = {0};
    char part[FILE_BYTES], *words[] = {whole, part}, *text = NULL;
    size_t size = 0;
    bool noted = false;
    int fd = write_tree(tree, part);
    assert_int_equal(tp_compare_init(&c, &err), TP_OK);
    int status = tp_compare_read(&o, words, 2, &c, &files, &err);
    close(fd);
    if (!status)
        status = tp_compare_columns(&c, &(struct tp_opt_list){0}, true, &err);
    if (!status)
        status = tp_compare_decide(&c, &err);
    if (status)
        fail_msg("without %s: %s", path, err.text);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print_all(&c, out);
    fclose(out);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "18,446,744"));
    for (size_t i = 0; i < c.note_count; i++)
        noted |= strstr(c.notes[i], "did not write") != NULL;
    if (noted != said)
        fail_msg("without %s: %s", path, noted ? "something is said to lack" : "nothing is said");
    free(text);
    tp_compare_release(&c);
    tp_compare_files_release(files, 2);
}

/* null says of a figure that it is not known, and of a setting that it was not given. */
static bool may_be_null(const char *path)
{
    const char *in_run = path + (strncmp(path, "runs[0].", 8) ? 0 : 8);
    const char *of = in_run + (strncmp(in_run, "devices[", 8) ? 0 : 11);
    bool known = strstr(path, "_ns_per_op") && path[strlen(path) - 1] != ']' &&
                 !strstr(path, "runs_ns_per_op");
    for (size_t i = 0; i < tp_metric_count; i++)
        known |= !strcmp(of, tp_metrics[i].path) ||
                 (tp_metrics[i].share_of && !strcmp(of, tp_metrics[i].share_of));
    for (size_t i = 0; i < TP_SETTINGS; i++)
        known |= !strcmp(in_run, tp_settings[i].path);
    return known;
}

/* Which options there are is for the strategy to know: one that is not there is not there. */
static bool is_option(const char *path)
{
    return strstr(path, ".options.") != NULL;
}

/* A setting that older results do not have has the value that it had then, and what they do not say
 * of threads is not known. */
static bool is_known_before(const char *path)
{
    bool known = false;
    for (size_t i = 0; i < TP_SETTINGS; i++)
        known |= tp_settings[i].before && strstr(path, tp_settings[i].path);
    for (size_t i = 0; i < tp_metric_count; i++)
        known |= tp_metrics[i].of_threads && strstr(path, tp_metrics[i].path);
    return known;
}

/* No figure is lacking where only a picture is. */
static bool is_of_picture(const char *path)
{
    return strstr(path, ".curve") != NULL;
}

static void check_all(const char *name)
{
    cJSON *tree = load(name);
    struct paths paths = {.items = calloc(PATHS, PATH_BYTES)};
    char whole[FILE_BYTES];
    size_t read = 0, used = 0;
    assert_non_null(paths.items);
    collect(tree, "", &paths);
    int fd = write_tree(tree, whole);
    for (size_t i = 0; i < paths.count; i++) {
        const char *path = paths.items[i];
        bool element = path[strlen(path) - 1] == ']', reads = is_used(tree, path);
        used += reads;
        for (int null = element; null < 2; null++) {
            cJSON *less = change(tree, path, null ? "null" : NULL);
            if (is_in(path, essential)) {
                expect_refused(less, path);
            } else {
                bool said = reads && !is_in(path, absent_for_a_reason) && !is_of_picture(path) &&
                            !(null ? may_be_null(path) : is_option(path) || is_known_before(path));
                expect_compared(less, whole, path, said);
                read++;
            }
            cJSON_Delete(less);
        }
    }
    assert_true(used > 60 && read > 2 * used);
    close(fd);
    free(paths.items);
    cJSON_Delete(tree);
}

TEST(test_one_device)
{
    check_all(SEEDS "whole-one-device.json");
}

TEST(test_two_devices)
{
    check_all(SEEDS "whole-two-devices.json");
}
