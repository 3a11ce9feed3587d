/* Options: one table of rows serves the parser, the range checks and the text of a value.
 *
 * Words are compared without regard to case, and '-' equals '_' in names, as on the command line.
 * Where an option is given twice the last value counts; lists collect all values. */
#include "alloc/base/opt.h"

#include "alloc/base/grow.h"
#include "alloc/base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The option and its owner, as messages name them. */
struct subject {
    const struct tp_opt *row;
    const char *owner; /* may be NULL */
};

enum { SUBJECT_TEXT = 160, VALUE_TEXT = 32, WORDS_TEXT = 320 };

static const char *describe(struct subject sub, char *out)
{
    if (sub.owner)
        snprintf(out, SUBJECT_TEXT, "option '%s' of %s", sub.row->name, sub.owner);
    else
        snprintf(out, SUBJECT_TEXT, "option '%s'", sub.row->name);
    return out;
}

static const char *join_words(const char *const *words, char *out)
{
    struct tp_str all = tp_str_in(out, WORDS_TEXT);
    for (size_t i = 0; words[i]; i++)
        tp_str_item(&all, ", ", "%s", words[i]);
    return out;
}

/* ---- text of a value ---- */

struct opt_unit {
    const char *name;
    uint64_t factor;
};

static const struct opt_unit plain_units[] = {{"", 1}, {NULL, 0}};
static const struct opt_unit size_units[] = {
    {"", 1},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {NULL, 0},
};
static const struct opt_unit time_units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"min", UINT64_C(60) * 1000000000},
    {"h", UINT64_C(3600) * 1000000000},
    {NULL, 0},
};

/* How numbers of a type are read and written. */
struct number_type {
    bool (*parse)(const char *text, uint64_t *value);
    const struct opt_unit *units;
    const char *bare; /* what a message appends to a number without a unit */
    const char *name, *example;
};

static const struct number_type *number_type(enum tp_opt_type type)
{
    static const struct number_type types[] = {
        [TP_OPT_UINT] = {tp_parse_uint, plain_units, "", "number", "a whole number"},
        [TP_OPT_SIZE] = {tp_parse_size, size_units, "B", "size",
                         "a number and a unit, such as 64MiB"},
        [TP_OPT_DURATION] = {tp_parse_duration, time_units, "", "duration",
                             "a number and a unit, such as 50us"},
    };
    return type >= TP_OPT_UINT && type <= TP_OPT_DURATION ? &types[type] : NULL;
}

/* Writes the shortest exact text of a value; of two equally short ones, the one with the larger
 * unit. */
static void format_units(uint64_t value, const struct opt_unit *units, char *out)
{
    char text[VALUE_TEXT];
    snprintf(out, VALUE_TEXT, "%" PRIu64 "%s", value, value ? units->name : "");
    for (units++; value && units->name; units++) {
        if (value % units->factor != 0)
            break; /* every larger unit is a multiple of this one */
        snprintf(text, sizeof text, "%" PRIu64 "%s", value / units->factor, units->name);
        if (strlen(text) <= strlen(out))
            memcpy(out, text, sizeof text);
    }
}

static const char *show_number(const struct tp_opt *row, uint64_t value, char *out)
{
    const struct number_type *type = number_type(row->type);
    format_units(value, type->units, out);
    if (out[strspn(out, "0123456789")] == '\0')
        tp_append(out, VALUE_TEXT, "%s", type->bare);
    return out;
}

enum { SET_CHOICES = 32 }; /* a set is a uint32_t with a bit for each */

static size_t count_words(const char *const *words)
{
    size_t n = 0;
    while (words && words[n])
        n++;
    return n;
}

static void format_number(const struct tp_opt *row, uint64_t value, char *out, size_t size)
{
    char text[VALUE_TEXT];
    uint64_t keyword = UINT64_MAX - value;
    if (keyword < count_words(row->choices)) {
        snprintf(out, size, "%s", row->choices[keyword]);
        return;
    }
    format_units(value, number_type(row->type)->units, text);
    snprintf(out, size, "%s", text);
}

/* Writes the words of a set, separated by commas. */
static void format_set(const struct tp_opt *row, uint32_t set, char *out, size_t size)
{
    struct tp_str all = tp_str_in(out, size);
    for (size_t i = 0; row->choices[i]; i++)
        if (set >> i & 1)
            tp_str_item(&all, ",", "%s", row->choices[i]);
}

