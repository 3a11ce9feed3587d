/* How the size of one allocation grows with a setting of the program, such as its batch size.
 *
 *     recorded sizes  4,096 at 128   8,192 at 256   -->  32 n         -->  32,768 at 1,024
 *
 * Laws are looked for in this order, each exact in integers for all recorded sizes: constant, k n,
 * k n^2, the same with n rounded up to a multiple of 8 to 512, a + k n, a + k n^2, and from three
 * sizes on these with n rounded up, and a polynomial of degree 2, of three with parts that are
 * whole and not negative. Where n rounded up and a + k n^p both explain the sizes, either may be
 * it.
 *
 * Laws of several settings are looked for in this order: constant, k x, the same with some settings
 * rounded up to a multiple of 8 to 512, a + k x, each with x a product of powers of the settings,
 * and of two settings and four sizes on a + b n + c m + d n m with parts that are whole and not
 * negative. They take more sizes than settings, and two values at least of each setting. */
#ifndef TP_LAW_H
#define TP_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_LAW_N_MOST (UINT64_C(1) << 24) /* largest value of a setting */
enum {
    TP_LAW_MULTIPLE_LEAST = 8, /* that values are rounded up to: powers of 2 */
    TP_LAW_MULTIPLE_MOST = 512,
    TP_AXES = 4,       /* settings of a program that vary at once, at most */
    TP_LAW_POINTS = 64 /* sizes that a law is found from, at most */
};

/* The values of all settings that vary, such as batch size and length. */
struct tp_axis_values {
    uint64_t values[TP_AXES]; /* 1 to TP_LAW_N_MOST each */
    size_t count;
};

enum tp_law_kind {
    TP_LAW_NONE, /* the sizes contradict all of them; predicted sizes lie on a line */
    TP_LAW_CONSTANT,
    TP_LAW_POWER,     /* k n^power */
    TP_LAW_PADDED,    /* the same, of n rounded up to `multiple` */
    TP_LAW_SHIFTED,   /* a + k n^power */
    TP_LAW_QUADRATIC, /* a + b n + c n^2 */
    TP_LAW_PRODUCT,   /* k x or a + k x of several settings: x is the product of their powers,
                       * of some rounded up to `multiple` */
    TP_LAW_BILINEAR,  /* a + b n + c m + d n m of two settings */
    TP_LAW_KINDS
};

struct tp_law {
    enum tp_law_kind kind;
    bool ambiguous;          /* of TP_LAW_NONE: more than one law explains all sizes */
    unsigned power;          /* 1 or 2 */
    unsigned multiple;       /* that n is rounded up to; 0: none */
    unsigned multiple_most;  /* the largest that explains the sizes, too */
    unsigned or_shifted;     /* of TP_LAW_PADDED: a + k n^or_shifted explains them, too; 0: no */
    uint64_t n[3], size[3];  /* the sizes that define it; of a product, n are values of x */
    uint64_t parts[4];       /* of TP_LAW_BILINEAR: a to d, each up to TP_MAX_SIZE */
    uint8_t powers[TP_AXES]; /* of a product: 0 to 2 each, together up to one more than settings */
    uint8_t padded;          /* of a product: bit i is set where setting i is rounded up */
};

/* Finds the law of `count` sizes, at least one, in bytes; `n` are the values of the setting, from 1
 * to TP_LAW_N_MOST, none twice; at most TP_LAW_POINTS of them. Of a single size it is the constant.
 */
struct tp_law tp_law_of(const uint64_t *n, const uint64_t *size, size_t count);

/* The same of several settings, with as many in each of `at`. Of two products that hold for all
 * sizes, none is taken; TP_LAW_NONE too where the sizes do not decide. With one setting, or of a
 * single size, it is tp_law_of. */
struct tp_law tp_law_of_settings(const struct tp_axis_values *at, const uint64_t *size,
                                 size_t count);

/* Whether sizes at these values, at least one, decide a law: there are more of them than settings,
 * and each setting varies. */
bool tp_law_decides(const struct tp_axis_values *at, size_t count);

/* The size at these values, as tp_law_at. */
bool tp_law_at_setting(const struct tp_law *law, const struct tp_axis_values *at, uint64_t *size);

/* A law of a single size, which grows with these powers of the settings, 0 to 2 each. */
struct tp_law tp_law_grown(const struct tp_axis_values *at, uint64_t size,
                           const uint8_t powers[TP_AXES]);

/* The other law of one that has `or_shifted`. */
struct tp_law tp_law_shifted(const struct tp_law *law);

/* The size at `n`. False: it is above TP_MAX_SIZE. A part of a byte counts as a whole one. */
bool tp_law_at(const struct tp_law *law, uint64_t n, uint64_t *size);

/* In reports: "constant", "n", "n^2", "n, padded to 64", "a + k n^2", and with the names of several
 * settings "batch seq^2", "batch seq, seq padded to 64", "a + b batch + c seq". */
enum { TP_LAW_TEXT = 256 };
void tp_law_text(const struct tp_law *law, char *const axes[TP_AXES], char text[TP_LAW_TEXT]);

#endif
