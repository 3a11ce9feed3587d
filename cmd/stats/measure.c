/* See measure.h. The parent forks. The child pins itself to its core, sets its environment and
 * execs `BINARY replay ...`. Its standard output and error go to two files in memory, because a
 * pipe could fill up while the parent only waits.
 *
 *     [RUNNER...] BINARY replay TRACE -s STRATEGY --format json --passes ... [MORE...] */
#include "cmd/stats/measure.h"

#include "alloc/base/opt.h"
#include "cmd/jobs/left_behind.h"
#include "cmd/jobs/process.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS = 64, PADDING_MAX = 4096, COMPLAINT = 4096 };

#define GRACE_NS UINT64_C(1000000000)

/* The arguments of exec. Everything is made before the fork, because the child may not allocate. */
struct launch {
    char *argv[ARGUMENTS + 1];
    char **envp;        /* owned */
    char program[4096]; /* path of the tapool that replays */
    char min_time[32], seed[24], timeout[32];
    char padding[PADDING_MAX + 16];
    size_t count;
    int input;             /* /dev/null: reading a terminal would stop a background group */
    int answer, complaint; /* standard output and error: files in memory */
};

/* ---- arguments ---- */

static void add(struct launch *l, const char *word)
{
    if (l->count <= ARGUMENTS)
        l->argv[l->count] = (char *)(uintptr_t)word; /* exec does not write to its arguments */
    l->count++;
}

static void add_option(struct launch *l, const char *name, const char *value)
{
    if (!value)
        return;
    add(l, name);
    add(l, value);
}

static void add_all(struct launch *l, const char *const *words)
{
    for (; words && *words; words++)
        add(l, *words);
}

/* The user names a file. Without a slash in the name exec, or a runner, would search PATH for it.
 */
static int find_binary(struct launch *l, const char *binary, struct tp_err *err)
{
    int length =
        snprintf(l->program, sizeof l->program, "%s%s", strchr(binary, '/') ? "" : "./", binary);
    return length < (int)sizeof l->program
               ? TP_OK
               : tp_fail(err, TP_EUSAGE, "the name of '%.80s...' is too long", binary);
}

/* A runner must get the path of tapool's file: /proc/self/exe would be the runner itself, and
 * without the file the runner could not read the function names. */
static int find_own(struct launch *l, const struct tp_measure *m, struct tp_err *err)
{
    char path[sizeof l->program];
    if (!m->runner) {
        snprintf(l->program, sizeof l->program, "%s", tp_child_own_executable(path, sizeof path));
        return TP_OK;
    }
    if (tp_child_own_file(l->program, sizeof l->program))
        return TP_OK;
    return tp_hint(err, tp_fail(err, TP_EIO, "the program file of this tapool was deleted"),
                   "was it deleted or replaced meanwhile? start tapool again");
}

static int make_arguments(struct launch *l, const struct tp_measure *m, struct tp_err *err)
{
    int status = m->binary ? find_binary(l, m->binary, err) : find_own(l, m, err);
    snprintf(l->min_time, sizeof l->min_time, "%lluns", (unsigned long long)m->min_time_ns);
    snprintf(l->seed, sizeof l->seed, "%llu", (unsigned long long)m->seed);
    add_all(l, m->runner);
    add(l, l->program);
    add(l, "replay");
    add_option(l, "-s", m->strategy);
    add_option(l, "--format", "json");
    add_option(l, "--passes", m->passes);
    add_option(l, "--min-time", l->min_time);
    add_option(l, "--seed", m->seed ? l->seed : NULL);
    add_option(l, "--source", m->source);
    /* It names the event at which a real allocator is stuck. An older build does not know it. */
    snprintf(l->timeout, sizeof l->timeout, "%lluns", (unsigned long long)m->timeout_ns);
    add_option(l, "--timeout", m->timeout_ns && !m->binary ? l->timeout : NULL);
    add_option(l, "--threads", m->threads ? m->threads : "1");
    add_all(l, m->more);
    add(l, "--");
    add(l, m->trace);
    if (!status && l->count > ARGUMENTS)
        status = tp_fail(err, TP_EUSAGE, "too many arguments for a replay in a child process");
    return status;
}

/* ---- environment ---- */

