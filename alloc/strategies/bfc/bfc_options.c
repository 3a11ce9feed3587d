/* The options of `bfc`, which have the names that they have in the libraries as far as these agree,
 * and the rules that follow from them. */
#include "alloc/strategies/bfc/bfc_core.h"

#include "alloc/base/opt.h"

#include <stdlib.h>
#include <string.h>

#define BY_DEFAULT TP_OPT_KEYWORD(0)
#define ROW(name)  offsetof(struct bfc_opts, name)

static const char *const default_words[] = {"default", NULL};
static const char *const extend_words[] = {"kNextPowerOfTwo", "kSameAsRequested", NULL};
static const char *const next_words[] = {"rules", NULL};

/* Behind the first, the names of enum tp_bfc_flavour. */
static const char *const flavour_words[] = {"recorded", "tf", "jax", "ort", NULL};

#define BFC_SIZE_AT(name, ...)                                                                     \
    TP_SIZE_AT(#name, ROW(name), .def = "default", .max = BFC_MOST, .choices = default_words,      \
               __VA_ARGS__)

const struct tp_opt tp_bfc_rows[] = {
    TP_CHOICE_AT("flavour", ROW(flavour), .def = "recorded", .choices = flavour_words, .arg = "WHO",
                 .help = "allocator variant: tf (TensorFlow), jax, or ort (ONNX Runtime)\n"
                         "recorded: as in the trace; if unknown, the one that has the other "
                         "options, tf first"),
    BFC_SIZE_AT(limit, .min = BFC_GRAIN,
                .help = "max size of all regions\n"
                        "TensorFlow: memory_limit of a logical device; ONNX Runtime: "
                        "gpu_mem_limit. default: the device size times mem_fraction, with ort no "
                        "limit"),
    TP_TEXT_AT("mem_fraction", ROW(mem_fraction), .arg = "SHARE",
               .help = "share of the device that regions may take (tf, jax)\n"
                       "TensorFlow: per_process_gpu_memory_fraction; JAX: "
                       "XLA_PYTHON_CLIENT_MEM_FRACTION. Default: 1 with tf, 0.75 with jax."),
    TP_FLAG_ROW(struct bfc_opts, allow_growth, .def = "no",
                .help = "reserve regions on demand; no: the whole limit at once (tf, jax)\n"
                        "TF_FORCE_GPU_ALLOW_GROWTH; in JAX the opposite of "
                        "XLA_PYTHON_CLIENT_PREALLOCATE. Regions also grow if neither a limit nor "
                        "the device size is known."),
    TP_FLAG_ROW(struct bfc_opts, garbage_collection, .def = "yes",
                .help = "release unused regions before OOM (tf)\n"
                        "TF_ENABLE_GPU_GARBAGE_COLLECTION"),
    TP_TEXT_AT("internal_fragmentation_fraction", ROW(internal_fragmentation_fraction),
               .arg = "SHARE",
               .help = "share of the limit from which a rest is always split off (tf)\n"
                       "Default: 128 MiB instead."),
    BFC_SIZE_AT(initial_chunk_size_bytes, .min = BFC_GRAIN,
                .help = "size of the first region (ort)\n"
                        "default: 1 MiB"),
    BFC_SIZE_AT(max_dead_bytes_per_chunk, .help =
                                              "size from which a rest is always split off (ort)\n"
                                              "default: 128 MiB"),
    BFC_SIZE_AT(initial_growth_chunk_size_bytes, .min = BFC_GRAIN,
                .help = "size of the next region after a shrink (ort)\n"
                        "default: 2 MiB"),
    BFC_SIZE_AT(max_power_of_two_extend_bytes, .min = BFC_GRAIN,
                .help = "size to which regions grow by doubling (ort)\n"
                        "default: 1 GiB; older releases have no such limit"),
    TP_CHOICE_ROW(struct bfc_opts, arena_extend_strategy, .def = "kNextPowerOfTwo",
                  .choices = extend_words, .arg = "HOW",
                  .help = "size of regions (ort): powers of two, or the rounded request"),
    TP_SIZE_AT("next_region", ROW(next_region), .def = "rules", .min = BFC_GRAIN, .max = BFC_MOST,
               .choices = next_words,
               .help = "min size of the next region\n"
                       "rules: as the library would after the regions it has"),
    {.name = NULL}};

/* ---- whose options they are ---- */

enum {
    OF_TF = 1u << TP_BFC_TF,
    OF_JAX = 1u << TP_BFC_JAX,
    OF_ORT = 1u << TP_BFC_ORT,
    OF_ALL = OF_TF | OF_JAX | OF_ORT
};

static const struct {
    const char *name;
    unsigned of;
} bfc_owned[] = {{"mem_fraction", OF_TF | OF_JAX},
                 {"allow_growth", OF_TF | OF_JAX},
                 {"garbage_collection", OF_TF},
                 {"internal_fragmentation_fraction", OF_TF},
                 {"initial_chunk_size_bytes", OF_ORT},
                 {"max_dead_bytes_per_chunk", OF_ORT},
                 {"initial_growth_chunk_size_bytes", OF_ORT},
                 {"max_power_of_two_extend_bytes", OF_ORT},
                 {"arena_extend_strategy", OF_ORT}};

