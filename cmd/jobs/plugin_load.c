/* Loads plug-ins; see plugin.h. A plug-in is code that the user chose, so it may do what it likes
 * once it runs. What is checked here is what goes wrong by mistake, and texts, which are printed.
 *
 *     file --> elf_file.h --> head as in the file --> child: dlopen, head, table --> the same here
 *
 * Until the child nothing of the file has run. */
#include "cmd/jobs/plugin.h"

#include "alloc/base/clean.h"
#include "alloc/base/opt.h"
#include "alloc/base/str.h"
#include "cmd/jobs/elf_file.h"
#include "cmd/jobs/worker_pool.h"
#include "cmd/ui/option_words.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_TEXT = 256, NAME_TEXT = 40, WORD_TEXT = 64, PAGE_TEXT = 4000 };
enum { ROWS_MAX = 64, WORDS_MAX = 64 };

#define LOAD_NS UINT64_C(10000000000) /* a constructor that takes longer hangs */

static int hint_help(struct tp_err *err, int status)
{
    return tp_hint(err, status, "'tapool help plugin' says how one is made");
}

/* ---- the head ---- */

int tp_plugin_check_head(const struct tp_plugin *head, size_t size, const char *what,
                         struct tp_err *err)
{
    static const uint32_t own[TP_PLUGIN_SIZES] = TP_PLUGIN_OWN_SIZES;
    static const char *const names[TP_PLUGIN_SIZES] = {
        "tp_strategy", "tp_env", "tp_req", "tp_block", "tp_stats", "tp_source", "tp_opt", "tp_err"};
    if (size < offsetof(struct tp_plugin, sizes) || head->magic != TP_PLUGIN_MAGIC)
        return hint_help(err, tp_fail(err, TP_EINPUT,
                                      "%s: its '" TP_PLUGIN_SYMBOL "' is not a TP_PLUGIN of tapool",
                                      what));
    if (head->abi != TP_ABI)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s was built for ABI %u, this tapool has %u", what,
                               head->abi, TP_ABI),
                       head->abi < TP_ABI ? "build it again with the headers of this tapool"
                                          : "a newer tapool replays it");
    if (head->size != sizeof *head || size < sizeof *head)
        return tp_fail(err, TP_EINPUT, "%s: its '" TP_PLUGIN_SYMBOL "' has %u bytes, not %zu", what,
                       head->size, sizeof *head);
    for (int i = 0; i < TP_PLUGIN_SIZES; i++)
        if (head->sizes[i] != own[i])
            return tp_hint(err,
                           tp_fail(err, TP_EINPUT,
                                   "%s was built with other headers: its struct %s has %u bytes, "
                                   "not %u",
                                   what, names[i], head->sizes[i], own[i]),
                           "build it again with the headers of this tapool");
    return TP_OK;
}

/* ---- copies of texts and rows ---- */

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for a plug-in");
}

/* Cleans each line of a text of at most PAGE_TEXT bytes. NULL: out of memory. */
static char *clean_page(const char *in)
{
    struct tp_str out = {0};
    size_t left = PAGE_TEXT;
    for (const char *at = in; at && left;) {
        char line[PAGE_TEXT + 1], clean[PAGE_TEXT + 1];
        size_t length = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < left ? length : left), at);
        tp_clean_text(line, clean, sizeof clean);
        tp_str_add(&out, "%s%s", at == in ? "" : "\n", clean);
        left -= length < left ? length : left;
        at = at[length] ? at + length + 1 : NULL;
    }
    char *text = tp_str_status(&out, NULL) ? NULL : strdup(tp_str_text(&out));
    tp_str_drop(&out);
    return text;
}

/* Names and words are typed by users, so nothing is cleaned there: what cannot be typed is refused.
 */
static bool is_word(const char *text, size_t most)
{
    size_t length = 0;
    while (text && length <= most && text[length] > ' ' && text[length] < 0x7f)
        length++;
    return length && length <= most && !text[length];
}

static void drop_row(struct tp_opt *row)
{
    for (size_t i = 0; row->choices && row->choices[i]; i++)
        free((void *)(uintptr_t)row->choices[i]);
    free((void *)(uintptr_t)row->choices);
    free((void *)(uintptr_t)row->name);
    free((void *)(uintptr_t)row->def);
    free((void *)(uintptr_t)row->arg);
    free((void *)(uintptr_t)row->help);
}

