/* tapool record: runs a program with the recorder preloaded and makes a trace of what it did.
 *
 *      record/target.c    which file that is, and whether it can be recorded
 *      record/session.c   the recording's file, the program's process, its signals
 *      recorder/          the library in the program, which fills the file
 *      record/finish.c    the file is read as any trace is, and written as .tpt
 *
 * What is printed goes to stderr: standard output is the program's. */
#include "cmd/cli/commands.h"
#include "cmd/record/finish.h"
#include "cmd/record/session.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/output.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct record_opts {
    char *output;
    uint64_t after, max_size, max_events, duration;
    uint64_t stacks, stack_every, stack_size;
    uint32_t follow;
    bool cuda, no_command, force, json;
};

static const char *const follow_words[] = {"none", "fork", "all", NULL};
static const char *const no_limit[] = {"none", NULL};

#define ROW(member) offsetof(struct record_opts, member)
static const struct tp_opt rows[] = {
    TP_OUTPUT_ROW(ROW(output), "trace to write (default: the program's name with .tpt)"),
    TP_FLAG_AT("cuda", ROW(cuda), TP_FIRST(TRACES),
               .help = "record GPU memory instead of host memory; needs CUPTI\n"
                       "The recorder is loaded by the CUDA driver and records driver calls with "
                       "their streams, events and pools. tapool help snapshots lists the gaps."),
    TP_CHOICE_AT("follow", ROW(follow), .def = "none", .choices = follow_words, .arg = "WHICH",
                 TP_FIRST(TRACES),
                 .help = "record child processes too, each as NAME.PID.tpt\n"
                         "fork: forked copies of the program; all: programs that it starts as "
                         "well. record then ends with the last descendant. --max-size and "
                         "--max-events apply to each process, --after, --duration and SIGUSR2 "
                         "to PROGRAM only."),
    TP_UINT_AT("stacks", ROW(stacks), .def = "0", .max = TP_STACK_FRAMES, TP_FIRST(TRACES),
               .help = "record call stacks of up to N frames; 0: none\n"
                       "tapool info FILE then shows live memory by site. Sampling by --stack-size "
                       "and --stack-every adds about 10% to an allocation-bound program; "
                       "--stack-every 1 makes it five times as slow. Function names come from "
                       "symbols and from debug information in /usr/lib/debug. A stack takes about "
                       "8 KiB of the thread's own stack."),
    TP_UINT_AT("stack-every", ROW(stack_every), .def = "100", .min = 1, .max = UINT32_MAX,
               TP_IN(TRACES), .help = "record a stack for one in N smaller allocations, at random"),
    TP_SIZE_AT("stack-size", ROW(stack_size), .def = "16KiB", TP_IN(TRACES),
               .help = "record a stack for every allocation of at least SIZE"),
    TP_UINT_AT("after", ROW(after), .def = "0", TP_IN(LIMITS),
               .help = "start recording after about N allocator calls"),
    TP_SIZE_AT("max-size", ROW(max_size), .def = "none", .min = 1 << 20, .max = UINT64_C(1) << 60,
               .choices = no_limit, TP_FIRST(LIMITS),
               .help = "stop recording when the file reaches SIZE; PROGRAM continues"),
    TP_UINT_AT("max-events", ROW(max_events), .def = "none", .min = 1, .choices = no_limit,
               TP_FIRST(LIMITS), .help = "stop recording after about N events"),
    TP_TIME_AT("duration", ROW(duration), .def = "none", .min = 1, .choices = no_limit,
               TP_FIRST(LIMITS), .help = "stop recording after TIME"),
    TP_FLAG_AT("no-command", ROW(no_command), TP_FIRST(OUTPUT),
               .help = "leave the arguments of PROGRAM out of the trace"),
    TP_FORCE_ROW(ROW(force)),
    TP_FLAG_AT("json", ROW(json), TP_FIRST(OUTPUT),
               .help = "print JSON as the last line of standard error"),
    {.name = NULL}};

static uint64_t limit(uint64_t option)
{
    return option == TP_OPT_KEYWORD(0) ? 0 : option;
}

/* Ends as the program ended. It is the program that leaves a core dump. */
static void end_like(int how)
{
    const struct rlimit none = {.rlim_cur = 0};
    if (WIFSIGNALED(how)) {
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(how), SIG_DFL);
        raise(WTERMSIG(how));
    }
    if (how)
        exit(WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how));
}

/* ---- the whole ---- */

