/* See child.h. The parent starts /proc/self/exe again and passes two descriptors: the program, and
 * a shared job that holds the request and receives the result. fork without exec is not enough,
 * because the child's heap would be a copy of the parent's, with the holes that reading the trace
 * has left in it. The program is passed as plain instructions, because decoding another form would
 * use the heap that is measured. The child reads the request once, before the library is replayed,
 * and the parent believes only what replay_answer.h lets pass. */
#include "cmd/jobs/child.h"

#include "alloc/base/own.h"
#include "alloc/base/process_memory.h"
#include "alloc/engine/page_list.h"
#include "cmd/jobs/follow.h"
#include "cmd/jobs/left_behind.h"
#include "cmd/jobs/libraries.h"
#include "cmd/jobs/process.h"
#include "cmd/jobs/replay_answer.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The head of the shared memory; the run follows at RUN_OFFSET. Parent and child are the same
 * executable, so they agree on the layout. */
struct child_job {
    struct tp_replay_answer answer;
    pid_t parent;
    char spec[TP_SPEC_TEXT + TP_LIBRARY_PATH];
    char label[TP_LABEL_MAX];
    uint32_t touch, passes, min_replays, repeat, threads, cores;
    uint64_t min_time_ns, seed, latency_operations;
    struct tp_touched touched;
    struct tp_page_asked page_lists; /* no events: none are asked for */
    bool stop_on_oom, drop_initial_heap, has_touched, threads_if_possible, huge_pages, progress;
};
#define ASKING_NS  UINT64_C(5000000000) /* the longest time to ask a library for its version */
#define RUN_OFFSET TP_REPLAY_RUN_AT(sizeof(struct child_job))

static int map_job(int fd, size_t size, struct child_job **out, struct tp_err *err)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return tp_fail(err, TP_EIO, "shared memory for a child process: %s", strerror(errno));
    *out = p;
    return TP_OK;
}

/* Writes the strategy as the child is to read it: a library by the path that was found. */
static int write_spec(struct child_job *job, const struct tp_strategy_spec *spec,
                      struct tp_err *err)
{
    struct tp_str s = TP_STR_IN(job->spec);
    tp_strategy_spec_add(&s, spec, spec->preload);
    return s.cut ? tp_fail(err, TP_EUSAGE, "the options of '%s' are too long", spec->label) : TP_OK;
}

/* Bytes of a shared job. */
static size_t job_size(uint16_t devices)
{
    return RUN_OFFSET + tp_run_size(devices);
}

/* Makes the shared job with room for a run of so many devices. */
static int make_job(const struct tp_strategy_spec *spec, uint16_t devices, struct child_job **out,
                    int *fd, struct tp_err *err)
{
    size_t size = job_size(devices);
    *fd = memfd_create("tapool-job", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)size))
        return tp_fail(err, TP_EIO, "shared memory for a child process: %s", strerror(errno));
    int status = map_job(*fd, size, out, err);
    if (status)
        return status;
    struct child_job *job = *out;
    snprintf(job->label, sizeof job->label, "%s", spec->label);
    job->parent = getpid();
    return write_spec(job, spec, err);
}

static void fill_job(struct child_job *job, const struct tp_replay_cfg *cfg)
{
    job->touch = cfg->touch;
    job->passes = cfg->passes;
    job->min_replays = cfg->min_replays;
    job->repeat = cfg->repeat;
    job->threads = cfg->threads;
    job->threads_if_possible = cfg->threads_if_possible;
    job->cores = cfg->cores;
    job->latency_operations = cfg->latency_operations;
    job->min_time_ns = cfg->min_time_ns;
    job->seed = cfg->seed;
    job->stop_on_oom = cfg->stop_on_oom;
    job->drop_initial_heap = cfg->drop_initial_heap;
    job->huge_pages = cfg->huge_pages;
    job->progress = cfg->progress != NULL;
    job->has_touched = cfg->touched != NULL;
    if (cfg->touched)
        job->touched = *cfg->touched;
    if (cfg->page_lists)
        job->page_lists = *cfg->page_lists;
}

/* ---- starting it ---- */

enum { ENV_MAX = 64 };

/* The variables of the child beyond the user's. The library stands in front of what the user
 * preloads. */
