/* Writes and reads the payload of FACT.
 *
 *     4 numbers: SHA-256 | the fields below | ops: how many, each | demand: five for each device |
 *     repairs: how many, each a name (24 bytes) and a count
 *
 * One table of fields serves both directions. The numbers are not trusted: ranges are checked
 * before anything is allocated, and totals at the end of each pass. */
#include "traces/formats/tpt/tpt_facts.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"

#include <stdlib.h>

enum { HASH_WORDS = TP_HASH_SIZE / 8, REPAIR_WORDS = 4, REPAIR_NAME = 24, REPAIRS_MAX = 64 };
#define EVENTS_MAX (UINT64_C(1) << 62)

#define FIELD(name)                                                                                \
    {                                                                                              \
        offsetof(struct tp_program_facts, name), sizeof(((struct tp_program_facts *)0)->name)      \
    }
static const struct field {
    size_t offset, size;
} fields[] = {
    FIELD(kind),         FIELD(time_known),        FIELD(devices),     FIELD(slots),
    FIELD(threads),      FIELD(streams),           FIELD(marks),       FIELD(events),
    FIELD(initial_heap), FIELD(instructions),      FIELD(operations),  FIELD(objects),
    FIELD(live_at_end),  FIELD(live_at_end_bytes), FIELD(duration_ns), FIELD(recorded_threads),
};
static const struct field peaks[] = {
    {offsetof(struct tp_demand, bytes), 8},
    {offsetof(struct tp_demand, event), 8},
    {offsetof(struct tp_demand, insn), 8},
    {offsetof(struct tp_demand, time_ns), 8},
    {offsetof(struct tp_demand, initial_heap_bytes), 8},
};
enum {
    FIELDS = sizeof fields / sizeof *fields,
    PEAKS = sizeof peaks / sizeof *peaks,
    FIXED = HASH_WORDS + FIELDS + 1 /* without the counts of ops */
};

/* Readers that do not know the newer operations read every file without one. */
enum { FEWEST_OPS = TP_POOL };

void tp_tpt_facts_release(struct tp_tpt_facts *f)
{
    free(f->demand);
    free(f->other_repairs);
    *f = (struct tp_tpt_facts){0};
}

/* ---- fields of any width ---- */

/* Offset of the lower `size` bytes of a 64-bit number in memory. */
static size_t lower_at(size_t size)
{
    return __BYTE_ORDER == __BIG_ENDIAN ? sizeof(uint64_t) - size : 0;
}

static uint64_t field_get(const void *from, const struct field *field)
{
    uint64_t value = 0;
    memcpy((uint8_t *)&value + lower_at(field->size), (const uint8_t *)from + field->offset,
           field->size);
    return value;
}

/* Sets a field. False: the value does not fit into it. */
static bool field_set(void *to, const struct field *field, uint64_t value)
{
    memcpy((uint8_t *)to + field->offset, (uint8_t *)&value + lower_at(field->size), field->size);
    return field->size == sizeof value || value >> 8 * field->size == 0;
}

static uint8_t *put_fields(uint8_t *at, const void *from, const struct field *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at = tp_store64(at, field_get(from, &list[i]));
    return at;
}

static bool get_fields(const uint8_t *at, void *to, const struct field *list, size_t count)
{
    bool fits = true;
    for (size_t i = 0; i < count; i++)
        fits &= field_set(to, &list[i], tp_load64(at + 8 * i));
    return fits;
}

/* ---- writing ---- */

static uint8_t *put_repairs(uint8_t *at, const uint64_t *repairs)
{
    at = tp_store64(at, TP_REPAIR_COUNT);
    for (size_t i = 0; i < TP_REPAIR_COUNT; i++) {
        char name[REPAIR_NAME] = {0};
        snprintf(name, sizeof name, "%s", tp_repair_names[i]);
        memcpy(at, name, sizeof name);
        at = tp_store64(at + sizeof name, repairs ? repairs[i] : 0);
    }
    return at;
}

uint8_t *tp_tpt_facts_put(const struct tp_program *program, const uint64_t *repairs,
                          uint32_t *count)
{
    const struct tp_program_facts *f = tp_program_facts(program);
    uint32_t ops = TP_OP_COUNT;
    while (ops > FEWEST_OPS && !f->ops[ops - 1])
        ops--;
    *count = FIXED + ops + PEAKS * (uint32_t)f->devices + 1 + REPAIR_WORDS * TP_REPAIR_COUNT;
    uint8_t *bytes = malloc(8 * (size_t)*count);
    if (!bytes)
        return NULL;
    memcpy(bytes, f->hash, TP_HASH_SIZE);
    uint8_t *at = put_fields(bytes + TP_HASH_SIZE, f, fields, FIELDS);
    at = tp_store64(at, ops);
    for (size_t i = 0; i < ops; i++)
        at = tp_store64(at, f->ops[i]);
    for (uint16_t i = 0; i < f->devices; i++)
        at = put_fields(at, tp_program_demand(program, i), peaks, PEAKS);
    at = put_repairs(at, repairs);
    assert((size_t)(at - bytes) == 8 * (size_t)*count);
    return bytes;
}

/* ---- reading ---- */

