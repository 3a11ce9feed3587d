/* The text screen; see text.h. Wraps at words, so a report fits 80 columns as well as 100. */
#include "cmd/ui/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_MIN = 80, WIDTH_MAX = 100, TEXT_MAX = 4096 };

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

int tp_text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += begins_character(*text);
    return width;
}

size_t tp_text_bytes(const char *text, int columns)
{
    size_t at = 0;
    for (; text[at]; at++)
        if (begins_character(text[at]) && columns-- <= 0)
            break;
    return at;
}

void tp_page_init(struct tp_page *p, FILE *out, unsigned color)
{
    struct winsize size = {0};
    bool terminal = isatty(fileno(out));
    int width = WIDTH_MAX;
    if (terminal && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col)
        width = size.ws_col;
    const char *quiet = getenv("NO_COLOR");
    width = width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
    *p = (struct tp_page){.out = out, .width = width};
    p->color = color == 1 || (color == 2 && terminal && !(quiet && *quiet));
}

/* A name with '@' in a comment would call somebody, and "#12" would link to something: a
 * comment of HTML keeps what follows apart. Ends of lines would end a table. */
void tp_markdown_text(const char *text, FILE *out)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) {
            fputc(' ', out);
            continue;
        }
        if (strchr("\\`*_{}[]<>#|~!&$", *text))
            fputc('\\', out);
        fputc(*text, out);
        if (*text == '@' || (*text == '#' && isdigit((unsigned char)text[1])))
            fputs("<!-- -->", out);
    }
}

void tp_page_line(struct tp_page *p)
{
    fputs(p->markdown && p->column ? "  \n" : "\n", p->out); /* blanks: lines are not joined */
    p->column = 0;
}

static void go_to(struct tp_page *p, int column)
{
    if (p->column > column)
        tp_page_line(p);
    if (!p->markdown)
        fprintf(p->out, "%*s", column - p->column, "");
    else if (p->column && p->column < column)
        fputc(' ', p->out);
    p->column = column;
}

/* Columns of this line that a word takes which is longer than that. It is not broken before two
 * colons: a line that begins with them is a command to some services that run jobs. */
static int room_for(const struct tp_page *p, int indent, const char *word)
{
    int room = p->column < p->width ? p->width - p->column : 0;
    bool colons = !strncmp(word + tp_text_bytes(word, room), "::", 2);
    return colons && room > (p->column <= indent) ? room - 1 : room;
}

/* A word that is longer than a line, such as a name from a trace, is broken where the line ends. */
static void write_word(struct tp_page *p, int indent, const char *word)
{
    int rest = tp_text_width(word);
    while (p->column + rest > p->width && p->width > indent) {
        int room = room_for(p, indent, word);
        size_t part = tp_text_bytes(word, room);
        fprintf(p->out, "%.*s", (int)part, word);
        rest -= room;
        word += part;
        tp_page_line(p);
        go_to(p, indent);
    }
    fputs(word, p->out);
    p->column += rest;
}

/* Writes words; a word that does not fit goes to the next line, at `indent`. */
static void write_words(struct tp_page *p, int indent, const char *text)
{
    if (p->markdown) {
        tp_markdown_text(text, p->out);
        p->column += tp_text_width(text);
        return;
    }
    while (*text) {
        size_t blanks = strspn(text, " ");
        size_t length = strcspn(text + blanks, " ");
        char word[TEXT_MAX];
        snprintf(word, sizeof word, "%.*s", (int)length, text + blanks);
        int width = tp_text_width(word);
        if (p->column + (int)blanks + width > p->width && p->column > indent) {
            tp_page_line(p);
            go_to(p, indent);
            blanks = 0;
        }
        fprintf(p->out, "%*s", (int)blanks, "");
        p->column += (int)blanks;
        write_word(p, indent, word);
        text += strspn(text, " ") + length;
    }
}

void tp_page_at(struct tp_page *p, int column, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    go_to(p, column);
    write_words(p, column, text);
}

void tp_page_more(struct tp_page *p, int indent, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    write_words(p, indent, text);
}

void tp_page_styled(struct tp_page *p, int column, enum tp_style style, const char *format, ...)
{
    static const char *const codes[] = {"", "\033[1m", "\033[2m", "\033[31;1m", "\033[32m"};
    static const char *const marks[] = {"", "**", "", "**", ""};
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    go_to(p, column);
    if (p->color || p->markdown)
        fputs(p->markdown ? marks[style] : codes[style], p->out);
    write_words(p, column, text);
    if (p->markdown)
        fputs(marks[style], p->out);
    else if (p->color && style != TP_PLAIN)
        fputs("\033[0m", p->out);
}

void tp_page_right(struct tp_page *p, int end, const char *text)
{
    int start = end - tp_text_width(text);
    if (!*text)
        return; /* no blanks at the end of a line */
    if (start <= p->column && p->column)
        start = p->column + 1; /* too wide for its column: still apart from its neighbour */
    go_to(p, start > 0 ? start : 0);
    fputs(text, p->out);
    p->column += tp_text_width(text);
}
