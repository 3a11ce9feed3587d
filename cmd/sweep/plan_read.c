/* See sweep_plan.h. */
#include "cmd/sweep/sweep_plan.h"

#include "alloc/base/clock.h"
#include "alloc/base/grow.h"
#include "alloc/base/str.h"
#include "alloc/base/texts.h"
#include "alloc/engine/replay_cfg.h"
#include "cmd/cli/config.h"
#include "cmd/results/metrics.h"
#include "traces/trace.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PLAN_SUFFIX ".ini"

bool tp_sweep_is_plan(const char *word)
{
    size_t length = strlen(word), suffix = strlen(PLAN_SUFFIX);
    return length > suffix && !strcmp(word + length - suffix, PLAN_SUFFIX);
}

/* ---- the file of the plan ---- */

static int check_sections(const struct tp_config *config, const struct tp_command *command,
                          struct tp_err *err)
{
    for (size_t i = 0; i < config->count; i++)
        if (config->entries[i].command && config->entries[i].command != command)
            return tp_hint(err,
                           tp_fail(err, TP_EUSAGE, "%s:%d: a plan has no section [%s]",
                                   config->path, config->entries[i].line,
                                   config->entries[i].command->name),
                           "its section is [%s]", command->name);
    return TP_OK;
}

/* Where the strategies of a level of the configuration stand: that of item `i` in the order of the
 * lines. */
static const struct tp_config_entry *entry_of(const struct tp_config *config, bool section,
                                              const char *option, size_t i)
{
    for (size_t e = 0; e < config->count; e++)
        if (!strcmp(config->entries[e].option, option) &&
            (config->entries[e].command != NULL) == section && !i--)
            return &config->entries[e];
    return NULL;
}

static enum tp_level level_of(const struct tp_command *command, const struct tp_origin *origins,
                              const char *option)
{
    return origins[tp_opt_find(command->options, option) - command->options].level;
}

static bool is_in_plan(enum tp_level level)
{
    return level == TP_LEVEL_FILE || level == TP_LEVEL_SECTION;
}

