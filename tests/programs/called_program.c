/* A program whose functions hold known shares of its memory, for `tapool record --stacks`: f has
 * 60 % of the peak and g 40 %. The other tasks do what a stack may not trip over. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
        void *found = library ? dlsym(library, i % 2 ? "second" : "first") : NULL;
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
    if (!strcmp(task, "deep")) {
        deep(10000);
        return end();
    }
    if (!strcmp(task, "threads"))
        return threads();
    if (!strcmp(task, "signals"))
        return signals();
    return argc > 3 && !strcmp(task, "libraries") ? libraries(argv + 2) : 2;
}
