/* A program whose functions hold known shares of its memory, for `tapool record --stacks`: f has
 * 60% of the peak and g 40%. The other tasks do what a stack may not trip over. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 20000, LARGE = 100 };

static void *kept[2 * BLOCKS];
static int count;

__attribute__((noinline)) void f(int blocks, size_t size);
__attribute__((noinline)) void g(int blocks, size_t size);
__attribute__((noinline)) void deep(int levels);

void f(int blocks, size_t size)
{
    for (int i = 0; i < blocks; i++)
        kept[count++] = malloc(size);
}

void g(int blocks, size_t size)
{
    for (int i = 0; i < blocks; i++)
        kept[count++] = realloc(malloc(1), size);
}

/* Asked by three, of which none has most; and by two, of which one has four fifths. */
#define ASKS(name, of, blocks)                                                                     \
    __attribute__((noinline)) void name(void);                                                     \
    void name(void)                                                                                \
    {                                                                                              \
        of(blocks, 1000);                                                                          \
        __asm__ volatile("" ::: "memory");                                                         \
    }
ASKS(forty, f, 40)
ASKS(thirty_five, f, 35)
ASKS(twenty_five, f, 25)
ASKS(four_fifths, g, 80)
ASKS(one_fifth, g, 20)

static int end(void)
{
    while (count)
        free(kept[--count]);
    return 0;
}

void deep(int levels)
{
    char room[64];
    memset(room, levels, sizeof room);
    if (levels)
        deep(levels - 1);
    else
        f(1000, 16);
    __asm__ volatile("" ::"r"(room) : "memory");
}

/* ---- what stacks may not trip over ---- */

static void *in_thread(void *data)
{
    for (int i = 0; i < 5000; i++)
        free(malloc(16 + (size_t)(i & 255)));
    return data;
}

static int threads(void)
{
    pthread_t all[8];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 8; i++)
            pthread_create(&all[i], NULL, in_thread, NULL);
        pid_t child = fork(); /* while the others take stacks */
        if (child == 0)
            _exit(in_thread(NULL) != NULL);
        for (int i = 0; i < 8; i++)
            pthread_join(all[i], NULL);
        int how = 0;
        if (waitpid(child, &how, 0) != child || how)
            return 1;
    }
    return 0;
}

/* Libraries come and go while others take stacks, two of them at one address if it happens so. */
static int libraries(char **paths)
{
    pthread_t other;
    pthread_create(&other, NULL, in_thread, NULL);
    for (int i = 0; i < 40; i++) {
        void *library = dlopen(paths[i % 2], RTLD_NOW);
        const char *name = i % 2 ? "second" : "first";
        void *found = library ? dlsym(library, name) : NULL;
        void *(*take)(size_t) = NULL;
        memcpy(&take, &found, sizeof take);
        if (!take)
            return 1;
        kept[count++] = take(50000);
        dlclose(library);
    }
    pthread_join(other, NULL);
    return end();
}

/* A child that frees before it allocates. */
static int heirs(void)
{
    int how = 0;
    f(10, 50000);
    for (int i = 0; i < 3 && !how; i++) {
        pid_t child = fork();
        if (child == 0) {
            free(kept[--count]);
            f(1, 70000);
            _exit(0);
        }
        if (waitpid(child, &how, 0) != child)
            return 1;
    }
    return how;
}

static volatile sig_atomic_t caught;

static void on_alarm(int number)
{
    caught += number == SIGPROF;
}

/* Handlers run between, and on the stack of, what is looked at. */
static int signals(void)
{
    const struct sigaction how = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &how, NULL);
    for (int i = 0; i < 2000; i++) {
        raise(SIGPROF);
        free(malloc(20));
    }
    return caught != 2000;
}

/* ---- what an unwinder may trip over ---- */

#if defined(__x86_64__)
/* A fiber on a stack that was made by hand: where its first function would return to there is no
 * code. */
static void *fiber, *origin;

__attribute__((naked, noinline)) static void change_stack(__attribute__((unused)) void **save,
                                                          __attribute__((unused)) void *to)
{
    __asm__("push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
            "mov %rsp, (%rdi)\n\tmov %rsi, %rsp\n\t"
            "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret");
}

__attribute__((noinline)) void run_fiber(void);
void run_fiber(void)
{
    for (;;) {
        kept[0] = malloc(77);
        free(kept[0]);
        change_stack(&fiber, origin);
    }
}

/* The first function of a fiber whose stack is mapped to its very end: it is never returned from,
 * and so there is no place for where it would return to. */