static void format_list(const struct tp_opt_list *list, char *out, size_t size)
{
    struct tp_str all = tp_str_in(out, size);
    for (size_t i = 0; i < list->count; i++)
        tp_str_item(&all, ",", "%s", list->items[i]);
}

void tp_opt_format(const struct tp_opt *row, const void *base, char *out, size_t size)
{
    const void *member = (const char *)base + row->offset;
    if (size == 0)
        return;
    if (number_type(row->type))
        format_number(row, *(const uint64_t *)member, out, size);
    else if (row->type == TP_OPT_FLAG)
        snprintf(out, size, "%s", *(const bool *)member ? "yes" : "no");
    else if (row->type == TP_OPT_CHOICE)
        snprintf(out, size, "%s", row->choices[*(const uint32_t *)member]);
    else if (row->type == TP_OPT_REAL || row->type == TP_OPT_SHARE)
        snprintf(out, size, "%.12g", *(const double *)member);
    else if (row->type == TP_OPT_SET)
        format_set(row, *(const uint32_t *)member, out, size);
    else if (row->type == TP_OPT_TEXT)
        snprintf(out, size, "%s", *(char *const *)member ? *(char *const *)member : "");
    else
        format_list(member, out, size);
}

/* ---- setting ---- */

static bool find_word(const char *const *words, const char *value, size_t *index)
{
    for (size_t i = 0; words && words[i]; i++)
        if (strcasecmp(words[i], value) == 0) {
            *index = i;
            return true;
        }
    return false;
}

static int set_flag(struct subject sub, void *member, const char *value, struct tp_err *err)
{
    static const char *const words[] = {"no", "yes", "off", "on", "false",
                                        /* words with an odd index mean yes */
                                        "true", "0", "1", NULL};
    char text[SUBJECT_TEXT];
    size_t i;
    if (!find_word(words, value, &i)) {
        int rc =
            tp_fail(err, TP_EUSAGE, "%s is '%s', neither yes nor no", describe(sub, text), value);
        return tp_hint(err, rc, "write yes or no");
    }
    *(bool *)member = i % 2 == 1;
    return TP_OK;
}

static int set_number(struct subject sub, void *member, const char *value, struct tp_err *err)
{
    const struct tp_opt *row = sub.row;
    const struct number_type *type = number_type(row->type);
    char text[SUBJECT_TEXT], is[VALUE_TEXT], limit[VALUE_TEXT], words[WORDS_TEXT];
    uint64_t number;
    size_t keyword;
    if (find_word(row->choices, value, &keyword)) {
        *(uint64_t *)member = TP_OPT_KEYWORD(keyword);
        return TP_OK;
    }
    if (!type->parse(value, &number)) {
        int rc = tp_fail(err, TP_EUSAGE, "%s is '%s', which is not a valid %s", describe(sub, text),
                         value, type->name);
        if (!row->choices)
            return tp_hint(err, rc, "write %s", type->example);
        return tp_hint(err, rc, "write %s, or %s", type->example, join_words(row->choices, words));
    }
    if (number < row->min)
        return tp_fail(err, TP_EUSAGE, "%s is %s, below the minimum %s", describe(sub, text),
                       show_number(row, number, is), show_number(row, row->min, limit));
    uint64_t max = UINT64_MAX - count_words(row->choices); /* values above are keywords */
    if (row->max && row->max < max)
        max = row->max;
    if (number > max)
        return tp_fail(err, TP_EUSAGE, "%s is %s, above the maximum %s", describe(sub, text),
                       show_number(row, number, is), show_number(row, max, limit));
    *(uint64_t *)member = number;
    return TP_OK;
}

static int set_real(struct subject sub, void *member, const char *value, struct tp_err *err)
{
    bool share = sub.row->type == TP_OPT_SHARE;
    char text[SUBJECT_TEXT], *end = NULL;
    bool digits = (*value >= '0' && *value <= '9') || *value == '.';
    double number = digits ? strtod(value, &end) : (double)NAN;
    if (share && end && *end == '%') {
        number /= 100;
        end++;
    }
    if (end && !*end && isfinite(number) && number > 0 &&
        (!share || number < (double)sub.row->max)) {
        *(double *)member = number;
        return TP_OK;
    }
    if (!share)
        return tp_fail(err, TP_EUSAGE, "%s is '%s', which is not a positive number",
                       describe(sub, text), value);
    return tp_fail(err, TP_EUSAGE, "%s is '%s', which is not a share above 0 and below %" PRIu64,
                   describe(sub, text), value, sub.row->max);
}

