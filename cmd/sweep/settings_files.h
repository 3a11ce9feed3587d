/* The files that settings of a sweep are made of: a preloaded library, a plug-in, the plan of
 * `planned`. Their bytes decide on figures, so their hashes are in the names of cells. */
#ifndef TP_SETTINGS_FILES_H
#define TP_SETTINGS_FILES_H

#include "alloc/base/str.h"
#include "alloc/base/texts.h"
#include "cmd/sweep/file_hash.h"

struct tp_strategy_spec;

struct tp_setting_file {
    char *path; /* owned */
    /* as it was before it was hashed; all 0: there was none */
    uint64_t device, inode, bytes, modified_ns, changed_ns;
    char hash[TP_FILE_HASH + 1]; /* "": there was none */
};

/* Those of all settings, each once. */
struct tp_setting_files {
    struct tp_setting_file *items; /* owned */
    size_t count;
    struct tp_texts paths; /* in the order of the items */
};

/* Of one setting. */
struct tp_setting_file_numbers {
    uint32_t *items; /* owned */
    size_t count;
};

/* Adds the files of a setting, and their hashes to `whole`. `text` is what the spec was parsed
 * from. The numbers of the files are added to the list *numbers; the caller frees it in every case.
 * TP_EIO: a file cannot be read. */
int tp_setting_files_add(struct tp_setting_files *files, const struct tp_strategy_spec *spec,
                         const char *text, struct tp_str *whole,
                         struct tp_setting_file_numbers *numbers, struct tp_err *err);

/* TP_EINPUT: one of these files is not the one that was hashed. */
int tp_setting_files_same(const struct tp_setting_files *files,
                          const struct tp_setting_file_numbers *numbers, struct tp_err *err);

void tp_setting_files_release(struct tp_setting_files *files);

#endif
