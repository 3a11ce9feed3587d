/* Numbers in a form that people read, and the page that they are printed on. All reports use these
 * functions, so that a quantity looks the same everywhere. */
#ifndef TP_TEXT_H
#define TP_TEXT_H

#include "alloc/base/err.h"
#include "alloc/base/numbers.h"
#include "alloc/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tp_text tp_percent(double share); /* 0.076 -> 7.6%; 0.9999 -> >99.9%; NAN -> - */
struct tp_text tp_times(double ratio);   /* 5.8x; NAN -> - */
/* A change such as "+0.3 points". A smaller one gets as many decimals as it takes to show a digit,
 * such as "-0.0006%", and never reads "+0.0". */
struct tp_text tp_signed(double value, const char *unit);
/* A share in percent without its unit: "+4.9", "-0.0", "+47,900"; and an interval of shares, such
 * as
 * "[-1.2, +4.9]". Neither may be NAN. */
struct tp_text tp_signed_percent(double share);
struct tp_text tp_signed_interval(double low, double high);
struct tp_text tp_change(double change); /* now / before - 1: -60.1%, 11.0x; NAN -> - */
struct tp_text tp_duration(uint64_t ns); /* 3.461 ms */
struct tp_text tp_today(void);           /* 2026-10-02; SOURCE_DATE_EPOCH if that is set */

/* A latency with the precision of its clock: "<=10" up to one step, "~30" below ten steps, else the
 * plain number. */
struct tp_text tp_latency_text(uint64_t ns, double step_ns);

/* Whether a latency is below ten steps of its clock, if a step is 1 ns or more. */
bool tp_latency_is_coarse(uint64_t ns, double step_ns);

enum tp_style { TP_PLAIN, TP_BOLD, TP_DIM, TP_RED, TP_GREEN, TP_STYLES };

/* In Markdown for GitHub and in HTML nothing is wrapped or aligned in columns, and texts are
 * escaped. HTML is the content of paragraphs: whoever begins the first one ends the last one. */
enum tp_page_form { TP_PAGE_SCREEN, TP_PAGE_MARKDOWN, TP_PAGE_HTML };

/* A text screen that wraps lines between words. */
struct tp_page {
    FILE *out;
    int width; /* columns, 80..100 */
    bool color;
    bool exact; /* sizes are shown in bytes */
    enum tp_page_form form;
    bool no_curves; /* curves of strategies are left out: a chart beside has them */
    int column;     /* column of the next character, from 0 */
};

/* The width is that of the terminal, limited to 80..100, or 100 if `out` is no terminal. `color`: 0
 * never, 1 always, 2 if `out` is a terminal and NO_COLOR is not set. */
void tp_page_init(struct tp_page *p, FILE *out, unsigned color);

/* Moves to `column`, on a new line if the line is already past it, and writes words. Lines that
 * wrap continue at `column`. */
void tp_page_at(struct tp_page *p, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Like tp_page_at, and ends the line. */
void tp_page_put(struct tp_page *p, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a whole line: a name at `column`, and the formatted text at the column `value`. */
void tp_page_row(struct tp_page *p, int column, const char *name, int value, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
/* Writes more words on the current line. Lines that wrap continue at `indent`. */
void tp_page_more(struct tp_page *p, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a warning: "! small-trace   ...", the id and then the sentence. */
void tp_page_warning(struct tp_page *p, int column, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The column for texts beside two names at the left margin. */
int tp_page_beside(const char *one, const char *other);
/* Writes a name at the left margin. The line ends if the name reaches `column`. */
void tp_page_side(struct tp_page *p, const char *name, int column);
/* Like tp_page_at, in a style. */
void tp_page_styled(struct tp_page *p, int column, enum tp_style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes a whole dim line, for explanations. */
void tp_page_dim(struct tp_page *p, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes a text of several lines, each at `column`. */
void tp_page_lines(struct tp_page *p, int column, const char *text);
/* Writes a text on the current line, which does not wrap, so that it can be copied. */
void tp_page_unbroken(struct tp_page *p, const char *text);
/* Writes a command for a shell on a line that does not wrap: `before`, then `word` with quotes if
 * it needs them. */
void tp_page_command(struct tp_page *p, const char *before, const char *word);
/* Writes a text that ends before the column `end`. */
void tp_page_right(struct tp_page *p, int end, const char *text);
void tp_page_line(struct tp_page *p); /* ends the line */

/* The width of UTF-8 text on a terminal, in columns. Every character counts as one. */
int tp_text_width(const char *text);

/* The number of bytes in the first `columns` columns of a text. Characters are not cut. */
size_t tp_text_bytes(const char *text, int columns);

/* The commit that tapool was built from, as `git describe` names it, with "-dirty" where files
 * differed from it; "": not known. main() sets it. */
extern const char *tp_commit;

/* Writes "tapool 0.1.0 (release)", with a commit "tapool 0.1.0 (release, 4f2a91c)". */
void tp_put_tool(FILE *out);

/* Names that nothing has. */

/* Fails because `name` is not one of `names`, which end in NULL. The hint is the nearest of them,
 * and the command `lister` that lists all. TP_EUSAGE. */
void tp_unknown_name(struct tp_err *err, const char *what, const char *name,
                     const char *const *names, const char *lister);

#endif