/* Finds the index of a value among the row's words. TP_EUSAGE. */
static int take_choice(struct subject sub, const char *value, size_t *index, struct tp_err *err)
{
    char text[SUBJECT_TEXT], words[WORDS_TEXT];
    if (find_word(sub.row->choices, value, index))
        return TP_OK;
    int rc = tp_fail(err, TP_EUSAGE, "%s is '%s', which is none of %s", describe(sub, text), value,
                     join_words(sub.row->choices, words));
    const char *near = tp_nearest(value, sub.row->choices);
    return near ? tp_hint(err, rc, "did you mean '%s'?", near) : rc;
}

static int set_choice(struct subject sub, void *member, const char *value, struct tp_err *err)
{
    size_t i = 0;
    int rc = take_choice(sub, value, &i, err);
    if (!rc)
        *(uint32_t *)member = (uint32_t)i;
    return rc;
}

static int set_set(struct subject sub, void *member, const char *value, struct tp_err *err)
{
    uint32_t set = 0;
    size_t length, i = 0;
    do {
        char word[VALUE_TEXT];
        length = strcspn(value, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < VALUE_TEXT ? length : VALUE_TEXT),
                 value);
        int rc = take_choice(sub, word, &i, err);
        if (rc)
            return rc;
        set |= UINT32_C(1) << i;
        value += length + 1;
    } while (value[-1] && *value); /* a comma at the end is no further word */
    *(uint32_t *)member = set;
    return TP_OK;
}

static int set_text(struct subject sub, void *member, const char *value, struct tp_err *err)
{
    char *copy = strdup(value);
    if (!copy)
        return tp_fail(err, TP_ENOMEM, "out of memory for option '%s'", sub.row->name);
    free(*(char **)member);
    *(char **)member = copy;
    return TP_OK;
}

static int add_to_list(struct subject sub, void *member, const char *value, struct tp_err *err)
{
    struct tp_opt_list *list = member;
    size_t i = 0;
    int rc = sub.row->choices ? take_choice(sub, value, &i, err) : TP_OK;
    if (rc)
        return rc;
    char *copy = strdup(sub.row->choices ? sub.row->choices[i] : value);
    if (!copy || TP_ONE_MORE(&list->items, list->count, NULL, .what = sub.row->name)) {
        free(copy);
        return tp_fail(err, TP_ENOMEM, "out of memory for option '%s'", sub.row->name);
    }
    list->items[list->count++] = copy;
    return TP_OK;
}

typedef int set_fn(struct subject sub, void *member, const char *value, struct tp_err *err);

static const struct {
    set_fn *set;
    size_t size, align; /* size and alignment of the member */
} type_rows[] = {
    [TP_OPT_FLAG] = {set_flag, sizeof(bool), _Alignof(bool)},
    [TP_OPT_UINT] = {set_number, sizeof(uint64_t), _Alignof(uint64_t)},
    [TP_OPT_SIZE] = {set_number, sizeof(uint64_t), _Alignof(uint64_t)},
    [TP_OPT_DURATION] = {set_number, sizeof(uint64_t), _Alignof(uint64_t)},
    [TP_OPT_CHOICE] = {set_choice, sizeof(uint32_t), _Alignof(uint32_t)},
    [TP_OPT_REAL] = {set_real, sizeof(double), _Alignof(double)},
    [TP_OPT_SHARE] = {set_real, sizeof(double), _Alignof(double)},
    [TP_OPT_SET] = {set_set, sizeof(uint32_t), _Alignof(uint32_t)},
    [TP_OPT_TEXT] = {set_text, sizeof(char *), _Alignof(char *)},
    [TP_OPT_LIST] = {add_to_list, sizeof(struct tp_opt_list), _Alignof(struct tp_opt_list)},
};

static int set_in(struct subject sub, void *base, const char *value, struct tp_err *err)
{
    return type_rows[sub.row->type].set(sub, (char *)base + sub.row->offset, value, err);
}

int tp_opt_set(const struct tp_opt *row, void *base, const char *value, struct tp_err *err)
{
    return set_in((struct subject){row, NULL}, base, value, err);
}