/* A place for each strategy: the line of the plan, or the option itself. */
static int find_places(struct tp_sweep_plan *plan, const struct tp_config *config,
                       enum tp_level level, struct tp_err *err)
{
    const struct tp_opt_list *list = &plan->opts->strategies;
    plan->places = calloc(list->count + 1, sizeof *plan->places);
    bool made = plan->places != NULL;
    for (size_t i = 0; made && i < list->count; i++) {
        const struct tp_config_entry *e =
            is_in_plan(level) ? entry_of(config, level == TP_LEVEL_SECTION, "strategy", i) : NULL;
        made = (e ? asprintf(&plan->places[i], "%s:%d", plan->file, e->line)
                  : asprintf(&plan->places[i], "-s '%.100s'", list->items[i])) >= 0;
    }
    return made ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int find_plan(struct tp_sweep_plan *plan, const struct tp_args *args, struct tp_err *err)
{
    for (int i = 0; i < args->count; i++) {
        if (!tp_sweep_is_plan(args->words[i]))
            continue;
        if (plan->file)
            return tp_fail(err, TP_EUSAGE, "two plans: '%.150s' and '%.150s'", plan->file,
                           args->words[i]);
        plan->file = strdup(args->words[i]);
        if (!plan->file)
            return tp_fail(err, TP_ENOMEM, "out of memory");
    }
    const char *slash = plan->file ? strrchr(plan->file, '/') : NULL;
    plan->folder = slash ? strndup(plan->file, (size_t)(slash - plan->file) + 1) : strdup("");
    return plan->folder ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

/* A store that the plan names lies in its folder. */
static int find_store(struct tp_sweep_plan *plan, enum tp_level level, struct tp_err *err)
{
    const char *asked = plan->opts->store;
    bool beside = asked && is_in_plan(level) && asked[0] != '/';
    if (asked && asprintf(&plan->store, "%s%s", beside ? plan->folder : "", asked) < 0) {
        plan->store = NULL;
        return tp_fail(err, TP_ENOMEM, "out of memory");
    }
    return TP_OK;
}

/* A shell may have made very many names of a glob: a text that is longer is cut. */
enum { KEPT_TEXT = 256 << 10 };

/* The plan as a text, for the store: of the file what it sets, line by line. */
static int keep_text(struct tp_sweep_plan *plan, const struct tp_config *config,
                     const struct tp_args *args, struct tp_err *err)
{
    char *room = malloc(KEPT_TEXT);
    if (!room)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    struct tp_str text = tp_str_in(room, KEPT_TEXT);
    for (size_t i = 0; i < config->count; i++)
        tp_str_add(&text, "%s = %s\n", config->entries[i].option, config->entries[i].value);
    for (int i = 0; i < args->count; i++)
        if (!tp_sweep_is_plan(args->words[i]))
            tp_str_add(&text, "trace = %s\n", args->words[i]);
    for (size_t i = 0; !plan->file && i < plan->opts->strategies.count; i++)
        tp_str_add(&text, "strategy = %s\n", plan->opts->strategies.items[i]);
    plan->text = room;
    return TP_OK;
}

int tp_sweep_plan_options(struct tp_sweep_plan *plan, const struct tp_command *command,
                          const struct tp_args *args, struct tp_err *err)
{
    struct tp_config config = {0};
    /* the parser's own, which it releases */
    void *opts = (void *)(uintptr_t)args->opts;
    struct tp_origin *origins = (struct tp_origin *)(uintptr_t)args->origins;
    *plan = (struct tp_sweep_plan){.opts = args->opts};
    int status = find_plan(plan, args, err);
    if (!status && plan->file)
        status = tp_config_read(plan->file, &config, err);
    if (!status)
        status = check_sections(&config, command, err);
    if (!status && plan->file)
        status = tp_config_apply(&config, command, opts, origins, err);
    if (!status && plan->file)
        status = tp_config_agree(command->options, opts, origins, err);
    if (!status)
        status = find_places(plan, &config, level_of(command, origins, "strategy"), err);
    if (!status)
        status = find_store(plan, level_of(command, origins, "store"), err);
    if (!status)
        status = keep_text(plan, &config, args, err);
    tp_config_release(&config);
    return status;
}

/* ---- traces ---- */

/* Traces that are being found. */
struct finding {
    struct tp_sweep_plan *plan;
    struct tp_texts seen; /* labels */
};

static bool is_excluded(const struct tp_sweep_plan *plan, const char *label)
{
    const struct tp_opt_list *list = &plan->opts->exclude;
    const char *name = strrchr(label, '/') ? strrchr(label, '/') + 1 : label;
    for (size_t i = 0; i < list->count; i++)
        if (!fnmatch(list->items[i], label, 0) || !fnmatch(list->items[i], name, 0))
            return true;
    return false;
}

/* A trace that two globs match is one. The time is that of the last change of the file or of what
 * is known of it: `cp -p` sets an old one on other bytes. */
static int add_trace(struct finding *f, const char *path, const char *label, struct tp_err *err)
{
    struct tp_sweep_plan *plan = f->plan;
    struct stat file;
    size_t length = strlen(label);
    if (is_excluded(plan, label) || tp_texts_find(&f->seen, label, length) != TP_NO_TEXT)
        return TP_OK;
    bool known = !tp_trace_is_sample(path) && !stat(path, &file);
    if (known && S_ISDIR(file.st_mode))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%.200s' is a folder", label),
                       "'%.200s/*' names the traces in it", label);
    if (known && !S_ISREG(file.st_mode))
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%.200s' is not a regular file", label),
                       "a sweep opens a trace more than once: store it in a file");
    if (plan->trace_count == TP_SWEEP_TRACES)
        return tp_fail(err, TP_EUSAGE, "more than %d traces", TP_SWEEP_TRACES);
    int status = tp_texts_add(&f->seen, label, length, err);
    if (!status)
        status = TP_ONE_MORE(&plan->traces, plan->trace_count, err, .what = "traces");
    if (status)
        return status;
    struct tp_sweep_trace *t = &plan->traces[plan->trace_count];
    *t = (struct tp_sweep_trace){.label = strdup(label), .path = strdup(path)};
    if (!t->label || !t->path) {
        free(t->label);
        free(t->path);
        return tp_fail(err, TP_ENOMEM, "out of memory");
    }
    if (known) {
        t->bytes = (uint64_t)file.st_size;
        uint64_t modified = tp_timespec_ns(&file.st_mtim), changed = tp_timespec_ns(&file.st_ctim);
        t->modified_ns = modified > changed ? modified : changed;
    }
    plan->trace_count++;
    return TP_OK;
}

