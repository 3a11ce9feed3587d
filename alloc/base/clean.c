/* Cleaning of text from outside: names in traces, names of files.
 *
 * UTF-8 is decoded strictly (no overlong forms, no surrogates). Unprintable characters, and the
 * first character of a command to a CI service, become '?'; invalid UTF-8 becomes one '?' per byte.
 * Known weakness: letters that look like other letters are kept. */
#include "alloc/base/clean.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Code points that control a terminal or the direction of text: C0, DEL, C1, directional marks,
 * line and paragraph separators. */
static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Length of the UTF-8 sequence that begins with this byte; 0: no sequence begins with it. */
static size_t sequence_length(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Decodes one character; returns its length in bytes, 0 where it is not UTF-8. The NUL at the end
 * stops every sequence, so nothing is read beyond it. */
static size_t decode(const unsigned char *in, uint32_t *point)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = sequence_length(in[0]);
    if (n <= 1) {
        *point = in[0];
        return n;
    }
    uint32_t c = in[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((in[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (in[i] & 0x3fu);
    }
    if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *point = c;
    return n;
}

/* Is the character taken for a blank by any CI service? Blanks at the beginning of a line are
 * skipped before a command is searched. */
static bool is_blank(uint32_t c)
{
    return c == ' ' || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

/* CI services read commands from the output of jobs: "::error::..." at the beginning of a line, and
 * "##[error]..." or "##vso[...]" anywhere. Any word of a text may end up at the beginning of a
 * line. `open`: two colons at this place are not part of a longer word. */
static bool is_command(const unsigned char *at, bool open)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (at[0] == ':' && at[1] == ':')
        return open;
    return at[0] == '#' && at[1] == '#' && at[2 + strspn((const char *)at + 2, letters)] == '[';
}

void tp_clean_text(const char *in, char *out, size_t size)
{
    if (size == 0)
        return;
    const unsigned char *from = (const unsigned char *)(in ? in : "");
    size_t used = 0;
    bool open = true;
    while (*from) {
        uint32_t point = 0;
        size_t n = decode(from, &point);
        bool keep = n > 0 && !is_control(point) && !is_command(from, open);
        size_t width = keep ? n : 1;
        if (used + width >= size)
            break;
        if (keep)
            memcpy(out + used, from, n);
        else
            out[used] = '?';
        open = keep ? is_blank(point) || point == ':' : open;
        used += width;
        from += n > 0 ? n : 1;
    }
    out[used] = '\0';
}

char *tp_clean_copy(const char *in, size_t limit)
{
    size_t length = in ? strlen(in) : 0;
    size_t size = (length < limit ? length : limit) + 1;
    char *out = malloc(size);
    if (out)
        tp_clean_text(in, out, size);
    return out;
}
