/* See law.h. All products stay below 2^127: a size is below 2^49, a value of the setting below
 * 2^25. */
#include "cmd/predict/law.h"

#include "alloc/program/program.h"

#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 wide;

/* Most products have three factors of n: (2^24)^3 times 2^48 is 2^120. */
static_assert(TP_LAW_N_MOST <= UINT64_C(1) << 24, "products fit");

static wide power_of(uint64_t n, unsigned power)
{
    return power == 2 ? (wide)n * n : (wide)n;
}

static uint64_t padded(uint64_t n, unsigned multiple)
{
    return multiple ? (n + multiple - 1) / multiple * multiple : n;
}

/* The sizes of which a law is looked for. */
struct sizes {
    const uint64_t *n, *size;
    size_t count;
};

static bool is_constant(const struct sizes *s)
{
    for (size_t i = 1; i < s->count; i++)
        if (s->size[i] != s->size[0])
            return false;
    return true;
}

static bool is_power(const struct sizes *s, unsigned power, unsigned multiple)
{
    wide first = power_of(padded(s->n[0], multiple), power);
    for (size_t i = 1; i < s->count; i++)
        if ((wide)s->size[i] * first != s->size[0] * power_of(padded(s->n[i], multiple), power))
            return false;
    return s->count > 1;
}

/* The factor must be a whole number and nothing be below 0 bytes: of two sizes every line would be
 * one otherwise. */
static bool is_shifted(const struct sizes *s, unsigned power, unsigned multiple)
{
    wide x = power_of(padded(s->n[0], multiple), power);
    wide run = power_of(padded(s->n[1], multiple), power) - x;
    wide rise = (wide)s->size[1] - s->size[0];
    if (!run || rise % run != 0 || rise / run < 0 || s->size[0] < rise / run * x)
        return false;
    for (size_t i = 2; i < s->count; i++)
        if (s->size[i] !=
            s->size[0] + rise / run * (power_of(padded(s->n[i], multiple), power) - x))
            return false;
    return true;
}

/* Newton's form, over one denominator: *numerator / *denominator is the size at `n`. */
static void quadratic(const struct tp_law *law, uint64_t n, wide *numerator, wide *denominator)
{
    wide run = (wide)law->n[1] - law->n[0], rise = (wide)law->size[1] - law->size[0];
    wide run2 = (wide)law->n[2] - law->n[1], rise2 = (wide)law->size[2] - law->size[1];
    wide over = (wide)law->n[2] - law->n[0], at = (wide)n - law->n[0], behind = (wide)n - law->n[1];
    wide bend = rise2 * run - rise * run2; /* times 1 / (run run2 over) */
    *denominator = run * run2 * over;
    *numerator = law->size[0] * *denominator + rise * at * run2 * over + bend * at * behind;
}

static struct tp_law law_of_kind(const struct sizes *s, enum tp_law_kind kind, unsigned power,
                                 unsigned multiple)
{
    struct tp_law law = {
        .kind = kind, .power = power, .multiple = multiple, .multiple_most = multiple};
    for (size_t i = 0; i < 3; i++) {
        size_t from = i < s->count ? i : s->count - 1;
        law.n[i] = s->n[from];
        law.size[i] = s->size[from];
    }
    return law;
}

/* Whether all three parts are whole and none is below 0: there is a parabola through any three
 * sizes. */
static bool has_whole_parts(const struct sizes *s)
{
    wide run = (wide)s->n[1] - s->n[0], rise = (wide)s->size[1] - s->size[0];
    wide run2 = (wide)s->n[2] - s->n[1], rise2 = (wide)s->size[2] - s->size[1];
    wide bend = rise2 * run - rise * run2, over = run * run2 * ((wide)s->n[2] - s->n[0]);
    if (rise % run || bend % over)
        return false;
    wide square = bend / over, linear = rise / run - square * ((wide)s->n[0] + s->n[1]);
    return square >= 0 && linear >= 0 &&
           (wide)s->size[0] >= linear * s->n[0] + square * s->n[0] * s->n[0];
}