/* Has it another value than its default? */
static bool is_given(const struct bfc_opts *opts, const char *name)
{
    const struct tp_opt *row = tp_opt_find(tp_bfc_rows, name);
    const void *at = (const char *)opts + row->offset;
    if (row->type == TP_OPT_FLAG)
        return *(const bool *)at != !strcmp(row->def, "yes");
    if (row->type == TP_OPT_CHOICE)
        return *(const uint32_t *)at != 0;
    if (row->type == TP_OPT_SIZE)
        return *(const uint64_t *)at != BY_DEFAULT;
    const char *text = *(char *const *)at;
    return text && *text;
}

/* The flavour, or the first one that has all options that are given. */
static int find_flavour(const struct bfc_opts *opts, enum tp_bfc_flavour *out, struct tp_err *err)
{
    unsigned can = opts->flavour ? 1u << (opts->flavour - 1) : OF_ALL;
    for (size_t i = 0; i < sizeof bfc_owned / sizeof *bfc_owned; i++) {
        if (!is_given(opts, bfc_owned[i].name))
            continue;
        if (!(can & bfc_owned[i].of))
            return tp_fail(err, TP_EUSAGE, "strategy 'bfc': the flavour '%s' has no option '%s'",
                           flavour_words[1 + __builtin_ctz(can)], bfc_owned[i].name);
        can &= bfc_owned[i].of;
    }
    *out = (enum tp_bfc_flavour)__builtin_ctz(can);
    return TP_OK;
}

/* ---- rules ---- */

static int needs(const char *option, const char *what, struct tp_err *err)
{
    return tp_fail(err, TP_EUSAGE, "strategy 'bfc': '%s' needs %s", option, what);
}

/* A share such as 0.75 or 75%, at most 1; 0: it is not given. */
static int read_share(const char *name, const char *text, double *out, struct tp_err *err)
{
    char *end = NULL;
    *out = 0;
    if (!text || !*text)
        return TP_OK;
    *out = *text == '.' || (*text >= '0' && *text <= '9') ? strtod(text, &end) : 0;
    if (end && !strcmp(end, "%")) {
        *out /= 100;
        end++;
    }
    if (end && !*end && *out > 0 && *out <= 1)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE,
                   "strategy 'bfc': '%s' is '%.63s', which is not a share above 0 and at most 1",
                   name, text);
}

/* ONNX Runtime knows nothing of the device's size. Whole pages of the source have room in it. */
static int set_limit(struct bfc *st, const struct bfc_opts *opts, struct tp_err *err)
{
    bool sized = opts->limit == BY_DEFAULT && st->rules.flavour != TP_BFC_ORT;
    uint64_t capacity = sized ? tp_src_capacity(st->env->source) : 0, page = st->env->source->page;
    double share = 0;
    int rc = read_share("mem_fraction", opts->mem_fraction, &share, err);
    if (rc)
        return rc;
    if (opts->limit != BY_DEFAULT && share > 0)
        return tp_fail(err, TP_EUSAGE,
                       "strategy 'bfc': 'limit' and 'mem_fraction' exclude each other");
    if (!capacity && share > 0)
        return tp_hint(err, needs("mem_fraction", "the device's size", err), "--capacity SIZE");
    if (opts->limit != BY_DEFAULT)
        st->rules.limit = opts->limit;
    if (!capacity)
        return TP_OK;
    if (!(share > 0))
        share = st->rules.flavour == TP_BFC_JAX ? 0.75 : 1;
    uint64_t bytes = (uint64_t)(share * (double)capacity);
    st->rules.limit = bytes < page ? page : bytes / page * page;
    return TP_OK;
}

static int set_sizes(struct bfc *st, const struct bfc_opts *opts, struct tp_err *err)
{
    struct tp_bfc_rules *r = &st->rules;
    const struct {
        uint64_t given, *to;
    } sizes[] = {{opts->initial_chunk_size_bytes, &r->first_region},
                 {opts->max_dead_bytes_per_chunk, &r->rest_most},
                 {opts->initial_growth_chunk_size_bytes, &r->next_after_shrink},
                 {opts->max_power_of_two_extend_bytes, &r->doubled_most},
                 {opts->next_region, &st->next}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].given != BY_DEFAULT)
            *sizes[i].to = sizes[i].given;
    st->next = st->next ? tp_bfc_rounded(r, st->next) : 0;
    r->next_after_shrink = tp_bfc_rounded(r, r->next_after_shrink);
    r->doubled_most = tp_bfc_rounded(r, r->doubled_most);
    double share = 0;
    int rc = read_share("internal_fragmentation_fraction", opts->internal_fragmentation_fraction,
                        &share, err);
    if (rc || !(share > 0))
        return rc;
    if (r->limit == TP_BFC_NO_LIMIT)
        return tp_hint(err, needs("internal_fragmentation_fraction", "a limit", err), "limit=SIZE");
    r->rest_most = (uint64_t)(share * (double)r->limit);
    return TP_OK;
}

int tp_bfc_take_options(struct bfc *st, const struct bfc_opts *opts, struct tp_err *err)
{
    enum tp_bfc_flavour flavour = TP_BFC_TF;
    int rc = find_flavour(opts, &flavour, err);
    if (rc)
        return rc;
    st->rules = tp_bfc_rules_for(flavour);
    st->rules.grows = flavour == TP_BFC_ORT || opts->allow_growth;
    st->rules.collects &= opts->garbage_collection;
    if (opts->arena_extend_strategy) {
        st->rules.exact = true;
        st->rules.keeps_first = false;
    }
    rc = set_limit(st, opts, err);
    return rc ? rc : set_sizes(st, opts, err);
}
