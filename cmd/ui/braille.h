/* Pictures of dots on a terminal: each character is a braille pattern of 2 x 4 dots.
 *
 *     dots    . . | * . | * *        row 0 is at the top; dots are counted
 *             . * | * . | . .        from the left and from the bottom
 *             * * | * . | . .
 *             * * | . * | . .  */
#ifndef TP_BRAILLE_H
#define TP_BRAILLE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TP_BRAILLE_WIDTH = 100, /* the most characters in a row */
    TP_BRAILLE_HEIGHT = 12, /* the most rows */
    TP_BRAILLE_ACROSS = 2,  /* dots of a character */
    TP_BRAILLE_UP = 4,
    TP_BRAILLE_TEXT = 3 * TP_BRAILLE_WIDTH + 1 /* bytes of a row as text */
};

struct tp_braille {
    uint32_t width, height; /* characters, rows */
    uint8_t cells[TP_BRAILLE_HEIGHT]
                 [TP_BRAILLE_WIDTH]; /* dots of each character, as Unicode has them */
};

/* Whether the locale of the user's terminal (LC_ALL, LC_CTYPE, LANG) is one of UTF-8, in which it
 * can show such characters. */
bool tp_braille_can_show(void);

/* Makes an empty picture. `width` is 1..TP_BRAILLE_WIDTH, `height` 1..TP_BRAILLE_HEIGHT. */
void tp_braille_begin(struct tp_braille *b, uint32_t width, uint32_t height);

/* Sets a dot, which must be inside. */
void tp_braille_dot(struct tp_braille *b, uint32_t x, uint32_t y);

/* Sets the dots of a column from `low` to `high`, both included and inside. */
void tp_braille_bar(struct tp_braille *b, uint32_t x, uint32_t low, uint32_t high);

/* Sets one in four dots of a column below `end`, so that an area looks grey. */
void tp_braille_shade(struct tp_braille *b, uint32_t x, uint32_t end);

/* Writes a row as text, from the top, without what is empty at its end. */
void tp_braille_row(const struct tp_braille *b, uint32_t row, char out[TP_BRAILLE_TEXT]);

#endif