static int copy_words(const char *const *from, const char *const **out, const char *what,
                      struct tp_err *err)
{
    size_t count = 0;
    while (from[count] && count < WORDS_MAX)
        if (!is_word(from[count++], WORD_TEXT))
            return tp_fail(err, TP_EINPUT, "%s: a choice of an option cannot be typed", what);
    if (from[count])
        return tp_fail(err, TP_EINPUT, "%s: an option has over %d choices", what, WORDS_MAX);
    const char **list = calloc(count + 1, sizeof *list);
    *out = list;
    for (size_t i = 0; list && i < count; i++)
        if (!(list[i] = strdup(from[i])))
            list = NULL;
    return list ? TP_OK : no_memory(err);
}

static int copy_row(const struct tp_opt *from, struct tp_opt *out, const char *what,
                    struct tp_err *err)
{
    if (!is_word(from->name, WORD_TEXT) || (from->def && !is_word(from->def, WORD_TEXT)))
        return tp_fail(err, TP_EINPUT, "%s: the name or default of an option cannot be typed",
                       what);
    *out = (struct tp_opt){.name = strdup(from->name),
                           .type = from->type,
                           .offset = from->offset,
                           .def = from->def ? strdup(from->def) : NULL,
                           .min = from->min,
                           .max = from->max,
                           .arg = from->arg ? tp_clean_copy(from->arg, WORD_TEXT) : NULL,
                           .help = clean_page(from->help)};
    if (!out->name || !out->help || !out->def != !from->def || !out->arg != !from->arg)
        return no_memory(err);
    return from->choices ? copy_words(from->choices, &out->choices, what, err) : TP_OK;
}

static int copy_rows(struct tp_loaded_plugin *p, const struct tp_opt *from, const char *what,
                     struct tp_err *err)
{
    size_t count = 0;
    while (from && from[count].name && count < ROWS_MAX)
        count++;
    if (!from)
        return TP_OK;
    if (from[count].name)
        return tp_fail(err, TP_EINPUT, "%s has over %d options", what, ROWS_MAX);
    p->options = calloc(count + 1, sizeof *p->options);
    int status = p->options ? TP_OK : no_memory(err);
    for (size_t i = 0; !status && i < count; i++)
        status = copy_row(&from[i], &p->options[i], what, err);
    return status;
}

/* ---- the table ---- */

/* Makes the copy of the table. It is called plugin:NAME, which no strategy of tapool is. */
static int copy_strategy(struct tp_loaded_plugin *p, const struct tp_strategy *from,
                         const char *what, struct tp_err *err)
{
    char name[NAME_TEXT + sizeof TP_PLUGIN_WORD ":"];
    if (!is_word(from->name, NAME_TEXT))
        return tp_fail(err, TP_EINPUT, "%s: its strategy's name is missing or cannot be typed",
                       what);
    if (!tp_strategy_takes_source(from))
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT, "%s: TP_CAP_FOREIGN is for real allocators", what),
                       "use lib:PATH for a malloc library");
    int status = copy_rows(p, from->options, what, err);
    if (status)
        return status;
    p->strategy = *from;
    p->strategy.options = p->options;
    p->strategy.library = NULL;
    status = tp_strategy_check(&p->strategy, err);
    if (status) {
        err->status = TP_EINPUT;
        return tp_prefix(err, TP_EINPUT, "%s", what);
    }
    snprintf(name, sizeof name, TP_PLUGIN_WORD ":%s", from->name);
    p->strategy.name = p->name = strdup(name);
    p->strategy.summary = clean_page(from->summary);
    p->strategy.resembles = clean_page(from->resembles);
    p->strategy.to_use = clean_page(from->to_use);
    return p->name && p->strategy.summary && p->strategy.resembles && p->strategy.to_use
               ? TP_OK
               : no_memory(err);
}

/* What the dynamic linker says, without the path that it begins with. */
static int fail_load(const char *path, const char *what, struct tp_err *err)
{
    char text[TP_ERR_TEXT / 2];
    const char *said = dlerror();
    size_t length = strlen(path);
    if (said && !strncmp(said, path, length) && !strncmp(said + length, ": ", 2))
        said += length + 2;
    tp_clean_text(said ? said : "no reason given", text, sizeof text);
    return tp_fail(err, TP_EINPUT, "%s cannot be loaded: %s", what, text);
}

static int fail_symbol(const char *what, struct tp_err *err)
{
    return hint_help(err, tp_fail(err, TP_EINPUT,
                                  "%s does not export '" TP_PLUGIN_SYMBOL "': not a tapool plug-in",
                                  what));
}

