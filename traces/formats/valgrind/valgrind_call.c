/* Prefixes and calls of valgrind's --trace-malloc=yes:
 *
 *     --2548-- _ZnwmSt11align_val_t(size 64, al 64) = 0x4A42040
 *     --00:00:00:00.299 2548-- free(0x4A42040)
 *
 * C++ operators have mangled names. The part behind _Znw, _Zna, _Zdl and _Zda gives the argument
 * types, but the printed arguments show them too. Known weakness: the zone functions of macOS are
 * not known. */
#include "traces/formats/valgrind/valgrind_call.h"

#include "traces/lower/host_calls.h"

#include <ctype.h>
#include <string.h>

#define MILLISECOND UINT64_C(1000000) /* ns */
#define NAME_MOST   ((size_t)100)     /* bytes of a function's name */

/* ---- prefixes ---- */

/* Takes the rest of DD:HH:MM:SS.mmm behind the days. */
static bool cut_time(struct tp_cut *c, uint64_t days, uint64_t *ns)
{
    uint64_t hours = 0, minutes = 0, seconds = 0, ms = 0;
    if (!tp_cut_byte(c, ':') || !tp_cut_decimal(c, &hours) || !tp_cut_byte(c, ':') ||
        !tp_cut_decimal(c, &minutes) || !tp_cut_byte(c, ':') || !tp_cut_decimal(c, &seconds) ||
        !tp_cut_byte(c, '.') || !tp_cut_decimal(c, &ms) || !tp_cut_byte(c, ' '))
        return false;
    *ns = ((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms) * MILLISECOND;
    return days < 1000 && hours < 24 && minutes < 60 && seconds < 61 && ms < 1000;
}

bool tp_valgrind_cut_prefix(struct tp_cut *c, char mark, struct tp_valgrind_prefix *prefix)
{
    struct tp_cut t = *c;
    *prefix = (struct tp_valgrind_prefix){0};
    if (!tp_cut_byte(&t, mark) || !tp_cut_byte(&t, mark) || !tp_cut_decimal(&t, &prefix->pid))
        return false;
    if (t.at < t.end && *t.at == ':') {
        prefix->has_time = true;
        if (!cut_time(&t, prefix->pid, &prefix->time_ns) || !tp_cut_decimal(&t, &prefix->pid))
            return false;
    }
    if (!tp_cut_byte(&t, mark) || !tp_cut_byte(&t, mark))
        return false;
    tp_cut_byte(&t, ' ');
    *c = t;
    return true;
}

/* ---- calls ---- */

static const struct {
    const char *name; /* '*' at the end stands for any suffix */
    enum tp_valgrind_kind kind;
} functions[] = {
    {"malloc", TP_VG_ALLOC},
    {"free", TP_VG_FREE},
    {"calloc", TP_VG_ALLOC},
    {"realloc", TP_VG_REALLOC},
    {"_Znw*", TP_VG_ALLOC},
    {"_Zna*", TP_VG_ALLOC},
    {"_Zdl*", TP_VG_FREE},
    {"_Zda*", TP_VG_FREE},
    {"memalign", TP_VG_ALLOC},
    {"posix_memalign", TP_VG_ALLOC},
    {"aligned_alloc", TP_VG_ALLOC},
    {"valloc", TP_VG_ALLOC},
    {"reallocf", TP_VG_REALLOC},
    {"cfree", TP_VG_FREE},
    {"new", TP_VG_ALLOC},
    {"new[]", TP_VG_ALLOC},
    {"delete", TP_VG_FREE},
    {"delete[]", TP_VG_FREE},
    {"builtin_new", TP_VG_ALLOC},
    {"builtin_vec_new", TP_VG_ALLOC},
    {"builtin_delete", TP_VG_FREE},
    {"builtin_vec_delete", TP_VG_FREE},
    {"__builtin_new", TP_VG_ALLOC},
    {"__builtin_vec_new", TP_VG_ALLOC},
    {"__builtin_delete", TP_VG_FREE},
    {"__builtin_vec_delete", TP_VG_FREE},
    {"malloc_usable_size", TP_VG_ASIDE},
};

static bool names(const char *pattern, struct tp_cut name)
{
    size_t length = strlen(pattern);
    bool start = pattern[length - 1] == '*';
    length -= start;
    size_t there = (size_t)(name.end - name.at);
    return (start ? there >= length : there == length) && memcmp(name.at, pattern, length) == 0;
}

static bool find_kind(struct tp_cut name, enum tp_valgrind_kind *kind)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (names(functions[i].name, name)) {
            *kind = functions[i].kind;
            return true;
        }
    }
    return false;
}