static int make_environment(const struct tp_strategy_spec *spec, bool loud, struct tp_str *preload,
                            char ***out, struct tp_err *err)
{
    char *extra[ENV_MAX + 3];
    size_t count = 0;
    const struct tp_opt_list *env = tp_strategy_spec_env(spec);
    const char *users = getenv("LD_PRELOAD");
    if (env && env->count > ENV_MAX)
        return tp_fail(err, TP_EUSAGE, "'%s' sets more than %d variables", spec->label, ENV_MAX);
    for (; env && count < env->count; count++)
        extra[count] = env->items[count];
    if (spec->preload && strpbrk(spec->preload, " :"))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "'%s' cannot be preloaded: a colon or a blank in a path ends it",
                               spec->preload),
                       "name it by a link without one");
    if (spec->preload) {
        tp_str_add(preload, "LD_PRELOAD=%s%s%s", spec->preload, users && *users ? ":" : "",
                   users ? users : "");
        int status = tp_str_status(preload, err);
        if (status)
            return status;
        extra[count++] = preload->s;
    }
    /* mimalloc says nothing of a value that it cannot read, nor what its options are, unless it is
     * told to. */
    if (loud) {
        extra[count++] = (char *)(uintptr_t) "MIMALLOC_SHOW_ERRORS=1";
        extra[count++] = (char *)(uintptr_t) "MIMALLOC_VERBOSE=1";
    }
    *out = tp_environment_for_child(extra, count);
    return *out ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

/* The child finds the program at descriptor 3, the job at 4, and the file for lists of pages at 5.
 * Where it is only asked for its library, 3 is the job as well, and where nobody asks for lists, 5
 * is. */
enum { PROGRAM_FD = 3, JOB_FD = 4, PAGES_FD = 5, CHILD_FDS = 3 };

/* `said` is where its standard error goes; -1: to this process's. */
static int start(const int fds[CHILD_FDS], int said, char **environment, pid_t *pid,
                 struct tp_err *err)
{
    char *argv[] = {(char *)(uintptr_t) "tapool", (char *)(uintptr_t) "__child", NULL};
    char path[4096];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t own_group;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&own_group); /* whose number is that of the child */
    posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
    if (said >= 0) /* before it is overwritten */
        posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
    /* Moving all descriptors above PAGES_FD first keeps one from overwriting another. dup2 then
     * clears O_CLOEXEC. */
    int high[CHILD_FDS], failed = 0;
    for (int i = 0; i < CHILD_FDS; i++) {
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, PAGES_FD + 1);
        failed = high[i] < 0 ? errno : failed;
        posix_spawn_file_actions_adddup2(&actions, high[i], PROGRAM_FD + i);
    }
    /* What a library prints is not part of tapool's output. */
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    const char *program = tp_child_own_executable(path, sizeof path);
    tp_left_behind_adopt();
    if (!failed)
        failed = posix_spawn(pid, program, &actions, &own_group, argv, environment);
    posix_spawnattr_destroy(&own_group);
    posix_spawn_file_actions_destroy(&actions);
    for (int i = 0; i < CHILD_FDS; i++)
        if (high[i] >= 0)
            close(high[i]);
    return failed ? tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(failed))
                  : TP_OK;
}

static int spawn(const struct tp_strategy_spec *spec, const int fds[CHILD_FDS], int said,
                 pid_t *pid, struct tp_err *err)
{
    char **environment = NULL;
    struct tp_str preload = {0};
    int status = make_environment(spec, said >= 0, &preload, &environment, err);
    if (!status)
        status = start(fds, said, environment, pid, err);
    free(environment);
    tp_str_drop(&preload);
    return status;
}

/* A child, and what it shares with this process. */
struct started {
    struct child_job *job;
    int job_fd;
    bool followed;
    pid_t pid;
    const struct tp_program_facts *facts;
};

static int open_started(struct started *c, const struct tp_strategy_spec *spec,
                        const struct tp_program_facts *facts, struct tp_err *err)
{
    *c = (struct started){.job_fd = -1, .facts = facts};
    int status = spec->preload ? tp_library_check(spec->preload, err) : TP_OK;
    return status ? status : make_job(spec, facts->devices, &c->job, &c->job_fd, err);
}

static void close_started(struct started *c)
{
    if (c->job)
        munmap(c->job, job_size(c->facts->devices));
    if (c->job_fd >= 0)
        close(c->job_fd);
}

