/* See left_behind.h. */
#include "cmd/jobs/left_behind.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS = 100,      /* one that ends may leave others behind */
    LIST_BYTES = 4096, /* some 500 children in a round */
    END_LOOKS = 100    /* for the end of one, a millisecond apart */
};

void tp_left_behind_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Reads the numbers of this process's children, with blanks between them. */
static void list_children(char out[LIST_BYTES])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, out, LIST_BYTES - 1);
    out[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

static bool runs_this_executable(pid_t pid)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return !stat("/proc/self/exe", &own) && !stat(path, &other) && own.st_ino == other.st_ino &&
           own.st_dev == other.st_dev;
}

static bool is_left_behind(pid_t pid, pid_t group)
{
    return pid != group &&
           (getpgid(pid) == group || (getsid(pid) != getsid(0) && runs_this_executable(pid)));
}

/* Ends a child and takes it off. */
static void end(pid_t pid)
{
    const struct timespec rest = {.tv_nsec = 1000000};
    kill(pid, SIGKILL);
    for (int i = 0; i < END_LOOKS && waitpid(pid, NULL, WNOHANG) == 0; i++)
        nanosleep(&rest, NULL);
}

void tp_left_behind_end(pid_t group)
{
    bool found = true;
    for (int round = 0; found && round < ROUNDS; round++) {
        char list[LIST_BYTES], *next = NULL;
        found = false;
        list_children(list);
        for (char *at = list; *at; at = next) {
            pid_t pid = (pid_t)strtol(at, &next, 10);
            if (next == at)
                break;
            if (!is_left_behind(pid, group))
                continue;
            end(pid);
            found = true;
        }
    }
}