static int make_environment(struct launch *l, const struct tp_measure *m, struct tp_err *err)
{
    size_t pad = m->padding < PADDING_MAX ? m->padding : PADDING_MAX;
    memcpy(l->padding, "_TAPOOL_PADDING=", 16);
    memset(l->padding + 16, 'x', pad);
    l->padding[16 + pad - (pad == PADDING_MAX)] = '\0';
    char *const extra[] = {l->padding};
    l->envp = tp_environment_for_child(extra, 1);
    return l->envp ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- the child ---- */

/* Runs in the child between fork and exec. It may only call async-signal-safe functions, because
 * the process may have had other threads. */
static void become(const struct launch *l, const struct tp_measure *m, pid_t parent)
{
    if (!tp_child_begin(parent))
        _exit(126);
    if (m->core >= 0)
        tp_child_pin(m->core);
    if (dup2(l->input, STDIN_FILENO) < 0 || dup2(l->answer, STDOUT_FILENO) < 0 ||
        dup2(l->complaint, STDERR_FILENO) < 0)
        _exit(126);
    execvpe(l->argv[0], l->argv, l->envp);
    dprintf(STDERR_FILENO, "tapool: cannot be started: %s\n", strerror(errno));
    _exit(127);
}

static int make_file(const char *name, int *fd, struct tp_err *err)
{
    *fd = memfd_create(name, MFD_CLOEXEC);
    return *fd >= 0 ? TP_OK
                    : tp_fail(err, TP_EIO, "memory for the answer of a child process: %s",
                              strerror(errno));
}

/* ---- the child's errors ---- */

static enum tp_reason reason_of(const char *word)
{
    for (int i = 0; i < TP_REASON_COUNT; i++)
        if (tp_reason_words[i] && !strcmp(tp_reason_words[i], word))
            return (enum tp_reason)i;
    return TP_REASON_OTHER;
}

/* Reads the error that the child printed: its sentence, hint and reason. false: no sentence. */
static bool read_complaint(int fd, struct tp_err *out)
{
    char all[COMPLAINT];
    ssize_t length = pread(fd, all, sizeof all - 1, 0);
    all[length > 0 ? length : 0] = '\0';
    const char *sentence = NULL;
    *out = (struct tp_err){0};
    for (char *save = NULL, *line = strtok_r(all, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (!strncmp(line, "tapool: ", 8))
            sentence = line + 8;
        else if (!strncmp(line, "hint: ", 6))
            snprintf(out->hint, sizeof out->hint, "%s", line + 6);
        else if (!strncmp(line, "reason: ", 8))
            out->reason = reason_of(line + 8);
        else if (!sentence)
            sentence = line;
    }
    snprintf(out->text, sizeof out->text, "%s", sentence ? sentence : "");
    return sentence != NULL;
}

/* Takes the name of a prepared trace, which tells the user nothing, off the sentence. */
static void drop_prepared(struct tp_err *own, const char *trace)
{
    size_t length = strlen(trace);
    if (!strncmp(trace, "/proc/self/fd/", 14) && !strncmp(own->text, trace, length) &&
        !strncmp(own->text + length, ": ", 2))
        memmove(own->text, own->text + length + 2, strlen(own->text + length + 2) + 1);
}

/* The status for an exit code of the child. Code 1 means a verdict, which a replay without
 * --fail-on cannot give, so it becomes TP_EIO. */
static enum tp_status status_of(int code)
{
    static const enum tp_status by_code[] = {TP_EIO, TP_EIO, TP_EUSAGE, TP_EINPUT, TP_EIO};
    return code >= 0 && code < (int)(sizeof by_code / sizeof *by_code) ? by_code[code] : TP_EIO;
}

static const char *named(const struct tp_measure *m)
{
    return m->binary ? m->binary : "tapool";
}

static int explain(const struct launch *l, const struct tp_measure *m, int how, struct tp_err *err)
{
    struct tp_err own;
    if (WIFSIGNALED(how))
        return tp_fail(err, TP_EIO, "'%s' replaying '%s' was killed by signal %d (%s)", named(m),
                       m->strategy, WTERMSIG(how), strsignal(WTERMSIG(how)));
    int code = WEXITSTATUS(how);
    if (!read_complaint(l->complaint, &own))
        return tp_fail(err, status_of(code), "'%s' replaying '%s' ended with code %d and no word",
                       named(m), m->strategy, code);
    drop_prepared(&own, m->trace);
    int status = m->binary ? tp_fail(err, status_of(code), "%s: %.400s", m->binary, own.text)
                           : tp_fail(err, status_of(code), "%s", own.text);
    if (own.hint[0])
        tp_hint(err, status, "%s", own.hint);
    return tp_because(err, status, own.reason);
}

static int replay(struct launch *l, const struct tp_measure *m, struct tp_err *err)
{
    tp_left_behind_adopt(); /* it may be ended by force before it has ended its own */
    pid_t parent = getpid(), pid = fork();
    int how = 0;
    if (pid < 0)
        return tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(errno));
    if (pid == 0)
        become(l, m, parent);
    tp_child_begun(pid);
    /* The child's own timeout comes first, because it can say more. */
    const uint64_t grace = m->timeout_ns && !m->binary ? GRACE_NS : 0;
    const struct tp_child_wait wait = {
        .interrupted = m->interrupted, .timeout_ns = m->timeout_ns + grace, .tapool = true};
    int status = tp_child_await(pid, &wait, &how);
    if (status == TP_ESTOP || (m->interrupted && *m->interrupted))
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (status == TP_ELATE)
        return tp_hint(err,
                       tp_fail(err, TP_ELATE, "'%s' replaying '%s' had not ended after %s",
                               named(m), m->strategy, tp_duration(m->timeout_ns).s),
                       "was it stuck? --timeout TIME gives it longer, --timeout none for ever");
    if (status)
        return tp_fail(err, (enum tp_status)status, "a child process is lost: %s", strerror(errno));
    return how ? explain(l, m, how, err) : TP_OK;
}

static int parse_answer(const struct launch *l, const struct tp_measure *m, struct tp_stored *out,
                        struct tp_err *err)
{
    char name[128];
    struct stat st;
    if (fstat(l->answer, &st) || st.st_size <= 0 || st.st_size > TP_STORED_BYTES)
        return tp_fail(err, TP_EIO, "'%s' replaying '%s' answered nothing that can be read",
                       named(m), m->strategy);
    char *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, l->answer, 0);
    if (text == MAP_FAILED)
        return tp_fail(err, TP_EIO, "the answer of a child process: %s", strerror(errno));
    snprintf(name, sizeof name, "the answer of %.100s", named(m));
    int status = tp_stored_parse(text, (size_t)st.st_size, name, out, err);
    munmap(text, (size_t)st.st_size);
    if (status == TP_EINPUT) { /* the fault is the program's, not that of a user's file */
        char sentence[TP_ERR_TEXT];
        snprintf(sentence, sizeof sentence, "%s", err->text);
        status = tp_fail(err, TP_EIO, "%s", sentence);
    }
    if (!status && out->count != 1)
        status = tp_fail(err, TP_EIO, "%s holds %zu results, not one", name, out->count);
    return status;
}

