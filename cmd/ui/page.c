/* The text screen; see text.h. It wraps lines between words, so a report fits 80 columns as well as
 * 100. */
#include "cmd/ui/escape.h"
#include "cmd/ui/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_MIN = 80, WIDTH_MAX = 100, BESIDE_MIN = 16, BESIDE_MAX = 28 };

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static int width_of(const char *text, size_t length)
{
    int width = 0;
    for (; length; text++, length--)
        width += begins_character(*text);
    return width;
}

int tp_text_width(const char *text)
{
    return width_of(text, strlen(text));
}

size_t tp_text_bytes(const char *text, int columns)
{
    size_t at = 0;
    for (; text[at]; at++)
        if (begins_character(text[at]) && columns-- <= 0)
            break;
    return at;
}

static int within(int value, int least, int most)
{
    if (value < least)
        return least;
    return value > most ? most : value;
}

void tp_page_init(struct tp_page *p, FILE *out, unsigned color)
{
    struct winsize size = {0};
    bool terminal = isatty(fileno(out));
    int width = WIDTH_MAX;
    if (terminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col)
        width = size.ws_col;
    const char *quiet = getenv("NO_COLOR");
    *p = (struct tp_page){.out = out, .width = within(width, WIDTH_MIN, WIDTH_MAX)};
    p->color = color == 1 || (color == 2 && terminal && !(quiet && *quiet));
}

void tp_page_line(struct tp_page *p)
{
    /* the end of a line, and an empty line; two blanks break a line in Markdown */
    static const char *const ends[][2] = {[TP_PAGE_SCREEN] = {"\n", "\n"},
                                          [TP_PAGE_MARKDOWN] = {"  \n", "\n"},
                                          [TP_PAGE_HTML] = {"<br>\n", "</p>\n<p>"}};
    fputs(ends[p->form][!p->column], p->out);
    p->column = 0;
}

static void go_to(struct tp_page *p, int column)
{
    if (p->column > column)
        tp_page_line(p);
    if (p->form == TP_PAGE_SCREEN)
        fprintf(p->out, "%*s", column - p->column, "");
    else if (p->column && p->column < column)
        fputc(' ', p->out);
    p->column = column;
}

/* The number of columns that a long word gets on this line. A word is never broken before "::",
 * because some CI services take a line that begins with it for a command. */
static int room_for(const struct tp_page *p, int indent, const char *word)
{
    int room = p->column < p->width ? p->width - p->column : 0;
    bool colons = !strncmp(word + tp_text_bytes(word, room), "::", 2);
    return colons && room > (p->column <= indent) ? room - 1 : room;
}

/* Writes a word. If it is longer than a line, such as a name from a trace, it is broken at the end
 * of the line. */
static void write_word(struct tp_page *p, int indent, const char *word, size_t length)
{
    const char *end = word + length;
    int rest = width_of(word, length);
    while (p->column + rest > p->width && p->width > indent) {
        int room = room_for(p, indent, word);
        size_t part = tp_text_bytes(word, room);
        fprintf(p->out, "%.*s", (int)part, word);
        rest -= room;
        word += part;
        tp_page_line(p);
        go_to(p, indent);
    }
    fprintf(p->out, "%.*s", (int)(end - word), word);
    p->column += rest;
}

/* Writes words; a word that does not fit goes to the next line, at `indent`. */
static void write_words(struct tp_page *p, int indent, const char *text)
{
    if (p->form != TP_PAGE_SCREEN) {
        tp_escape(p->out, p->form == TP_PAGE_HTML ? TP_TO_XML : TP_TO_MARKDOWN, text);
        p->column += tp_text_width(text);
        return;
    }
    while (*text) {
        size_t blanks = strspn(text, " "), length = strcspn(text + blanks, " ");
        const char *word = text + blanks;
        if (p->column + (int)blanks + width_of(word, length) > p->width && p->column > indent) {
            tp_page_line(p);
            go_to(p, indent);
            blanks = 0;
        }
        fprintf(p->out, "%*s", (int)blanks, "");
        p->column += (int)blanks;
        write_word(p, indent, word, length);
        text = word + length;
    }
}

__attribute__((format(printf, 3, 0))) static void write_format(struct tp_page *p, int indent,
                                                               const char *format, va_list args)
{
    struct tp_str text = {0};
    tp_str_vadd(&text, format, args);
    write_words(p, indent, tp_str_text(&text));
    tp_str_drop(&text);
}

void tp_page_at(struct tp_page *p, int column, const char *format, ...)
{
    va_list args;
    go_to(p, column);
    va_start(args, format);
    write_format(p, column, format, args);
    va_end(args);
}

