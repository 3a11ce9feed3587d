/* Escaping; see escape.h. Each target is a row: whether the text is cleaned, which parts are
 * replaced, which bytes are allowed, and which quotes are put around the result. */
#include "cmd/ui/escape.h"

#include "alloc/base/clean.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct replacement {
    const char *from, *to;
};

struct escape_row {
    bool clean;
    const struct replacement *table; /* the last `from` is NULL */
    const char *stay;    /* bytes allowed beside letters and digits; NULL: all bytes are allowed */
    const char *instead; /* written for a byte that is not allowed; NULL: %XX is written */
    /* Replaces the parts and adds quotes; NULL: no quotes are added. */
    void (*wrap)(struct tp_str *s, const char *text, const struct escape_row *row);
};

static const struct replacement none[] = {{NULL, NULL}};

/* U+FFFE and U+FFFF are valid in UTF-8 but not in XML. */
static const struct replacement in_xml[] = {
    {"&", "&amp;"}, {"<", "&lt;"},         {">", "&gt;"},         {"\"", "&quot;"},
    {"'", "&#39;"}, {"\xef\xbf\xbe", "?"}, {"\xef\xbf\xbf", "?"}, {NULL, NULL}};

/* '&', '<' and '>' become entities, because a backslash does not escape inside raw HTML. "@name"
 * would notify somebody and "#12" link to something even after a backslash, so a zero-width space
 * (U+200B) follows both signs. */
static const struct replacement in_markdown[] = {
    {"&", "&amp;"},         {"<", "&lt;"}, {">", "&gt;"}, {"\\", "\\\\"},
    {"`", "\\`"},           {"*", "\\*"},  {"_", "\\_"},  {"{", "\\{"},
    {"}", "\\}"},           {"[", "\\["},  {"]", "\\]"},  {"|", "\\|"},
    {"~", "\\~"},           {"!", "\\!"},  {"$", "\\$"},  {"#", "\\#\xe2\x80\x8b"},
    {"@", "@\xe2\x80\x8b"}, {NULL, NULL}};

static const struct replacement in_code_cell[] = {{"|", "\\|"}, {NULL, NULL}};
static const struct replacement in_message[] = {{"%", "%25"}, {NULL, NULL}};
static const struct replacement in_property[] = {
    {"%", "%25"}, {":", "%3A"}, {",", "%2C"}, {NULL, NULL}};
static const struct replacement in_csv[] = {{"\"", "\"\""}, {NULL, NULL}};
static const struct replacement in_shell[] = {{"'", "'\\''"}, {NULL, NULL}};
static const struct replacement in_zsh[] = {{"'", "'\\''"}, {":", "\\:"},   {"[", "\\["},
                                            {"]", "\\]"},   {"\\", "\\\\"}, {NULL, NULL}};
static const struct replacement in_roff[] = {{"\\", "\\e"},   {"-", "\\-"},   {"'", "\\(aq"},
                                             {"`", "\\(ga"},  {"^", "\\(ha"}, {"~", "\\(ti"},
                                             {"\"", "\\(dq"}, {NULL, NULL}};

static bool is_plain(unsigned char byte, const char *others)
{
    return byte && byte < 0x80 && (isalnum(byte) || strchr(others, byte));
}

static void replace(struct tp_str *s, const char *text, const struct escape_row *row)
{
    const char *from = text; /* start of the bytes that are copied unchanged */
    while (*text) {
        const struct replacement *r = row->table;
        while (r->from && (*r->from != *text || strncmp(r->from, text, strlen(r->from)) != 0))
            r++;
        size_t length = r->from ? strlen(r->from) : 1;
        if (r->from || (row->stay && !is_plain((unsigned char)*text, row->stay))) {
            tp_str_add(s, "%.*s", (int)(text - from), from);
            if (r->from || row->instead)
                tp_str_add(s, "%s", r->from ? r->to : row->instead);
            else
                tp_str_add(s, "%%%02X", (unsigned char)*text);
            from = text + length;
        }
        text += length;
    }
    tp_str_add(s, "%s", from);
}

