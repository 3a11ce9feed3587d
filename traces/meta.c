/* What a trace says about itself. */
#include "alloc/base/clean.h"
#include "traces/format.h"

#include <stdlib.h>

#define META_TEXT_MAX 1000 /* bytes kept of one text */

const char *const tp_meta_text_names[TP_META_TEXTS] = {"name",     "program", "capture",
                                                       "settings", "unknown", "space",
                                                       "left_out", "nothing", "nothing_hint"};

char **tp_meta_text(struct tp_meta *meta, size_t i)
{
    char **const texts[TP_META_TEXTS] = {&meta->name,     &meta->program, &meta->capture,
                                         &meta->settings, &meta->unknown, &meta->space,
                                         &meta->left_out, &meta->nothing, &meta->nothing_hint};
    return texts[i];
}

void tp_meta_release(struct tp_meta *meta)
{
    for (size_t i = 0; i < TP_META_TEXTS; i++) {
        free(*tp_meta_text(meta, i));
        *tp_meta_text(meta, i) = NULL;
    }
    free(meta->remarks);
    meta->remarks = NULL;
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

int tp_meta_remark(struct tp_meta *meta, const char *text, struct tp_err *err)
{
    char *line = tp_clean_copy(text, META_TEXT_MAX);
    char *all = NULL;
    if (line && asprintf(&all, "%s%s%s", meta->remarks ? meta->remarks : "",
                         meta->remarks ? "\n" : "", line) < 0)
        all = NULL;
    free(line);
    if (!all)
        return tp_fail(err, TP_ENOMEM, "out of memory for the remarks on a trace");
    free(meta->remarks);
    meta->remarks = all;
    return TP_OK;
}