int tp_opts_defaults(const struct tp_opt *rows, void *base, struct tp_err *err)
{
    for (const struct tp_opt *row = rows; row && row->name; row++) {
        int rc = row->def ? tp_opt_set(row, base, row->def, err) : TP_OK;
        if (rc) {
            tp_opts_release(rows, base);
            return rc;
        }
    }
    return TP_OK;
}

int tp_opt_reset(const struct tp_opt *row, void *base, struct tp_err *err)
{
    const struct tp_opt one[] = {*row, {.name = NULL}};
    tp_opts_release(one, base);
    memset((char *)base + row->offset, 0, type_rows[row->type].size);
    return tp_opts_defaults(one, base, err);
}

bool tp_opt_differs(const struct tp_opt *row, const void *base)
{
    struct tp_opt bare = *row;
    union {
        double real;
        struct tp_opt_list list; /* the largest member type */
    } def = {.list = {NULL, 0}};
    char is[WORDS_TEXT], was[WORDS_TEXT] = "";
    bare.offset = 0;
    if (tp_opt_reset(&bare, &def, NULL) == TP_OK)
        tp_opt_format(&bare, &def, was, sizeof was);
    tp_opt_format(row, base, is, sizeof is);
    const struct tp_opt one[] = {bare, {.name = NULL}};
    tp_opts_release(one, &def);
    return strcmp(is, was) != 0;
}

void tp_opts_release(const struct tp_opt *rows, void *base)
{
    for (const struct tp_opt *row = rows; row && row->name; row++) {
        void *member = (char *)base + row->offset;
        if (row->type == TP_OPT_TEXT) {
            free(*(char **)member);
            *(char **)member = NULL;
        } else if (row->type == TP_OPT_LIST) {
            struct tp_opt_list *list = member;
            for (size_t i = 0; i < list->count; i++)
                free(list->items[i]);
            free(list->items);
            *list = (struct tp_opt_list){NULL, 0};
        }
    }
}

/* ---- names ---- */

static char fold(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '-' ? '_' : c;
}

static bool same_name(const char *a, const char *b)
{
    while (*a && fold(*a) == fold(*b))
        a++, b++;
    return *a == *b;
}

const struct tp_opt *tp_opt_find(const struct tp_opt *rows, const char *name)
{
    for (const struct tp_opt *row = rows; row && row->name; row++)
        if (same_name(row->name, name))
            return row;
    return NULL;
}

