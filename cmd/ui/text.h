/* Numbers as people read them, and the page that they stand on. Every report formats through here,
 * so a quantity looks the same everywhere. */
#ifndef TP_TEXT_H
#define TP_TEXT_H

#include "alloc/base/numbers.h"
#include "alloc/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct tp_text tp_percent(double share); /* 0.076 -> 7.6 %; 0.9999 -> >99.9 %; NAN -> - */
struct tp_text tp_times(double ratio);   /* 5.8x; NAN -> - */
/* A change: "+0.3 points"; of less as many decimals as show a digit, "-0.0006 %": never "+0.0". */
struct tp_text tp_signed(double value, const char *unit);
struct tp_text tp_change(double change); /* now / before - 1: -60.1 %, 11.0x; NAN -> - */
struct tp_text tp_duration(uint64_t ns); /* 3.461 ms */
struct tp_text tp_today(void); /* 2026-10-02; the day that a reproducible build says it is */

/* A latency by the limits of its clock: "<=10" up to one step, "~30" below ten steps, else plain.
 */
struct tp_text tp_latency_text(uint64_t ns, double step_ns);

/* Coarse: below ten steps of a clock whose step can be seen at all (1 ns or more). */
bool tp_latency_is_coarse(uint64_t ns, double step_ns);

enum tp_style { TP_PLAIN, TP_BOLD, TP_DIM, TP_RED, TP_GREEN };

/* A text screen that wraps words and knows its width. */
struct tp_page {
    FILE *out;
    int width; /* 80..100 */
    bool color;
    bool exact;    /* bytes in full */
    bool markdown; /* for GitHub: nothing is wrapped or set in columns, no text is taken for markup
                    */
    int column;    /* where the next character goes */
};

/* Width: of the terminal between 80 and 100, 100 where `out` is none. color: 0 never, 1 always,
 * 2 where `out` is a terminal and NO_COLOR is not set. */
void tp_page_init(struct tp_page *p, FILE *out, unsigned color);

/* Goes to `column` (a new line where it is already passed) and writes words, wrapping to `column`.
 */
void tp_page_at(struct tp_page *p, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A whole line. */
void tp_page_put(struct tp_page *p, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A whole line: a name at `column`, and at `value` what is to be said of it. */
void tp_page_row(struct tp_page *p, int column, const char *name, int value, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
/* Goes on where the line is and wraps to `indent`. */
void tp_page_more(struct tp_page *p, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "! small-trace   ...": its id, and its sentence beside it. */
void tp_page_warning(struct tp_page *p, int column, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Where that stands which is said of two names at the left; such a name: one that is too long for
 * it has a line of its own. */
int tp_page_beside(const char *one, const char *other);
void tp_page_side(struct tp_page *p, const char *name, int column);
/* As tp_page_at, in a style. */
void tp_page_styled(struct tp_page *p, int column, enum tp_style style, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A whole line that is dim: what a mark means. */
void tp_page_dim(struct tp_page *p, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A text of several lines, each at `column`. */
void tp_page_lines(struct tp_page *p, int column, const char *text);
/* A command to be typed, which nothing wraps: `before` and a word as a shell takes it. */
void tp_page_command(struct tp_page *p, const char *before, const char *word);
/* Right-aligned to end before `end`. */
void tp_page_right(struct tp_page *p, int end, const char *text);
void tp_page_line(struct tp_page *p); /* ends the line */

/* Columns that a terminal shows for UTF-8 text without wide characters. */
int tp_text_width(const char *text);

/* Bytes of its first so many columns: none of its characters is cut. */
size_t tp_text_bytes(const char *text, int columns);

#endif
