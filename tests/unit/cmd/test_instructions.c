/* Counting instructions: files of callgrind, whole and hostile; valgrinds that are none (scripts
 * that stand for them); and, where there is a real one, that a count is the same every time. */
#include "alloc/engine/counter.h"
#include "cmd/stats/callgrind.h"
#include "cmd/stats/instructions.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SQLITE TAPOOL_ROOT "/traces/samples/sqlite.json"

static char folder[64], script[96], file[96];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tapool-test.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(script, sizeof script, "%s/valgrind", folder);
    snprintf(file, sizeof file, "%s/count.1", folder);
    return unsetenv("TAPOOL_VALGRIND");
}

static int tear_down(void **state)
{
    (void)state;
    tp_measure_folder_remove(folder);
    return unsetenv("TAPOOL_VALGRIND");
}

static void write_text(const char *path, const char *text, size_t length, mode_t mode)
{
    unlink(path);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, length, out), length);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* ---- files of callgrind ---- */

static const char whole[] = "# callgrind format\n"
                            "version: 1\n"
                            "creator: callgrind-3.19.0\n"
                            "pid: 9029\n"
                            "cmd:  ./tapool replay a.json\n"
                            "part: 1\n\n\n"
                            "desc: I1 cache: \n"
                            "desc: Trigger: Program termination\n\n"
                            "positions: line\n"
                            "events: Ir\n"
                            "summary: 624016\n\n\n"
                            "ob=(1) /usr/bin/tapool\n"
                            "fl=(1) ???\n"
                            "fn=(1) tp_replay_counted\n"
                            "0 624016\n\n"
                            "totals: 624016\n";

static int read_text(const char *text, size_t length, uint64_t *out, struct tp_err *err)
{
    write_text(file, text, length, 0600);
    return tp_callgrind_read(file, out, err);
}

TEST_WITH(test_whole, set_up, tear_down)
{
    uint64_t count = 0;
    struct tp_err err;
    assert_int_equal(read_text(whole, strlen(whole), &count, &err), TP_OK);
    assert_int_equal(count, 624016);
    static const char bare[] = "version: 1\nevents: Ir \ntotals: 18446744073709551614\n";
    assert_int_equal(read_text(bare, strlen(bare), &count, &err), TP_OK);
    assert_true(count == UINT64_MAX - 1);
}

/* Cut anywhere it is refused; but the last end of line may be missing. */
TEST_WITH(test_cut, set_up, tear_down)
{
    uint64_t count;
    struct tp_err err;
    const char *totals = strstr(whole, "totals: ");
    for (size_t length = 0; length < (size_t)(totals - whole) + 9; length++) {
        if (length == (size_t)(totals - whole) + 8)
            continue;
        assert_int_equal(read_text(whole, length, &count, &err), TP_EIO);
        assert_non_null(strstr(err.text, "count.1"));
    }
    /* a number cut in its middle is caught by the sum of the head */
    assert_int_equal(read_text(whole, strlen(whole) - 3, &count, &err), TP_EIO);
    assert_non_null(strstr(err.text, "contradicts"));
    assert_int_equal(read_text(whole, strlen(whole) - 1, &count, &err), TP_OK);
}

