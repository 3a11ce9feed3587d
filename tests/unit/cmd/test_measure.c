/* Measuring in a process of its own: what the other program is given, and what becomes of all that
 * it can do. The other program is a shell script. */
#include "cmd/results/record.h"
#include "cmd/stats/rounds.h"

#include "cmd/jobs/open_trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ANSWER TAPOOL_ROOT "/tests/fuzz/corpus/stored/one-host-run.json"

static char folder[256], program[300], noted[300];

static int make_folder(void **state)
{
    struct tp_err err;
    (void)state;
    if (tp_measure_folder(folder, sizeof folder, &err))
        return -1;
    snprintf(program, sizeof program, "%s/test_measure", folder);
    snprintf(noted, sizeof noted, "%s/noted", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    tp_measure_folder_remove(folder);
    return access(folder, F_OK) == 0 ? -1 : 0;
}

static void write_program(const char *body)
{
    FILE *out = fopen(program, "w");
    assert_non_null(out);
    fprintf(out, "#!/bin/sh\nN='%s'\n%s\n", noted, body);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(program, 0700), 0);
}

static struct tp_measure asked(void)
{
    return (struct tp_measure){.binary = program,
                               .trace = "web.tpt",
                               .strategy = "lru:round=none",
                               .source = "host",
                               .passes = "usage",
                               .min_time_ns = 25000000,
                               .seed = 7,
                               .core = -1};
}

/* A program that does something else before it answers. */
static void write_answering(const char *body)
{
    char all[1024];
    snprintf(all, sizeof all, "%s\ncat '%s'", body, ANSWER);
    write_program(all);
}

static int measure(const struct tp_measure *m, struct tp_err *err)
{
    struct tp_stored got;
    int status = tp_measure(m, &got, err);
    tp_stored_release(&got);
    return status;
}

static int run(const char *body, struct tp_err *err)
{
    struct tp_measure m = asked();
    write_program(body);
    return measure(&m, err);
}

static const char *note(void)
{
    static char text[65536];
    FILE *in = fopen(noted, "r");
    assert_non_null(in);
    size_t length = fread(text, 1, sizeof text - 1, in);
    text[length] = '\0';
    fclose(in);
    return text;
}

static void an_answer_is_read(void **state)
{
    (void)state;
    struct tp_measure m = asked();
    struct tp_stored got;
    write_program("cat '" ANSWER "'");
    assert_int_equal(tp_measure(&m, &got, NULL), TP_OK);
    assert_int_equal(got.count, 1);
    assert_true(strlen(got.runs[0].hash) == 64);
    tp_stored_release(&got);
}

static void what_the_program_is_given(void **state)
{
    (void)state;
    static const char *const more[] = {"--touch", "none", NULL};
    struct tp_measure m = asked();
    m.more = more;
    write_answering("printf '%s|' \"$@\" >\"$N\"");
    assert_int_equal(measure(&m, NULL), TP_OK);
    assert_string_equal(note(),
                        "replay|-s|lru:round=none|--format|json|--passes|usage|--min-time|"
                        "25000000ns|--seed|7|--source|host|--threads|1|--touch|none|--|web.tpt|");
}

static void a_runner_stands_before_it(void **state)
{
    (void)state;
    const char *runner[] = {program, "--tool=x", NULL};
    struct tp_measure m = asked();
    m.runner = runner;
    m.binary = NULL;
    write_answering("printf '%s|' \"$1\" \"$2\" \"$3\" >\"$N\"");
    assert_int_equal(measure(&m, NULL), TP_OK);
    assert_non_null(strstr(note(), "--tool=x|/"));
    assert_non_null(strstr(note(), "/unit_cmd|replay|"));
}

/* The runner opens what it is given by name. */
static int say_without_its_file(const char *own)
{
    const char *runner[] = {"/bin/true", NULL};
    struct tp_measure m = asked();
    struct tp_err err = {0};
    m.runner = runner;
    m.binary = NULL;
    int status = unlink(own) ? TP_OK : measure(&m, &err);
    printf("%d: %s", status, err.text);
    return 0;
}

