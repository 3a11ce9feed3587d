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
    bool cuda, no_command, force;
};

static const char *const follow_words[] = {"none", "fork", "all", NULL};
static const char *const no_limit[] = {"none", NULL};

#define ROW(member) offsetof(struct record_opts, member)
static const struct tp_opt rows[] = {
    TP_OUTPUT_ROW(ROW(output), "the trace (default: the program's name with .tpt)"),
    TP_FLAG_AT("cuda", ROW(cuda),
               .help =
                   "the memory of GPUs is recorded instead of the host's: what the program asks "
                   "of the CUDA driver, with its streams"),
    TP_CHOICE_AT("follow", ROW(follow), .def = "none", .choices = follow_words, .arg = "WHICH",
                 .help = "children that are recorded too, each as NAME.PID.tpt: fork is copies of "
                         "the program, all is what it and they start, too. record then ends with "
                         "the last of its descendants"),
    TP_UINT_AT("stacks", ROW(stacks), .def = "0", .max = TP_STACK_FRAMES,
               .help =
                   "keeps who called, up to N frames, for a share of the allocations: info then "
                   "says who holds the memory at the peak (0: for none)"),
    TP_UINT_AT("stack-every", ROW(stack_every), .def = "100", .min = 1, .max = UINT32_MAX,
               .help = "that share is one in N, by chance"),
    TP_SIZE_AT("stack-size", ROW(stack_size), .def = "16KiB",
               .help = "and each allocation of at least this size"),
    TP_UINT_AT("after", ROW(after), .def = "0",
               .help = "the recording begins after about this many calls of malloc and its kin"),
    TP_SIZE_AT("max-size", ROW(max_size), .def = "none", .min = 1 << 20, .max = UINT64_C(1) << 60,
               .choices = no_limit,
               .help = "the recording ends when its file has this size; the program goes on"),
    TP_UINT_AT("max-events", ROW(max_events), .def = "none", .min = 1, .choices = no_limit,
               .help = "it ends after about this many events"),
    TP_TIME_AT("duration", ROW(duration), .def = "none", .min = 1, .choices = no_limit,
               .help = "it ends after this time"),
    TP_FLAG_AT("no-command", ROW(no_command),
               .help = "the arguments of PROGRAM are not kept in the trace"),
    TP_FORCE_ROW(ROW(force)),
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
        return tp_fail(err, TP_EUSAGE, "'%s' is not a regular file, which the trace needs",
                       cfg->output);
    if (there && stat(cfg->program, &program) == 0 && output.st_dev == program.st_dev &&
        output.st_ino == program.st_ino)
        return tp_hint(
            err, tp_fail(err, TP_EUSAGE, "'%s' is the program that is to be recorded", cfg->output),
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
        return tp_fail(err, TP_EUSAGE, "the trace needs a file: standard output is the program's");
    if (o->cuda && o->stacks)
        return tp_fail(err, TP_EUSAGE,
                       "--stacks is for calls of malloc, which --cuda does not record");
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
    .summary = "runs a program and records what it allocates, with all its threads",
    .about =
        "Runs PROGRAM with a recorder in front of its malloc and writes what it allocated as FILE: "
        "malloc, realloc, free and their kin, new and delete of C++, each with its time, thread, "
        "size and alignment. The program need not be built for it. It keeps its input, output, "
        "signals and exit status; what record says goes to standard error. The first 255 bytes of "
        "its command line are kept in the trace: --no-command, where there are secrets in it.\n\n"
        "While the program runs, the events are in FILE.recording from the moment that they "
        "happen, so a crash or kill -9 loses none. Where record itself was ended, or the trace "
        "could not be written, FILE.recording is left: every command reads it, and 'tapool convert "
        "--recover FILE.recording' makes the trace. SIGUSR2 to tapool stops the recording, and the "
        "next one starts it again. TAPOOL_MARK(\"step 3\") of <tapool/mark.h> begins a phase of "
        "the "
        "trace; where the program is not recorded it does nothing, and there is nothing to "
        "link.\n\n"
        "With --stacks N the trace says also who called, for each allocation of --stack-size or "
        "more, and one in --stack-every of the smaller ones: 'tapool info FILE' then names who "
        "holds the memory at the peak. A program that does little but allocate takes some 10 % "
        "longer by it, and with --stack-every 1 five times as long. Functions are named by what "
        "lies on this machine: programs and libraries with symbols, or debug information in "
        "/usr/lib/debug.\n\n"
        "With --cuda it is the memory of GPUs that is recorded: what the program, or the CUDA "
        "runtime in it, asks of the driver, with streams, events and pools. The driver loads the "
        "recorder, which needs CUPTI. 'tapool help snapshots' says what is left out.\n\n"
        "The exit status is PROGRAM's. Where that is 0 and nothing could be recorded, it is 3, or "
        "4 "
        "if the file could not be written. A program that allocates nothing is no failure: there "
        "is no FILE then, nor an older one that -f would have overwritten.\n\n"
        "Children have their own bounds of size and events; --after, --duration and SIGUSR2 are "
        "about the program itself.\n\n"
        "Not recorded: what the program starts (but see --follow), memory that it maps without "
        "malloc or takes from an allocator that is linked into it, programs that are linked "
        "statically or run with other rights than yours. Taking a call stack needs some 8 KiB of "
        "the thread's own: threads with stacks as small as 16 KiB may have less to spare.",
    .opts_size = sizeof(struct record_opts),
    .options = rows,
    .run = run,
};