static bool is_quadratic(const struct sizes *s)
{
    struct tp_law law = law_of_kind(s, TP_LAW_QUADRATIC, 2, 0);
    wide numerator = 0, denominator = 0;
    if (s->count == 3 && !has_whole_parts(s))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        quadratic(&law, s->n[i], &numerator, &denominator);
        if (numerator != denominator * (wide)s->size[i])
            return false;
    }
    return s->count >= 3;
}

/* Whether the sizes have such a law with n rounded up: of the smallest multiple that explains them.
 * A larger one may explain them, too. */
static bool find_padded(const struct sizes *s,
                        bool (*holds)(const struct sizes *, unsigned power, unsigned multiple),
                        enum tp_law_kind kind, struct tp_law *out)
{
    bool found = false;
    for (unsigned multiple = TP_LAW_MULTIPLE_LEAST; multiple <= TP_LAW_MULTIPLE_MOST; multiple *= 2)
        for (unsigned power = 1; power <= 2; power++) {
            if ((found && power != out->power) || !holds(s, power, multiple))
                continue;
            if (!found)
                *out = law_of_kind(s, kind, power, multiple);
            out->multiple_most = multiple;
            found = true;
        }
    return found;
}

struct tp_law tp_law_of(const uint64_t *n, const uint64_t *size, size_t count)
{
    const struct sizes s = {n, size, count};
    if (is_constant(&s))
        return law_of_kind(&s, TP_LAW_CONSTANT, 0, 0);
    for (unsigned power = 1; power <= 2; power++)
        if (is_power(&s, power, 0))
            return law_of_kind(&s, TP_LAW_POWER, power, 0);
    struct tp_law padded, shifted;
    bool pads = find_padded(&s, is_power, TP_LAW_PADDED, &padded);
    for (unsigned power = 1; power <= 2; power++)
        if (is_shifted(&s, power, 0)) {
            padded.or_shifted = power;
            return pads ? padded : law_of_kind(&s, TP_LAW_SHIFTED, power, 0);
        }
    if (pads)
        return padded;
    if (count > 2 && find_padded(&s, is_shifted, TP_LAW_SHIFTED, &shifted))
        return shifted;
    return law_of_kind(&s, is_quadratic(&s) ? TP_LAW_QUADRATIC : TP_LAW_NONE, 2, 0);
}

/* ---- sizes ---- */

/* The size that a law with two points has: y0 + (y1 - y0) (n^p - x0) / (x1 - x0). */
static void line(const struct tp_law *law, unsigned power, uint64_t n, wide *numerator,
                 wide *denominator)
{
    wide x = power_of(padded(law->n[0], law->multiple), power);
    wide at = power_of(padded(n, law->multiple), power);
    *denominator = power_of(padded(law->n[1], law->multiple), power) - x;
    *numerator = law->size[0] * *denominator + ((wide)law->size[1] - law->size[0]) * (at - x);
}

bool tp_law_at(const struct tp_law *law, uint64_t n, uint64_t *size)
{
    wide numerator = law->size[0], denominator = 1;
    if (law->kind == TP_LAW_POWER || law->kind == TP_LAW_PADDED) {
        numerator = law->size[0] * power_of(padded(n, law->multiple), law->power);
        denominator = power_of(padded(law->n[0], law->multiple), law->power);
    } else if (law->kind == TP_LAW_SHIFTED) {
        line(law, law->power, n, &numerator, &denominator);
    } else if (law->kind == TP_LAW_QUADRATIC) {
        quadratic(law, n, &numerator, &denominator);
    } else if (law->kind == TP_LAW_NONE) {
        line(law, 1, n, &numerator, &denominator);
    }
    if (denominator < 0) {
        numerator = -numerator;
        denominator = -denominator;
    }
    wide bytes = numerator > 0 ? (numerator + denominator - 1) / denominator : 0;
    *size = bytes <= (wide)TP_MAX_SIZE ? (uint64_t)bytes : TP_MAX_SIZE;
    *size += !*size; /* an allocation of 0 bytes is none */
    return bytes <= (wide)TP_MAX_SIZE;
}

