/* See option_words.h. */
#include "cmd/ui/option_words.h"

#include "cmd/ui/escape.h"

const char *const tp_touch_words[] = {"auto", "none", "first", "all", NULL};
const char *const tp_color_words[] = {"never", "always", "auto", NULL};
const char *const tp_capacity_words[] = {"recorded", NULL};

void tp_str_choices(struct tp_str *s, const struct tp_opt *row)
{
    for (size_t i = 0; row->type != TP_OPT_SET && row->choices && row->choices[i]; i++)
        tp_str_add(s, "%s%s", i ? " | " : ": ", row->choices[i]);
}

void tp_str_row(struct tp_str *s, const struct tp_opt *row, const void *opts)
{
    char value[64];
    if (!tp_opt_differs(row, opts))
        return;
    if (row->type == TP_OPT_FLAG) {
        tp_str_add(s, " --%s", row->name);
        return;
    }
    if (row->type == TP_OPT_TEXT) {
        tp_str_option(s, row->name, *(char *const *)((const char *)opts + row->offset));
        return;
    }
    tp_opt_format(row, opts, value, sizeof value);
    tp_str_option(s, row->name, value);
}