__attribute__((naked, noinline)) static void begin_fiber(void)
{
    __asm__("call run_fiber\n\thlt");
}

static int edges(void)
{
    enum { BYTES = 1 << 16 };
    char *stack =
        mmap(NULL, BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mprotect(stack + BYTES, 4096, PROT_NONE))
        return 1;
    uint64_t *top = (uint64_t *)(void *)(stack + BYTES) - 7;
    top[6] = (uint64_t)(uintptr_t)begin_fiber;
    fiber = top;
    for (int i = 0; i < 10; i++)
        change_stack(&origin, fiber);
    return 0;
}

/* Uses the register that its tables take for the frame's as any other. */
__attribute__((naked, noinline)) static void with_wild(void)
{
    __asm__("push %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 6, -16\n\t"
            "mov %rsp, %rbp\n\t.cfi_def_cfa_register 6\n\t"
            "push %rbx\n\tsub $8, %rsp\n\tmov $0x1000, %ebp\n\tcall allocate_wild\n\t"
            "add $8, %rsp\n\tpop %rbx\n\tpop %rbp\n\tret");
}

void allocate_wild(void);
void allocate_wild(void)
{
    free(malloc(79));
    __asm__ volatile("" ::: "memory");
}

static int wild(void)
{
    for (int i = 0; i < 10; i++)
        with_wild();
    return 0;
}

static int fibers(void)
{
    static uint64_t stack[8192];
    for (size_t i = 0; i < sizeof stack / sizeof *stack; i++)
        stack[i] = UINT64_C(0xdeadbeefdeadbeef);
    uint64_t *top = &stack[sizeof stack / sizeof *stack - 16];
    top[6] = (uint64_t)(uintptr_t)run_fiber; /* behind six registers */
    fiber = top;
    for (int i = 0; i < 10; i++)
        change_stack(&origin, fiber);
    return 0;
}
#else
static int fibers(void)
{
    return 77;
}

static int edges(void)
{
    return 77;
}

static int wild(void)
{
    return 77;
}
#endif

/* Tables of code that is made at run time: from the first on, the program's unwinder takes a lock
 * when it looks for any. Children of fork find it as it was. */
extern void __register_frame(void *tables);
static unsigned char tables[24 + 24 + 4] __attribute__((aligned(8)));
static char code[16];
static atomic_bool over;

static void *allocate_on(void *unused)
{
    while (!over)
        free(malloc(100));
    return unused;
}

static void register_code(void)
{
    static const unsigned char common[24] = {20, 0, 0,    0,  0,    0, 0, 0,         1,
                                             0,  1, 0x78, 16, 0x0c, 7, 8, 0x80 | 16, 1};
    const uint32_t length = 20, back = 28;
    const void *start = code;
    const uint64_t bytes = sizeof code;
    memcpy(tables, common, sizeof common);
    memcpy(tables + 24, &length, 4);
    memcpy(tables + 28, &back, 4);
    memcpy(tables + 32, &start, 8);
    memcpy(tables + 40, &bytes, 8);
    __register_frame(tables);
}

static int registers(void)
{
    pthread_t thread;
    int how = 0;
    register_code();
    if (pthread_create(&thread, NULL, allocate_on, NULL))
        return 1;
    for (int i = 0; i < 40 && !how; i++) {
        pid_t child = fork();
        if (!child) {
            free(malloc(50000));
            _exit(0);
        }
        waitpid(child, &how, 0);
    }
    over = true;
    pthread_join(thread, NULL);
    return how;
}

int main(int argc, char **argv)
{
    const char *task = argc > 1 ? argv[1] : "";
    if (!strcmp(task, "small")) {
        f(BLOCKS, 60);
        g(BLOCKS, 40);
        return end();
    }
    if (!strcmp(task, "large")) {
        f(LARGE, 60000);
        g(LARGE, 40000);
        return end();
    }
    if (!strcmp(task, "shared")) {
        forty(), thirty_five(), twenty_five();
        four_fifths(), one_fifth();
        return end();
    }
    if (!strcmp(task, "deep")) {
        deep(10000);
        return end();
    }
    if (!strcmp(task, "threads"))
        return threads();
    if (!strcmp(task, "signals"))
        return signals();
    if (!strcmp(task, "fibers"))
        return fibers();
    if (!strcmp(task, "edges"))
        return edges();
    if (!strcmp(task, "wild"))
        return wild();
    if (!strcmp(task, "heirs"))
        return heirs();
    if (!strcmp(task, "registers"))
        return registers();
    return argc > 3 && !strcmp(task, "libraries") ? libraries(argv + 2) : 2;
}
