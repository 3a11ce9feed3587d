/* See command_words.h. */
#include "cmd/measure/command_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tp_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

void tp_append_word(char *text, size_t size, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
    if (*word && strspn(word, plain) == strlen(word)) {
        tp_append(text, size, " %s", word);
        return;
    }
    tp_append(text, size, " '");
    for (; *word; word++)
        tp_append(text, size, "%s%c", *word == '\'' ? "'\\'" : "", *word);
    tp_append(text, size, "'");
}

void tp_append_option(char *text, size_t size, const char *name, const char *value)
{
    if (!value)
        return;
    tp_append(text, size, " --%s", name);
    tp_append_word(text, size, value);
}

void tp_append_strategy(char *text, size_t size, const char *name)
{
    tp_append(text, size, " -s");
    tp_append_word(text, size, name);
}
