/* See settings_files.h. A file that is replaced while a sweep runs makes another setting of it:
 * what is computed from then on would stand under the hash of the old one. */
#include "cmd/sweep/settings_files.h"

#include "alloc/base/clock.h"
#include "alloc/base/opt.h"
#include "cmd/jobs/spec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* False: there is no such file, or it is a folder, a pipe or a device. */
static bool look_at_file(struct tp_setting_file *f)
{
    struct stat s;
    if (stat(f->path, &s) || !S_ISREG(s.st_mode))
        return false;
    f->device = (uint64_t)s.st_dev;
    f->inode = (uint64_t)s.st_ino;
    f->bytes = (uint64_t)s.st_size;
    f->modified_ns = tp_timespec_ns(&s.st_mtim);
    f->changed_ns = tp_timespec_ns(&s.st_ctim);
    return true;
}

static int find_setting_file(struct tp_setting_files *files, const char *path, uint32_t *number,
                             struct tp_err *err)
{
    *number = tp_texts_find(&files->paths, path, strlen(path));
    if (*number != TP_NO_TEXT)
        return TP_OK;
    int status = TP_ONE_MORE(&files->items, files->count, err, .what = "files");
    if (!status)
        status = tp_texts_add(&files->paths, path, strlen(path), err);
    if (status)
        return status;
    struct tp_setting_file f = {.path = strdup(path)};
    if (!f.path)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    *number = (uint32_t)files->count;
    files->items[files->count] = f;
    struct tp_setting_file *kept = &files->items[files->count++];
    return look_at_file(kept) ? tp_file_hash(kept->path, kept->hash, err) : TP_OK;
}

/* Files of one setting that are being added. */
struct finding_files {
    struct tp_setting_files *files;
    struct tp_str *whole;
    struct tp_setting_file_numbers *numbers;
};

static int add_setting_file(const struct finding_files *f, const char *path, struct tp_err *err)
{
    struct tp_setting_file_numbers *n = f->numbers;
    uint32_t number = TP_NO_TEXT;
    int status = find_setting_file(f->files, path, &number, err);
    if (!status)
        status = TP_ONE_MORE(&n->items, n->count, err, .what = "files");
    if (status)
        return status;
    n->items[n->count++] = number;
    tp_str_add(f->whole, " %s", f->files->items[number].hash);
    return TP_OK;
}

/* The path of a plug-in stands first among its options. */
static int add_plugin_file(const struct finding_files *f, const char *text, struct tp_err *err)
{
    const char *colon = strchr(text, ':');
    char *rest = colon ? strdup(colon + 1) : NULL, *left = rest, *path = NULL;
    if (!rest)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = tp_opt_cut_value(&left, &path) ? add_setting_file(f, path, err) : TP_OK;
    free(rest);
    return status;
}

int tp_setting_files_add(struct tp_setting_files *files, const struct tp_strategy_spec *spec,
                         const char *text, struct tp_str *whole,
                         struct tp_setting_file_numbers *numbers, struct tp_err *err)
{
    const struct finding_files f = {files, whole, numbers};
    int status = TP_OK;
    if (spec->preload)
        status = add_setting_file(&f, spec->preload, err);
    if (!status && spec->plugin)
        status = add_plugin_file(&f, text, err);
    const struct tp_opt *row = spec->opts ? spec->strategy->options : NULL;
    for (; !status && row && row->name; row++) {
        const char *path = NULL;
        if (row->type != TP_OPT_TEXT || row->from != TP_OPT_USER) /* see TP_FILE_AT */
            continue;
        memcpy(&path, (const char *)spec->opts + row->offset, sizeof path);
        if (path)
            status = add_setting_file(&f, path, err);
    }
    return status;
}

static bool is_same_file(const struct tp_setting_file *a, const struct tp_setting_file *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
           a->modified_ns == b->modified_ns && a->changed_ns == b->changed_ns;
}

int tp_setting_files_same(const struct tp_setting_files *files,
                          const struct tp_setting_file_numbers *numbers, struct tp_err *err)
{
    for (size_t i = 0; i < numbers->count; i++) {
        const struct tp_setting_file *f = &files->items[numbers->items[i]];
        struct tp_setting_file now = {.path = f->path};
        look_at_file(&now);
        if (!is_same_file(f, &now))
            return tp_hint(
                err, tp_fail(err, TP_EINPUT, "'%.200s' has changed since the sweep began", f->path),
                "run the same command again");
    }
    return TP_OK;
}

void tp_setting_files_release(struct tp_setting_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->items[i].path);
    free(files->items);
    tp_texts_release(&files->paths);
    *files = (struct tp_setting_files){0};
}