/* ---- several settings: products ---- */

enum { X_BITS = 60 };

/* The sizes of which a law of several settings is looked for. */
struct varied_sizes {
    const struct tp_axis_values *at;
    const uint64_t *size;
    size_t count;
};

static uint64_t axis_value(const struct tp_law *law, const struct tp_axis_values *at, size_t i)
{
    return padded(at->values[i], law->padded >> i & 1 ? law->multiple : 0);
}

/* The product of the powers; 0: it is above 2^X_BITS. */
static uint64_t product(const struct tp_law *law, const struct tp_axis_values *at)
{
    wide x = 1;
    for (size_t i = 0; i < at->count; i++)
        for (unsigned k = 0; k < law->powers[i] && x; k++) {
            x *= axis_value(law, at, i);
            x = x >> X_BITS ? 0 : x;
        }
    return (uint64_t)x;
}

static unsigned total_power(const uint8_t *powers)
{
    unsigned sum = 0;
    for (size_t i = 0; i < TP_AXES; i++)
        sum += powers[i];
    return sum;
}

/* Counts in threes: the next powers of 0 to 2 each; false behind the last ones. */
static bool next_powers(uint8_t *powers, size_t count)
{
    size_t i = 0;
    while (i < count && powers[i] == 2)
        powers[i++] = 0;
    if (i < count)
        powers[i]++;
    return i < count;
}

static void swap(uint64_t *list, size_t a, size_t b)
{
    uint64_t was = list[a];
    list[a] = list[b];
    list[b] = was;
}

/* Whether x has three values or more: any two points lie on a line. */
static bool has_three(const uint64_t *x, size_t count, size_t other)
{
    bool third = false;
    for (size_t i = 0; i < count; i++)
        third |= x[i] != x[0] && x[i] != x[other];
    return third;
}

/* Whether the sizes are k x, or with `shifted` a + k x, of the powers and the padding of `form`. */
static bool is_product(const struct varied_sizes *of, const struct tp_law *form, bool shifted,
                       struct tp_law *out)
{
    uint64_t x[TP_LAW_POINTS], y[TP_LAW_POINTS];
    const struct sizes s = {x, y, of->count};
    size_t other = 0; /* a point that lies elsewhere becomes the second one */
    for (size_t i = 0; i < of->count; i++) {
        if (!(x[i] = product(form, &of->at[i])))
            return false;
        y[i] = of->size[i];
        other = !other && x[i] != x[0] ? i : other;
    }
    if (!other || (shifted && !has_three(x, of->count, other)))
        return false;
    swap(x, 1, other);
    swap(y, 1, other);
    if (shifted ? !is_shifted(&s, 1, 0) : !is_power(&s, 1, 0))
        return false;
    *out = law_of_kind(&s, TP_LAW_PRODUCT, 1, form->multiple);
    memcpy(out->powers, form->powers, sizeof out->powers);
    out->padded = form->padded;
    return true;
}

static bool pads_a_factor(const struct tp_law *form)
{
    for (size_t i = 0; i < TP_AXES; i++)
        if (form->padded >> i & 1 && !form->powers[i])
            return false;
    return true;
}

/* How many products hold, and the first of them. One square beside a factor of each other setting
 * is the most that programs do: with more, a + k x would often hold for the square of x, too. */
static size_t count_products(const struct varied_sizes *of, struct tp_law form, bool shifted,
                             struct tp_law *out)
{
    size_t found = 0;
    struct tp_law law;
    while (next_powers(form.powers, of->at->count))
        if (total_power(form.powers) <= of->at->count + 1 && pads_a_factor(&form) &&
            is_product(of, &form, shifted, &law) && !found++)
            *out = law;
    return found;
}

/* Whether the recordings tell that these settings are padded: of each, rounding changes a value and
 * leaves two different ones. */
