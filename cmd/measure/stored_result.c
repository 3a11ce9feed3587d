/* Reading tapool.result/1 back; see stored.h. The whole document becomes a tree, every member that
 * is used is checked (json_member.h), the tree goes. This file has the document as a whole, what it
 * is found to lack, and the files.
 *
 * Known weakness: the tree takes up to thirty times the file, which is why TP_STORED_BYTES is as
 * small as it is. */
#include "cmd/measure/stored_read.h"

#include "alloc/base/clean.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "tapool.result/1"
enum { RUNS_MAX = 100000, CHUNK = 1 << 16 };

const struct tp_member_range tp_stored_real = {.most = TP_STORED_BEYOND};
const struct tp_member_range tp_stored_real_or_null = {.most = TP_STORED_BEYOND, .null = true};

const char *tp_stored_options_find(const struct tp_stored_option *list, size_t count,
                                   const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return list[i].value;
    return NULL;
}

/* ---- what is not there ---- */

int tp_stored_lack(struct tp_stored *s, enum tp_stored_lack_kind kind, const char *name,
                   struct tp_err *err)
{
    for (size_t i = 0; i < s->lack_count; i++)
        if (s->lacks[i].kind == kind && !strcmp(s->lacks[i].name, name))
            return TP_OK;
    struct tp_stored_lack *more = realloc(s->lacks, (s->lack_count + 1) * sizeof *more);
    if (!more)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    s->lacks = more;
    more[s->lack_count] = (struct tp_stored_lack){.kind = kind};
    snprintf(more[s->lack_count].name, sizeof more->name, "%s", name);
    s->lack_count++;
    return TP_OK;
}

/* "runs[2].", "devices[1]." */
static const char *skip_element(const char *path, const char *list)
{
    size_t length = strlen(list);
    const char *end = strncmp(path, list, length) ? NULL : strstr(path + length, "].");
    return end ? end + 2 : path;
}

/* Which of the runs and devices it lacks in is no part of the name: there are few names, however
 * many of those there are. */
int tp_stored_lack_member(struct tp_stored *s, const struct tp_member *m, struct tp_err *err)
{
    const char *name = skip_element(skip_element(m->path, "runs["), "devices[");
    return tp_stored_lack(s, TP_LACKS_MEMBER, name, err);
}

int tp_stored_seek(struct tp_stored *s, const struct tp_member *in, const char *name,
                   struct tp_member *out, struct tp_err *err)
{
    const bool inside = in->item != NULL; /* `out` may be `in` */
    int status = tp_member_find(in, name, out, err);
    return status || out->item || !inside ? status : tp_stored_lack_member(s, out, err);
}

