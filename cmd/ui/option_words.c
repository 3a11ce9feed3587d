/* Keywords of options that several commands share; see option_words.h. */
#include "cmd/ui/option_words.h"

#include <string.h>
#include <strings.h>

const char *const tp_touch_words[] = {"auto", "none", "first", "all", NULL};
const char *const tp_theme_words[] = {"auto", "light", "dark", NULL};
const char *const tp_color_words[] = {"never", "always", "auto", NULL};
const char *const tp_capacity_words[] = {"recorded", NULL};
const char *const tp_auto_words[] = {"auto", NULL};
const char *const tp_oom_words[] = {"continue", "stop", NULL};
const char *const tp_pass_words[] = {"usage", "throughput", "latency", "verify", "fits",
                                     "count", "resident",   "mapped",  NULL};
const char *const tp_goal_words[] = {"both", "memory", "time", NULL}; /* by enum tp_goal */
const char *const tp_threads_words[] = {"recorded", "auto", NULL};

int tp_less_reserve(uint64_t *capacity, uint64_t reserve, struct tp_err *err)
{
    if (!reserve)
        return TP_OK;
    if (*capacity == TP_OPT_KEYWORD(0) || !*capacity)
        return tp_fail(err, TP_EUSAGE,
                       "--reserve needs --capacity SIZE: what a recording tells is "
                       "what the program itself could have");
    if (*capacity <= reserve)
        return tp_fail(err, TP_EUSAGE, "--reserve leaves nothing of the capacity");
    *capacity -= reserve;
    return TP_OK;
}

enum tp_opt_from tp_strategy_from(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t end = strcspn(text, ":");
    const char *equals = memchr(text, '=', end);
    const char *name = equals ? equals + 1 : text;
    size_t length = end - (size_t)(name - text);
    if (strcasestr(&text[end], "env=")) /* an allocator's own variables can name files to write */
        return TP_OPT_USER;
    if (strcasestr(&text[end], "plan=")) /* a file that is read */
        return TP_OPT_USER;
    if (length == sizeof TP_PLUGIN_WORD - 1 && !strncasecmp(name, TP_PLUGIN_WORD, length))
        return TP_OPT_USER;
    if (length != sizeof TP_LIB_WORD - 1 || strncasecmp(name, TP_LIB_WORD, length) || !text[end])
        return TP_OPT_ANYWHERE;
    const char *library = &text[end + 1];
    return library[strspn(library, letters)] ? TP_OPT_USER : TP_OPT_ANYWHERE;
}

void tp_str_choices(struct tp_str *s, const struct tp_opt *row)
{
    for (size_t i = 0; row->type != TP_OPT_SET && row->choices && row->choices[i]; i++)
        tp_str_add(s, "%s%s", i ? " | " : ": ", row->choices[i]);
}