int tp_measure(const struct tp_measure *m, struct tp_stored *out, struct tp_err *err)
{
    struct launch *l = calloc(1, sizeof *l);
    *out = (struct tp_stored){0};
    if (!l)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    l->answer = l->complaint = -1;
    l->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int status = l->input < 0 ? tp_fail(err, TP_EIO, "/dev/null: %s", strerror(errno))
                              : make_arguments(l, m, err);
    if (!status)
        status = make_environment(l, m, err);
    if (!status)
        status = make_file("tapool-answer", &l->answer, err);
    if (!status)
        status = make_file("tapool-complaint", &l->complaint, err);
    if (!status)
        status = replay(l, m, err);
    if (!status)
        status = parse_answer(l, m, out, err);
    if (l->answer >= 0)
        close(l->answer);
    if (l->complaint >= 0)
        close(l->complaint);
    if (l->input >= 0)
        close(l->input);
    free(l->envp);
    free(l);
    return status;
}

/* ---- timeout and core ---- */

const char *const tp_timeout_words[] = {"auto", "none", NULL};

/* The automatic timeout is generous, so that it only ends a replay that hangs: an event takes well
 * below 1 us in each of a few passes, and about 50 times as long under callgrind. */
uint64_t tp_timeout_of(uint64_t option, uint64_t events, uint64_t min_time_ns)
{
    enum { EACH_NS = 100000, TIMES = 20 };
    uint64_t total = UINT64_C(120000000000), part;
    if (option == TP_OPT_KEYWORD(TP_TIMEOUT_NONE))
        return 0;
    if (option != TP_OPT_KEYWORD(TP_TIMEOUT_AUTO))
        return option;
    if (__builtin_mul_overflow(events, EACH_NS, &part) ||
        __builtin_add_overflow(total, part, &total) ||
        __builtin_mul_overflow(min_time_ns, TIMES, &part) ||
        __builtin_add_overflow(total, part, &total))
        return 0;
    return total;
}

bool tp_measure_has_core(uint64_t core)
{
    cpu_set_t set;
    return core < CPU_SETSIZE && !sched_getaffinity(0, sizeof set, &set) &&
           CPU_ISSET((unsigned)core, &set);
}

int tp_measure_core(void)
{
    cpu_set_t set;
    int last = -1;
    if (sched_getaffinity(0, sizeof set, &set))
        return -1;
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET((unsigned)c, &set))
            last = c;
    return last;
}