static bool shows_padding(const struct varied_sizes *of, const struct tp_law *form)
{
    for (size_t axis = 0; axis < of->at->count; axis++) {
        bool changes = false, varies = false;
        for (size_t i = 0; i < of->count; i++) {
            uint64_t value = axis_value(form, &of->at[i], axis);
            changes |= value != of->at[i].values[axis];
            varies |= value != axis_value(form, of->at, axis);
        }
        if (form->padded >> axis & 1 && !(changes && varies))
            return false;
    }
    return true;
}

static bool is_same_form(const struct tp_law *a, const struct tp_law *b)
{
    return a->padded == b->padded && !memcmp(a->powers, b->powers, sizeof a->powers);
}

/* The smallest multiple counts, as with one setting. */
static size_t count_padded(const struct varied_sizes *of, struct tp_law *out)
{
    size_t found = 0;
    for (unsigned multiple = TP_LAW_MULTIPLE_LEAST; multiple <= TP_LAW_MULTIPLE_MOST;
         multiple *= 2) {
        size_t here = 0;
        for (unsigned mask = 1; mask < 1u << of->at->count; mask++) {
            const struct tp_law form = {.multiple = multiple, .padded = (uint8_t)mask};
            struct tp_law law;
            size_t more = shows_padding(of, &form) ? count_products(of, form, false, &law) : 0;
            if (more && !found && !here)
                *out = law;
            else if (more && is_same_form(&law, out))
                out->multiple_most = multiple;
            here += more;
        }
        found = found ? found : here;
    }
    return found;
}

/* ---- two settings: a + b x + c y + d x y ---- */

/* A point from the first one: its x, y and x y, which are below 2^24, 2^24 and 2^48, so that a
 * determinant with sizes in a column is below 6 * 2^120. */
struct offset {
    wide part[3], size;
};

static struct offset offset_of(const struct varied_sizes *of, size_t i, bool crossed)
{
    const uint64_t *from = of->at[0].values, *to = of->at[i].values;
    wide cross = (wide)to[0] * to[1] - (wide)from[0] * from[1];
    return (struct offset){{(wide)to[0] - from[0], (wide)to[1] - from[1], crossed ? cross : 0},
                           (wide)of->size[i] - of->size[0]};
}

enum { NO_COLUMN = 3 };

static wide entry(const struct offset *o, size_t column, size_t replaced)
{
    return column == replaced ? o->size : o->part[column];
}

/* Of three offsets, with the sizes in the place of a column; NO_COLUMN: with none. */
static wide determinant(const struct offset o[3], size_t replaced)
{
    wide sum = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t k = (i + 1) % 3, l = (i + 2) % 3;
        sum += entry(&o[0], i, replaced) * (entry(&o[1], k, replaced) * entry(&o[2], l, replaced) -
                                            entry(&o[1], l, replaced) * entry(&o[2], k, replaced));
    }
    return sum;
}

/* Whether the last of these offsets leads out of the line or plane of those before it. */
static bool leads_out(const struct offset *o, size_t count)
{
    bool out = false;
    for (size_t i = 0; i < 3; i++) {
        size_t k = (i + 1) % 3;
        out |= count == 1 ? o[0].part[i] != 0
                          : o[0].part[i] * o[1].part[k] != o[0].part[k] * o[1].part[i];
    }
    return count == 3 ? determinant(o, NO_COLUMN) != 0 : out;
}

/* Three offsets that decide the factors. Without x y the third one says that its factor is 0. */
static bool choose_offsets(const struct varied_sizes *of, bool crossed, struct offset o[3])
{
    size_t chosen = 0, most = crossed ? 3 : 2;
    for (size_t i = 1; i < of->count && chosen < most; i++) {
        o[chosen] = offset_of(of, i, crossed);
        chosen += leads_out(o, chosen + 1);
    }
    if (!crossed)
        o[2] = (struct offset){{0, 0, 1}, 0};
    return chosen == most;
}

static wide bilinear(const uint64_t parts[4], const struct tp_axis_values *at)
{
    const uint64_t *n = at->values;
    return parts[0] + (wide)parts[1] * n[0] + (wide)parts[2] * n[1] + (wide)parts[3] * n[0] * n[1];
}