static void a_runner_is_not_given_a_file_that_is_gone(void **state)
{
    (void)state;
    char command[1024], line[512] = "", expected[128];
    snprintf(command, sizeof command, "cp /proc/%ld/exe '%s' && '%s' gone", (long)getpid(), program,
             program);
    remove(program);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    assert_non_null(fgets(line, sizeof line, in));
    assert_int_equal(pclose(in), 0);
    snprintf(expected, sizeof expected, "%d: the program file of this tapool was deleted", TP_EIO);
    assert_string_equal(line, expected);
}

/* No option of the user's may reach one side more than the other. */
static void its_environment_is_put_in_order(void **state)
{
    (void)state;
    struct tp_measure m = asked();
    m.padding = 321;
    setenv("TAPOOL_MIN_TIME", "9s", 1);
    setenv("TAPOOL_SAMPLES", "/samples", 1);
    setenv("TAPOOL_VALGRIND", "/valgrind", 1);
    setenv("TAPOOL_OF_ANOTHER_BUILD", "1", 1);
    write_answering("env >\"$N\"");
    assert_int_equal(measure(&m, NULL), TP_OK);
    unsetenv("TAPOOL_MIN_TIME");
    unsetenv("TAPOOL_SAMPLES");
    unsetenv("TAPOOL_VALGRIND");
    unsetenv("TAPOOL_OF_ANOTHER_BUILD");
    assert_null(strstr(note(), "TAPOOL_MIN_TIME"));
    assert_null(strstr(note(), "TAPOOL_OF_ANOTHER_BUILD"));
    assert_non_null(strstr(note(), "TAPOOL_VALGRIND=/valgrind\n"));
    assert_non_null(strstr(note(), "TAPOOL_SAMPLES=/samples\n"));
    assert_non_null(strstr(note(), "TAPOOL_CONFIG=\n"));
    const char *padding = strstr(note(), "_TAPOOL_PADDING=");
    assert_non_null(padding);
    assert_int_equal(strspn(padding + strlen("_TAPOOL_PADDING="), "x"), 321);
}

static void it_is_pinned(void **state)
{
    (void)state;
    struct tp_measure m = asked();
    char expected[64];
    m.core = tp_measure_core();
    assert_true(m.core >= 0);
    write_answering("grep Cpus_allowed_list /proc/self/status >\"$N\"");
    assert_int_equal(measure(&m, NULL), TP_OK);
    snprintf(expected, sizeof expected, "Cpus_allowed_list:\t%d\n", m.core);
    assert_string_equal(note(), expected);
}

static void whatever_it_does_has_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int status;
        const char *text; /* a part of it */
    } rows[] = {
        {"kill -9 $$", TP_EIO, "killed by signal 9"},
        {"kill -11 $$", TP_EIO, "killed by signal 11"},
        {"exit 1", TP_EIO, "ended with code 1 and no word"}, /* no regression */
        {"exit 4", TP_EIO, "ended with code 4 and no word"},
        {"exit 0", TP_EIO, "answered nothing"},
        {"echo nonsense", TP_EIO, "the answer of"},
        {"head -c 500 '" ANSWER "'", TP_EIO, "the answer of"},
        {"echo 'tapool: web.tpt: no such trace' >&2; echo 'hint: look' >&2; exit 3", TP_EINPUT,
         "no such trace"},
        {"echo \"tapool: unknown option '--passes'\" >&2; exit 2", TP_EUSAGE, "unknown option"},
        {"head -c 1000000 /dev/zero >&2; exit 4", TP_EIO, "ended with code 4"},
        {"sed -E 's/\"runs\":\\[(.*)]}$/\"runs\":[\\1,\\1]}/' '" ANSWER "'", TP_EIO,
         "holds 2 results, not one"},
        {"yes | head -c 3000000; exit 0", TP_EIO, "the answer of"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_err err = {0};
        int status = run(rows[i].body, &err);
        if (status != rows[i].status || !strstr(err.text, rows[i].text))
            fail_msg("'%s': status %d, '%s'", rows[i].body, status, err.text);
    }
}