static const char *facts_wrong(const struct tp_program_facts *f)
{
    return f->events > EVENTS_MAX ? "the number of events is wrong"
                                  : tp_program_facts_wrong(f, EVENTS_MAX);
}

/* Keeps the name and count of a repair that only a later version knows. */
static int other_repair(struct tp_tpt_facts *f, const char *name, uint64_t count,
                        struct tp_err *err)
{
    char clean[REPAIR_NAME], *all = NULL;
    if (count == 0)
        return TP_OK;
    tp_clean_text(name, clean, sizeof clean);
    if (asprintf(&all, "%s%s%s (%s)", f->other_repairs ? f->other_repairs : "",
                 f->other_repairs ? ", " : "", clean, tp_count(count).s) < 0)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
    free(f->other_repairs);
    f->other_repairs = all;
    return TP_OK;
}

static int get_repairs(const uint8_t *at, size_t words, struct tp_tpt_facts *f, struct tp_err *err)
{
    uint64_t count = words ? tp_load64(at) : UINT64_MAX;
    if (count > REPAIRS_MAX || words != 1 + REPAIR_WORDS * count)
        return tp_fail(err, TP_EINPUT, "the number of repairs is wrong");
    at += 8;
    for (uint64_t r = 0; r < count; r++, at += 8 * REPAIR_WORDS) {
        char name[REPAIR_NAME + 1] = {0};
        memcpy(name, at, REPAIR_NAME);
        uint64_t value = tp_load64(at + REPAIR_NAME);
        size_t known = 0;
        while (known < TP_REPAIR_COUNT && strcmp(name, tp_repair_names[known]) != 0)
            known++;
        int rc = TP_OK;
        if (known < TP_REPAIR_COUNT)
            f->repairs[known] = value;
        else
            rc = other_repair(f, name, value, err);
        if (rc)
            return rc;
    }
    return TP_OK;
}

int tp_tpt_facts_get(const uint8_t *bytes, size_t count, struct tp_tpt_facts *out,
                     struct tp_err *err)
{
    *out = (struct tp_tpt_facts){0};
    struct tp_program_facts *f = &out->facts;
    uint64_t ops = count < FIXED ? 0 : tp_load64(bytes + 8 * (FIXED - 1));
    if (ops < FEWEST_OPS || ops > TP_OP_COUNT || count < FIXED + ops)
        return tp_fail(err, TP_EINPUT, "the number of its fields is wrong");
    memcpy(f->hash, bytes, TP_HASH_SIZE);
    const uint8_t *at = bytes + TP_HASH_SIZE;
    if (!get_fields(at, f, fields, FIELDS))
        return tp_fail(err, TP_EINPUT, "a count is wrong");
    at += 8 * (FIELDS + 1);
    for (size_t i = 0; i < ops; i++, at += 8)
        f->ops[i] = tp_load64(at);
    const char *wrong = facts_wrong(f);
    count -= FIXED + ops;
    if (!wrong && count < PEAKS * (size_t)f->devices)
        wrong = "the peaks are missing";
    if (wrong)
        return tp_fail(err, TP_EINPUT, "%s", wrong);
    out->demand = calloc(f->devices, sizeof *out->demand);
    if (!out->demand)
        return tp_fail(err, TP_ENOMEM, "out of memory while opening the program");
    for (uint32_t i = 0; i < f->devices; i++, at += 8 * PEAKS)
        get_fields(at, &out->demand[i], peaks, PEAKS);
    wrong = tp_demand_wrong(out->demand, f);
    int rc = wrong ? tp_fail(err, TP_EINPUT, "%s", wrong)
                   : get_repairs(at, count - PEAKS * (size_t)f->devices, out, err);
    if (rc)
        tp_tpt_facts_release(out);
    return rc;
}

/* ---- at the end of a pass ---- */

static bool peak_differs(const struct tp_tpt_facts *f, const struct tp_tpt_decoder *d, uint32_t i)
{
    const struct tp_demand *said = &f->demand[i];
    const struct tp_demand *seen = &d->live.devices[i].peak;
    return said->bytes != seen->bytes || said->insn != seen->insn || said->event != seen->event ||
           said->initial_heap_bytes != seen->initial_heap_bytes ||
           said->time_ns != (f->facts.time_known ? seen->time_ns : 0);
}

const char *tp_tpt_facts_differ(const struct tp_tpt_facts *f, const struct tp_tpt_decoder *d)
{
    const struct tp_program_facts *facts = &f->facts;
    uint64_t live = 0;
    if (d->instructions != facts->instructions || d->initial_heap != facts->initial_heap)
        return "the number of instructions";
    for (unsigned op = 0; op < TP_OP_COUNT; op++)
        if (d->ops[op] != facts->ops[op])
            return "the number of operations";
    if (d->live.used != facts->slots)
        return "the number of slots";
    if (d->time != facts->duration_ns)
        return "the duration";
    for (uint32_t i = 0; i < facts->devices; i++) {
        live += d->live.devices[i].objects;
        if (peak_differs(f, d, i))
            return "the peak";
    }
    if (live != facts->live_at_end || d->live.bytes != facts->live_at_end_bytes)
        return "the live memory at the end";
    return NULL;
}
