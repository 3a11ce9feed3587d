/* See child.h. The parent starts /proc/self/exe again and passes two descriptors: the program, and
 * a shared job that holds the request and receives the result. fork without exec is not enough,
 * because the child's heap would be a copy of the parent's, with the holes that reading the trace
 * has left in it. The program is passed as plain instructions, because decoding another form would
 * use the heap that is measured. */
#include "cmd/measure/child.h"

#include "cmd/measure/process.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The head of the shared memory; the run follows at RUN_OFFSET. Parent and child are the same
 * executable, so they agree on the layout. */
struct child_job {
    uint64_t size; /* bytes of the whole mapping */
    pid_t parent;
    char spec[TP_SPEC_TEXT];
    char label[TP_LABEL_MAX];
    uint32_t touch, passes, min_replays, repeat, threads, cores;
    uint64_t min_time_ns, seed, latency_operations;
    bool stop_on_oom, drop_prologue, huge_pages, progress, answered;
    int status;
    struct tp_err err;
};
#define RUN_OFFSET ((sizeof(struct child_job) + 63) & ~(size_t)63)

static struct tp_run *run_of(struct child_job *job)
{
    return (struct tp_run *)(void *)((char *)job + RUN_OFFSET);
}

static int map_job(int fd, size_t size, struct child_job **out, struct tp_err *err)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return tp_fail(err, TP_EIO, "shared memory for a child process: %s", strerror(errno));
    *out = p;
    return TP_OK;
}

static int make_job(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct child_job **out, int *fd, struct tp_err *err)
{
    uint16_t devices = tp_program_facts(cfg->program)->devices;
    size_t size = RUN_OFFSET + tp_run_size(devices);
    *fd = memfd_create("tapool-job", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)size))
        return tp_fail(err, TP_EIO, "shared memory for a child process: %s", strerror(errno));
    int status = map_job(*fd, size, out, err);
    if (status)
        return status;
    struct child_job *job = *out;
    job->size = size; /* set before anything can fail, because unmapping needs it */
    char options[TP_SPEC_TEXT - 128];
    if (!tp_opts_text(spec->strategy->options, spec->opts, options, sizeof options))
        return tp_fail(err, TP_EUSAGE, "the options of '%s' are too long", spec->label);
    snprintf(job->spec, sizeof job->spec, "%s%s%s", spec->strategy->name, options[0] ? ":" : "",
             options);
    snprintf(job->label, sizeof job->label, "%s", spec->label);
    job->parent = getpid();
    job->touch = cfg->touch;
    job->passes = cfg->passes;
    job->min_replays = cfg->min_replays;
    job->repeat = cfg->repeat;
    job->threads = cfg->threads;
    job->cores = cfg->cores;
    job->latency_operations = cfg->latency_operations;
    job->min_time_ns = cfg->min_time_ns;
    job->seed = cfg->seed;
    job->stop_on_oom = cfg->stop_on_oom;
    job->drop_prologue = cfg->drop_prologue;
    job->huge_pages = cfg->huge_pages;
    job->progress = cfg->progress != NULL;
    return TP_OK;
}

/* The child finds the program at descriptor 3 and the job at 4. */
enum { PROGRAM_FD = 3, JOB_FD = 4 };

static int spawn(int program_fd, int job_fd, pid_t *pid, struct tp_err *err)
{
    char *argv[] = {(char *)(uintptr_t) "tapool", (char *)(uintptr_t) "__child", NULL};
    char path[4096];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    /* Moving both descriptors above JOB_FD first keeps one from overwriting the other. dup2 then
     * clears O_CLOEXEC. */
    int high_program = fcntl(program_fd, F_DUPFD_CLOEXEC, JOB_FD + 1);
    int high_job = fcntl(job_fd, F_DUPFD_CLOEXEC, JOB_FD + 1);
    posix_spawn_file_actions_adddup2(&actions, high_program, PROGRAM_FD);
    posix_spawn_file_actions_adddup2(&actions, high_job, JOB_FD);
    const char *program = tp_child_own_executable(path, sizeof path);
    int failed = high_program < 0 || high_job < 0 ? errno : 0;
    char **environment = failed ? NULL : tp_environment_for_child(NULL);
    if (!failed)
        failed =
            environment ? posix_spawn(pid, program, &actions, NULL, argv, environment) : ENOMEM;
    free(environment);
    posix_spawn_file_actions_destroy(&actions);
    if (high_program >= 0)
        close(high_program);
    if (high_job >= 0)
        close(high_job);
    return failed ? tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(failed))
                  : TP_OK;
}

