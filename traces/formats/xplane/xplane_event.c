/* A memory event of the profiler from its values. One that is absent was not recorded; one of
 * another type is an error of the file, and the event is left out. */
#include "alloc/strategies/bfc/bfc_rules.h"
#include "traces/formats/xplane/xplane_file.h"

#include "alloc/base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_text(const struct tp_xplane_value *v, const char *text)
{
    return v->kind == TP_XPLANE_TEXT && v->text.size == strlen(text) &&
           memcmp(v->text.at, text, v->text.size) == 0;
}

/* The name of a type, by its number or as it stands. */
static struct tp_xplane_text data_type(const struct tp_xplane_value *v)
{
    static const char *const names[] = {
        [1] = "float32",     [2] = "float64",  [3] = "int32",     [4] = "uint8",
        [5] = "int16",       [6] = "int8",     [7] = "string",    [8] = "complex64",
        [9] = "int64",       [10] = "bool",    [14] = "bfloat16", [17] = "uint16",
        [18] = "complex128", [19] = "float16", [22] = "uint32",   [23] = "uint64"};
    const char *name = v->kind == TP_XPLANE_WHOLE && v->whole < sizeof names / sizeof *names
                           ? names[v->whole]
                           : NULL;
    if (v->kind == TP_XPLANE_TEXT && v->text.size < TP_XPLANE_NAME && !is_text(v, "INVALID"))
        return v->text;
    return name ? (struct tp_xplane_text){name, strlen(name)} : (struct tp_xplane_text){"", 0};
}

static bool says(const struct tp_xplane_value *v)
{
    return v->kind == TP_XPLANE_TEXT && v->text.size > 0;
}

/* XLA has no name for what it allocates for the results of a program. */
static bool names_operation(const struct tp_xplane_value values[TP_XPLANE_STATS])
{
    return says(&values[TP_XPLANE_OPERATION]) && !is_text(&values[TP_XPLANE_OPERATION], "dummy");
}

enum { SHOWN = 60 }; /* bytes of an operation's name that a place begins with, about */

/* Where the end of a name of an operation begins, a scope at least and SHOWN bytes if there are
 * more scopes. */
static size_t end_of_name(struct tp_xplane_text name)
{
    size_t at = name.size > SHOWN ? name.size - SHOWN : 0;
    while (at && at < name.size && name.at[at - 1] != '/')
        at++;
    if (at < name.size)
        return at;
    while (at && name.at[at - 1] != '/')
        at--;
    return at;
}

static int keep_text(struct tp_xplane *x, const char *text, size_t size, uint32_t *number,
                     struct tp_err *err)
{
    *number = TP_NO_TEXT;
    size = strnlen(text, size < 4 * TP_PLACE_TEXT ? size : 4 * TP_PLACE_TEXT);
    return size ? tp_texts_need(&x->texts, text, size, number, err) : TP_OK;
}

static void add_shape(struct tp_str *s, const struct tp_xplane_value values[TP_XPLANE_STATS])
{
    const struct tp_xplane_value *shape = &values[TP_XPLANE_SHAPE],
                                 *region = &values[TP_XPLANE_REGION];
    const struct tp_xplane_text type = data_type(&values[TP_XPLANE_DATA_TYPE]);
    if (says(shape) && shape->text.size < TP_XPLANE_NAME)
        tp_str_add(s, " %.*s%.*s", (int)type.size, type.at, (int)shape->text.size, shape->text.at);
    if (says(region) && region->text.size < TP_XPLANE_NAME)
        tp_str_add(s, ", %.*s", (int)region->text.size, region->text.at);
}

/* "dense/MatMul float32[32,128], output" in the scope "model/layer_1". TensorFlow knows the type of
 * what it allocates or the step, and XLA neither. */
static int read_operation(struct tp_xplane *x, const struct tp_xplane_value values[TP_XPLANE_STATS],
                          struct tp_xplane_event *ev, struct tp_err *err)
{
    const struct tp_xplane_text name = values[TP_XPLANE_OPERATION].text;
    size_t scope = end_of_name(name), rest = name.size - scope;
    size_t before = scope - (scope > 0); /* without the slash */
    char text[3 * TP_PLACE_TEXT] = "";
    struct tp_str s = TP_STR_IN(text);
    tp_str_add(&s, "%.*s", (int)(rest < TP_PLACE_TEXT ? rest : TP_PLACE_TEXT), name.at + scope);
    add_shape(&s, values);
    x->operations = true;
    x->tensorflow |= ev->step || data_type(&values[TP_XPLANE_DATA_TYPE]).size;
    int rc = keep_text(x, text, sizeof text, &ev->place, err);
    return rc == TP_OK ? keep_text(x, name.at, before, &ev->scope, err) : rc;
}