static int load_here(struct tp_loaded_plugin *p, const char *path, const char *what,
                     struct tp_err *err)
{
    int aside = tp_stdout_aside(); /* its constructors may print */
    p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    tp_stdout_back(aside);
    if (!p->handle)
        return fail_load(path, what, err);
    const struct tp_plugin *head = dlsym(p->handle, TP_PLUGIN_SYMBOL);
    if (!head)
        return fail_symbol(what, err);
    int status = tp_plugin_check_head(head, sizeof *head, what, err);
    if (status)
        return status;
    if (!head->strategy)
        return tp_fail(err, TP_EINPUT, "%s has no strategy", what);
    tp_clean_text(head->version, p->version, sizeof p->version);
    return copy_strategy(p, head->strategy, what, err);
}

/* ---- trying it in a child ---- */

struct trial {
    const char *path, *what;
};

static int try_here(void *ctx, uint64_t number, void *answer, size_t *size, struct tp_err *err)
{
    const struct trial *t = ctx;
    struct tp_loaded_plugin p = {0};
    (void)number;
    (void)answer;
    (void)size;
    return load_here(&p, t->path, t->what, err);
}

static int judge_trial(void *ctx, const struct tp_pool_done *d, struct tp_err *err)
{
    const struct trial *t = ctx;
    if (d->status && err)
        *err = d->err;
    if (d->answer)
        return d->status;
    tp_child_fail(&d->end, t->what, "being loaded", err);
    if (err)
        err->status = TP_EINPUT;
    return TP_EINPUT;
}

static int try_in_child(const char *path, const char *what, struct tp_err *err)
{
    const struct tp_worker_pool pool = {.workers = 1,
                                        .work = try_here,
                                        .done = judge_trial,
                                        .count = 1,
                                        .timeout_ns = LOAD_NS,
                                        .ctx = &(struct trial){path, what}};
    return tp_pool_run(&pool, err);
}

/* ---- loading ---- */

static int look_at_file(const char *path, const char *what, struct tp_err *err)
{
    struct tp_plugin head = {0};
    struct tp_elf_symbol found;
    int status = tp_elf_look(path, what, TP_PLUGIN_SYMBOL, &head, sizeof head, &found, err);
    if (status || !found.known)
        return status;
    return found.there ? tp_plugin_check_head(&head, found.size, what, err)
                       : fail_symbol(what, err);
}

int tp_plugin_load(const char *path, struct tp_loaded_plugin **out, struct tp_err *err)
{
    char name[PATH_TEXT], what[PATH_TEXT + 16], local[4096];
    tp_clean_text(path, name, sizeof name);
    snprintf(what, sizeof what, TP_PLUGIN_WORD " '%s'", name);
    /* without a slash the dynamic linker would search for it */
    int length = snprintf(local, sizeof local, "%s%s", strchr(path, '/') ? "" : "./", path);
    *out = NULL;
    if (!*path || length >= (int)sizeof local)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "a plugin has a path of 1 to 4,000 bytes"),
                       "write -s plugin:PATH");
    int status = look_at_file(local, what, err);
    if (!status)
        status = try_in_child(local, what, err);
    if (status)
        return status;
    struct tp_loaded_plugin *p = calloc(1, sizeof *p);
    const char *file = strrchr(name, '/');
    if (!p)
        return no_memory(err);
    p->path = strdup(name);
    p->file = strdup(file ? file + 1 : name);
    status = p->path && p->file ? load_here(p, local, what, err) : no_memory(err);
    if (status)
        tp_plugin_drop(p);
    else
        *out = p;
    return status;
}

void tp_plugin_drop(struct tp_loaded_plugin *p)
{
    if (!p)
        return;
    for (size_t i = 0; p->options && p->options[i].name; i++)
        drop_row(&p->options[i]);
    free(p->options);
    if (p->name) { /* until then they are the plug-in's */
        free((void *)(uintptr_t)p->strategy.summary);
        free((void *)(uintptr_t)p->strategy.resembles);
        free((void *)(uintptr_t)p->strategy.to_use);
    }
    if (p->handle) {
        int aside = tp_stdout_aside(); /* and its destructors */
        dlclose(p->handle);
        tp_stdout_back(aside);
    }
    free(p->name);
    free(p->path);
    free(p->file);
    free(p);
}