void tp_sweep_add_literal(struct tp_str *pattern, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        tp_str_add(pattern, strchr("*?[]\\", text[i]) ? "\\%c" : "%c", text[i]);
}

/* As glob; the folder matches itself alone. */
static int match(const char *folder, const char *item, glob_t *found)
{
    struct tp_str pattern = {0};
    struct tp_err ignored;
    tp_sweep_add_literal(&pattern, folder, strlen(folder));
    tp_str_add(&pattern, "%s", item);
    int code = tp_str_status(&pattern, &ignored)
                   ? GLOB_NOSPACE
                   : glob(tp_str_text(&pattern), GLOB_TILDE, NULL, found);
    tp_str_drop(&pattern);
    return code;
}

/* Adds what a glob matches; labels leave out the folder. A name that is a file is no glob. */
static int add_glob(struct finding *f, const char *folder, const char *item, struct tp_err *err)
{
    struct stat file;
    glob_t found = {0};
    char *path = NULL;
    if (tp_trace_is_sample(item))
        return add_trace(f, item, item, err);
    if (item[0] == '/')
        folder = "";
    if (asprintf(&path, "%s%s", folder, item) < 0)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    size_t skip = strlen(folder);
    int status = TP_OK, code = 0;
    if (!stat(path, &file))
        status = add_trace(f, path, path + skip, err);
    else if ((code = match(folder, item, &found)) == GLOB_NOMATCH)
        status = tp_fail(err, TP_EUSAGE, "no trace matches '%.300s'", item);
    else if (code)
        status = tp_fail(err, TP_EIO, "'%.300s': %s", item,
                         code == GLOB_NOSPACE ? "out of memory" : strerror(errno));
    for (size_t i = 0; !status && i < found.gl_pathc; i++)
        status = add_trace(
            f, found.gl_pathv[i],
            strlen(found.gl_pathv[i]) > skip ? found.gl_pathv[i] + skip : found.gl_pathv[i], err);
    globfree(&found);
    free(path);
    return status;
}

static int by_label(const void *a, const void *b)
{
    return strcmp(((const struct tp_sweep_trace *)a)->label,
                  ((const struct tp_sweep_trace *)b)->label);
}

static int find_traces(struct tp_sweep_plan *plan, const struct tp_command *command,
                       const struct tp_args *args, struct tp_err *err)
{
    struct finding f = {.plan = plan};
    enum tp_level level = level_of(command, args->origins, "trace");
    int status = TP_OK;
    for (size_t i = 0; !status && i < plan->opts->traces.count; i++)
        status =
            add_glob(&f, is_in_plan(level) ? plan->folder : "", plan->opts->traces.items[i], err);
    if (status && plan->file && is_in_plan(level))
        tp_prefix(err, status, "%s", plan->file);
    for (int i = 0; !status && i < args->count; i++)
        if (!tp_sweep_is_plan(args->words[i]))
            status = add_glob(&f, "", args->words[i], err);
    tp_texts_release(&f.seen);
    if (!status && !plan->trace_count)
        status = tp_hint(err, tp_fail(err, TP_EUSAGE, "the sweep has no traces"),
                         plan->opts->exclude.count ? "every trace is excluded"
                                                   : "in a plan: trace = traces/*.json");
    if (!status)
        qsort(plan->traces, plan->trace_count, sizeof *plan->traces, by_label);
    return status;
}

/* ---- settings and passes ---- */

static int find_settings(struct tp_sweep_plan *plan, struct tp_err *err)
{
    const struct tp_opt_list *list = &plan->opts->strategies;
    int status = TP_OK;
    if (!list->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "the sweep has no strategies"),
                       "-s lru -s 'arena:arena_size=1MiB|4MiB', or in a plan: strategy = lru");
    for (size_t i = 0; !status && i < list->count; i++)
        status = tp_sweep_settings_add(&plan->settings, list->items[i], &plan->opts->capacities,
                                       plan->places[i], err);
    return status;
}

/* Kernel figures and times are this machine's. */
static const struct tp_sweep_group all_groups[TP_SWEEP_GROUPS] = {
    {.passes = TP_PASS_USAGE | TP_PASS_FITS | TP_PASS_VERIFY | TP_PASS_COUNT},
    {.passes = TP_PASS_RESIDENT | TP_PASS_MAPPED, .of_machine = true},
    {.passes = TP_PASS_THROUGHPUT | TP_PASS_LATENCY, .of_machine = true, .timed = true}};

