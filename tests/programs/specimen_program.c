/* What tests/fuzz/recording_specimens.sh records: one event of each kind. It ends `tapool record`,
 * which is its parent, and then itself, so that the recording is left as it is. */
#include "cmd/preload/mark.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

static void *thread(void *unused)
{
    kept = malloc(77);
    free(kept);
    return unused;
}

/* The second block stands in the way of the first, which moves. */
static void use_all(void)
{
    void *aligned = NULL, *first = malloc(100), *second = calloc(5, 8);
    if (posix_memalign(&aligned, 4096, 300))
        _exit(1);
    first = realloc(first, 5000);
    kept = realloc(second, 41);
    TAPOOL_MARK("second half");
    free(first);
    free(aligned);
}

int main(int argc, char **argv)
{
    pthread_t other;
    (void)argv;
    use_all();
    if (argc > 1 && (pthread_create(&other, NULL, thread, NULL) || pthread_join(other, NULL)))
        return 1;
    kill(getppid(), SIGKILL);
    raise(SIGKILL);
    return 1;
}
