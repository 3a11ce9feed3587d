/* Threads that give each other blocks, as servers do.
 *
 *     service_program queue REQUESTS   a producer builds trees that three workers read and free; of
 * each third worker some are kept in a cache service_program pool REQUESTS    threads that come and
 * go: each serves some requests, and leaves what it built to the next ones, which free it
 *
 * Every block is written. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS = 3, QUEUE = 64, CACHE = 4096, KIDS = 6, EACH = 500, ALIVE = 4 };

struct node {
    struct node *kids[KIDS];
    char *text;
};

static uint32_t next_random(uint32_t *state)
{
    *state = *state * UINT32_C(1664525) + UINT32_C(1013904223);
    return *state >> 8;
}

static void *take(size_t size)
{
    void *p = malloc(size);
    if (!p)
        abort();
    memset(p, 1, size);
    return p;
}

static struct node *build(uint32_t *random, int depth)
{
    struct node *n = take(sizeof *n);
    uint32_t kids = depth ? 1 + next_random(random) % KIDS : 0;
    memset(n->kids, 0, sizeof n->kids);
    n->text = take(16 + next_random(random) % 400);
    for (uint32_t i = 0; i < kids; i++)
        n->kids[i] = build(random, depth - 1);
    return n;
}

static void drop(struct node *n)
{
    for (int i = 0; n && i < KIDS; i++)
        drop(n->kids[i]);
    free(n ? n->text : NULL);
    free(n);
}

/* ---- queue ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct node *queue[QUEUE], *cache[CACHE];
static size_t first, last, requests;
static int done;

static void put(struct node *n)
{
    pthread_mutex_lock(&lock);
    while (last - first == QUEUE)
        pthread_cond_wait(&changed, &lock);
    queue[last++ % QUEUE] = n;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static struct node *get(void)
{
    struct node *n = NULL;
    pthread_mutex_lock(&lock);
    while (first == last && !done)
        pthread_cond_wait(&changed, &lock);
    if (first < last)
        n = queue[first++ % QUEUE];
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return n;
}

static void keep(uint32_t *random, struct node *n)
{
    pthread_mutex_lock(&lock);
    struct node **place = &cache[next_random(random) % CACHE], *old = *place;
    *place = n;
    pthread_mutex_unlock(&lock);
    drop(old);
}

static void *work(void *nth)
{
    uint32_t random = (uint32_t)(uintptr_t)nth + 1;
    for (struct node *n; (n = get());) {
        struct node *own = build(&random, 2);
        drop(n);
        if (next_random(&random) % 3)
            drop(own);
        else
            keep(&random, own);
    }
    return NULL;
}

static void serve_queue(void)
{
    pthread_t threads[WORKERS];
    uint32_t random = 7;
    for (uintptr_t i = 0; i < WORKERS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            abort();
    for (size_t i = 0; i < requests; i++)
        put(build(&random, 2));
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- pool ---- */

static void *serve_some(void *nth)
{
    uint32_t random = (uint32_t)(uintptr_t)nth * 77 + 5;
    for (int i = 0; i < EACH; i++)
        keep(&random, build(&random, 2));
    return NULL;
}

static void serve_pool(void)
{
    pthread_t threads[ALIVE];
    for (uintptr_t i = 0; i < requests / EACH; i++) {
        if (i >= ALIVE)
            pthread_join(threads[i % ALIVE], NULL);
        if (pthread_create(&threads[i % ALIVE], NULL, serve_some, (void *)i))
            abort();
    }
    for (size_t i = 0; i < ALIVE && i < requests / EACH; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    requests = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if (argc < 3 || (strcmp(argv[1], "queue") != 0 && strcmp(argv[1], "pool") != 0))
        return 2;
    if (argv[1][0] == 'q')
        serve_queue();
    else
        serve_pool();
    for (size_t i = 0; i < CACHE; i++)
        drop(cache[i]);
    return 0;
}