static void a_program_that_is_not_there(void **state)
{
    (void)state;
    struct tp_measure m = asked();
    struct tp_err err = {0};
    m.binary = "/nonexistent/tapool";
    assert_int_equal(measure(&m, &err), TP_EIO);
    assert_non_null(strstr(err.text, "cannot be started: No such file"));
}

static void a_wish_to_stop_ends_it(void **state)
{
    (void)state;
    volatile sig_atomic_t now = 1;
    struct tp_measure m = asked();
    struct tp_err err = {0};
    m.interrupted = &now;
    write_program("exec sleep 600");
    assert_int_equal(measure(&m, &err), TP_ESTOP);
}

/* ---- rounds ---- */

static struct tp_prepared prepared(void)
{
    const struct tp_open_opts o = {.device = TP_OPT_KEYWORD(0), .max_memory = 1u << 30};
    struct tp_prepared p;
    struct tp_err err = {0};
    int status = tp_measure_prepare(TAPOOL_ROOT "/traces/samples/sqlite.json", &o, &p, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, TP_OK);
    assert_int_equal(access(p.path, R_OK), 0);
    assert_string_equal(p.name, "sqlite.json");
    assert_int_equal(p.kind, TP_KIND_HOST);
    assert_int_equal(p.events, 6170);
    return p;
}

static int replay_rounds(struct tp_prepared *p, unsigned rounds, struct tp_rounds *out,
                         struct tp_err *err)
{
    const struct tp_side sides[] = {{program, "lru"}, {program, "arena"}, {program, "bump"}};
    struct tp_rounds_cfg cfg = {.trace = p, .rounds = rounds, .seed = 3, .core = -1};
    return tp_rounds_replay(&cfg, sides, 3, out, err);
}

/* How often each strategy was replayed, and in how many orders a round came. */
static void count_orders(unsigned *replayed, unsigned *orders)
{
    char seen[8][8] = {{0}}, order[8] = "";
    *orders = 0;
    memset(replayed, 0, 3 * sizeof *replayed);
    unsigned at = 0;
    for (const char *line = note(); *line; line = strchr(line, '\n') + 1, at++) {
        unsigned first = line[0] == 'a' ? 1 : 2;
        replayed[line[0] == 'l' ? 0 : first]++;
        if (at < 3) /* warm-ups */
            continue;
        order[(at - 3) % 3] = line[0];
        if (at % 3 != 2)
            continue;
        unsigned k = 0;
        while (k < *orders && strcmp(seen[k], order) != 0)
            k++;
        if (k == *orders)
            memcpy(seen[(*orders)++], order, sizeof order);
    }
}