/* Factors above the largest size cannot be those of parts that are not negative. */
static bool find_factors(const struct offset o[3], uint64_t parts[4])
{
    wide all = determinant(o, NO_COLUMN);
    for (size_t i = 0; i < 3; i++) {
        wide part = determinant(o, i);
        if (part % all || part / all < 0 || part / all > (wide)TP_MAX_SIZE)
            return false;
        parts[i + 1] = (uint64_t)(part / all);
    }
    return true;
}

static bool is_bilinear(const struct varied_sizes *of, bool crossed, struct tp_law *out)
{
    struct offset o[3];
    struct tp_law law = {.kind = TP_LAW_BILINEAR, .power = 1, .size = {of->size[0]}};
    if (of->at->count != 2 || of->count < 4 || !choose_offsets(of, crossed, o) ||
        !find_factors(o, law.parts))
        return false;
    wide rest = of->size[0] - bilinear(law.parts, of->at);
    if (rest < 0)
        return false;
    law.parts[0] = (uint64_t)rest;
    for (size_t i = 0; i < of->count; i++)
        if (bilinear(law.parts, &of->at[i]) != (wide)of->size[i])
            return false;
    *out = law;
    return true;
}

/* ---- several settings ---- */

bool tp_law_decides(const struct tp_axis_values *at, size_t count)
{
    bool all = count > at->count;
    for (size_t axis = 0; axis < at->count; axis++) {
        bool varies = false;
        for (size_t i = 1; i < count; i++)
            varies |= at[i].values[axis] != at->values[axis];
        all &= varies;
    }
    return all;
}

static struct tp_law ambiguous(const struct sizes *s)
{
    struct tp_law law = law_of_kind(s, TP_LAW_NONE, 1, 0);
    law.ambiguous = true;
    return law;
}

static struct tp_law law_of_several(const struct varied_sizes *of, const struct sizes *s)
{
    const struct tp_law plain = {.multiple = 0};
    struct tp_law law;
    struct tp_law padded;
    size_t found = count_products(of, plain, false, &law);
    if (!found) {
        size_t pads = count_padded(of, &padded);
        found = count_products(of, plain, true, &law) + pads;
        if (found != 1 || pads)
            found += is_bilinear(of, false, &law) || is_bilinear(of, true, &law);
        law = pads ? padded : law;
    }
    if (found == 1)
        return law;
    return found ? ambiguous(s) : law_of_kind(s, TP_LAW_NONE, 1, 0);
}

/* A constant, too, must be recorded at other values of each setting. */
struct tp_law tp_law_of_settings(const struct tp_axis_values *at, const uint64_t *size,
                                 size_t count)
{
    uint64_t n[TP_LAW_POINTS];
    const struct varied_sizes of = {at, size, count < TP_LAW_POINTS ? count : TP_LAW_POINTS};
    const struct sizes s = {n, size, of.count};
    for (size_t i = 0; i < s.count; i++)
        n[i] = at[i].values[0];
    if (at->count == 1 || s.count == 1)
        return tp_law_of(n, size, s.count);
    if (!tp_law_decides(at, s.count))
        return law_of_kind(&s, TP_LAW_NONE, 1, 0);
    return is_constant(&s) ? tp_law_of(n, size, s.count) : law_of_several(&of, &s);
}

struct tp_law tp_law_grown(const struct tp_axis_values *at, uint64_t size,
                           const uint8_t powers[TP_AXES])
{
    const bool one = at->count == 1;
    const enum tp_law_kind kind = powers[0] ? TP_LAW_POWER : TP_LAW_CONSTANT;
    struct tp_law law = {.kind = one ? kind : TP_LAW_PRODUCT,
                         .power = one ? powers[0] : 1,
                         .size = {size, size, size}};
    for (size_t i = 0; i < TP_AXES; i++)
        law.powers[i] = i < at->count ? powers[i] : 0;
    law.n[0] = law.n[1] = law.n[2] = one ? at->values[0] : product(&law, at);
    return law;
}

struct tp_law tp_law_shifted(const struct tp_law *law)
{
    struct tp_law other = *law;
    other.kind = TP_LAW_SHIFTED;
    other.power = law->or_shifted;
    other.multiple = other.multiple_most = other.or_shifted = 0;
    return other;
}