/* The trace is a file of its own: the program is not yet started. */
static int check_output(const struct tp_record_cfg *cfg, bool force, struct tp_err *err)
{
    struct stat output, program;
    bool there = stat(cfg->output, &output) == 0;
    if (there && !S_ISREG(output.st_mode) && !S_ISDIR(output.st_mode))
        return tp_fail(err, TP_EUSAGE, "'%s' is not a regular file", cfg->output);
    if (there && stat(cfg->program, &program) == 0 && output.st_dev == program.st_dev &&
        output.st_ino == program.st_ino)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s' is the program to record", cfg->output),
                       "-o FILE names the trace");
    return tp_output_check(cfg->output, force, err);
}

static int record(const struct record_opts *o, struct tp_record_cfg *cfg, struct tp_err *err)
{
    struct tp_record_session session = {.how = 0};
    int status = check_output(cfg, o->force, err);
    if (!status)
        status = tp_record_open(cfg, &session, err);
    if (status)
        return status;
    status = tp_record_run(cfg, &session, err);
    if (status)
        unlink(session.path); /* it has not begun */
    else
        status = tp_record_finish(cfg, &session, o->force, err);
    tp_record_close(&session);
    if (session.how && status) { /* its own end is what the caller is to see */
        tp_error_print(err);
        status = TP_OK;
    }
    if (!status)
        end_like(session.how);
    return status;
}

/* A program that cannot be started has the exit code that the shells give it. */
static int find_target(const char *word, char program[PATH_MAX], struct tp_err *err)
{
    int code = 0, status = tp_record_target(word, program, &code, err);
    if (code) {
        tp_error_print(err);
        exit(code);
    }
    return status;
}

static int run(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct record_opts *o = args->opts;
    char program[PATH_MAX], name[PATH_MAX + 8];
    (void)out;
    if (!args->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "record needs a program to run"),
                       "tapool record -o my.tpt ./server --its-options");
    if (o->output && !strcmp(o->output, "-"))
        return tp_fail(err, TP_EUSAGE, "-o needs a file: standard output belongs to the program");
    if (o->cuda && o->stacks)
        return tp_fail(err, TP_EUSAGE, "--stacks records calls of malloc, which --cuda leaves out");
    int status = find_target(args->words[0], program, err);
    if (status)
        return status;
    const char *base = strrchr(program, '/');
    snprintf(name, sizeof name, "%s.tpt", base ? base + 1 : program);
    struct tp_record_cfg cfg = {.output = o->output ? o->output : name,
                                .command = args->words,
                                .program = program,
                                .signals = args->signals,
                                .follow = (enum tp_record_follow)o->follow,
                                .after = o->after,
                                .max_bytes = limit(o->max_size),
                                .max_events = limit(o->max_events),
                                .duration_ns = limit(o->duration),
                                .json = o->json,
                                .no_command = o->no_command,
                                .cuda = o->cuda,
                                .stacks = (uint32_t)o->stacks,
                                .stack_every = (uint32_t)o->stack_every,
                                .stack_size = o->stack_size};
    return record(o, &cfg, err);
}

const struct tp_command tp_command_record = {
    .name = "record",
    .usage = "record [-o FILE] [OPTION]... PROGRAM [ARGUMENT]...",
    .runs_program = true,
    .summary = "run a program and record its allocations, in all threads",
    .about =
        "Run PROGRAM with a recorder preloaded and write its allocations to FILE: malloc, realloc, "
        "free and their variants, C++ new and delete, each with time, thread, size and alignment. "
        "PROGRAM needs no rebuild and keeps its input, output, signals and exit status. The trace "
        "stores the first 255 bytes of the command line: use --no-command if it has secrets.\n\n"
        "Events are written to FILE.recording as they happen, so a crash or kill -9 loses none. A "
        "FILE.recording left behind is readable by every command; tapool convert --recover makes "
        "it a trace. SIGUSR2 to tapool pauses and resumes the recording. TAPOOL_MARK(\"step 3\") "
        "of <tapool/mark.h> begins a phase; it links nothing, and does nothing when PROGRAM is not "
        "recorded.\n\n"
        "Not recorded: programs that PROGRAM starts (see --follow), memory mapped without malloc, "
        "allocators linked into PROGRAM, static executables, setuid programs.\n\n"
        "Exit status: that of PROGRAM; if it is 0, 3 when recording failed and 4 when FILE could "
        "not be written. A program without allocations leaves no FILE.",
    .opts_size = sizeof(struct record_opts),
    .options = rows,
    .run = run,
};
