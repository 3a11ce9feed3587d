/* Writing a baseline; see baseline.h. It does not use a JSON library because the layout matters:
 * with sorted keys and one metric per line a review shows what changed, and git merges changes that
 * do not touch each other.
 *
 *     "cells": {
 *       "sqlite": {
 *         "arena": {
 *           "host": {
 *             "events": 6170,
 *             "metrics": {
 *               "peak_reserved": 2031616,
 */
#include "cmd/baseline/baseline.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pen {
    FILE *out;
    int depth;
    bool first; /* the next member is the first of its object and takes no comma */
    bool failed;
};

static void put_text(struct pen *p, const char *text)
{
    cJSON *item = cJSON_CreateString(text);
    char *quoted = item ? cJSON_PrintUnformatted(item) : NULL;
    if (quoted)
        fputs(quoted, p->out);
    else
        p->failed = true;
    cJSON_free(quoted);
    cJSON_Delete(item);
}

/* Writes a number with the fewest digits that read back as the same number. Whole numbers above
 * 2^53 are written as strings. */
static void put_number(struct pen *p, double value)
{
    char text[40];
    if (!isfinite(value)) {
        fputs("null", p->out);
        return;
    }
    bool whole = value == floor(value);
    if (whole && fabs(value) > 0x1p53) {
        fprintf(p->out, fabs(value) < 0x1p64 ? "\"%.0f\"" : "%.17g", value);
        return;
    }
    snprintf(text, sizeof text, "%.0f", value);
    for (int digits = 1; !whole && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, p->out);
}

/* Starts a line for the next member or element, after a comma if one is needed. */
static void next(struct pen *p)
{
    fputs(p->first ? "\n" : ",\n", p->out);
    p->first = false;
    fprintf(p->out, "%*s", 2 * p->depth, "");
}

static void name(struct pen *p, const char *key)
{
    next(p);
    put_text(p, key);
    fputs(": ", p->out);
}

static void open_bracket(struct pen *p, char bracket)
{
    fputc(bracket, p->out);
    p->depth++;
    p->first = true;
}

static void shut(struct pen *p, char bracket)
{
    bool empty = p->first;
    p->depth--;
    p->first = true; /* no comma before the bracket */
    if (!empty)
        next(p);
    p->first = false;
    fputc(bracket, p->out);
}

static void text_member(struct pen *p, const char *key, const char *value)
{
    name(p, key);
    put_text(p, value);
}

static void number_member(struct pen *p, const char *key, double value)
{
    name(p, key);
    put_number(p, value);
}

/* ---- parts ---- */

static void values_member(struct pen *p, const char *key, const struct tp_baseline_value *values,
                          size_t count)
{
    name(p, key);
    open_bracket(p, '{');
    for (size_t i = 0; i < count; i++)
        number_member(p, tp_baseline_name(values[i].metric, values[i].device).s, values[i].value);
    shut(p, '}');
}

static int by_name(const void *a, const void *b)
{
    return strcmp(tp_metrics[*(const size_t *)a].name, tp_metrics[*(const size_t *)b].name);
}

static void put_tolerance(struct pen *p, const struct tp_tolerance *t)
{
    char text[48];
    if (!t->relative) {
        put_number(p, t->value);
        return;
    }
    snprintf(text, sizeof text, "%.12g%%", 100 * t->value);
    put_text(p, text);
}

/* Writes the tolerances that were given, and no member at all if there are none. */
static void tolerances_member(struct pen *p, const struct tp_tolerance *all)
{
    size_t order[TP_METRIC_MAX], count = 0;
    for (size_t i = 0; i < tp_metric_count; i++)
        if (all[i].given)
            order[count++] = i;
    if (!count)
        return;
    qsort(order, count, sizeof *order, by_name);
    name(p, "tolerances");
    open_bracket(p, '{');
    for (size_t i = 0; i < count; i++) {
        name(p, tp_metrics[order[i]].name);
        put_tolerance(p, &all[order[i]]);
    }
    shut(p, '}');
}

static void instructions_member(struct pen *p, const struct tp_baseline_cell *c)
{
    if (!c->fingerprint)
        return;
    name(p, "instructions");
    open_bracket(p, '{');
    text_member(p, "fingerprint", c->fingerprint);
    number_member(p, "per_op", c->instructions);
    shut(p, '}');
}

static void latency_member(struct pen *p, const struct tp_baseline_latency *l)
{
    if (!l->machine)
        return;
    name(p, "latency");
    open_bracket(p, '{');
    text_member(p, "machine", l->machine);
    number_member(p, "seconds", l->seconds);
    number_member(p, "spread", l->spread);
    values_member(p, "times", l->values, l->count);
    shut(p, '}');
}

static void loose_member(struct pen *p, const struct tp_baseline_cell *c)
{
    if (!c->loose_count)
        return;
    name(p, "nondeterministic");
    open_bracket(p, '[');
    for (size_t i = 0; i < c->loose_count; i++) {
        next(p);
        put_text(p, tp_baseline_name(c->loose[i].metric, c->loose[i].device).s);
    }
    shut(p, ']');
}

static void put_cell(struct pen *p, const struct tp_baseline_cell *c)
{
    open_bracket(p, '{');
    name(p, "events");
    fprintf(p->out, c->events > UINT64_C(1) << 53 ? "\"%" PRIu64 "\"" : "%" PRIu64, c->events);
    instructions_member(p, c);
    latency_member(p, &c->latency);
    values_member(p, "metrics", c->values, c->value_count);
    loose_member(p, c);
    name(p, "options");
    open_bracket(p, '{');
    for (size_t i = 0; i < c->options.count; i++)
        text_member(p, c->options.items[i].name, c->options.items[i].value);
    shut(p, '}');
    text_member(p, "program_hash", c->hash);
    text_member(p, "spec", c->spec);
    tolerances_member(p, c->tolerances);
    text_member(p, "touch", c->touch);
    text_member(p, "trace_path", c->path);
    shut(p, '}');
}

/* Writes the nested objects of cells. This needs sorted cells, in which equal traces, and in these
 * equal strategies, follow each other. */
static void put_cells(struct pen *p, const struct tp_baseline *b)
{
    name(p, "cells");
    open_bracket(p, '{');
    for (size_t i = 0; i < b->count; i++) {
        const struct tp_baseline_cell *c = &b->cells[i], *before = i ? c - 1 : NULL;
        bool trace = !before || strcmp(before->trace, c->trace);
        bool strategy = trace || strcmp(before->strategy, c->strategy);
        if (before && strategy)
            shut(p, '}');
        if (before && trace)
            shut(p, '}');
        if (trace) {
            name(p, c->trace);
            open_bracket(p, '{');
        }
        if (strategy) {
            name(p, c->strategy);
            open_bracket(p, '{');
        }
        name(p, c->source);
        put_cell(p, c);
    }
    for (int level = 0; b->count && level < 2; level++)
        shut(p, '}');
    shut(p, '}');
}

int tp_baseline_write(const struct tp_baseline *b, FILE *out, struct tp_err *err)
{
    struct pen p = {.out = out};
    open_bracket(&p, '{');
    put_cells(&p, b);
    if (b->reason)
        text_member(&p, "reason", b->reason);
    text_member(&p, "schema", TP_BASELINE_SCHEMA);
    tolerances_member(&p, b->tolerances);
    text_member(&p, "version", b->version);
    text_member(&p, "written", b->written);
    shut(&p, '}');
    fputc('\n', out);
    return p.failed ? tp_fail(err, TP_ENOMEM, "out of memory while writing the baseline") : TP_OK;
}