/* Of a + k x, the line through two points; of k x, one of them. */
static bool product_at(const struct tp_law *law, const struct tp_axis_values *at, uint64_t *size)
{
    uint64_t x = product(law, at);
    struct tp_law line = *law;
    line.kind = law->n[0] == law->n[1] ? TP_LAW_POWER : TP_LAW_SHIFTED;
    line.power = 1;
    line.multiple = 0; /* x is of rounded values */
    *size = TP_MAX_SIZE;
    return x && law->n[0] && tp_law_at(&line, x, size);
}

bool tp_law_at_setting(const struct tp_law *law, const struct tp_axis_values *at, uint64_t *size)
{
    if (at->count == 1)
        return tp_law_at(law, at->values[0], size);
    if (law->kind == TP_LAW_PRODUCT)
        return product_at(law, at, size);
    wide bytes = law->kind == TP_LAW_BILINEAR ? bilinear(law->parts, at) : law->size[0];
    *size = bytes <= (wide)TP_MAX_SIZE ? (uint64_t)bytes : TP_MAX_SIZE;
    return bytes <= (wide)TP_MAX_SIZE;
}

/* ---- in reports ---- */

static void add_text(char text[TP_LAW_TEXT], const char *between, const char *word,
                     const char *behind)
{
    size_t used = strlen(text);
    snprintf(text + used, TP_LAW_TEXT - used, "%s%.20s%s", between, word, behind);
}

static void product_text(const struct tp_law *law, char *const axes[TP_AXES],
                         char text[TP_LAW_TEXT])
{
    bool whole = (wide)law->size[0] * law->n[1] == (wide)law->size[1] * law->n[0];
    const char *between = whole ? "" : "a + k ";
    char behind[32];
    for (size_t i = 0; i < TP_AXES; i++)
        if (law->powers[i]) {
            add_text(text, between, axes[i], law->powers[i] == 2 ? "^2" : "");
            between = " ";
        }
    snprintf(behind, sizeof behind, " padded to %u", law->multiple);
    for (size_t i = 0; i < TP_AXES; i++)
        if (law->padded >> i & 1)
            add_text(text, ", ", axes[i], behind);
}

static void bilinear_text(const struct tp_law *law, char *const axes[TP_AXES],
                          char text[TP_LAW_TEXT])
{
    static const char *const factors[] = {"a", "b ", "c ", "d "};
    for (size_t i = 0; i < 4; i++)
        if (law->parts[i]) {
            add_text(text, *text ? " + " : "", factors[i], i & 1 ? axes[0] : "");
            add_text(text, i == 3 ? " " : "", i & 2 ? axes[1] : "", "");
        }
}

void tp_law_text(const struct tp_law *law, char *const axes[TP_AXES], char text[TP_LAW_TEXT])
{
    text[0] = '\0';
    if (law->kind == TP_LAW_PRODUCT || law->kind == TP_LAW_BILINEAR) {
        (law->kind == TP_LAW_PRODUCT ? product_text : bilinear_text)(law, axes, text);
        return;
    }
    static const char *const ors[] = {"", ", or a + k n", ", or a + k n^2"};
    static const char *const words[TP_LAW_KINDS] = {[TP_LAW_NONE] = "no law",
                                                    [TP_LAW_CONSTANT] = "constant",
                                                    [TP_LAW_SHIFTED] = "a + k ",
                                                    [TP_LAW_QUADRATIC] = "a + b n + c n^2"};
    const char *n = law->power == 2 ? "n^2" : "n", *word = words[law->kind] ? words[law->kind] : "";
    if (law->multiple)
        snprintf(text, TP_LAW_TEXT, "%s%s, padded to %u%s", word, n, law->multiple,
                 ors[law->or_shifted]);
    else
        snprintf(text, TP_LAW_TEXT, "%s%s", word,
                 law->kind == TP_LAW_POWER || law->kind == TP_LAW_SHIFTED ? n : "");
}
