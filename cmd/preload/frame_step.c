/* See stacks.h. What the tables say of an address is read by libgcc's own reader, once, and
 * kept in a table of the process: which register, or word of memory, leads to the end of the frame,
 * and how far below that registers are saved. Pages are asked for by a call of the system that does
 * nothing but read a word, and leaves errno alone. Nothing is kept from one stack to the next,
 * because a stack may be given back, and another one mapped in its place; only where no call may be
 * made any more are the pages of the thread's last stack believed.
 *
 * Known weakness: the frame of code whose tables have an expression other than those of signal
 * handlers and of realigned stacks ends its stack. */
#include "cmd/preload/stacks.h"

#include "cmd/preload/recorder.h"

#if defined(__x86_64__)

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    PAGE = 4096,
    SPAN_MAX = 1 << 16,  /* bytes of one frame's saved registers at most */
    SEALED_GAP = 1 << 20 /* bytes of a stack below what is known of it */
};

/* ---- pages ---- */

TP_PER_THREAD struct tp_frame_pages last;

void tp_frame_pages_begin(struct tp_frame_pages *p)
{
    uintptr_t at = (uintptr_t)p & ~(uintptr_t)(PAGE - 1);
    *p = (struct tp_frame_pages){.low = at, .high = at + PAGE, .sealed = tp_recorder_is_sealed()};
    if (p->sealed && at < last.high && last.low - at < SEALED_GAP)
        p->high = last.high;
}

void tp_frame_pages_end(struct tp_frame_pages *p)
{
    if (p->asking)
        tp_recorder_called();
    p->asking = false;
    if (!p->sealed)
        last = *p;
}

void tp_frame_pages_grow(struct tp_frame_pages *p, struct _Unwind_Context *context)
{
    uintptr_t end = ((uintptr_t)_Unwind_GetCFA(context) | (PAGE - 1)) + 1;
    p->high = end > p->high ? end : p->high;
}

/* The kernel reads a set of signals there before it sees that it is not told what to do with it. */
static bool ask(struct tp_frame_pages *p, uintptr_t page)
{
    enum { NO_SUCH = -1, SET_BYTES = 8 };
    long result = SYS_rt_sigprocmask;
    register long size __asm__("r10") = SET_BYTES;
    p->asking = p->asking || (!p->sealed && tp_recorder_may_call());
    p->sealed = !p->asking;
    if (p->sealed)
        return false;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)NO_SUCH), "S"(page), "d"(0L), "r"(size)
                     : "rcx", "r11", "memory");
    return result == -EINVAL;
}

static bool is_readable(struct tp_frame_pages *p, uintptr_t from, uintptr_t to)
{
    if (from >= to || to - from > SPAN_MAX)
        return false;
    for (uintptr_t page = from & ~(uintptr_t)(PAGE - 1); page < to; page += PAGE) {
        if (page >= p->low && page < p->high)
            continue;
        if (!ask(p, page))
            return false;
        bool beside = page == p->high;
        p->low = beside ? p->low : page;
        p->high = page + PAGE;
    }
    return true;
}

/* ---- what the tables say ---- */

enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, R15 = 15, RETURN = 16, COLUMNS = 18, AT_OFFSET = 1 };

/* libgcc's, of GCC 2 and since. */
struct frame_state {
    void *cfa, *eh_ptr;
    long cfa_offset, args_size;
    long offset[COLUMNS];
    unsigned short cfa_reg, retaddr_column;
    char saved[COLUMNS];
};
struct frame_state *__frame_state_for(void *pc, struct frame_state *state);

enum rule_kind { UNKNOWN, BY_REGISTER, BY_WORD, BY_SIGNAL };

/* Where a frame ends. */
struct rule {
    uint8_t kind, reg;
    uint16_t below; /* words below the end that are saved registers */
    int32_t offset; /* from the register: to the end, or to the word that holds it */
};
_Static_assert(sizeof(struct rule) == sizeof(uint64_t), "a rule is kept as one number");

/* Signal handlers return to a frame that the kernel wrote. */
static bool is_of_signals(const unsigned char *fde)
{
    int32_t back = 0;
    memcpy(&back, fde + 4, sizeof back);
    const char *augmentation = (const char *)fde + 4 - back + 9;
    return strchr(augmentation, 'S') != NULL;
}

