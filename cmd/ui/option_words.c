/* Keywords of options that several commands share; see option_words.h. */
#include "cmd/ui/option_words.h"

const char *const tp_touch_words[] = {"auto", "none", "first", "all", NULL};
const char *const tp_color_words[] = {"never", "always", "auto", NULL};
const char *const tp_capacity_words[] = {"recorded", NULL};

void tp_str_choices(struct tp_str *s, const struct tp_opt *row)
{
    for (size_t i = 0; row->type != TP_OPT_SET && row->choices && row->choices[i]; i++)
        tp_str_add(s, "%s%s", i ? " | " : ": ", row->choices[i]);
}