static int await(pid_t pid, const struct child_job *job, const struct tp_replay_cfg *cfg,
                 struct tp_err *err)
{
    const struct tp_child_wait wait = {.interrupted = cfg->interrupted};
    int how = 0, status = tp_child_await(pid, &wait, &how);
    if (status == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (status)
        return tp_fail(err, (enum tp_status)status, "a child process is lost: %s", strerror(errno));
    if (WIFSIGNALED(how))
        return tp_fail(err, TP_EBROKEN, "'%s' died of signal %d (%s) in its process", job->label,
                       WTERMSIG(how), strsignal(WTERMSIG(how)));
    if (!job->answered)
        return tp_fail(err, TP_EBROKEN, "'%s' ended its process with code %d", job->label,
                       WEXITSTATUS(how));
    if (job->status && err)
        *err = job->err;
    return job->status;
}

int tp_child_replay(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err)
{
    struct child_job *job = NULL;
    int program_fd = -1, job_fd = -1;
    pid_t pid = 0;
    int status = make_job(cfg, spec, &job, &job_fd, err);
    if (!status)
        status = tp_program_export(cfg->program, &program_fd, err);
    if (!status)
        status = spawn(program_fd, job_fd, &pid, err);
    if (!status)
        status = await(pid, job, cfg, err);
    if (!status)
        memcpy(out, run_of(job), tp_run_size(tp_program_facts(cfg->program)->devices));
    if (job)
        munmap(job, job->size);
    if (job_fd >= 0)
        close(job_fd);
    if (program_fd >= 0)
        close(program_fd);
    return status;
}

/* ---- the child's side ---- */

static int answer(struct child_job *job, struct tp_program *program, struct tp_err *err)
{
    struct tp_strategy_spec spec;
    struct tp_clock clock;
    struct tp_progress_line line;
    bool timed = job->passes & (TP_PASS_THROUGHPUT | TP_PASS_LATENCY);
    int status = tp_strategy_spec_parse(&spec, job->spec, err);
    if (status)
        return status;
    tp_progress_start(&line, job->label);
    struct tp_replay_cfg cfg = {.program = program,
                                .strategy = spec.strategy,
                                .strategy_opts = spec.opts,
                                .clock = timed ? &clock : NULL,
                                .touch = (enum tp_touch)job->touch,
                                .passes = job->passes,
                                .min_time_ns = job->min_time_ns,
                                .min_replays = job->min_replays,
                                .repeat = job->repeat,
                                .threads = job->threads,
                                .cores = job->cores,
                                .latency_operations = job->latency_operations,
                                .stop_on_oom = job->stop_on_oom,
                                .drop_prologue = job->drop_prologue,
                                .huge_pages = job->huge_pages,
                                .seed = job->seed,
                                .progress = job->progress ? tp_progress_show : NULL,
                                .progress_ctx = &line};
    if (timed)
        status = tp_clock_calibrate(&clock, err);
    if (!status)
        status = tp_replay(&cfg, run_of(job), err);
    tp_progress_clear(&line);
    tp_strategy_spec_release(&spec);
    return status;
}

int tp_child_serve(struct tp_err *err)
{
    struct child_job *job = NULL;
    struct tp_program *program = NULL;
    struct stat st;
    tp_child_begin(0); /* the parent's id is not known before the job is mapped */
    if (fstat(JOB_FD, &st) || (size_t)st.st_size < sizeof *job)
        return tp_fail(err, TP_EUSAGE, "'__child' is tapool's own");
    int status = map_job(JOB_FD, (size_t)st.st_size, &job, err);
    if (status)
        return status;
    if (getppid() != job->parent) /* the parent ended before tp_child_begin took effect */
        return TP_OK;
    status = tp_program_import(PROGRAM_FD, &program, &job->err);
    if (!status &&
        (uint64_t)st.st_size < RUN_OFFSET + tp_run_size(tp_program_facts(program)->devices))
        status = tp_fail(&job->err, TP_EBROKEN, "the job of a child process is too short");
    if (!status)
        status = answer(job, program, &job->err);
    tp_program_release(program);
    job->status = status;
    job->answered = true;
    munmap(job, (size_t)st.st_size);
    return TP_OK; /* the parent reports job->status */
}
