/* Runs a program and says what it took, read when it exits and its memory is still there.
 *
 *     watch_exit [NAME=VALUE...] PROGRAM [ARGUMENT...]
 *
 * The last line on standard error: "watched ANON_KIB TOTAL_KIB CPU_US END_KIB". ANON is peak RSS
 * less the pages of files at exit, TOTAL is peak RSS, END is private memory at exit, page by page.
 * Processes that it starts are not in it. */
#include "tests/programs/process_status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start(char **words)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    for (; *words && strchr(*words, '='); words++)
        putenv(*words);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execvp(*words, words);
    _exit(127);
}

/* Signals are passed on, but for the one that follows exec. */
static int watch(pid_t pid, unsigned long *peak, unsigned long *file, unsigned long *end)
{
    const long options = PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL;
    int how = 0, signal = 0;
    if (waitpid(pid, &how, 0) != pid || !WIFSTOPPED(how))
        return how;
    ptrace(PTRACE_SETOPTIONS, pid, NULL, options);
    do {
        ptrace(PTRACE_CONT, pid, NULL, (long)signal);
        if (waitpid(pid, &how, 0) != pid)
            break;
        signal = WIFSTOPPED(how) ? WSTOPSIG(how) : 0;
        if (WIFSTOPPED(how) && how >> 16 == PTRACE_EVENT_EXIT) {
            *peak = process_status(pid, "VmHWM:");
            *file = process_status(pid, "RssFile:") + process_status(pid, "RssShmem:");
            *end = process_number(pid, "smaps_rollup", "Anonymous:");
            signal = 0;
        }
    } while (WIFSTOPPED(how));
    return how;
}

int main(int argc, char **argv)
{
    struct rusage used;
    unsigned long peak = 0, file = 0, end = 0;
    pid_t pid = argc > 1 ? start(argv + 1) : -1;
    if (pid < 0)
        return 2;
    int how = watch(pid, &peak, &file, &end);
    getrusage(RUSAGE_CHILDREN, &used);
    fprintf(stderr, "watched %lu %lu %lld %lu\n", peak - file, peak,
            (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec +
                used.ru_stime.tv_usec,
            end);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 1;
}
