/* Strategies with TP_CAP_THREADS under eight real threads: the row of the conformance suite,
 * replayed here and not in test_conformance, so that the thread sanitizer watches it. */
#include "alloc/conformance/conformance_replay.h"
#include "alloc/conformance/conformance_suite.h"
#include "cmd/jobs/catalog.h"
#include "tests/unit/conformance.h"
#include "tests/unit/property_planted.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct tp_conformance_check *the_check(void)
{
    const struct tp_conformance_check *check = tp_conformance_checks;
    while (check->bit != TP_CONFORM_THREADS)
        check++;
    return check;
}

/* Returns on how many places the strategy was replayed. */
static unsigned run(const struct tp_strategy *s, const char *options)
{
    const struct tp_conformance_case c = {s, options};
    unsigned replayed = 0;
    for (const struct tp_conformance_place *on = tp_conformance_places; on->name; on++) {
        struct tp_err err;
        if (!tp_conformance_replays(the_check(), &c, on))
            continue;
        print_message("  %s:%s on %s\n", s->name, options, on->name);
        if (the_check()->run(&c, on, &err))
            fail_msg("%s", err.text);
        replayed++;
    }
    return replayed;
}

/* ---- the tests ---- */

static void registered_strategies(void **state)
{
    (void)state;
    for (size_t i = 0; tp_strategies[i]; i++)
        if (tp_strategies[i]->caps & TP_CAP_THREADS && tp_strategy_has_ranges(tp_strategies[i]))
            assert_int_equal(run(tp_strategies[i], ""), 2);
    assert_int_equal(run(&tp_strategy_arena, "checks=no"), 2);
}

static void run_planted(const char *options, struct crowd_counts *n)
{
    const struct rig_cfg cfg = {
        .strategy = &planted_strategy, .options = options, .base = &tp_source_host};
    struct tp_err err;
    if (tp_conformance_crowd(&cfg, n, &err))
        fail_msg("%s", err.text);
}

/* One lock around everything: what fails here is the test itself. Blocks go both ways, and threads
 * end in between, or there is little to find. */
static void threads_share_what_they_hold(void **state)
{
    (void)state;
    struct crowd_counts n;
    run_planted("", &n);
    print_message("  %llu frees by the same thread, %llu by another; %llu threads ended, "
                  "%llu blocks adopted\n",
                  (unsigned long long)n.local, (unsigned long long)n.remote,
                  (unsigned long long)n.ends, (unsigned long long)n.adopted);
    assert_true(n.remote > n.local / 3 && n.local > n.remote / 3);
    assert_true(n.ends >= 2 * RIG_MAX_THREADS && n.adopted > 0);
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif
#ifndef UNDER_THREAD_SANITIZER
#define UNDER_THREAD_SANITIZER 0
#endif

/* A list that lost an entry to a race may end in a circle; nobody waits for that longer than this.
 */
#define HANG_S 100

/* One list without a lock, in a process of its own: it may crash or hang, too, and either is found.
 */
static void a_lock_that_is_missing_is_found(void **state)
{
    (void)state;
    int status = 0;
    if (UNDER_THREAD_SANITIZER) {
        print_message("  the sanitizer would speak first\n");
        return;
    }
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        const struct tp_conformance_case c = {&planted_strategy, "bug=no_lock"};
        struct tp_err err;
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0)
            dup2(null, STDERR_FILENO);
        alarm(HANG_S);
        _exit(the_check()->run(&c, &tp_conformance_places[0], &err) != TP_OK);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_not_equal(status, 0);
}

/* A counter outside the lock: the sanitizer must see it, else the harness orders too much. */
static void planted_race_is_seen(void **state)
{
    (void)state;
    int status = 0;
    if (!UNDER_THREAD_SANITIZER) {
        print_message("  only where the thread sanitizer looks\n");
        return;
    }
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        setenv("TSAN_OPTIONS", "exitcode=66", 1);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0) {
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        execl("/proc/self/exe", "test_threads", "race", (char *)NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 66); /* the sanitizer's own */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_what_they_hold),
        cmocka_unit_test(a_lock_that_is_missing_is_found),
        cmocka_unit_test(planted_race_is_seen),
        cmocka_unit_test(registered_strategies),
    };
    if (argc > 1 && !strcmp(argv[1], "race")) { /* what planted_race_is_seen starts */
        struct crowd_counts n;
        run_planted("bug=race", &n);
        return 0;
    }
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
