/* Strategies and sources as they are named on the command line.
 *
 *     arena   arena:arena_size=1MiB,classes=coarse6   small=arena:arena_size=1MiB
 *     plugin:./mine.so   plugin:./mine.so,order=3     mine=plugin:{./a,b.so}
 *     host    virtual:lag=10us    host+shuffle:seed=3    virtual+limit:capacity=1GiB */
#ifndef TP_SPEC_H
#define TP_SPEC_H

#include "alloc/base/numbers.h"
#include "alloc/engine/replay.h"
#include "cmd/jobs/plugin.h"

enum { TP_LABEL_MAX = 64, TP_SPEC_TEXT = 1024 };

struct tp_strategy_spec {
    const struct tp_strategy *strategy;
    struct tp_loaded_plugin *plugin; /* owned, holds the strategy; NULL: it is one of tapool's */
    void *opts;                      /* owned; NULL when the strategy has none */
    char label[TP_LABEL_MAX];        /* unique in a report */
    bool labelled;                   /* the user gave the label */
    char *preload; /* owned: path of the library to preload (TP_CAP_PRELOAD), or NULL */
};

/* Parses "[LABEL=]NAME[:OPTION=VALUE,...]", where NAME may be "plugin" and the first value a path.
 * TP_EUSAGE: unknown name or option, or a bad value or label. TP_EINPUT: the plug-in cannot be
 * used.
 */
int tp_strategy_spec_parse(struct tp_strategy_spec *spec, const char *text, struct tp_err *err);

/* The same of an allocator as people name it: "glibc", "jemalloc", or a strategy with or without
 * options. */
int tp_strategy_spec_named(struct tp_strategy_spec *spec, const char *name, struct tp_err *err);
void tp_strategy_spec_release(struct tp_strategy_spec *spec);

/* Adds " -s NAME", quoted for a shell, where NAME is the strategy's without its options: "arena",
 * "lib:jemalloc". */
void tp_strategy_spec_add_name(struct tp_str *s, const struct tp_strategy_spec *spec);

/* The library behind a real allocator in this process, written to `text`; NULL: `s` is no real
 * allocator. */
const char *tp_strategy_library(const struct tp_strategy *s, char *text, size_t size);

/* The variables "NAME=VALUE" for the process that replays a real allocator; NULL: it has no option
 * `env`. */
const struct tp_opt_list *tp_strategy_spec_env(const struct tp_strategy_spec *spec);

/* Adds the strategy as "NAME:OPTION=VALUE,...", which reads back to the same; with `library`, which
 * may be NULL, in place of the value that stands first. */
void tp_strategy_spec_add(struct tp_str *out, const struct tp_strategy_spec *spec,
                          const char *library);

/* Adds a setting "key:value,key:value" as options of a strategy: whole, as the value of `option`,
 * or where that is NULL each part as "key=value". "" adds nothing. */
void tp_setting_add_options(struct tp_str *out, const char *option, const char *setting);

/* Whether the strategy has a choice option `name` that is set to `word`. */
bool tp_strategy_spec_says(const struct tp_strategy_spec *spec, const char *name, const char *word);

/* Makes labels unique: entries of the same strategy without a label of the user's get the options
 * in which they differ. */
void tp_strategy_specs_label(struct tp_strategy_spec *specs, size_t count);

/* Writes all options as "a=1,b=2", which tp_opts_parse can read; false: the text does not fit. */
bool tp_opts_text(const struct tp_opt *rows, const void *opts, char *out, size_t size);

struct tp_source_spec {
    struct tp_source_layer layers[TP_SOURCE_LAYERS]; /* `opts` of each is owned */
    uint32_t count;
    char name[TP_LABEL_MAX]; /* "host", "virtual+limit" */
};

/* The source of a strategy that takes none: it has no layers, and the allocator gets memory of this
 * machine itself. */
extern const struct tp_source_spec tp_no_source;

/* The source on which a strategy is replayed where `source` was asked for. */
static inline const struct tp_source_spec *tp_source_spec_of(const struct tp_strategy *s,
                                                             const struct tp_source_spec *source)
{
    return tp_strategy_takes_source(s) ? source : &tp_no_source;
}

/* Bits of enum tp_source_flags of the lowest layer. */
static inline uint32_t tp_source_spec_flags(const struct tp_source_spec *spec)
{
    return spec->count ? spec->layers[0].ops->flags : TP_SRC_HOST;
}

/* Whether the source has the wrapper `limit`. */
bool tp_source_spec_is_limited(const struct tp_source_spec *spec);

/* Parses "NAME[:OPTION=VALUE,...][+WRAPPER[:OPTION=VALUE,...]...]". TP_EUSAGE. */
int tp_source_spec_parse(struct tp_source_spec *spec, const char *text, struct tp_err *err);
void tp_source_spec_release(struct tp_source_spec *spec);

#endif