TEST_WITH(test_hostile, set_up, tear_down)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "not a callgrind file"},
        {"\n\n", "not a callgrind file"},
        {"totals: 5\n", "no total"},
        {"version: 1\ntotals: 5\n", "no total"},
        {"events: Ir\nversion: 1\ntotals: 5\n", "something else"},
        {"version: 2\nevents: Ir\ntotals: 5\n", "another version"},
        {"version: 1\nevents: Dr\ntotals: 5\n", "something else"},
        {"version: 1\nevents: Ir Dr Dw\ntotals: 5 6 7\n", "something else"},
        {"version: 1\nevents: Ir\nevents: Ir\ntotals: 5\n", "something else"},
        {"version: 1\nevents: Ir\ntotals: \n", "no total"},
        {"version: 1\nevents: Ir\ntotals: -5\n", "no total"},
        {"version: 1\nevents: Ir\ntotals: +5\n", "no total"},
        {"version: 1\nevents: Ir\ntotals: 0x5\n", "no total"},
        {"version: 1\nevents: Ir\ntotals: 5e3\n", "no total"},
        {"version: 1\nevents: Ir\ntotals: nan\n", "no total"},
        {"version: 1\nevents: Ir\ntotals: 5 6\n", "no total"},
        {"version: 1\nevents: Ir\ntotals: 18446744073709551615\n", "no total"},
        {"version: 1\nevents: Ir\ntotals: 99999999999999999999\n", "no total"},
        {"version: 1\nevents: Ir\nsummary: 4\ntotals: 5\n", "contradicts"},
        {"version: 1\nevents: Ir\nsummary: 5\nsummary: 5\ntotals: 5\n", "no sum"},
        {"version: 1\nevents: Ir\ntotals: 5\nfn=(1) x\ntotals: 5\n", "goes on"},
        {"version: 1\nevents: Ir\n totals: 5\n", "cut off"},
        {"version: 1\r\nevents: Ir\r\ntotals: 5\r\n", "another version"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t count;
        struct tp_err err;
        assert_int_equal(read_text(rows[i].text, strlen(rows[i].text), &count, &err), TP_EIO);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu: '%s' does not say '%s'", i, err.text, rows[i].says);
    }
}

/* What stands in the middle of a long line is no line, and bytes are no text. */
TEST_WITH(test_long_and_binary, set_up, tear_down)
{
    enum { LONG = 4095 };
    uint64_t count;
    struct tp_err err;
    char *text = malloc(3 * LONG);
    assert_non_null(text);
    for (int before = LONG - 20; before < LONG + 20; before++) {
        int n = snprintf(text, 3 * LONG, "version: 1\nevents: Ir\n%*stotals: 5\n", before, "");
        assert_int_equal(read_text(text, (size_t)n, &count, &err), TP_EIO);
    }
    uint64_t random = 7;
    for (int round = 0; round < 200; round++) {
        size_t length = (size_t)round * 7;
        for (size_t i = 0; i < length; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[i] = (char)(random >> 56);
        }
        assert_int_equal(read_text(text, length, &count, &err), TP_EIO);
    }
    free(text);
}

TEST_WITH(test_no_file, set_up, tear_down)
{
    uint64_t count;
    struct tp_err err;
    assert_int_equal(tp_callgrind_read(file, &count, &err), TP_EIO);
    assert_int_equal(mkfifo(file, 0600), 0); /* nobody writes: it must not wait */
    assert_int_equal(tp_callgrind_read(file, &count, &err), TP_EIO);
    unlink(file);
    assert_int_equal(symlink("/etc/hostname", file), 0);
    assert_int_equal(tp_callgrind_read(file, &count, &err), TP_EIO);
    unlink(file);
    assert_int_equal(mkdir(file, 0700), 0);
    assert_int_equal(tp_callgrind_read(file, &count, &err), TP_EIO);
    assert_int_equal(rmdir(file), 0);
}

/* The program and what it started; what is not callgrind's does not count. */
TEST_WITH(test_sum, set_up, tear_down)
{
    static const char two[] = "version: 1\nevents: Ir\ntotals: 2\n",
                      most[] = "version: 1\nevents: Ir\ntotals: 18446744073709551614\n";
    uint64_t count;
    struct tp_err err;
    char other[96];
    assert_int_equal(tp_callgrind_sum(folder, &count, &err), TP_EIO);
    assert_non_null(strstr(err.text, "left no count"));
    assert_int_equal(tp_callgrind_sum("/nonexistent", &count, &err), TP_EIO);
    write_text(file, two, strlen(two), 0600);
    snprintf(other, sizeof other, "%s/log.1", folder);
    write_text(other, "x", 1, 0600);
    assert_int_equal(tp_callgrind_sum(folder, &count, &err), TP_OK);
    assert_int_equal(count, 2);
    snprintf(other, sizeof other, "%s/count.22", folder);
    write_text(other, two, strlen(two), 0600);
    assert_int_equal(tp_callgrind_sum(folder, &count, &err), TP_OK);
    assert_int_equal(count, 4);
    write_text(other, most, strlen(most), 0600);
    assert_int_equal(tp_callgrind_sum(folder, &count, &err), TP_EIO);
    write_text(other, two, strlen(two) - 4, 0600);
    assert_int_equal(tp_callgrind_sum(folder, &count, &err), TP_EIO);
    assert_non_null(strstr(err.text, "count.22"));
}

