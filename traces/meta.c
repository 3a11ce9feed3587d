/* What a trace says about itself. */
#include "traces/clean.h"
#include "traces/format.h"

#include <stdlib.h>

#define META_TEXT_MAX 1000 /* bytes kept of one text */

void tp_meta_release(struct tp_meta *meta)
{
    free(meta->name);
    free(meta->program);
    meta->name = NULL;
    meta->program = NULL;
}

int tp_meta_set(char **field, const char *text, struct tp_err *err)
{
    char *copy = tp_clean_copy(text, META_TEXT_MAX);
    if (!copy)
        return tp_fail(err, TP_ENOMEM, "out of memory for the name of a trace");
    free(*field);
    *field = copy;
    return TP_OK;
}