/* Waits for the child, which follows it where it asks for that, and takes its run. */
static int await(const struct started *c, const char *label, struct tp_child_wait wait,
                 struct tp_run *out, struct tp_err *err)
{
    struct tp_follow follow = TP_FOLLOW(&c->job->answer.mapped);
    struct tp_replay_end end = {.shared = c->job,
                                .run_at = RUN_OFFSET,
                                .facts = c->facts,
                                .end.timeout_ns = wait.timeout_ns,
                                .label = label};
    wait.stopped = c->followed ? tp_follow_stop : NULL;
    wait.ctx = &follow;
    end.end.waited = tp_child_await(c->pid, &wait, &end.end.how);
    tp_follow_end(&follow);
    int status = tp_replay_answer_take(&end, out, err);
    if (!status && follow.begun && !tp_follow_add(&follow, &out->mapped))
        status = tp_replay_fail_written(label, err);
    return status;
}

int tp_child_replay(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err)
{
    struct started c;
    int program_fd = -1;
    const struct tp_child_wait wait = {.interrupted = cfg->interrupted,
                                       .timeout_ns = cfg->timeout_ns};
    int status = open_started(&c, spec, tp_program_facts(cfg->program), err);
    if (!status)
        fill_job(c.job, cfg);
    if (!status)
        status = tp_program_export(cfg->program, &program_fd, err);
    c.followed = cfg->passes & TP_PASS_MAPPED;
    bool were_fixed = c.followed && tp_addresses_fixed(true);
    const int fds[] = {program_fd, c.job_fd, cfg->page_lists ? cfg->page_lists->fd : c.job_fd};
    if (!status)
        status = spawn(spec, fds, -1, &c.pid, err);
    if (c.followed && !were_fixed)
        tp_addresses_fixed(false);
    if (!status)
        status = await(&c, spec->label, wait, out, err);
    close_started(&c);
    if (program_fd >= 0)
        close(program_fd);
    return status;
}

/* Starts a child that replays nothing, and takes what it answers of itself. */
static int ask(const struct tp_strategy_spec *spec, int said,
               const volatile sig_atomic_t *interrupted, struct tp_run *run, struct tp_err *err)
{
    static const struct tp_program_facts nothing = {.devices = 0}; /* is replayed */
    const struct tp_child_wait wait = {.interrupted = interrupted, .timeout_ns = ASKING_NS};
    struct started c;
    int status = open_started(&c, spec, &nothing, err);
    if (!status)
        status = spawn(spec, (const int[]){c.job_fd, c.job_fd, c.job_fd}, said, &c.pid, err);
    if (!status)
        status = await(&c, spec->label, wait, run, err);
    close_started(&c);
    return status;
}