void tp_page_put(struct tp_page *p, int column, const char *format, ...)
{
    va_list args;
    go_to(p, column);
    va_start(args, format);
    write_format(p, column, format, args);
    va_end(args);
    tp_page_line(p);
}

/* In HTML nothing is aligned: a name is told from what follows it by its weight. */
static enum tp_style name_style(const struct tp_page *p)
{
    return p->form == TP_PAGE_HTML ? TP_BOLD : TP_PLAIN;
}

void tp_page_row(struct tp_page *p, int column, const char *name, int value, const char *format,
                 ...)
{
    va_list args;
    tp_page_styled(p, column, name_style(p), "%s", name);
    go_to(p, value);
    va_start(args, format);
    write_format(p, value, format, args);
    va_end(args);
    tp_page_line(p);
}

void tp_page_more(struct tp_page *p, int indent, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_format(p, indent, format, args);
    va_end(args);
}

void tp_page_warning(struct tp_page *p, int column, const char *id, const char *format, ...)
{
    va_list args;
    tp_page_styled(p, column, name_style(p), "! %s", id);
    column = p->column < column + 15 ? column + 16 : p->column + 2;
    go_to(p, column);
    va_start(args, format);
    write_format(p, column, format, args);
    va_end(args);
    tp_page_line(p);
}

int tp_page_beside(const char *one, const char *other)
{
    int first = tp_text_width(one), second = tp_text_width(other);
    return within((first > second ? first : second) + 2, BESIDE_MIN, BESIDE_MAX);
}

void tp_page_side(struct tp_page *p, const char *name, int column)
{
    tp_page_styled(p, 0, name_style(p), "%s", name);
    if (tp_text_width(name) + 2 > column)
        tp_page_line(p);
}

__attribute__((format(printf, 4, 0))) static void
write_styled(struct tp_page *p, int column, enum tp_style style, const char *format, va_list args)
{
    static const char *const marks[][TP_STYLES][2] = {
        [TP_PAGE_SCREEN] = {[TP_BOLD] = {"\033[1m", "\033[0m"},
                            [TP_DIM] = {"\033[2m", "\033[0m"},
                            [TP_RED] = {"\033[31;1m", "\033[0m"},
                            [TP_GREEN] = {"\033[32m", "\033[0m"}},
        [TP_PAGE_MARKDOWN] = {[TP_BOLD] = {"**", "**"}, [TP_RED] = {"**", "**"}},
        [TP_PAGE_HTML] = {[TP_BOLD] = {"<b>", "</b>"},
                          [TP_DIM] = {"<small>", "</small>"},
                          [TP_RED] = {"<b class=\"bad\">", "</b>"},
                          [TP_GREEN] = {"<b class=\"good\">", "</b>"}}};
    const char *const *mark = marks[p->form][style];
    bool marked = mark[0] && (p->color || p->form != TP_PAGE_SCREEN);
    go_to(p, column);
    fputs(marked ? mark[0] : "", p->out);
    write_format(p, column, format, args);
    fputs(marked ? mark[1] : "", p->out);
}

void tp_page_styled(struct tp_page *p, int column, enum tp_style style, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_styled(p, column, style, format, args);
    va_end(args);
}

void tp_page_dim(struct tp_page *p, int column, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_styled(p, column, TP_DIM, format, args);
    va_end(args);
    tp_page_line(p);
}

void tp_page_lines(struct tp_page *p, int column, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        tp_page_at(p, column, "%.*s", (int)length, text);
        tp_page_line(p);
        text += length + (text[length] == '\n');
    }
}

void tp_page_unbroken(struct tp_page *p, const char *text)
{
    if (p->form != TP_PAGE_SCREEN) {
        write_words(p, 0, text);
        return;
    }
    fputs(text, p->out);
    p->column += tp_text_width(text);
}

void tp_page_command(struct tp_page *p, const char *before, const char *word)
{
    struct tp_str text = {0};
    tp_str_add(&text, "%s ", before);
    tp_str_escape(&text, TP_TO_SHELL, word);
    tp_page_unbroken(p, tp_str_text(&text));
    tp_page_line(p);
    tp_str_drop(&text);
}

void tp_page_right(struct tp_page *p, int end, const char *text)
{
    int start = end - tp_text_width(text);
    if (!*text)
        return; /* avoids blanks at the end of a line */
    if (start <= p->column && p->column)
        start = p->column +
                1; /* the text is too wide: one blank separates it from the text before it */
    go_to(p, start > 0 ? start : 0);
    tp_page_unbroken(p, text);
}
