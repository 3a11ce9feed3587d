/* Fuzz target: baselines. Whatever the bytes are, the outcome is TP_EINPUT with one clean sentence,
 * or a baseline that is written, read back and written again as the same bytes. */
#include "cmd/baseline/baseline.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static char *written(const struct tp_baseline *b, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    must(out != NULL);
    must(tp_baseline_write(b, out, NULL) == TP_OK);
    must(fclose(out) == 0);
    return text;
}

static void check_cell(const struct tp_baseline *b, const struct tp_baseline_cell *c)
{
    must(c->spec && c->path && c->touch && c->hash && strlen(c->hash) == 64);
    must(tp_baseline_cell_find(b, c->trace, c->strategy, c->source) == c);
    for (size_t i = 0; i < c->value_count; i++) {
        const struct tp_baseline_value *v = &c->values[i];
        must(tp_baseline_value_find(c, v->metric, v->device) == v && v->value >= 0);
        must(tp_tolerance_of(b, c, v->metric, v->value, 0) >= 0);
    }
    char *path = tp_baseline_trace_path(b, c);
    must(path != NULL);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_baseline b, again;
    struct tp_err err = {0};
    size_t length = 0, second = 0;
    if (tp_baseline_parse((const char *)data, size, "folder/fuzz.json", &b, &err)) {
        must(err.status == TP_EINPUT && err.text[0]);
        for (const char *c = err.text; *c; c++)
            must((unsigned char)*c >= 0x20 && *c != 0x7f);
        tp_baseline_release(&b);
        return 0;
    }
    for (size_t i = 0; i < b.count; i++)
        check_cell(&b, &b.cells[i]);
    char *text = written(&b, &length);
    must(tp_baseline_parse(text, length, "folder/fuzz.json", &again, &err) == TP_OK);
    char *twice = written(&again, &second);
    must(length == second && !memcmp(text, twice, length));
    free(text);
    free(twice);
    tp_baseline_release(&b);
    tp_baseline_release(&again);
    return 0;
}
