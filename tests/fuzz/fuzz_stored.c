/* Fuzz target: results that are read back (tapool.result/2). Whatever the bytes are, the outcome is
 * a result all of whose texts are there, or TP_EINPUT with one clean sentence; a result compares
 * with itself, and nothing about it differs from itself. */
#include "cmd/results/record.h"
#include "cmd/results/stored.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_run(const struct tp_stored *s, const struct tp_record *r)
{
    const char *const texts[] = {r->trace_path, r->trace_name, r->kind,  r->hash, r->strategy,
                                 r->label,      r->source,     r->touch, r->scope};
    double sum = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        must(texts[i] != NULL);
    for (size_t i = 0; i < r->options.count; i++)
        must(r->options.items[i].name && r->options.items[i].value);
    for (size_t i = 0; i < r->warnings.count; i++)
        must(r->warnings.items[i].name && r->warnings.items[i].value);
    must(r->devices >= 1 && r->devices <= TP_STORED_DEVICES);
    for (size_t i = 0; i < tp_metric_count; i++)
        for (uint16_t d = 0; d < r->devices; d++) {
            double value = tp_record_value(r, &tp_metrics[i], d);
            must(!(value < 0));
        }
    for (size_t i = 0; i < r->repeat_count; i++)
        sum += r->repeats[i];
    must(sum >= 0);
    must(tp_stored_comparable(s, r, s, r, NULL) == TP_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_stored s;
    struct tp_err err = {0};
    char text[400];
    if (tp_stored_parse((const char *)data, size, "fuzz", &s, &err)) {
        must(err.status == TP_EINPUT && err.text[0]);
        for (const char *c = err.text; *c; c++)
            must((unsigned char)*c >= 0x20 && *c != 0x7f);
        return 0;
    }
    for (size_t i = 0; i < s.count; i++)
        check_run(&s, &s.runs[i]);
    tp_stored_differences(&s, &s, true, text, sizeof text);
    must(!*text);
    tp_stored_release(&s);
    return 0;
}