enum { WORD_MAX = 63 };

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The number of insertions, deletions, substitutions and swaps of neighbours that turn one word
 * into the other. */
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][WORD_MAX + 2]; /* rows i-2, i-1 and i of the distance table */
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    for (unsigned j = 0; j <= b_len; j++)
        last[j] = before[j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        now[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            char x = fold(a[i - 1]), y = fold(b[j - 1]);
            unsigned substituted = x == y ? last[j - 1] : last[j - 1] + 1;
            now[j] = smaller(substituted, smaller(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && x == fold(b[j - 2]) && y == fold(a[i - 2]))
                now[j] = smaller(now[j], before[j - 2] + 1);
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b_len];
}

const char *tp_nearest(const char *word, const char *const *candidates)
{
    const char *best = NULL;
    size_t length = strlen(word);
    /* largest distance that counts as a typing error in a word of this length */
    unsigned limit = 1 + (unsigned)(length / 4);
    if (length > WORD_MAX)
        return NULL;
    for (; candidates && *candidates; candidates++) {
        size_t other = strlen(*candidates);
        if (other > WORD_MAX)
            continue;
        unsigned d = distance(word, length, *candidates, other);
        if (d <= limit && d < length) {
            best = *candidates;
            if (d == 0)
                return best;
            limit = d - 1;
        }
    }
    return best;
}

/* ---- parsing ---- */

static int unknown_option(const struct tp_opt *rows, const char *name, const char *owner,
                          struct tp_err *err)
{
    const char *near = NULL;
    char words[WORDS_TEXT] = "";
    for (const struct tp_opt *row = rows; row && row->name; row++) {
        /* compares the best row so far with each later one */
        const char *pair[] = {near ? near : row->name, near ? row->name : NULL, NULL};
        const char *nearer = tp_nearest(name, pair);
        near = nearer ? nearer : near;
        tp_append(words, sizeof words, "%s%s", *words ? ", " : "", row->name);
    }
    if (!*words)
        return tp_fail(err, TP_EUSAGE, "%s has no options, and so no '%s'", owner, name);
    int rc = tp_fail(err, TP_EUSAGE, "%s has no option '%s'", owner, name);
    return near ? tp_hint(err, rc, "did you mean '%s'?", near)
                : tp_hint(err, rc, "its options are %s", words);
}

/* Is the text, which is an option of these rows, the value of the bare row? */
static bool reads_as_bare(const struct tp_opt *rows, const char *text)
{
    char name[WORD_MAX + 1];
    size_t length = strcspn(text, "=,");
    if (length > WORD_MAX)
        return true;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    const struct tp_opt *row = tp_opt_find(rows, name);
    return !row || (text[length] != '=' && row->type != TP_OPT_FLAG);
}

/* The brace that closes the one at `open`, or NULL. */
static char *closing_brace(char *open)
{
    unsigned depth = 0;
    char *at = open;
    do {
        depth += *at == '{';
        depth -= *at == '}';
    } while (*at && depth && *++at);
    return *at && (!at[1] || at[1] == ',') ? at : NULL;
}

bool tp_opt_cut_value(char **rest, char **value)
{
    char *at = *rest;
    *value = at;
    if (*at == '{') {
        at = closing_brace(at);
        if (!at)
            return false;
        *at++ = '\0';
        ++*value;
    } else {
        at += strcspn(at, ",");
    }
    *rest = *at ? at + 1 : NULL;
    *at = '\0';
    return true;
}

/* Cuts the next "name=value" or "name" off *rest, which it modifies. *value is NULL where there is
 * none. */
static bool cut_item(char **rest, char **name, char **value)
{
    char *at = *rest + strcspn(*rest, "=,");
    bool valued = *at == '=';
    *name = *rest;
    *value = NULL;
    *rest = *at ? at + 1 : NULL;
    *at = '\0';
    return !valued || tp_opt_cut_value(rest, value);
}

static int set_item(const struct tp_opt *rows, void *base, const char *name, const char *value,
                    const char *owner, struct tp_err *err)
{
    if (!*name)
        return tp_fail(err, TP_EUSAGE, "the name of an option of %s is missing", owner);
    const struct tp_opt *row = tp_opt_find(rows, name);
    if (!row)
        return unknown_option(rows, name, owner, err);
    if (!value && row->type != TP_OPT_FLAG) {
        int rc = tp_fail(err, TP_EUSAGE, "option '%s' of %s needs a value", row->name, owner);
        return tp_hint(err, rc, "write %s=%s", row->name, row->arg ? row->arg : "VALUE");
    }
    return set_in((struct subject){row, owner}, base, value ? value : "yes", err);
}

int tp_opts_parse(const struct tp_opt *rows, void *base, const char *spec, const char *owner,
                  struct tp_err *err)
{
    char *copy = strdup(spec);
    if (!copy)
        return tp_fail(err, TP_ENOMEM, "out of memory for the options of %s", owner);
    int rc = TP_OK;
    char *rest = *copy ? copy : NULL, *name, *value;
    const struct tp_opt *bare = tp_opt_bare(rows);
    if (bare && !reads_as_bare(rows, spec))
        bare = NULL;
    while (!rc && rest) {
        name = (char *)(uintptr_t)(bare ? bare->name : "");
        if (bare ? tp_opt_cut_value(&rest, &value) : cut_item(&rest, &name, &value))
            rc = set_item(rows, base, name, value, owner, err);
        else
            rc = tp_hint(err,
                         tp_fail(err, TP_EUSAGE, "the braces in option '%s' of %s do not match",
                                 name, owner),
                         TP_OPT_BRACES);
        bare = NULL;
    }
    free(copy);
    return rc;
}

/* ---- writing what is parsed ---- */

const struct tp_opt *tp_opt_bare(const struct tp_opt *rows)
{
    return rows && rows->name && rows->bare ? rows : NULL;
}

bool tp_opt_can_be_value(const char *text)
{
    unsigned depth = 0;
    bool match = true;
    for (const char *at = text; *at && match; at++) {
        match = *at != '}' || depth;
        depth += *at == '{';
        depth -= *at == '}';
    }
    return (match && !depth) || (!strchr(text, ',') && *text != '{');
}

void tp_opt_add_value(struct tp_str *out, const char *separator, const struct tp_opt *rows,
                      const struct tp_opt *row, const char *value)
{
    bool braces = strchr(value, ',') || *value == '{' || (row->bare && !reads_as_bare(rows, value));
    tp_str_item(out, separator, "%s%s%s%s%s", row->bare ? "" : row->name, row->bare ? "" : "=",
                braces ? "{" : "", value, braces ? "}" : "");
}

void tp_opt_add(struct tp_str *out, const char *separator, const struct tp_opt *rows,
                const struct tp_opt *row, const void *base)
{
    const void *member = (const char *)base + row->offset;
    if (row->type == TP_OPT_TEXT) {
        const char *text = *(char *const *)member;
        if (text && *text)
            tp_opt_add_value(out, separator, rows, row, text);
        return;
    }
    if (row->type == TP_OPT_LIST) {
        const struct tp_opt_list *list = member;
        for (size_t i = 0; i < list->count; i++)
            tp_opt_add_value(out, i ? "," : separator, rows, row, list->items[i]);
        return;
    }
    char value[WORDS_TEXT];
    tp_opt_format(row, base, value, sizeof value);
    tp_opt_add_value(out, separator, rows, row, value);
}

void tp_opts_add(struct tp_str *out, const struct tp_opt *rows, const void *base)
{
    for (const struct tp_opt *row = rows; row && row->name; row++)
        tp_opt_add(out, ",", rows, row, base);
}

/* ---- checking tables ---- */

static const char *member_fault(const struct tp_opt *row, size_t opts_size)
{
    if (!*row->name || row->name[strcspn(row->name, "=,{} ")])
        return "its name cannot be written";
    if ((size_t)row->type >= sizeof type_rows / sizeof *type_rows)
        return "its type does not exist";
    size_t size = type_rows[row->type].size;
    if (size > opts_size || row->offset > opts_size - size ||
        row->offset % type_rows[row->type].align)
        return "its member lies outside the option struct";
    return NULL;
}

static const char *choices_fault(const struct tp_opt *row)
{
    bool words = row->type == TP_OPT_CHOICE || row->type == TP_OPT_SET;
    if (words && !count_words(row->choices))
        return "it has no choices";
    if (row->type == TP_OPT_SET && count_words(row->choices) > SET_CHOICES)
        return "it has over 32 choices, of which a set has one bit each";
    if (row->choices && !words && !number_type(row->type) && row->type != TP_OPT_LIST)
        return "its type takes no choices";
    return NULL;
}

static bool has_range_fault(const struct tp_opt *row)
{
    bool share = row->type == TP_OPT_SHARE;
    if (!row->max)
        return share;
    return !(number_type(row->type) || share) || row->max < row->min;
}

static const char *row_fault(const struct tp_opt *row, size_t opts_size)
{
    const char *fault = member_fault(row, opts_size);
    if (!fault)
        fault = choices_fault(row);
    if (fault)
        return fault;
    if (has_range_fault(row))
        return "its range is wrong";
    if (row->bare &&
        (row->type == TP_OPT_FLAG || row->type == TP_OPT_SET || row->type == TP_OPT_LIST))
        return "its type cannot be bare";
    if (!row->help || !*row->help || (row->type != TP_OPT_FLAG && !row->arg))
        return "its help is missing";
    return NULL;
}

int tp_opts_check(const struct tp_opt *rows, size_t opts_size, const char *owner,
                  struct tp_err *err)
{
    for (const struct tp_opt *row = rows; row && row->name; row++) {
        const char *fault = row_fault(row, opts_size);
        if (!fault && tp_opt_find(rows, row->name) != row)
            fault = "its name is taken";
        if (!fault && row->bare && row != rows)
            fault = "only the first option can be bare";
        if (fault)
            return tp_fail(err, TP_EBROKEN, "option '%s' of %s: %s", row->name, owner, fault);
    }
    void *base = calloc(1, opts_size + 1);
    if (!base)
        return tp_fail(err, TP_ENOMEM, "out of memory for the options of %s", owner);
    int rc = tp_opts_defaults(rows, base, err);
    if (rc == TP_EUSAGE)
        rc = tp_fail(err, TP_EBROKEN, "a default of %s cannot be set", owner);
    tp_opts_release(rows, base);
    free(base);
    return rc;
}
