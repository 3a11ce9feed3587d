/* Reads tapool.result/2; see stored.h. The document is parsed into a tree, every member that is
 * used is checked (json_member.h), and the tree is deleted. This file reads the document as a
 * whole, notes what it lacks, and reads files.
 *
 * Known weakness: the tree takes up to thirty times the size of the file. That is why
 * TP_STORED_BYTES is small. */
#include "cmd/results/stored_read.h"

#include "alloc/base/clean.h"
#include "alloc/base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "tapool.result/2"
enum { RUNS_MAX = 100000, CHUNK = 1 << 16 };

/* ---- the document ---- */

static void check_schema(const struct tp_member *root)
{
    const size_t length = sizeof SCHEMA - 1;
    struct tp_document *r = root->document;
    struct tp_member m = tp_member_get(root, "schema", true);
    char *schema = tp_member_text(&m);
    if (schema && (strncmp(schema, SCHEMA, length) || (schema[length] && schema[length] != '.'))) {
        r->status = tp_fail(r->err, TP_EINPUT, "%s is '%.80s'; this tapool reads '" SCHEMA "'",
                            r->file, schema);
        tp_hint(r->err, r->status,
                strncmp(schema, SCHEMA, length - 1)
                    ? "write one: 'tapool replay TRACE --export-json FILE'"
                    : "write it again: 'tapool replay TRACE --export-json FILE'");
    }
    free(schema);
}

#define ROW(...)                                                                                   \
    {                                                                                              \
        TP_MEMBER_ROW(tp_stored, __VA_ARGS__)                                                      \
    }
static const struct tp_member_row head_rows[] = {
    ROW(version, "tool.version", TEXT, EXPECTED), ROW(commit, "tool.commit", TEXT, OPTIONAL),
    ROW(build, "tool.build", TEXT, EXPECTED),     ROW(compiler, "tool.compiler", TEXT, EXPECTED),
    ROW(arch, "machine.arch", TEXT, EXPECTED),    ROW(cpu, "machine.cpu", TEXT, EXPECTED),
    ROW(libc, "machine.libc", TEXT, EXPECTED),    ROW(step_ns, "clock.step_ns", REAL, EXPECTED),
    ROW(partial, "partial", FLAG, EXPECTED)};

static void read_document(const struct tp_member *root, struct tp_stored *out)
{
    struct tp_member one = {0};
    check_schema(root);
    tp_member_rows(root, head_rows, sizeof head_rows / sizeof *head_rows, out);
    const struct tp_member list = tp_member_get(root, "runs", true);
    size_t count = tp_member_list(&list, RUNS_MAX, "has more than 100,000 runs");
    if (count)
        out->runs = tp_member_memory(&list, calloc(count, sizeof *out->runs));
    while (tp_member_next(&list, &one))
        tp_stored_read_run(root, &one, &out->runs[out->count++]);
}

int tp_stored_parse(const char *text, size_t length, const char *name, struct tp_stored *out,
                    struct tp_err *err)
{
    cJSON *tree = NULL;
    *out = (struct tp_stored){.path = tp_clean_copy(name, TP_MEMBER_TEXT)};
    if (!out->path)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    struct tp_document r = {
        .file = out->path, .err = err, .lack = tp_stored_lack_member, .ctx = out};
    r.status = tp_member_parse(text, length, out->path, &tree, err);
    read_document(&(struct tp_member){.document = &r, .item = tree}, out);
    cJSON_Delete(tree);
    if (r.status)
        tp_stored_release(out);
    return r.status;
}

/* ---- files ---- */

static int read_whole(FILE *in, const char *name, char **text, size_t *length, struct tp_err *err)
{
    size_t room = 0;
    *text = NULL;
    *length = 0;
    do {
        int status = TP_GROW(text, &room, *length + CHUNK, err, .what = "a result");
        if (status)
            return status;
        *length += fread(*text + *length, 1, room - *length, in);
        if (*length > TP_STORED_BYTES)
            return tp_fail(err, TP_EINPUT, "%s is larger than %d MiB: no result is", name,
                           TP_STORED_BYTES >> 20);
    } while (!feof(in) && !ferror(in));
    return ferror(in) ? tp_fail(err, TP_EINPUT, "%s cannot be read: %s", name, strerror(errno))
                      : TP_OK;
}

int tp_stored_read(const char *path, struct tp_stored *out, struct tp_err *err)
{
    bool standard = !strcmp(path, "-");
    const char *name = standard ? "stdin" : path;
    char *text = NULL;
    size_t length = 0;
    *out = (struct tp_stored){0};
    FILE *in = standard ? stdin : fopen(path, "re");
    if (!in)
        return tp_fail(err, TP_EINPUT, "%s cannot be opened: %s", name, strerror(errno));
    int status = read_whole(in, name, &text, &length, err);
    if (!standard)
        fclose(in);
    if (!status)
        status = tp_stored_parse(text, length, name, out, err);
    free(text);
    return status;
}

/* ---- release ---- */

void tp_stored_release(struct tp_stored *s)
{
    char *const texts[] = {s->path,     s->version, s->commit, s->build,
                           s->compiler, s->arch,    s->cpu,    s->libc};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < s->count; i++)
        tp_record_release(&s->runs[i]);
    free(s->runs);
    free(s->lacks);
    *s = (struct tp_stored){0};
}
