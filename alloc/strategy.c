/* Checks of strategies: do the flags and the members of a table agree, and can a source serve the
 * strategy? They are checked once, so that the engine may rely on NULL to mean that a member is
 * absent. */
#include "alloc/strategy.h"
#include "alloc/source.h"

#define ALL_CAPS                                                                                   \
    (TP_CAP_THREADS | TP_CAP_STREAMS | TP_CAP_ALIGN | TP_CAP_RETAINS | TP_CAP_NOFREE |             \
     TP_CAP_FOREIGN | TP_CAP_ASYNC | TP_CAP_ALIASES | TP_CAP_PRELOAD)

/* Can the name be written on the command line, as in -s NAME:option=value and label=NAME? A plug-in
 * is called plugin:NAME. */
static bool is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
    static const char plugin[] = "plugin:";
    if (name && !strncmp(name, plugin, sizeof plugin - 1))
        name += sizeof plugin - 1;
    return name && *name && name[strspn(name, allowed)] == '\0';
}

static const char *description_fault(const struct tp_strategy *s)
{
    if (!is_name(s->name))
        return "'name' is missing or cannot be written on a command line";
    if (!s->summary || !*s->summary)
        return "'summary' is missing";
    if (s->group > TP_GROUP_REFERENCE)
        return "'group' does not exist";
    if (s->caps & ~(uint32_t)ALL_CAPS)
        return "an unknown bit is set in 'caps'";
    return NULL;
}

static const char *member_fault(const struct tp_strategy *s)
{
    if (!s->init || !s->fini || !s->alloc || !s->free)
        return "'init', 'fini', 'alloc' and 'free' are required";
    if (!s->state_size)
        return "'state_size' is missing";
    if (!s->retain != !s->release)
        return "'retain' and 'release' go together";
    if (!s->phases != !s->phase)
        return "'phases' and 'phase' go together";
    if (!s->thread_init != !s->thread_fini)
        return "'thread_init' and 'thread_fini' go together";
    if (s->thread_init && !s->thread_size)
        return "'thread_init' needs a 'thread_size'";
    return NULL;
}

static const char *caps_fault(const struct tp_strategy *s)
{
    if (!!(s->caps & TP_CAP_RETAINS) != !!s->retain)
        return "TP_CAP_RETAINS and 'retain' disagree";
    if (!(s->caps & TP_CAP_STREAMS) && (s->use || s->sync))
        return "'use' and 'sync' need TP_CAP_STREAMS";
    if (!tp_strategy_takes_source(s) && s->group != TP_GROUP_REAL)
        return "TP_CAP_FOREIGN is for real allocators";
    if (s->caps & TP_CAP_ASYNC && !tp_strategy_takes_source(s))
        return "TP_CAP_ASYNC takes its memory from the source, TP_CAP_FOREIGN takes none";
    const struct tp_opt *bare = tp_opt_bare(s->options);
    if (s->caps & TP_CAP_PRELOAD &&
        (tp_strategy_takes_source(s) || !bare || bare->type != TP_OPT_TEXT))
        return "TP_CAP_PRELOAD needs TP_CAP_FOREIGN and a bare option for the path";
    return NULL;
}

int tp_strategy_check(const struct tp_strategy *s, struct tp_err *err)
{
    const char *fault = description_fault(s);
    if (!fault)
        fault = member_fault(s);
    if (!fault)
        fault = caps_fault(s);
    if (fault)
        return tp_fail(err, TP_EBROKEN, "strategy '%s': %s", s->name ? s->name : "?", fault);
    char owner[64];
    snprintf(owner, sizeof owner, "strategy '%s'", s->name);
    return tp_opts_check(s->options, s->opts_size, owner, err);
}

int tp_strategy_fits(const struct tp_strategy *s, const struct tp_source_ops *source,
                     struct tp_err *err)
{
    if (s->caps & TP_CAP_ASYNC && !source->get_async && !(source->flags & TP_SRC_ABSENT))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "strategy '%s' is a pool of the driver, and source '%s' has none",
                               s->name, source->name),
                       "'--source cuda' on a machine with a GPU; '-s stream-pool' replays a "
                       "software pool with the same interface anywhere");
    if (!tp_strategy_takes_source(s) && !(source->flags & TP_SRC_HOST))
        return tp_fail(err, TP_EUSAGE, "strategy '%s' is a real allocator of the host", s->name);
    return TP_OK;
}
