/* Escaping; see gate_escape.h. */
#include "cmd/ui/gate_escape.h"

#include "alloc/base/clean.h"

#include <stdlib.h>
#include <string.h>

struct replacement {
    char byte;
    const char *text;
};

/* Writes `text` with each byte of the table (which ends with a NUL) replaced. */
static void replace(FILE *out, const char *text, const struct replacement *table)
{
    for (; *text; text++) {
        const struct replacement *r = table;
        while (r->byte && r->byte != *text)
            r++;
        if (r->byte)
            fputs(r->text, out);
        else
            fputc(*text, out);
    }
}

/* U+FFFE and U+FFFF are UTF-8 but no characters of XML. */
static void drop_noncharacters(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        bool bad = !strncmp(from, "\xef\xbf\xbe", 3) || !strncmp(from, "\xef\xbf\xbf", 3);
        *to++ = bad ? '?' : *from;
        from += bad ? 3 : 1;
    }
    *to = '\0';
}

void tp_escape_xml(FILE *out, const char *text)
{
    static const struct replacement table[] = {{'&', "&amp;"},  {'<', "&lt;"},   {'>', "&gt;"},
                                               {'"', "&quot;"}, {'\'', "&#39;"}, {0}};
    char clean[TP_ESCAPE_BYTES];
    tp_clean_text(text, clean, sizeof clean);
    drop_noncharacters(clean);
    replace(out, clean, table);
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

static void repeat(FILE *out, char byte, int times)
{
    while (times-- > 0)
        fputc(byte, out);
}

void tp_escape_code(FILE *out, const char *text, bool table)
{
    static const struct replacement bars[] = {{'|', "\\|"}, {0}}, none[] = {{0}};
    char clean[TP_ESCAPE_BYTES];
    tp_clean_text(text, clean, sizeof clean);
    int ticks = longest_run(clean, '`');
    if (!clean[0]) {
        fputc('-', out);
        return;
    }
    repeat(out, '`', ticks + 1);
    repeat(out, ' ', ticks > 0);
    replace(out, clean, table ? bars : none);
    repeat(out, ' ', ticks > 0);
    repeat(out, '`', ticks + 1);
}

void tp_escape_markdown(FILE *out, const char *text)
{
    static const struct replacement table[] = {{'&', "&amp;"},
                                               {'<', "&lt;"},
                                               {'>', "&gt;"},
                                               {'\\', "\\\\"},
                                               {'`', "\\`"},
                                               {'*', "\\*"},
                                               {'_', "\\_"},
                                               {'[', "\\["},
                                               {']', "\\]"},
                                               {'#', "\\#"},
                                               {'|', "\\|"},
                                               {'~', "\\~"},
                                               {'!', "\\!"},
                                               {'@', "@\xe2\x80\x8b"}, /* mentions nobody */
                                               {0}};
    char clean[TP_ESCAPE_BYTES];
    tp_clean_text(text, clean, sizeof clean);
    replace(out, clean, table);
}

void tp_escape_command(FILE *out, const char *text, bool property)
{
    static const struct replacement data[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {0}};
    static const struct replacement more[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"},
                                              {':', "%3A"}, {',', "%2C"},  {0}};
    char clean[TP_ESCAPE_BYTES];
    tp_clean_text(text, clean, sizeof clean);
    replace(out, clean, property ? more : data);
}

/* Begins like a formula, behind blanks too, and is no number. */
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

void tp_escape_csv(FILE *out, const char *text)
{
    static const struct replacement twice[] = {{'"', "\"\""}, {0}};
    char clean[TP_ESCAPE_BYTES];
    tp_clean_text(text, clean, sizeof clean);
    size_t length = strlen(clean);
    bool quoted = strpbrk(clean, ",\"") || clean[0] == ' ' || (length && clean[length - 1] == ' ');
    repeat(out, '"', quoted);
    repeat(out, '\'', is_formula(clean));
    replace(out, clean, twice);
    repeat(out, '"', quoted);
}
