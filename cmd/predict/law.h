/* How the size of one allocation grows with a setting of the program, such as its batch size.
 *
 *     recorded sizes  4,096 at 128   8,192 at 256   -->  32 n         -->  32,768 at 1,024
 *
 * Laws are looked for in this order, each exact in integers for all recorded sizes: constant, k n,
 * k n^2, the same with n rounded up to a multiple of 8 to 512, a + k n, a + k n^2, and from three
 * sizes on these with n rounded up, and a polynomial of degree 2, of three with parts that are
 * whole and not negative. */
#ifndef TP_LAW_H
#define TP_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_LAW_N_MOST (UINT64_C(1) << 24) /* largest value of a setting */

enum tp_law_kind {
    TP_LAW_NONE, /* the sizes contradict all of them; predicted sizes lie on a line */
    TP_LAW_CONSTANT,
    TP_LAW_POWER,     /* k n^power */
    TP_LAW_PADDED,    /* the same, of n rounded up to `multiple` */
    TP_LAW_SHIFTED,   /* a + k n^power */
    TP_LAW_QUADRATIC, /* a + b n + c n^2 */
    TP_LAW_KINDS
};

struct tp_law {
    enum tp_law_kind kind;
    unsigned power;         /* 1 or 2 */
    unsigned multiple;      /* that n is rounded up to; 0: none */
    uint64_t n[3], size[3]; /* the sizes that define it */
};

/* Finds the law of `count` sizes, at least one, in bytes; `n` are the values of the setting, from 1
 * to TP_LAW_N_MOST, none twice. Of a single size it is the constant. */
struct tp_law tp_law_of(const uint64_t *n, const uint64_t *size, size_t count);

/* The size at `n`. False: it is above TP_MAX_SIZE. A part of a byte counts as a whole one. */
bool tp_law_at(const struct tp_law *law, uint64_t n, uint64_t *size);

/* In reports: "constant", "n", "n^2", "n, padded to 64", "a + k n^2". */
enum { TP_LAW_TEXT = 40 };
void tp_law_text(const struct tp_law *law, char text[TP_LAW_TEXT]);

#endif