/* Finds the expression of a frame that was realigned: the word at an offset from a register. */
static struct rule find_realigned(const unsigned char *fde)
{
    enum { EXPRESSION = 0x0f, BREG = 0x70, DEREF = 0x06 };
    uint32_t length = 0;
    memcpy(&length, fde, sizeof length);
    for (const unsigned char *at = fde + 8, *end = fde + 4 + length; at + 6 <= end; at++) {
        bool two = at[1] == 4 && (at[3] & 0x80);
        if (at[0] != EXPRESSION || (at[2] != BREG + RBP && at[2] != BREG + RBX) ||
            !(two || (at[1] == 3 && !(at[3] & 0x80))) || at[two ? 5 : 4] != DEREF)
            continue;
        int32_t low = at[3] & 0x7f, value = two ? low | (at[4] & 0x7f) << 7 : low;
        int32_t sign = two ? 1 << 13 : 1 << 6;
        return (struct rule){
            .kind = BY_WORD, .reg = at[2] - BREG, .below = 1, .offset = (value ^ sign) - sign};
    }
    return (struct rule){.kind = UNKNOWN};
}

static struct rule read_rule(uintptr_t pc, const void *fde)
{
    struct frame_state s;
    memset(&s, 0, sizeof s);
    if (!__frame_state_for((void *)pc, &s))
        return is_of_signals(fde) ? (struct rule){.kind = BY_SIGNAL} : find_realigned(fde);
    bool kept = s.cfa_reg == RBX || s.cfa_reg == RBP || s.cfa_reg == RSP ||
                (s.cfa_reg >= R12 && s.cfa_reg <= R15);
    long lowest = 0;
    for (int i = 0; i < COLUMNS; i++)
        lowest = s.saved[i] == AT_OFFSET && s.offset[i] < lowest ? s.offset[i] : lowest;
    if (!kept || lowest < -SPAN_MAX || s.cfa_offset != (int32_t)s.cfa_offset)
        return (struct rule){.kind = UNKNOWN};
    return (struct rule){.kind = BY_REGISTER,
                         .reg = (uint8_t)s.cfa_reg,
                         .below = (uint16_t)((-lowest + 7) / 8),
                         .offset = (int32_t)s.cfa_offset};
}

/* Rules by address. Threads write them without a lock: a key that two of them wrote half each fits
 * no address. */
static struct {
    _Atomic uint64_t key, rule;
} rules[1 << 11];

static struct rule find_rule(uintptr_t pc, const void *fde)
{
    uint64_t id = pc ^ (uint64_t)(uintptr_t)fde << 16, bits = 0;
    size_t nth = (size_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 53);
    struct rule rule;
    bits = atomic_load_explicit(&rules[nth].rule, memory_order_relaxed);
    if ((atomic_load_explicit(&rules[nth].key, memory_order_relaxed) ^ bits) != id) {
        rule = read_rule(pc, fde);
        memcpy(&bits, &rule, sizeof bits);
        atomic_store_explicit(&rules[nth].key, id ^ bits, memory_order_relaxed);
        atomic_store_explicit(&rules[nth].rule, bits, memory_order_relaxed);
    }
    memcpy(&rule, &bits, sizeof rule);
    return rule;
}

/* ---- a step ---- */

bool tp_frame_can_step(struct tp_frame_pages *p, struct _Unwind_Context *context, uintptr_t pc,
                       const void *tables)
{
    enum { CONTEXT_BYTES = 256, BESIDE_BYTES = 128 };
    uintptr_t now = (uintptr_t)_Unwind_GetCFA(context);
    struct rule rule = find_rule(pc, tables);
    if (rule.kind == BY_SIGNAL)
        return is_readable(p, now, now + CONTEXT_BYTES);
    if (rule.kind == UNKNOWN)
        return false;
    uintptr_t from = rule.reg == RSP ? now : (uintptr_t)_Unwind_GetGR(context, rule.reg);
    uintptr_t end = from + (uintptr_t)(intptr_t)rule.offset;
    if (rule.kind == BY_WORD) { /* its registers are saved beside that word */
        if (!is_readable(p, from - BESIDE_BYTES, from) || !is_readable(p, end, end + sizeof end))
            return false;
        memcpy(&end, (const void *)end, sizeof end);
    }
    return end > now && is_readable(p, end - 8 * (uintptr_t)rule.below, end);
}

#else

void tp_frame_pages_begin(struct tp_frame_pages *p)
{
    (void)p;
}

void tp_frame_pages_end(struct tp_frame_pages *p)
{
    (void)p;
}

void tp_frame_pages_grow(struct tp_frame_pages *p, struct _Unwind_Context *context)
{
    (void)p, (void)context;
}

bool tp_frame_can_step(struct tp_frame_pages *p, struct _Unwind_Context *context, uintptr_t pc,
                       const void *tables)
{
    (void)p, (void)context, (void)pc, (void)tables;
    return true;
}

#endif