int tp_child_library(const struct tp_strategy_spec *spec, const volatile sig_atomic_t *interrupted,
                     char *out, size_t size, struct tp_err *err)
{
    struct tp_run *run = calloc(1, tp_run_size(0));
    int status =
        run ? ask(spec, -1, interrupted, run, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        snprintf(out, size, "%s", run->library);
    free(run);
    return status;
}

int tp_child_rss(const struct tp_strategy_spec *spec, const volatile sig_atomic_t *interrupted,
                 uint64_t *out, struct tp_err *err)
{
    struct tp_run *run = calloc(1, tp_run_size(0));
    int status =
        run ? ask(spec, -1, interrupted, run, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        *out = run->resident.start;
    free(run);
    return status;
}

/* ---- settings that a library refuses ---- */

/* How a library begins a line about a setting that it does not take, and what else is in it. */
static const struct {
    const char *begin, *has;
} refusals[] = {{"<jemalloc>: ", "Invalid conf"},
                {"<jemalloc>: ", "Out-of-range conf"},
                {"<jemalloc>: ", "Malformed conf"},
                {"<jemalloc>: ", "Conf string ends"},
                {"mimalloc: ", "invalid value"}};

static bool is_refusal(const char *line)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (!strncmp(line, refusals[i].begin, strlen(refusals[i].begin)) &&
            strstr(line, refusals[i].has))
            return true;
    return false;
}

/* mimalloc lists its options where it is told to, and says nothing of a variable that is none. */
static int check_listed(const char *text, const struct tp_strategy_spec *spec, struct tp_err *err)
{
    const struct tp_opt_list *env = tp_strategy_spec_env(spec);
    for (size_t i = 0; strstr(text, "mimalloc: option '") && i < env->count; i++) {
        const char *item = env->items[i];
        char name[128] = "option '";
        size_t used = strlen(name), length = strcspn(item, "=");
        if (strncmp(item, "MIMALLOC_", 9) != 0 || length >= sizeof name - used)
            continue;
        for (size_t k = 9; k < length; k++)
            name[used++] = (char)tolower((unsigned char)item[k]);
        snprintf(name + used, sizeof name - used, "'");
        if (!strstr(text, name))
            return tp_fail(err, TP_EUSAGE, "'%s' has no setting %.*s", spec->label, (int)length,
                           item);
    }
    return TP_OK;
}

static int find_refusal(int said, const struct tp_strategy_spec *spec, struct tp_err *err)
{
    char text[16384], *save = NULL;
    ssize_t length = pread(said, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    int status = check_listed(text, spec, err);
    if (status)
        return status;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (is_refusal(line))
            return tp_fail(err, TP_EUSAGE, "'%s' refuses a setting: %.300s", spec->label, line);
    return TP_OK;
}

int tp_child_settings(const struct tp_strategy_spec *spec, const volatile sig_atomic_t *interrupted,
                      struct tp_err *err)
{
    const struct tp_opt_list *env = tp_strategy_spec_env(spec);
    if (!env || !env->count || !spec->preload)
        return TP_OK;
    struct tp_run *run = calloc(1, tp_run_size(0));
    int said = memfd_create("tapool-said", MFD_CLOEXEC);
    int status;
    if (!run)
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    else if (said < 0)
        status = tp_fail(err, TP_EIO, "memory for what a library says: %s", strerror(errno));
    else
        status = ask(spec, said, interrupted, run, err);
    if (!status)
        status = find_refusal(said, spec, err);
    if (said >= 0)
        close(said);
    free(run);
    return status;
}

/* ---- the child's side ---- */

/* What a fork of this process ends with, see watch(). */
enum { FORKED = 113 };

/* A library that forks would leave two processes that replay the same job. The copy ends at once.
 */
static void end_copy(void)
{
    _exit(FORKED);
}

/* What the child looks at between windows. */
struct watch {
    struct tp_progress_line line;
    bool shows, forked;
    volatile sig_atomic_t stop;
};

static void watch(void *ctx, const char *pass, double fraction)
{
    struct watch *w = ctx;
    int how = 0;
    if (w->shows)
        tp_progress_show(&w->line, pass, fraction);
    while (waitpid(-1, &how, WNOHANG) > 0)
        w->forked |= WIFEXITED(how) && WEXITSTATUS(how) == FORKED;
    w->stop = w->forked;
}

/* A malloc that never answers would show as tapool's own lack of memory. */
static int try_malloc(const struct child_job *job, struct tp_err *err)
{
    void *volatile p = malloc(1);
    if (!p)
        return tp_fail(err, TP_EBROKEN, "the first malloc of '%s' returned NULL", job->label);
    free(p);
    return TP_OK;
}

static int answer(const struct child_job *job, struct tp_replay_answer *shared,
                  struct tp_program *program, struct tp_run *run, struct tp_err *err)
{
    struct tp_strategy_spec spec;
    struct tp_clock clock;
    bool timed = job->passes & (TP_PASS_THROUGHPUT | TP_PASS_LATENCY);
    struct watch w = {.shows = job->progress};
    struct tp_page_asked pages = job->page_lists;
    pages.fd = PAGES_FD;
    int status = try_malloc(job, err);
    if (!status)
        status = tp_strategy_spec_parse(&spec, job->spec, err);
    if (status)
        return status;
    pthread_atfork(NULL, NULL, end_copy);
    if (job->passes == TP_PASS_COUNT)
        tp_library_clock_stop();
    tp_progress_start(&w.line, job->label);
    struct tp_replay_cfg cfg = {.program = program,
                                .strategy = spec.strategy,
                                .strategy_opts = spec.opts,
                                .clock = timed ? &clock : NULL,
                                .touch = (enum tp_touch)job->touch,
                                .touched = job->has_touched ? &job->touched : NULL,
                                .passes = job->passes,
                                .min_time_ns = job->min_time_ns,
                                .min_replays = job->min_replays,
                                .repeat = job->repeat,
                                .threads = job->threads,
                                .threads_if_possible = job->threads_if_possible,
                                .cores = job->cores,
                                .latency_operations = job->latency_operations,
                                .stop_on_oom = job->stop_on_oom,
                                .drop_initial_heap = job->drop_initial_heap,
                                .huge_pages = job->huge_pages,
                                .page_lists = job->page_lists.count ? &pages : NULL,
                                .follower = &shared->mapped,
                                .seed = job->seed,
                                .position = &shared->position,
                                .interrupted = &w.stop,
                                .clock_ahead = tp_library_clock_ahead,
                                .progress = watch,
                                .progress_ctx = &w};
    if (timed)
        status = tp_clock_calibrate(&clock, err);
    if (!status)
        status = tp_replay(&cfg, run, err);
    watch(&w, "", 1);
    tp_progress_clear(&w.line);
    if (w.forked)
        status = tp_fail(err, TP_EBROKEN, "'%s' forked its process during the replay", job->label);
    tp_strategy_spec_release(&spec);
    return status;
}

static uint64_t read_rss(void)
{
    struct tp_written w;
    uint64_t bytes = tp_written_open(&w, "/proc/self") ? tp_rss_read(&w) : TP_NONE;
    tp_written_close(&w);
    return bytes;
}

/* Answers only which library serves this process, as the strategy finds it, and its RSS. */
static int answer_library(const struct child_job *job, struct tp_run *run, struct tp_err *err)
{
    struct tp_strategy_spec spec;
    int status = try_malloc(job, err);
    run->resident.start = read_rss();
    if (!status)
        status = tp_strategy_spec_parse(&spec, job->spec, err);
    if (status)
        return status;
    void *state = calloc(1, spec.strategy->state_size);
    const struct tp_env env = {0};
    status = state ? spec.strategy->init(state, &env, spec.opts, err)
                   : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status) {
        tp_strategy_library(spec.strategy, run->library, sizeof run->library);
        spec.strategy->fini(state);
    }
    free(state);
    tp_strategy_spec_release(&spec);
    return status;
}

/* Replays the program that the parent handed over. */
static int answer_replay(const struct child_job *job, struct tp_replay_answer *shared,
                         struct tp_run *run, size_t run_size, struct tp_err *err)
{
    struct tp_program *program = NULL;
    int status = tp_program_import(PROGRAM_FD, &program, err);
    if (!status && run_size != tp_run_size(tp_program_facts(program)->devices))
        status = tp_fail(err, TP_EBROKEN, "the job of a child process is of another size");
    if (!status)
        status = answer(job, shared, program, run, err);
    tp_program_release(program);
    return status;
}

/* Answers with memory of this process's own. The request is a copy as well: what is replayed may
 * write over the shared one. */
static void answer_job(struct child_job *shared, size_t size, bool asked)
{
    struct tp_replay_board board;
    struct tp_err err = {0};
    struct child_job *job = tp_own_zeroed(1, sizeof *job);
    struct tp_run *run = tp_own_zeroed(1, size - RUN_OFFSET);
    if (job && run) {
        memcpy(job, shared, sizeof *job);
        tp_replay_board_open(&board, shared, RUN_OFFSET, size - RUN_OFFSET);
        int status = asked ? answer_library(job, run, &err)
                           : answer_replay(job, &shared->answer, run, size - RUN_OFFSET, &err);
        tp_replay_board_give(&board, run, status, &err, job->label);
    } else {
        int status = tp_fail(&err, TP_ENOMEM, "out of memory");
        tp_answer_give(&shared->answer.answer, status, &err, (char *)shared + RUN_OFFSET,
                       size - RUN_OFFSET);
    }
    tp_own_free(run);
    tp_own_free(job);
}

int tp_child_serve(struct tp_err *err)
{
    struct child_job *job = NULL;
    struct stat st, other;
    tp_child_begin(0); /* the parent's id is not known before the job is mapped */
    if (fstat(JOB_FD, &st) || (size_t)st.st_size < job_size(0))
        return tp_fail(err, TP_EUSAGE, "'__child' is tapool's own");
    int status = map_job(JOB_FD, (size_t)st.st_size, &job, err);
    if (status)
        return status;
    if (getppid() != job->parent) /* the parent ended before tp_child_begin took effect */
        return TP_OK;
    bool asked = !fstat(PROGRAM_FD, &other) && other.st_ino == st.st_ino;
    answer_job(job, (size_t)st.st_size, asked);
    munmap(job, (size_t)st.st_size);
    return TP_OK; /* the parent reports it */
}