/* The first line of valgrind's own, cleaned. */
TEST_WITH(test_complaint, set_up, tear_down)
{
    static const char log[] =
        "### unhandled form\n==12==no\n==x== no\n==7== it \033[31m failed\n==7== b\n";
    char path[96], text[200];
    tp_callgrind_complaint("/nonexistent", text, sizeof text);
    assert_string_equal(text, "");
    snprintf(path, sizeof path, "%s/log.7", folder);
    write_text(path, "", 0, 0600);
    tp_callgrind_complaint(folder, text, sizeof text);
    assert_string_equal(text, "");
    write_text(path, log, strlen(log), 0600);
    tp_callgrind_complaint(folder, text, sizeof text);
    assert_string_equal(text, "it ?[31m failed");
}

/* ---- what stands for valgrind ---- */

/* ARGUMENTS of the scripts below: those of a runner. */
#define VERSION                                                                                    \
    "#!/bin/sh\n"                                                                                  \
    "case \"$*\" in *--version) echo valgrind-9.8.7; exit 0 ;; esac\n"                             \
    "for word do case $word in\n"                                                                  \
    "--callgrind-out-file=*) out=${word#*=}; out=${out%%p}$$ ;; --*) ;; *) break ;; esac; done\n"

static void use(const char *text)
{
    write_text(script, text, strlen(text), 0700);
    assert_int_equal(setenv("TAPOOL_VALGRIND", script, 1), 0);
}

static bool found(struct tp_valgrind *v)
{
    tp_valgrind_find(v);
    assert_true((v->version[0] == '\0') == (v->reason[0] != '\0'));
    return v->version[0];
}

/* A valgrind that is killed must leave nothing: the folder goes, its pipes in TMPDIR would stay. */
TEST_WITH(test_runner, set_up, tear_down)
{
    static struct tp_callgrind_runner runner;
    static const struct tp_valgrind v = {.path = "/usr/bin/valgrind"};
    bool silent = false;
    assert_int_equal(tp_callgrind_runner(&runner, &v, "/tmp/50%", NULL), TP_OK);
    assert_string_equal(runner.words[0], v.path);
    assert_string_equal(runner.count, "--callgrind-out-file=/tmp/50%%/count.%p");
    for (size_t i = 0; runner.words[i]; i++)
        silent |= !strcmp(runner.words[i], "--vgdb=no");
    assert_true(silent);
}

TEST_WITH(test_find, set_up, tear_down)
{
    static const char *const none[] = {
        "#!/bin/sh\n",
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\necho 3.19.0\n",
        "#!/bin/sh\necho valgrind-\n",
        "#!/bin/sh\necho valgrind-unknown\n",
        "#!/bin/sh\nkill -SEGV $$\n",
        "#!/bin/sh\nprintf '\\033]0;x\\007'; head -c 100000 /dev/zero | tr '\\0' x\n",
        "#!/nonexistent/interpreter\n",
        "",
    };
    static struct tp_valgrind v;
    use(VERSION);
    assert_true(found(&v));
    assert_string_equal(v.version, "valgrind-9.8.7");
    assert_string_equal(v.path, script);
    use("#!/bin/sh\necho \"valgrind-3.19.0 of $1\"\n");
    assert_true(found(&v));
    assert_string_equal(v.version, "valgrind-3.19.0");
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        use(none[i]);
        if (found(&v))
            fail_msg("row %zu is taken for valgrind: %s", i, v.version);
        assert_non_null(strstr(v.reason, "valgrind"));
        assert_null(strchr(v.reason, '\033'));
    }
    setenv("TAPOOL_VALGRIND", "", 1);
    assert_false(found(&v));
    assert_non_null(strstr(v.reason, "is empty"));
    setenv("TAPOOL_VALGRIND", "/nonexistent", 1);
    assert_false(found(&v));
    assert_non_null(strstr(v.reason, "/nonexistent: No such file"));
    char endless[sizeof v.path + 1] = "/";
    memset(endless + 1, 'x', sizeof endless - 2);
    setenv("TAPOOL_VALGRIND", endless, 1);
    errno = 0;
    assert_false(found(&v));
    assert_non_null(strstr(v.reason, "xxx: File name too long"));
    unsetenv("TAPOOL_VALGRIND");
    char path[4096];
    snprintf(path, sizeof path, "%s", getenv("PATH"));
    setenv("PATH", "relative:/nonexistent", 1);
    assert_false(found(&v));
    assert_non_null(strstr(v.reason, "apt install valgrind"));
    setenv("PATH", path, 1);
}

