/* Which slots each RESET of a window frees; see replayer.h.
 *
 *     live of a device   slot 7 <-> slot 2 <-> slot 9        links by slot, the newest first
 *     of the window      | 1 3 | 2 | ... |                   one after the other
 *
 * The slots of a RESET must be in rising order: few slots are sorted, and many are collected by a
 * scan of all slots. */
#include "alloc/engine/replayer.h"

#include "alloc/base/grow.h"
#include "alloc/base/own.h"
#include "alloc/base/steps.h"

#define NO_SLOT UINT32_MAX

/* a RESET of fewer than one in SPARSE slots sorts them; for more, a scan of all slots costs about
 * as much as a sort */
enum { SPARSE = 32 };

struct link {
    uint32_t newer, older; /* neighbours in the list of the device, by slot */
    uint16_t device;       /* device + 1; 0: the slot is free */
    bool chosen;           /* the slot belongs to the RESET that is being processed */
};

struct tp_resets {
    const struct tp_program_facts *facts;
    struct link *links;            /* by slot */
    uint32_t live[TP_MAX_DEVICES]; /* the newest slot of each device */
    uint32_t *slots;               /* slots of all RESETs of the window */
    size_t count, room;            /* entries and room of `slots` */
    uint32_t *ends;                /* by RESET of the window: the end of its entries in `slots` */
    uint32_t end_count, next;
    size_t end_room;
};

void tp_resets_begin(struct tp_resets *r)
{
    for (uint32_t d = 0; d < r->facts->devices; d++) {
        for (uint32_t slot = r->live[d]; slot != NO_SLOT; slot = r->links[slot].older)
            r->links[slot].device = 0;
        r->live[d] = NO_SLOT;
    }
    r->count = r->end_count = r->next = 0;
}

int tp_resets_open(const struct tp_program_facts *facts, struct tp_resets **out, struct tp_err *err)
{
    *out = NULL;
    if (!facts->ops[TP_RESET])
        return TP_OK;
    struct tp_resets *r = tp_own_zeroed(1, sizeof *r);
    if (r)
        r->links = tp_own_zeroed(facts->slots ? facts->slots : 1, sizeof *r->links);
    if (!r || !r->links) {
        tp_own_free(r);
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    }
    r->facts = facts;
    for (uint32_t d = 0; d < TP_MAX_DEVICES; d++)
        r->live[d] = NO_SLOT;
    *out = r;
    return TP_OK;
}

void tp_resets_close(struct tp_resets *r)
{
    if (!r)
        return;
    tp_own_free(r->links);
    tp_own_free(r->slots);
    tp_own_free(r->ends);
    tp_own_free(r);
}

static void begin_object(struct tp_resets *r, const struct tp_insn *in)
{
    uint32_t *head = &r->live[in->device];
    r->links[in->slot] = (struct link){NO_SLOT, *head, (uint16_t)(in->device + 1), false};
    if (*head != NO_SLOT)
        r->links[*head].newer = in->slot;
    *head = in->slot;
}

static void end_object(struct tp_resets *r, uint32_t slot)
{
    struct link *l = &r->links[slot];
    if (l->older != NO_SLOT)
        r->links[l->older].newer = l->newer;
    if (l->newer != NO_SLOT)
        r->links[l->newer].older = l->older;
    else
        r->live[l->device - 1] = l->older;
    l->device = 0;
}

/* Lets the number at `root` sink in a heap, the highest on top, of `count` numbers. */
static void sink(uint32_t *heap, size_t root, size_t count)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        TP_STEP();
        child += child + 1 < count && heap[child + 1] > heap[child];
        if (heap[root] >= heap[child])
            return;
        uint32_t number = heap[root];
        heap[root] = heap[child];
        heap[child] = number;
    }
}

/* Sorts without memory of its own; qsort may call malloc (see own.h). */
static void sort(uint32_t *numbers, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(numbers, i, count);
    for (size_t end = count; end-- > 1;) {
        uint32_t highest = numbers[0];
        numbers[0] = numbers[end];
        numbers[end] = highest;
        sink(numbers, 0, end);
    }
}

static int choose_device(struct tp_resets *r, uint32_t device)
{
    for (uint32_t *slot = &r->live[device]; *slot != NO_SLOT; *slot = r->links[*slot].older) {
        TP_STEP();
        if (TP_GROW(&r->slots, &r->room, r->count + 1, NULL, .what = "resets", .own = true))
            return TP_ENOMEM;
        r->slots[r->count++] = *slot;
        r->links[*slot].device = 0;
        r->links[*slot].chosen = true;
    }
    return TP_OK;
}

static void put_in_order(struct tp_resets *r, size_t first)
{
    size_t count = r->count - first, at = first;
    if (count < r->facts->slots / SPARSE && count > 1)
        sort(r->slots + first, count);
    for (uint32_t slot = 0; count >= r->facts->slots / SPARSE && at < r->count; slot++) {
        TP_STEP();
        if (r->links[slot].chosen)
            r->slots[at++] = slot;
    }
    for (; first < r->count; first++)
        r->links[r->slots[first]].chosen = false;
}

static int add_reset(struct tp_resets *r, const struct tp_insn *in)
{
    size_t first = r->count;
    int rc = TP_GROW(&r->ends, &r->end_room, r->end_count + (size_t)1, NULL, .what = "resets",
                     .own = true);
    TP_EACH_DEVICE (d, in, r->facts->devices)
        rc = rc ? rc : choose_device(r, d);
    if (rc)
        return rc;
    put_in_order(r, first);
    r->ends[r->end_count++] = (uint32_t)r->count;
    return TP_OK;
}

int tp_resets_window(struct tp_resets *r, const struct tp_window *w, struct tp_err *err)
{
    int rc = TP_OK;
    r->count = r->end_count = r->next = 0;
    for (uint32_t i = 0; !rc && i < w->count; i++) {
        const struct tp_insn *in = &w->insns[i];
        if (tp_op_is(in->op, TP_IS_NEW))
            begin_object(r, in);
        else if (in->op == TP_FREE)
            end_object(r, in->slot);
        else if (in->op == TP_RESET)
            rc = add_reset(r, in);
    }
    return rc ? tp_fail(err, (enum tp_status)rc, "tapool itself ran out of memory") : TP_OK;
}

const uint32_t *tp_resets_next(struct tp_resets *r, uint32_t *count)
{
    uint32_t first = r->next ? r->ends[r->next - 1] : 0;
    *count = r->ends[r->next++] - first;
    return r->slots + first;
}