/* Where no operation is named, the thread is all that is known, and what XLA allocated for. */
static int read_place(struct tp_xplane *x, const struct tp_xplane_value values[TP_XPLANE_STATS],
                      struct tp_xplane_text thread, struct tp_xplane_event *ev, struct tp_err *err)
{
    char text[3 * TP_PLACE_TEXT] = "";
    struct tp_str s = TP_STR_IN(text);
    ev->place = ev->scope = TP_NO_TEXT;
    if (names_operation(values))
        return read_operation(x, values, ev, err);
    size_t kept = 0;
    while (kept < thread.size && thread.at[kept] != '/')
        kept++;
    if (kept)
        tp_str_add(&s, "thread %.*s", (int)(kept < TP_XPLANE_NAME ? kept : TP_XPLANE_NAME),
                   thread.at);
    if (kept && says(&values[TP_XPLANE_OPERATION]))
        add_shape(&s, values);
    return keep_text(x, text, sizeof text, &ev->place, err);
}

/* Sets *out to a size, a count or an address. False: it is there and no such number. */
static bool whole(const struct tp_xplane_value *v, uint64_t most, uint64_t *out)
{
    *out = v->kind == TP_XPLANE_WHOLE ? v->whole : 0;
    return v->kind == TP_XPLANE_ABSENT || (v->kind == TP_XPLANE_WHOLE && v->whole <= most);
}

static double fragmentation(const struct tp_xplane_value *v)
{
    if (v->kind == TP_XPLANE_WHOLE && v->whole <= 1)
        return (double)v->whole;
    return v->kind == TP_XPLANE_REAL && v->real >= 0 && v->real <= 1 ? v->real : NAN;
}

/* The allocator by its name, or, on a TPU, by the device's number. */
static int find_allocator(struct tp_xplane *x, const struct tp_xplane_value values[TP_XPLANE_STATS],
                          uint64_t limit, struct tp_xplane_event *ev, struct tp_err *err)
{
    const struct tp_xplane_value *by = &values[TP_XPLANE_ALLOCATOR];
    const struct tp_xplane_value *number =
        &values[values[TP_XPLANE_ORDINAL].kind ? TP_XPLANE_ORDINAL : TP_XPLANE_HOST_INDEX];
    char text[TP_XPLANE_NAME];
    struct tp_xplane_text name = by->text;
    if (!says(by)) {
        x->tpu = true;
        snprintf(text, sizeof text, "TPU %" PRIu64,
                 number->kind == TP_XPLANE_WHOLE ? number->whole : 0);
        name = (struct tp_xplane_text){text, strlen(text)};
    }
    int rc = tp_xplane_allocator(x, name.at, name.size, (uint32_t)x->planes, says(by) ? limit : 0,
                                 &ev->allocator, err);
    if (rc == TP_OK)
        x->allocators[ev->allocator].unnamed = !says(by);
    return rc;
}

/* Whether the values make an event. */
static bool take_values(const struct tp_xplane_value values[TP_XPLANE_STATS],
                        struct tp_xplane_event *ev, uint64_t *limit)
{
    const struct tp_bfc_rules rules = tp_bfc_rules_for(TP_BFC_TF);
    uint64_t available = 0, reserved = 0, step = 0;
    bool good = whole(&values[TP_XPLANE_ADDRESS], INT64_MAX, &ev->addr) &&
                whole(&values[TP_XPLANE_REQUESTED], TP_MAX_SIZE, &ev->requested) &&
                whole(&values[TP_XPLANE_CHUNK], TP_MAX_SIZE, &ev->bytes) &&
                whole(&values[TP_XPLANE_IN_USE], TP_MAX_SIZE, &ev->in_use) &&
                whole(&values[TP_XPLANE_AVAILABLE], UINT64_MAX, &available) &&
                whole(&values[TP_XPLANE_RESERVED], UINT64_MAX, &reserved) &&
                whole(&values[TP_XPLANE_STEP], UINT64_MAX, &step) &&
                (ev->requested || (ev->frees && ev->bytes));
    if (ev->bytes < ev->requested)
        ev->bytes = tp_bfc_rounded(&rules, ev->requested);
    if (values[TP_XPLANE_IN_USE].kind == TP_XPLANE_ABSENT)
        ev->in_use = TP_XPLANE_UNKNOWN;
    ev->fragmentation = fragmentation(&values[TP_XPLANE_FRAGMENTATION]);
    ev->step = (int64_t)step;
    *limit = values[TP_XPLANE_AVAILABLE].kind == TP_XPLANE_WHOLE
                 ? values[TP_XPLANE_IN_USE].whole + available + reserved
                 : 0;
    *limit = *limit <= TP_MAX_SIZE ? *limit : 0;
    return good && ev->addr <= INT64_MAX - ev->bytes;
}

int tp_xplane_add(struct tp_xplane *x, struct tp_xplane_event ev,
                  const struct tp_xplane_value values[TP_XPLANE_STATS],
                  struct tp_xplane_text thread, struct tp_err *err)
{
    uint64_t limit = 0;
    if (!take_values(values, &ev, &limit)) {
        x->unreadable_at = x->unreadable ? x->unreadable_at : ev.offset;
        x->unreadable++;
        return TP_OK;
    }
    int rc = find_allocator(x, values, limit, &ev, err);
    if (rc == TP_OK)
        rc = read_place(x, values, thread, &ev, err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(x->reading, &x->events, &x->room, x->count + 1, "memory events", err);
    if (rc == TP_OK)
        x->events[x->count++] = ev;
    return rc;
}