int tp_stored_text(struct tp_stored *s, const struct tp_member *in, const char *name, char **out,
                   struct tp_err *err)
{
    struct tp_member m;
    int status = tp_stored_seek(s, in, name, &m, err);
    if (status || m.item)
        return status ? status : tp_member_as_text(&m, out, err);
    *out = strdup("");
    return *out ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

int tp_stored_count(struct tp_stored *s, const struct tp_member *in, const char *name,
                    uint64_t *out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_stored_seek(s, in, name, &m, err);
    *out = TP_NONE;
    return status || !m.item ? status : tp_member_as_count(&m, out, err);
}

int tp_stored_flag(struct tp_stored *s, const struct tp_member *in, const char *name, bool *out,
                   struct tp_err *err)
{
    struct tp_member m;
    int status = tp_stored_seek(s, in, name, &m, err);
    *out = false;
    return status || !m.item ? status : tp_member_as_flag(&m, out, err);
}

int tp_stored_follow(const struct tp_member *root, const char *path, struct tp_member *out,
                     bool *last, struct tp_err *err)
{
    *out = *root;
    for (;;) {
        char name[64];
        size_t length = strcspn(path, ".");
        *last = !path[length];
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        int status = tp_member_get(out, name, false, out, err);
        if (!status && !*last && cJSON_IsNull(out->item))
            out->item = NULL;
        if (status || *last || !out->item)
            return status;
        path += length + 1;
    }
}

/* ---- the document ---- */

static int check_schema(const struct tp_member *root, struct tp_err *err)
{
    const size_t length = sizeof SCHEMA - 1;
    char *schema = NULL;
    int status = tp_member_text(root, "schema", &schema, err);
    if (!status && (strncmp(schema, SCHEMA, length) || (schema[length] && schema[length] != '.'))) {
        status = tp_fail(err, TP_EINPUT, "%s is '%.80s'; this tapool reads '" SCHEMA "'",
                         root->file, schema);
        if (!strncmp(schema, SCHEMA, length - 1))
            tp_hint(err, status, "a tapool of its own version reads it");
        else
            tp_hint(err, status, "'tapool replay TRACE --export-json FILE' writes one");
    }
    free(schema);
    return status;
}

static int read_head(const struct tp_member *root, struct tp_stored *out, struct tp_err *err)
{
    struct tp_member tool, machine, clock, step;
    const struct {
        const struct tp_member *in;
        const char *name;
        char **text;
    } texts[] = {{&tool, "version", &out->version},   {&tool, "build", &out->build},
                 {&tool, "compiler", &out->compiler}, {&machine, "arch", &out->arch},
                 {&machine, "cpu", &out->cpu},        {&machine, "libc", &out->libc}};
    int status = check_schema(root, err);
    out->step_ns = NAN;
    if (!status)
        status = tp_stored_seek(out, root, "tool", &tool, err);
    if (!status)
        status = tp_stored_seek(out, root, "machine", &machine, err);
    if (!status)
        status = tp_stored_seek(out, root, "clock", &clock, err);
    for (size_t i = 0; !status && i < sizeof texts / sizeof *texts; i++)
        status = tp_stored_text(out, texts[i].in, texts[i].name, texts[i].text, err);
    if (!status)
        status = tp_stored_seek(out, &clock, "step_ns", &step, err);
    if (!status && step.item)
        status = tp_member_value(&step, &tp_stored_real, &out->step_ns, err);
    return status ? status : tp_stored_flag(out, root, "partial", &out->partial, err);
}

static int read_document(const cJSON *tree, struct tp_stored *out, struct tp_err *err)
{
    const struct tp_member root = {.file = out->path, .item = tree};
    struct tp_member list, one;
    int status = tp_member_is_object(&root, err);
    if (!status)
        status = read_head(&root, out, err);
    if (!status)
        status = tp_member_get(&root, "runs", true, &list, err);
    if (!status)
        status = tp_member_is_array(&list, err);
    size_t count = status ? 0 : (size_t)cJSON_GetArraySize(list.item);
    if (count > RUNS_MAX)
        return tp_member_fail(&list, "has more than 100,000 runs", err);
    if (count)
        out->runs = calloc(count, sizeof *out->runs);
    if (count && !out->runs)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        tp_member_element(&list, item, out->count, &one);
        status = tp_stored_read_run(out, &root, &one, &out->runs[out->count++], err);
    }
    return status;
}

int tp_stored_parse(const char *text, size_t length, const char *name, struct tp_stored *out,
                    struct tp_err *err)
{
    cJSON *tree = NULL;
    *out = (struct tp_stored){.path = tp_clean_copy(name, TP_MEMBER_TEXT)};
    if (!out->path)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = tp_member_parse(text, length, out->path, &tree, err);
    if (!status)
        status = read_document(tree, out, err);
    cJSON_Delete(tree);
    if (!status)
        return TP_OK;
    tp_stored_release(out);
    return status;
}

/* ---- files ---- */

static int read_whole(FILE *in, const char *name, char **text, size_t *length, struct tp_err *err)
{
    size_t room = 0;
    *text = NULL;
    *length = 0;
    do {
        if (*length == room) {
            room = room ? 2 * room : CHUNK;
            char *more = realloc(*text, room);
            if (!more)
                return tp_fail(err, TP_ENOMEM, "out of memory");
            *text = more;
        }
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

/* ---- giving back ---- */

void tp_stored_options_release(struct tp_stored_option *list, size_t count)
{
    for (size_t i = 0; list && i < count; i++) {
        free(list[i].name);
        free(list[i].value);
    }
    free(list);
}

static void release_run(struct tp_stored_run *r)
{
    char *const texts[] = {r->trace_path, r->trace_name, r->kind,   r->hash,  r->strategy,
                           r->label,      r->library,    r->source, r->touch, r->scope};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < TP_SETTINGS; i++)
        free(r->settings[i]);
    tp_stored_options_release(r->options, r->option_count);
    tp_stored_options_release(r->source_options, r->source_option_count);
    tp_stored_options_release(r->warnings, r->warning_count);
    free(r->values);
    free(r->weights);
    free(r->repeats);
}

void tp_stored_release(struct tp_stored *s)
{
    char *const texts[] = {s->path, s->version, s->build, s->compiler, s->arch, s->cpu, s->libc};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < s->count; i++)
        release_run(&s->runs[i]);
    free(s->runs);
    free(s->lacks);
    *s = (struct tp_stored){0};
}
