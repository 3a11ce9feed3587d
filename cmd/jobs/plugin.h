/* Strategies that are shared libraries of somebody else: -s plugin:PATH. */
#ifndef TP_LOADED_PLUGIN_H
#define TP_LOADED_PLUGIN_H

#include "alloc/strategy.h"

enum { TP_PLUGIN_VERSION = 48 };

struct tp_loaded_plugin {
    void *handle;
    char *path;                      /* as the user named it, cleaned for messages */
    char *file;                      /* its last part */
    char version[TP_PLUGIN_VERSION]; /* the plug-in's own; "": it names none */
    char *name;                      /* "plugin:" and the name of its strategy */
    struct tp_opt *options;          /* NULL: it has none */
    /* The plug-in's table. Its texts and rows are copies that are safe to print. */
    struct tp_strategy strategy;
};

/* Loads the plug-in at `path`, which is not searched for, and checks all that can be checked before
 * it is replayed. A child process tries it first, so that one that crashes while it is loaded ends
 * in a sentence. TP_EINPUT: it cannot be used. After an error there is nothing to drop. */
int tp_plugin_load(const char *path, struct tp_loaded_plugin **out, struct tp_err *err);
void tp_plugin_drop(struct tp_loaded_plugin *p); /* NULL is fine */

/* Checks the constant that a plug-in exports, without following its pointers; `what` is the subject
 * of the sentence ("plug-in './mine.so'"). Only the first `size` bytes of it are known. */
int tp_plugin_check_head(const struct tp_plugin *head, size_t size, const char *what,
                         struct tp_err *err);

#endif