enum { UNNAMED = 2 };

/* Arguments of a call: those without a name in order, "al 64" and "size 100" by name. */
struct arguments {
    uint64_t unnamed[UNNAMED], align, size;
    int count;
    bool has_size;
};

static bool cut_number(struct tp_cut *c, uint64_t *value)
{
    *value = 0;
    if (tp_cut_text(c, "(nil)"))
        return true;
    bool hex = c->end - c->at > 1 && c->at[0] == '0' && c->at[1] == 'x';
    return hex ? tp_cut_hex(c, value) : tp_cut_decimal(c, value);
}

static bool cut_arguments(struct tp_cut *c, struct arguments *a)
{
    do {
        uint64_t value = 0;
        tp_cut_blanks(c);
        bool align = tp_cut_text(c, "al ");
        bool size = !align && tp_cut_text(c, "size ");
        if (!cut_number(c, &value))
            return false;
        if (align)
            a->align = value;
        else if (size)
            a->size = value;
        else if (a->count < UNNAMED)
            a->unnamed[a->count++] = value;
        a->has_size |= size;
    } while (tp_cut_byte(c, ','));
    return tp_cut_byte(c, ')');
}

/* The parenthesis behind a name, which is near: a line has many places where a call may begin. */
static const char *find_open(struct tp_cut text)
{
    size_t length = (size_t)(text.end - text.at);
    if (!length)
        return NULL;
    return memchr(text.at, '(', length < NAME_MOST ? length : NAME_MOST);
}

bool tp_valgrind_cut_call(struct tp_cut *c, struct tp_valgrind_call *call)
{
    struct tp_cut t = *c;
    struct arguments a = {0};
    const char *open = find_open(t);
    if (!open)
        return false;
    const struct tp_cut name = {t.at, open};
    t.at = open + 1;
    if (!find_kind(name, &call->kind) || !cut_arguments(&t, &a))
        return false;
    bool product_of = names("calloc", name), moves = call->kind == TP_VG_REALLOC;
    bool allocates = call->kind == TP_VG_ALLOC;
    int least = allocates && a.has_size ? 0 : 1;
    if (product_of || moves)
        least = 2;
    if (a.count < least)
        return false;
    call->align = a.align;
    call->pointer = allocates ? 0 : a.unnamed[0];
    if (a.has_size)
        call->size = a.size;
    else if (product_of)
        call->size = tp_host_product(a.unnamed[0], a.unnamed[1]);
    else
        call->size = a.unnamed[moves];
    *c = t;
    return true;
}

bool tp_valgrind_cut_result(struct tp_cut *c, uint64_t *result)
{
    struct tp_cut t = *c;
    if (!tp_cut_text(&t, " = ") || !tp_cut_pointer(&t, result))
        return false;
    *c = t;
    return true;
}

/* ---- torn lines ---- */

/* Whether a text of `length` bytes is the beginning of a function's name. */
static bool begins_name(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (strlen(functions[i].name) >= length && memcmp(functions[i].name, text, length) == 0)
            return true;
    return false;
}

/* Whether a line is the beginning of a prefix: "--25". */
static bool is_torn_prefix(struct tp_cut line)
{
    if (!tp_cut_text(&line, "--") || line.at == line.end || !isdigit((unsigned char)*line.at))
        return false;
    while (line.at < line.end && strchr("0123456789:. -", *line.at))
        line.at++;
    return line.at == line.end;
}

/* Whether a call with the end of a prefix is in the text. */
static bool has_call(struct tp_cut text)
{
    static const char end[] = "-- ";
    struct tp_valgrind_call call;
    while ((text.at = memmem(text.at, (size_t)(text.end - text.at), end, sizeof end - 1)) != NULL) {
        text.at += sizeof end - 1;
        if (tp_valgrind_cut_call(&text, &call))
            return true;
    }
    return false;
}

bool tp_valgrind_is_torn(struct tp_cut text)
{
    enum tp_valgrind_kind kind;
    struct tp_valgrind_prefix prefix;
    size_t length = (size_t)(text.end - text.at);
    const char *open = find_open(text);
    if (open && find_kind((struct tp_cut){text.at, open}, &kind))
        return true;
    return length && (begins_name(text.at, length) || tp_cut_text(&text, " =") ||
                      tp_valgrind_cut_prefix(&text, '-', &prefix) || has_call(text));
}

bool tp_valgrind_is_torn_line(struct tp_cut line)
{
    return has_call(line) || is_torn_prefix(line);
}