static int longest_run(const char *text, char byte)
{
    int longest = 0, run = 0;
    for (; *text; text++) {
        run = *text == byte ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void repeat(struct tp_str *s, char byte, int times)
{
    while (times-- > 0)
        tp_str_add(s, "%c", byte);
}

static void wrap_code(struct tp_str *s, const char *text, const struct escape_row *row)
{
    int ticks = longest_run(text, '`');
    if (!*text) {
        tp_str_add(s, "-");
        return;
    }
    repeat(s, '`', ticks + 1);
    repeat(s, ' ', ticks > 0);
    replace(s, text, row);
    repeat(s, ' ', ticks > 0);
    repeat(s, '`', ticks + 1);
}

/* Whether the text begins like a formula, also after blanks, and is not a number. */
static bool is_formula(const char *text)
{
    char *end = NULL;
    text += strspn(text, " ");
    if (!*text || !strchr("=+-@", *text))
        return false;
    bool digits = strspn(text, "+-.0123456789eE") == strlen(text);
    strtod(text, &end);
    return !digits || end == text || *end;
}

static void wrap_csv(struct tp_str *s, const char *text, const struct escape_row *row)
{
    size_t length = strlen(text);
    bool quoted = strpbrk(text, ",\"") || text[0] == ' ' || (length && text[length - 1] == ' ');
    repeat(s, '"', quoted);
    repeat(s, '\'', is_formula(text));
    replace(s, text, row);
    repeat(s, '"', quoted);
}

static void wrap_shell(struct tp_str *s, const char *text, const struct escape_row *row)
{
    const char *at = text;
    while (is_plain((unsigned char)*at, "_-+=:,./%@"))
        at++;
    bool quoted = *at || !*text;
    repeat(s, '\'', quoted);
    replace(s, text, row);
    repeat(s, '\'', quoted);
}

static const struct escape_row rows[TP_TARGETS] = {
    [TP_TO_LINE] = {true, none, NULL, NULL, NULL},
    [TP_TO_XML] = {true, in_xml, NULL, NULL, NULL},
    [TP_TO_MARKDOWN] = {true, in_markdown, NULL, NULL, NULL},
    [TP_TO_CODE] = {true, none, NULL, NULL, wrap_code},
    [TP_TO_CODE_CELL] = {true, in_code_cell, NULL, NULL, wrap_code},
    [TP_TO_PROPERTY] = {true, in_property, NULL, NULL, NULL},
    [TP_TO_MESSAGE] = {true, in_message, NULL, NULL, NULL},
    [TP_TO_CSV] = {true, in_csv, NULL, NULL, wrap_csv},
    [TP_TO_SHELL] = {true, in_shell, NULL, NULL, wrap_shell},
    [TP_TO_BENCHMARK] = {false, none, "._+:,=#-", NULL, NULL},
    [TP_TO_FILE] = {false, none, ".=+_-", "_", NULL},
    [TP_TO_ZSH] = {false, in_zsh, NULL, NULL, NULL},
    [TP_TO_ROFF] = {false, in_roff, " !#$%&()*+,./:;<=>?@[]_{|}", "?", NULL},
};

void tp_str_escape(struct tp_str *s, enum tp_target target, const char *text)
{
    const struct escape_row *row = &rows[target];
    char *clean = row->clean ? tp_clean_copy(text, INT_MAX) : NULL;
    if (row->clean && !clean)
        tp_str_fail(s);
    else
        (row->wrap ? row->wrap : replace)(s, clean ? clean : text, row);
    free(clean);
}

void tp_escape_part(FILE *out, enum tp_target target, const char *text, size_t length)
{
    struct tp_str part = {0};
    tp_str_add(&part, "%.*s", (int)length, text);
    tp_escape(out, target, tp_str_text(&part));
    tp_str_drop(&part);
}

void tp_escape(FILE *out, enum tp_target target, const char *text)
{
    struct tp_str s = {0};
    tp_str_escape(&s, target, text);
    fputs(tp_str_text(&s), out);
    tp_str_drop(&s);
}

static void put(struct tp_str *s, enum tp_target target, const char *format, va_list args)
{
    for (const char *at = format; *at;) {
        size_t length = strcspn(at, "%");
        tp_str_add(s, "%.*s", (int)length, at);
        at += length;
        if (!*at)
            break;
        assert(at[1] == 's' || at[1] == '%');
        if (at[1] == 's')
            tp_str_escape(s, target, va_arg(args, const char *));
        else
            tp_str_add(s, "%%");
        at += 2;
    }
}

void tp_str_put(struct tp_str *s, enum tp_target target, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    put(s, target, format, args);
    va_end(args);
}

void tp_put(FILE *out, enum tp_target target, const char *format, ...)
{
    struct tp_str s = {0};
    va_list args;
    va_start(args, format);
    put(&s, target, format, args);
    va_end(args);
    fputs(tp_str_text(&s), out);
    tp_str_drop(&s);
}

void tp_str_word(struct tp_str *s, const char *word)
{
    tp_str_add(s, " ");
    tp_str_escape(s, TP_TO_SHELL, word);
}

void tp_str_option(struct tp_str *s, const char *name, const char *value)
{
    if (!value)
        return;
    tp_str_add(s, " --%s", name);
    tp_str_word(s, value);
}

void tp_str_strategy(struct tp_str *s, const char *name)
{
    tp_str_add(s, " -s");
    tp_str_word(s, name);
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
    if (row->type == TP_OPT_LIST) {
        const struct tp_opt_list *list = (const void *)((const char *)opts + row->offset);
        for (size_t i = 0; i < list->count; i++)
            tp_str_option(s, row->name, list->items[i]);
        return;
    }
    if (row->type == TP_OPT_TEXT) {
        tp_str_option(s, row->name, *(char *const *)((const char *)opts + row->offset));
        return;
    }
    tp_opt_format(row, opts, value, sizeof value);
    tp_str_option(s, row->name, value);
}