/* Gone, or a zombie that nobody has asked for. */
static bool has_ended(long pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *in = fopen(path, "r");
    if (!in)
        return true;
    if (fscanf(in, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    fclose(in);
    return state == 'Z' || state == 'X';
}

static void what_hangs_is_ended_with_all_that_it_started(void **state)
{
    (void)state;
    struct tp_measure m = asked();
    struct tp_err err = {0};
    long program_pid = 0, started_pid = 0;
    write_program("sleep 1000 & echo $$ $! >\"$N\"; wait");
    /* long enough for the script to have begun: if it had not, there would be nothing to find */
    remove(noted);
    for (m.timeout_ns = 200000000;
         sscanf(access(noted, F_OK) ? "" : note(), "%ld %ld", &program_pid, &started_pid) != 2;
         m.timeout_ns *= 2) {
        assert_int_equal(measure(&m, &err), TP_ELATE);
        assert_non_null(
            strstr(err.text, "/test_measure' replaying 'lru:round=none' had not ended "));
        assert_non_null(strstr(err.hint, "--timeout"));
    }
    assert_true(has_ended(program_pid));
    for (int ms = 0; ms < 60000 && !has_ended(started_pid); ms++) /* a kill needs a moment */
        usleep(1000);
    assert_true(has_ended(started_pid));
}

static void an_answer_in_time_is_taken(void **state)
{
    (void)state;
    struct tp_measure m = asked();
    m.timeout_ns = UINT64_C(3600000000000);
    write_answering("");
    assert_int_equal(measure(&m, NULL), TP_OK);
}

static void how_long_a_replay_may_take(void **state)
{
    (void)state;
    const uint64_t s = UINT64_C(1000000000), automatic = TP_OPT_KEYWORD(TP_TIMEOUT_AUTO);
    assert_int_equal(tp_timeout_of(TP_OPT_KEYWORD(TP_TIMEOUT_NONE), 5, 5), 0);
    assert_int_equal(tp_timeout_of(7, 1000000, s), 7);
    assert_int_equal(tp_timeout_of(automatic, 0, 0), 120 * s);
    assert_int_equal(tp_timeout_of(automatic, 4000000, s / 2), (120 + 400 + 10) * s);
    assert_int_equal(tp_timeout_of(automatic, UINT64_MAX / 2, 0), 0); /* longer than time lasts */
}

static void rounds_replay_each_side_once_in_random_order(void **state)
{
    (void)state;
    enum { ROUNDS = 12 };
    struct tp_prepared p = prepared();
    struct tp_rounds r;
    struct tp_err err = {0};
    unsigned replayed[3], orders;
    remove(noted);
    char body[1024];
    snprintf(body, sizeof body,
             "echo \"$3\" >>\"$N\"; sed -E 's/(\"program_hash\": *\")[0-9a-f]+/\\1%s/' '%s'",
             p.hash, ANSWER);
    write_program(body);
    int status = replay_rounds(&p, ROUNDS, &r, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(status, TP_OK);
    count_orders(replayed, &orders);
    for (int s = 0; s < 3; s++)
        assert_int_equal(replayed[s], ROUNDS + 1);
    assert_true(orders >= 3); /* of six; the seed is fixed */
    const struct tp_metric *ns = tp_metric_find("ns_per_op", NULL);
    for (size_t s = 0; s < 3; s++)
        for (int i = 0; i < ROUNDS; i++)
            assert_true(tp_rounds_values(&r, s, ns)[i] > 0);
    tp_rounds_release(&r);
    tp_prepared_release(&p);
}

static void rounds_of_another_program_are_refused(void **state)
{
    (void)state;
    struct tp_prepared p = prepared();
    struct tp_rounds r;
    struct tp_err err = {0};
    write_program("sed -E 's/(\"program_hash\": *\")[0-9a-f]{8}/\\100000000/' '" ANSWER "'");
    assert_int_equal(replay_rounds(&p, 2, &r, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "another program"));
    tp_rounds_release(&r);
    tp_prepared_release(&p);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "gone"))
        return say_without_its_file(argv[0]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_read),
        cmocka_unit_test(what_the_program_is_given),
        cmocka_unit_test(a_runner_stands_before_it),
        cmocka_unit_test(a_runner_is_not_given_a_file_that_is_gone),
        cmocka_unit_test(its_environment_is_put_in_order),
        cmocka_unit_test(it_is_pinned),
        cmocka_unit_test(whatever_it_does_has_a_sentence),
        cmocka_unit_test(a_program_that_is_not_there),
        cmocka_unit_test(a_wish_to_stop_ends_it),
        cmocka_unit_test(what_hangs_is_ended_with_all_that_it_started),
        cmocka_unit_test(an_answer_in_time_is_taken),
        cmocka_unit_test(how_long_a_replay_may_take),
        cmocka_unit_test(rounds_replay_each_side_once_in_random_order),
        cmocka_unit_test(rounds_of_another_program_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