static int find_groups(struct tp_sweep_plan *plan, struct tp_err *err)
{
    struct tp_str names = {0};
    size_t starts[TP_SWEEP_GROUPS];
    unsigned asked = plan->opts->passes;
    if (asked & TP_PASS_FITS && !(asked & TP_PASS_USAGE))
        return tp_fail(err, TP_EUSAGE, "the pass 'fits' needs the pass 'usage'");
    for (size_t g = 0; g < TP_SWEEP_GROUPS; g++) {
        unsigned passes = asked & all_groups[g].passes;
        if (!passes)
            continue;
        starts[plan->group_count] = names.length;
        plan->groups[plan->group_count] = all_groups[g];
        plan->groups[plan->group_count++].passes = passes;
        bool some = false;
        for (size_t i = 0; i < TP_PASS_ROWS; i++)
            if (passes & tp_pass_rows[i].pass) {
                tp_str_add(&names, some ? ",%s" : "%s", tp_pass_rows[i].name);
                some = true;
            }
        tp_str_add(&names, "%c", '\n');
    }
    int status = tp_str_status(&names, err);
    plan->group_names = status ? NULL : strdup(tp_str_text(&names));
    tp_str_drop(&names);
    if (!plan->group_names)
        return status ? status : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t g = 0; g < plan->group_count; g++) {
        char *name = plan->group_names + starts[g];
        name[strcspn(name, "\n")] = '\0';
        plan->groups[g].name = name;
    }
    return TP_OK;
}

int tp_sweep_plan_read(struct tp_sweep_plan *plan, const struct tp_command *command,
                       const struct tp_args *args, struct tp_err *err)
{
    int status = tp_sweep_plan_options(plan, command, args, err);
    if (!status && plan->opts->source && !strncmp(plan->opts->source, "cuda", 4))
        status = tp_hint(err, tp_fail(err, TP_EUSAGE, "a sweep does not replay on a GPU"),
                         "tapool replay --source cuda does; a sweep has --source virtual");
    if (!status)
        status = find_groups(plan, err);
    if (!status)
        status = find_settings(plan, err);
    return status ? status : find_traces(plan, command, args, err);
}

void tp_sweep_plan_release(struct tp_sweep_plan *plan)
{
    for (size_t i = 0; i < plan->trace_count; i++) {
        free(plan->traces[i].label);
        free(plan->traces[i].path);
    }
    for (size_t i = 0; plan->places && plan->places[i]; i++)
        free(plan->places[i]);
    free(plan->traces);
    free(plan->places);
    tp_sweep_settings_release(&plan->settings);
    free(plan->group_names);
    free(plan->store);
    free(plan->text);
    free(plan->folder);
    free(plan->file);
}

/* ---- stores ---- */

char *tp_sweep_store_path(const struct tp_sweep_plan *plan, uint64_t shard, uint64_t shards)
{
    const char *asked = plan->store, *base = asked ? asked : plan->file;
    const char *suffix = asked ? TP_STORE_SUFFIX : PLAN_SUFFIX;
    char *path = NULL, part[64] = "";
    if (asked && !shards)
        return strdup(asked);
    if (!base)
        base = "sweep";
    size_t length = strlen(base), end = strlen(suffix);
    if (length > end && !strcmp(base + length - end, suffix))
        length -= end;
    if (shards)
        snprintf(part, sizeof part, ".shard-%" PRIu64 "-of-%" PRIu64, shard, shards);
    return asprintf(&path, "%.*s%s" TP_STORE_SUFFIX, (int)length, base, part) < 0 ? NULL : path;
}

int tp_sweep_shard(const char *text, uint64_t *shard, uint64_t *shards, struct tp_err *err)
{
    int used = 0;
    bool read = sscanf(text, "%" SCNu64 "/%" SCNu64 "%n", shard, shards, &used) == 2;
    if (read && !text[used] && *shard && *shard <= *shards && *shards <= TP_SWEEP_SHARDS)
        return TP_OK;
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "'--shard %.40s' is not of the form I/N", text),
                   "--shard 1/8 is the first of eight");
}