static bool sanitized(void)
{
    struct tp_counting c;
    use(VERSION);
    tp_counting_find(&c);
    return c.counter != TP_COUNTER_CALLGRIND;
}

TEST_WITH(test_counting, set_up, tear_down)
{
    struct tp_counting c;
    bool counts = !sanitized();
    tp_counting_find(&c);
    if (counts) {
        assert_string_equal(c.version, "valgrind-9.8.7");
        assert_true(c.allowed > 0.0099 && c.allowed < 0.0101);
        assert_string_equal(c.reason, "");
    } else if (c.counter == TP_COUNTER_NONE) {
        assert_non_null(strstr(c.reason, "sanitizers"));
    }
    setenv("TAPOOL_VALGRIND", "", 1);
    tp_counting_find(&c);
    assert_true(c.counter != TP_COUNTER_CALLGRIND);
    struct tp_instruction_counter counter;
    int error = tp_counter_open(&counter);
    tp_counter_close(&counter);
    assert_int_equal(c.counter, error ? TP_COUNTER_NONE : TP_COUNTER_PERF);
    if (error)
        assert_non_null(strstr(c.reason, strerror(error)));
    else
        assert_true(c.allowed > 0.0199 && c.allowed < 0.0201);
}

/* ---- counting ---- */

static const struct tp_measure sqlite = {
    .binary = TAPOOL_BINARY, .trace = SQLITE, .strategy = "bump", .seed = 1, .core = -1};

static int count_with(const char *text, double *out, struct tp_err *err)
{
    static const struct tp_counting c = {.counter = TP_COUNTER_CALLGRIND};
    use(text);
    *err = (struct tp_err){0};
    return tp_instructions_count(&c, &sqlite, out, err);
}

#define RUNS         "while case $1 in --*) true ;; *) false ;; esac; do shift; done; \"$@\" || exit $?\n"
#define LEAVES(text) "printf '" text "' >$out\n"

TEST_WITH(test_broken, set_up, tear_down)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"#!/bin/sh\nexit 3\n", "--version"},
        {VERSION "kill -SEGV $$\n", "signal 11"},
        {VERSION "kill -KILL $$\n", "signal 9"},
        {VERSION "echo garbage\n", "does not count instructions"},
        {VERSION "echo 'valgrind: it is broken' >&2; exit 1\n", "valgrind: it is broken"},
        {VERSION "exit 0\n", "does not count instructions"},
        {VERSION RUNS, "left no count"},
        {VERSION RUNS LEAVES("garbage\\n"), "not a callgrind file"},
        {VERSION RUNS LEAVES("version: 1\\nevents: Ir\\n"), "cut off"},
        {VERSION RUNS LEAVES("version: 1\\nevents: Ir\\ntotals: 0\\n"), "tp_replay_counted"},
        {VERSION RUNS "mkfifo $out\n", "Invalid argument"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_err err;
        double count;
        int status = count_with(rows[i].text, &count, &err);
        if (status != TP_EIO || !strstr(err.text, rows[i].says))
            fail_msg("row %zu: %d, '%s' does not say '%s'", i, status, err.text, rows[i].says);
        assert_true(isnan(count));
        assert_null(strchr(err.text, '\n'));
    }
}

TEST_WITH(test_division, set_up, tear_down)
{
    struct tp_err err;
    double count;
    /* 6,170 operations */
    assert_int_equal(
        count_with(VERSION RUNS LEAVES("version: 1\\nevents: Ir\\ntotals: 12340\\n"), &count, &err),
        TP_OK);
    assert_true(count == 2.0);
}

