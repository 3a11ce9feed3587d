/* Threads that take turns: each builds an index of small blocks, keeps a few and frees the rest.
 * One thread would reuse what another gave back; a malloc that keeps memory for each thread does
 * not.
 *
 *     turns_program THREADS MIB [trim]     each builds MIB MiB, twice; then malloc_trim(0)
 *
 * Prints the KiB by which the process grew at most, by the kernel. */
#include "tests/programs/process_status.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 2, BLOCKS_MOST = 1 << 18, KEPT = 400 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static unsigned long turn, threads, bytes;

static void build(char **blocks, uint64_t *random)
{
    unsigned long sum = 0, count = 0;
    while (sum < bytes && count < BLOCKS_MOST) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t size = 32 + (*random >> 33) % 1000;
        blocks[count] = malloc(size);
        if (!blocks[count])
            abort();
        memset(blocks[count++], 1, size);
        sum += size;
    }
    for (unsigned long i = 0; i < count; i++)
        if (i % KEPT != 0)
            free(blocks[i]);
}

static void *work(void *arg)
{
    static char *blocks[BLOCKS_MOST]; /* of the thread whose turn it is */
    unsigned long number = (unsigned long)(uintptr_t)arg;
    uint64_t random = number;
    for (unsigned long round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        while (turn != round * threads + number)
            pthread_cond_wait(&next, &lock);
        build(blocks, &random);
        turn++;
        pthread_cond_broadcast(&next);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t all[64];
    threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
    bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 8) << 20;
    if (threads < 1 || threads > sizeof all / sizeof *all)
        return 2;
    unsigned long before = process_status(getpid(), "VmRSS:");
    for (unsigned long i = 0; i < threads; i++)
        if (pthread_create(&all[i], NULL, work, (void *)(uintptr_t)i) != 0)
            return 1;
    for (unsigned long i = 0; i < threads; i++)
        pthread_join(all[i], NULL);
    if (argc > 3 && !strcmp(argv[3], "trim"))
        malloc_trim(0);
    printf("%lu\n", process_status(getpid(), "VmHWM:") - before);
    return 0;
}
