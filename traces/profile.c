/* What all profiles share: options, their description, and lowering without a file. */
#include "traces/profile.h"

#include "alloc/base/str.h"
#include "traces/lower/lower.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tp_profile_opts_new(const struct tp_profile *p, void **out, struct tp_err *err)
{
    *out = calloc(1, p->opts_size ? p->opts_size : 1);
    if (!*out)
        return tp_fail(err, TP_ENOMEM, "out of memory for the options of '%s'", p->name);
    int rc = tp_opts_defaults(p->options, *out, err);
    if (rc != TP_OK) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

void tp_profile_opts_free(const struct tp_profile *p, void *opts)
{
    if (opts)
        tp_opts_release(p->options, opts);
    free(opts);
}

void tp_profile_describe(const struct tp_profile *p, const void *opts, uint64_t seed, char *out,
                         size_t size)
{
    void *usual = NULL;
    struct tp_str text = tp_str_in(out, size);
    tp_str_add(&text, "synthetic (%s, seed %" PRIu64, p->name, seed);
    if (tp_profile_opts_new(p, &usual, NULL) != TP_OK)
        usual = NULL; /* out of memory: name every option */
    for (const struct tp_opt *row = p->options; row && row->name; row++) {
        char value[64], otherwise[64] = "";
        tp_opt_format(row, opts, value, sizeof value);
        if (usual)
            tp_opt_format(row, usual, otherwise, sizeof otherwise);
        if (strcmp(value, otherwise) != 0)
            tp_str_add(&text, ", %s=%s", row->name, value);
    }
    tp_str_add(&text, ")");
    tp_profile_opts_free(p, usual);
}

int tp_profile_lower(const struct tp_profile *p, const void *opts, uint64_t seed,
                     struct tp_lower *lo, struct tp_err *err)
{
    const struct tp_event_sink sink = tp_lower_sink(lo);
    uint64_t streams = p->streams ? p->streams(opts) : 0;
    int rc = tp_lower_kind(lo, p->kind, err);
    for (uint64_t i = 0; rc == TP_OK && i < streams; i++)
        rc = tp_lower_stream(lo, (int64_t)i, 0, err);
    return rc == TP_OK ? p->generate(opts, seed, &sink, err) : rc;
}
