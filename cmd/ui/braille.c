/* See braille.h. The pattern of a character is U+2800 with a bit for each of its dots. A character
 * without dots is written as its empty pattern, which is as wide as the others where they come from
 * another font than the rest of the text. */
#include "cmd/ui/braille.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

bool tp_braille_can_show(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !(locale && *locale); i++)
        locale = getenv(names[i]);
    for (; locale && *locale; locale++)
        if (!strncasecmp(locale, "utf-8", 5) || !strncasecmp(locale, "utf8", 4))
            return true;
    return false;
}

void tp_braille_begin(struct tp_braille *b, uint32_t width, uint32_t height)
{
    assert(width && width <= TP_BRAILLE_WIDTH && height && height <= TP_BRAILLE_HEIGHT);
    *b = (struct tp_braille){.width = width, .height = height};
}

void tp_braille_dot(struct tp_braille *b, uint32_t x, uint32_t y)
{
    /* by row from the bottom, then from the left */
    static const uint8_t bits[TP_BRAILLE_UP][TP_BRAILLE_ACROSS] = {
        {0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}};
    assert(x < b->width * TP_BRAILLE_ACROSS && y < b->height * TP_BRAILLE_UP);
    b->cells[b->height - 1 - y / TP_BRAILLE_UP][x / TP_BRAILLE_ACROSS] |=
        bits[y % TP_BRAILLE_UP][x % TP_BRAILLE_ACROSS];
}

void tp_braille_bar(struct tp_braille *b, uint32_t x, uint32_t low, uint32_t high)
{
    for (uint32_t y = low; y <= high; y++)
        tp_braille_dot(b, x, y);
}

void tp_braille_shade(struct tp_braille *b, uint32_t x, uint32_t end)
{
    for (uint32_t y = 0; y < end; y++)
        if ((y + 2 * x) % 4 == 0)
            tp_braille_dot(b, x, y);
}

void tp_braille_row(const struct tp_braille *b, uint32_t row, char out[TP_BRAILLE_TEXT])
{
    char *at = out, *end = out;
    for (uint32_t i = 0; i < b->width; i++) {
        uint8_t dots = b->cells[row][i];
        *at++ = (char)0xe2;
        *at++ = (char)(0xa0 | dots >> 6);
        *at++ = (char)(0x80 | (dots & 0x3f));
        end = dots ? at : end;
    }
    *end = '\0';
}
