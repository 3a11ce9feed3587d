/* The roff that two man pages need. A dot at the start of a line is escaped here, everything else
 * that roff would interpret by TP_TO_ROFF of cmd/ui/escape.h. */
#include "cmd/help/man.h"

#include "cmd/cli/commands.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 76 };

static void put_word(FILE *out, const char *word, size_t length, bool first)
{
    if (first && *word == '.')
        fputs("\\&", out);
    tp_escape_part(out, TP_TO_ROFF, word, length);
}

static void put_paragraph(FILE *out, const char *text, size_t length)
{
    size_t column = 0;
    for (const char *end = text + length; text < end;) {
        size_t blanks = strspn(text, " ");
        size_t word = strcspn(text + blanks, " \n");
        if (!word || text + blanks >= end)
            break;
        bool first = column == 0 || column + word >= LINE;
        if (column)
            fputc(first ? '\n' : ' ', out);
        put_word(out, text + blanks, word, first);
        column = first ? word : column + word + 1;
        text += blanks + word;
    }
    fputc('\n', out);
}

void tp_man_text(FILE *out, const char *format, ...)
{
    struct tp_str text = {0};
    size_t began = 0; /* number of newlines before this line */
    va_list args;
    va_start(args, format);
    tp_str_vadd(&text, format, args);
    va_end(args);
    for (const char *at = tp_str_text(&text); *at;) {
        size_t length = strcspn(at, "\n"), breaks = strspn(at + length, "\n");
        if (length && began)
            fputs(began > 1 ? ".PP\n" : ".br\n", out);
        if (length)
            put_paragraph(out, at, length);
        began = breaks;
        at += length + breaks;
    }
    tp_str_drop(&text);
}

void tp_man_begin(FILE *out, const char *title, const char *section, const char *summary)
{
    char name[64];
    snprintf(name, sizeof name, "%s", title);
    for (char *c = name; *c; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    fprintf(out, ".\\\" Made by tapool itself from the tables of its help.\n");
    fprintf(out, ".TH %s %s %s \"tapool %s\" \"tapool\"\n", name, section, tp_today().s,
            TAPOOL_VERSION);
    fputs(".SH NAME\n", out);
    put_word(out, title, strlen(title), true);
    fputs(" \\- ", out);
    tp_man_text(out, "%s", summary);
}

void tp_man_section(FILE *out, const char *title)
{
    fprintf(out, ".SH %s\n", title);
}

void tp_man_subsection(FILE *out, const char *title)
{
    fputs(".SS ", out);
    put_word(out, title, strlen(title), true);
    fputc('\n', out);
}

void tp_man_paragraph(FILE *out)
{
    fputs(".PP\n", out);
}

void tp_man_entry(FILE *out, const char *bold, const char *italic)
{
    fputs(".TP\n\\fB", out);
    put_word(out, bold, strlen(bold), false);
    fputs("\\fR", out);
    if (italic) {
        fputs(" \\fI", out);
        put_word(out, italic, strlen(italic), false);
        fputs("\\fR", out);
    }
    fputc('\n', out);
}

void tp_man_lines(FILE *out, const char *text)
{
    fputs(".nf\n.ft CR\n", out);
    while (*text) {
        size_t length = strcspn(text, "\n");
        put_word(out, text, length, true);
        fputc('\n', out);
        text += length + (text[length] == '\n');
    }
    fputs(".ft R\n.fi\n", out);
}

void tp_man_topic(FILE *out, const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory) {
        const struct tp_topic_section *section = NULL;
        tp_topic_print_whole(tp_find_topic(name, &section), memory);
        fclose(memory);
        tp_man_lines(out, text);
    }
    free(text);
}
