/* The finders of catalog.h; the tables are in cmd/registry.c. */
#include "cmd/jobs/catalog.h"

#include "cmd/jobs/libraries.h"
#include "cmd/ui/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NAMES_MAX = 64 };

/* Says how a malloc library is named of which the name was given as that of a strategy. */
static void hint_library(const char *name, struct tp_err *err)
{
    for (const struct tp_library *l = tp_libraries; l->name; l++)
        if (!strcasecmp(name, l->name))
            tp_hint(err, TP_EUSAGE, "'lib:%s' is the malloc library of that name", l->name);
    if (!strcasecmp(name, "glibc") || !strcasecmp(name, "libc"))
        tp_hint(err, TP_EUSAGE, "'system' is the C library's malloc");
}

const struct tp_strategy *tp_find_strategy(const char *name, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    for (size_t i = 0; tp_strategies[i] && i < NAMES_MAX - 1; i++) {
        names[i] = tp_strategies[i]->name;
        if (!strcasecmp(name, names[i]))
            return tp_strategies[i];
    }
    tp_unknown_name(err, "strategy", name, names, "tapool strategies");
    hint_library(name, err);
    return NULL;
}

const struct tp_source_ops *tp_find_source(const char *name, bool wrapper, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; tp_sources[i] && count < NAMES_MAX - 1; i++) {
        if (((tp_sources[i]->flags & TP_SRC_WRAPPER) != 0) != wrapper)
            continue;
        names[count++] = tp_sources[i]->name;
        if (!strcasecmp(name, tp_sources[i]->name))
            return tp_sources[i];
    }
    tp_unknown_name(err, wrapper ? "source wrapper" : "source", name, names,
                    "tapool help metrics sources");
    return NULL;
}

const struct tp_profile *tp_find_profile(const char *name, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    for (size_t i = 0; tp_profiles[i] && i < NAMES_MAX - 1; i++) {
        names[i] = tp_profiles[i]->name;
        if (!strcasecmp(name, names[i]))
            return tp_profiles[i];
    }
    tp_unknown_name(err, "profile", name, names, "tapool gen");
    return NULL;
}

const struct tp_recorded_strategy *tp_find_recorded_strategy(const char *by)
{
    for (size_t i = 0; by && tp_recorded_strategies[i]; i++)
        if (!strcmp(by, tp_recorded_strategies[i]->by))
            return tp_recorded_strategies[i];
    return NULL;
}

const struct tp_recorded_strategy *tp_recorded_strategy_or_first(const char *by)
{
    const struct tp_recorded_strategy *found = tp_find_recorded_strategy(by);
    return found ? found : tp_recorded_strategies[0];
}

const char *tp_recorded_share(const struct tp_recorded_strategy *by, const char *text)
{
    char key[64];
    const char *shared = by->shared ? by->shared : "";
    snprintf(key, sizeof key, "%.*s", (int)strcspn(shared, ":"), shared);
    return strstr(text, key + (*key == ',')) ? "" : shared;
}

/* An installed tapool finds its samples relative to the binary (../share/tapool/samples), a tapool
 * in a build tree finds those of the source tree. TAPOOL_SAMPLES is searched before both. */
void tp_sample_dirs(struct tp_sample_dirs *out)
{
    size_t n = 0, size = sizeof out->installed;
    const char *given = getenv("TAPOOL_SAMPLES");
    if (given && *given)
        out->list[n++] = given;
    ssize_t len = readlink("/proc/self/exe", out->installed, size - 1);
    out->installed[len > 0 ? len : 0] = '\0';
    for (int up = 0; up < 2 && len > 0; up++) {
        char *slash = strrchr(out->installed, '/');
        if (slash)
            *slash = '\0';
    }
    size_t used = strlen(out->installed);
    int wrote = snprintf(out->installed + used, size - used, "/%s", TAPOOL_SAMPLES_FROM_BIN);
    if (wrote > 0 && (size_t)wrote < size - used)
        out->list[n++] = out->installed;
    out->list[n++] = TAPOOL_SAMPLES_BUILD;
    out->list[n] = NULL;
}
