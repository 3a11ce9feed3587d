/* What the tests of stored results share: real ones as trees, and the
 * members of a tree by their paths, "runs[0].devices[1].memory". */
#ifndef TP_TEST_STORED_RIG_H
#define TP_TEST_STORED_RIG_H

#include "cmd/results/record.h"
#include "cmd/results/stored.h"
#include "tests/unit/test.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static inline cJSON *load(const char *path)
{
    char *text = calloc(1, 1 << 17);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 17) - 1, in) > 0);
    fclose(in);
    cJSON *tree = cJSON_Parse(text);
    free(text);
    assert_non_null(tree);
    return tree;
}

static inline int parse_tree(const cJSON *tree, struct tp_stored *out, struct tp_err *err)
{
    char *text = cJSON_PrintUnformatted(tree);
    int status = tp_stored_parse(text, strlen(text), "a.json", out, err);
    cJSON_free(text);
    return status;
}

/* What the member lies in, and `last`, its name there; of an element of a list its number. */
static inline cJSON *find(cJSON *tree, const char *path, char *last, size_t size)
{
    cJSON *at = tree, *in = NULL;
    while (*path) {
        size_t length = strcspn(path, ".[]");
        in = at;
        snprintf(last, size, "%.*s", (int)length, path);
        at = cJSON_IsArray(in) ? cJSON_GetArrayItem(in, (int)strtol(last, NULL, 10))
                               : cJSON_GetObjectItemCaseSensitive(in, last);
        assert_non_null(at);
        path += length;
        path += strspn(path, ".[]");
    }
    return in;
}

#endif