TEST_WITH(test_no_operations, set_up, tear_down)
{
    static const char text[] = "{\"format\": \"tapool-trace\", \"version\": 1}\n"
                               "{\"op\": \"mark\", \"name\": \"a\"}\n";
    static const struct tp_counting c = {.counter = TP_COUNTER_CALLGRIND};
    struct tp_measure m = sqlite;
    struct tp_err err = {0};
    double count = 1;
    char trace[96];
    snprintf(trace, sizeof trace, "%s/mark.jsonl", folder);
    write_text(trace, text, strlen(text), 0600);
    m.trace = trace;
    use(VERSION RUNS LEAVES("version: 1\\nevents: Ir\\ntotals: 0\\n"));
    assert_int_equal(tp_instructions_count(&c, &m, &count, &err), TP_EIO);
    assert_string_equal(err.text, "the trace has no operations");
    assert_true(isnan(count));
    unlink(trace);
}

static volatile sig_atomic_t stop;

static void on_alarm(int number)
{
    (void)number;
    stop = 1;
}

/* One that hangs is ended by Ctrl-C, here an alarm. */
TEST_WITH(test_interrupted, set_up, tear_down)
{
    static const struct tp_counting c = {.counter = TP_COUNTER_CALLGRIND};
    struct tp_measure m = sqlite;
    struct tp_err err;
    double count;
    struct sigaction action = {.sa_handler = on_alarm}, before;
    m.interrupted = &stop;
    use(VERSION "exec sleep 1000\n");
    sigaction(SIGALRM, &action, &before);
    stop = 0;
    alarm(1);
    assert_int_equal(tp_instructions_count(&c, &m, &count, &err), TP_ESTOP);
    assert_true(stop);
    sigaction(SIGALRM, &before, NULL);
}

/* What the replay itself says is passed on, with its status. */
TEST_WITH(test_input, set_up, tear_down)
{
    static const struct tp_counting c = {.counter = TP_COUNTER_CALLGRIND};
    struct tp_measure m = sqlite;
    struct tp_err err;
    double count;
    use(VERSION LEAVES("version: 1\\nevents: Ir\\ntotals: 0\\n") RUNS);
    m.trace = "/nonexistent.json";
    assert_int_equal(tp_instructions_count(&c, &m, &count, &err), TP_EINPUT);
    assert_non_null(strstr(err.text, "/nonexistent.json"));
    m = sqlite;
    m.strategy = "nonesuch";
    assert_int_equal(tp_instructions_count(&c, &m, &count, &err), TP_EUSAGE);
}

/* The real one: two counts of anything are one number, wherever the stack begins. */
TEST_WITH(test_real, set_up, tear_down)
{
    static const char *const strategies[] = {"lru", "system"};
    struct tp_counting c;
    if (sanitized()) {
        print_message("skipped: a build with sanitizers does not run under valgrind\n");
        return;
    }
    unsetenv("TAPOOL_VALGRIND");
    tp_counting_find(&c);
    if (c.counter != TP_COUNTER_CALLGRIND) {
        print_message("skipped: %s\n", c.reason);
        return;
    }
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        struct tp_measure m = sqlite;
        double counts[2] = {0};
        struct tp_err err;
        m.strategy = strategies[i];
        for (int k = 0; k < 2; k++) {
            m.padding = (size_t)k * 1999;
            if (tp_instructions_count(&c, &m, &counts[k], &err))
                fail_msg("%s: %s", strategies[i], err.text);
        }
        if (counts[0] != counts[1] || counts[0] < 10 || counts[0] > 10000)
            fail_msg("%s: %.17g and %.17g", strategies[i], counts[0], counts[1]);
    }
}

/* ---- fingerprints ---- */

TEST_WITH(test_fingerprint, set_up, tear_down)
{
    struct tp_counting c = {.counter = TP_COUNTER_CALLGRIND, .version = "valgrind-9.8.7"};
    struct tp_err err;
    char own[512], other[512];
    assert_int_equal(tp_instructions_fingerprint(&c, NULL, own, sizeof own, &err), TP_OK);
    assert_non_null(strstr(own, "valgrind-9.8.7"));
    assert_non_null(strstr(own, "glibc "));
    assert_int_equal(tp_instructions_fingerprint(&c, TAPOOL_BINARY, other, sizeof other, &err),
                     TP_OK);
    assert_string_equal(own, other);
    c.counter = TP_COUNTER_PERF;
    snprintf(c.version, sizeof c.version, "perf_event");
    assert_int_equal(tp_instructions_fingerprint(&c, NULL, other, sizeof other, &err), TP_OK);
    assert_string_not_equal(own, other);
    assert_int_equal(tp_instructions_fingerprint(&c, NULL, other, 10, &err), TP_EIO);
}

