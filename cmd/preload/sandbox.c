/* Programs that forbid themselves calls of the system (seccomp). The kernel may kill the program
 * for a call that the recorder makes, so it makes none from then on: threads write on in the chunks
 * that they have, and the first that needs another one ends the recording.
 *
 * Known weakness: who forbids itself calls without the C library is not seen here. */
#include "cmd/preload/recorder.h"

#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The C library declares both with `...`. */
typedef long syscall_fn(long n, long a, long b, long c, long d, long e, long f);
typedef int prctl_fn(int option, long a, long b, long c, long d);
TP_HOOK prctl_fn tp_hook_prctl __asm__("prctl");

/* The functions below; NULL until the first call. */
__attribute__((visibility("hidden"))) syscall_fn *tp_below_syscall;
static prctl_fn *below_prctl;
__attribute__((visibility("hidden"))) syscall_fn tp_look_at_syscall;

/* An allocator may call these with its lock held, so nothing is looked for here that may be missing
 * (tp_below_look). At the latest the constructor finds them: later, the loader may be locked by who
 * waits for that allocator. */
static syscall_fn *find_syscall(void)
{
    if (!tp_below_syscall) {
        void *found = tp_below_look("syscall");
        memcpy(&tp_below_syscall, &found, sizeof found);
    }
    return tp_below_syscall;
}

static prctl_fn *find_prctl(void)
{
    if (!below_prctl) {
        void *found = tp_below_look("prctl");
        memcpy(&below_prctl, &found, sizeof found);
    }
    return below_prctl;
}

__attribute__((constructor)) static void find_both(void)
{
    find_syscall();
    find_prctl();
}

/* Before the program's own call. The recording ends at once where not even the clock may be read:
 * the strict mode takes the processor's counter away, too, and other clocks may need a call. true:
 * what is forbidden is so from this call on. */
static bool prepare(bool at_once, enum tp_record_why why)
{
    bool first = !tp_recorder_is_sealed();
    if (tp_recorder_seal(true) && (at_once || !tp_recorder.counter))
        tp_recorder_end(why, 0);
    return first;
}

/* A filter that the kernel did not take forbids nothing. */
static void look_at(long result, bool first)
{
    if (result < 0 && first)
        tp_recorder_seal(false);
}

static bool confines(long n, long a)
{
    return (n == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)) ||
           (n == SYS_prctl && a == PR_SET_SECCOMP);
}

static __attribute__((noinline)) long confine(long n, long a, long b, long c, long d, long e,
                                              long f)
{
    bool strict = n == SYS_seccomp ? a == SECCOMP_SET_MODE_STRICT : b == SECCOMP_MODE_STRICT;
    bool first = prepare(strict, TP_REC_SANDBOX);
    long result = find_syscall()(n, a, b, c, d, e, f);
    look_at(result, first);
    return result;
}

long tp_look_at_syscall(long n, long a, long b, long c, long d, long e, long f)
{
    if (confines(n, a))
        return confine(n, a, b, c, d, e, f);
    return find_syscall()(n, a, b, c, d, e, f);
}

#if defined(__x86_64__)
TP_HOOK void tp_hook_syscall(void) __asm__("syscall");

/* The last word would be on the stack. Where the caller gives fewer there is something of his own,
 * which nobody may write: the stack is left as it is. */
#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
__attribute__((naked)) void tp_hook_syscall(void)
{
    __asm__(
        "cmp $" TEXT(__NR_seccomp) ", %rdi\n\t"
                                   "je 1f\n\t"
                                   "cmp $" TEXT(__NR_prctl) ", %rdi\n\t"
                                                            "je 1f\n\t"
                                                            "mov tp_below_syscall(%rip), %r11\n\t"
                                                            "test %r11, %r11\n\t"
                                                            "je 1f\n\t"
                                                            "jmp *%r11\n"
                                                            "1:\tjmp tp_look_at_syscall");
}
#else
TP_HOOK syscall_fn tp_hook_syscall __asm__("syscall");

long tp_hook_syscall(long n, long a, long b, long c, long d, long e, long f)
{
    return tp_look_at_syscall(n, a, b, c, d, e, f);
}
#endif

int tp_hook_prctl(int option, long a, long b, long c, long d)
{
    bool first = false;
    if (option == PR_SET_SECCOMP)
        first = prepare(a == SECCOMP_MODE_STRICT, TP_REC_SANDBOX);
    else if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
        first = prepare(true, TP_REC_NO_CLOCK);
    int result = find_prctl()(option, a, b, c, d);
    look_at(result, first);
    return result;
}