/* The user's options are nothing to a build that may not even know them. */
TEST_WITH(test_fingerprint_without_configuration, set_up, tear_down)
{
    char plain[512], text[512];
    struct tp_err err = {0};
    const struct tp_counting c = {.version = "x"};
    assert_int_equal(tp_instructions_fingerprint(&c, TAPOOL_BINARY, plain, sizeof plain, &err),
                     TP_OK);
    setenv("TAPOOL_FORMAT", "markdwon", 1);
    setenv("TAPOOL_CONFIG", "/nonexistent", 1);
    int status = tp_instructions_fingerprint(&c, TAPOOL_BINARY, text, sizeof text, &err);
    unsetenv("TAPOOL_FORMAT");
    setenv("TAPOOL_CONFIG", "", 1);
    assert_int_equal(status, TP_OK);
    assert_string_equal(text, plain);
}

TEST_WITH(test_fingerprint_of_others, set_up, tear_down)
{
    static const char *const none[] = {
        "#!/bin/sh\nexit 1\n", "#!/bin/sh\necho '{}'\n", "#!/bin/sh\necho '{\"tool\": 7}'\n",
        "#!/bin/sh\necho '{\"tool\": {\"compiler\": 1, \"build\": \"b\"}, \"machine\": []}'\n"};
    struct tp_counting c = {.counter = TP_COUNTER_CALLGRIND, .version = "valgrind-9.8.7"};
    struct tp_err err;
    char text[512];
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        use(none[i]);
        assert_int_equal(tp_instructions_fingerprint(&c, script, text, sizeof text, &err), TP_EIO);
        assert_non_null(strstr(err.text, "doctor --json"));
    }
    assert_int_equal(tp_instructions_fingerprint(&c, "/nonexistent", text, sizeof text, &err),
                     TP_EIO);
    use("#!/bin/sh\necho '{\"tool\": {\"compiler\": \"GNU 1\\u001b\", \"build\": \"release\"},"
        " \"machine\": {\"arch\": \"x\", \"libc\": \"y\"}}'\n");
    assert_int_equal(tp_instructions_fingerprint(&c, script, text, sizeof text, &err), TP_OK);
    assert_non_null(strstr(text, "(unknown flags)"));
    assert_null(strchr(text, '\033'));
    use("#!/bin/sh\necho '{\"tool\": {\"compiler\": \"GNU 1\", \"build\": \"release\", \"flags\":"
        " \"-ffile-prefix-map=/a=. -O2  -fdebug-prefix-map=/a=. -fmacro-prefix-map= -g -f\"},"
        " \"machine\": {\"arch\": \"x\", \"libc\": \"y\"}}'\n");
    assert_int_equal(tp_instructions_fingerprint(&c, script, text, sizeof text, &err), TP_OK);
    assert_non_null(strstr(text, "(-O2 -g -f)")); /* where the sources lay is no matter */
}

/* ---- the processor's counter ---- */

/* Where there is one it counts; a closed one is none and does no harm. */
TEST_WITH(test_counter, set_up, tear_down)
{
    struct tp_instruction_counter c;
    int error = tp_counter_open(&c);
    if (error) {
        assert_int_equal(c.fd, -1);
        tp_counter_start(&c);
        tp_counter_stop(&c);
        print_message("skipped: the processor's counter: %s\n", strerror(error));
        return;
    }
    uint64_t counts[3] = {0};
    for (int turn = 1; turn < 3; turn++) {
        tp_counter_start(&c);
        for (int i = 0; i < 100000 * turn; i++)
            __asm__ volatile("" : : "r"(i));
        tp_counter_stop(&c);
        counts[turn] = tp_counter_read(&c);
    }
    assert_true(counts[1] >= 100000 && counts[2] >= counts[1] + 200000);
    assert_int_equal(tp_counter_read(&c), counts[2]); /* stopped */
    tp_counter_close(&c);
}
