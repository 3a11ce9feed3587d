/* Runs another program and reads its answer; see ask.h. */
#include "cmd/ui/ask.h"

#include "alloc/base/clock.h"
#include "cmd/ui/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool tp_ask_find(const char *name, char *path, size_t size)
{
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t length = strcspn(list, ":");
        int n = snprintf(path, size, "%.*s/%s", (int)length, list, name);
        if (list[0] == '/' && n > 0 && (size_t)n < size && access(path, X_OK) == 0)
            return true;
        list += length + (list[length] == ':');
    }
    return false;
}

/* Reads the answer. Returns true if the program closed its output. */
static bool read_answer(int fd, unsigned wait_ms, enum tp_ask_until until, char *out, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t end = tp_wall_ns() + wait_ms * UINT64_C(1000000);
    size_t used = 0;
    bool closed = false;
    while (used < size - 1 && (until == TP_ASK_END || !memchr(out, '\n', used))) {
        uint64_t now = tp_wall_ns();
        if (now >= end || poll(&wait, 1, (int)((end - now) / 1000000) + 1) <= 0)
            break;
        ssize_t got = read(fd, out + used, size - 1 - used);
        closed = got <= 0;
        if (closed)
            break;
        used += (size_t)got;
    }
    out[used] = '\0';
    if (until == TP_ASK_LINE)
        out[strcspn(out, "\n")] = '\0';
    return closed;
}

static pid_t start(const char *const *argv, int stdout_fd)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    char **environment = tp_environment_for_child(NULL, 0);
    if (!environment || posix_spawn_file_actions_init(&actions)) {
        free(environment);
        return -1;
    }
    if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) ||
        posix_spawn_file_actions_adddup2(&actions, stdout_fd, 1) ||
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) ||
        posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environment))
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return pid;
}

/* Ends the program. One that has closed its output gets a second to end by itself, so that its exit
 * code is known. Returns false if it failed. */
static bool end(pid_t pid, bool closed)
{
    enum { MOMENT_MS = 1000 };
    int how = 0;
    pid_t got = 0;
    for (int ms = 0; closed && ms < MOMENT_MS && (got = waitpid(pid, &how, WNOHANG)) == 0; ms++)
        poll(NULL, 0, 1);
    if (got == pid)
        return how == 0;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return !closed;
}

bool tp_ask(const char *const *argv, unsigned wait_ms, enum tp_ask_until until, char *out,
            size_t size)
{
    int ends[2];
    bool good = false;
    out[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return false;
    pid_t pid = start(argv, ends[1]);
    close(ends[1]);
    if (pid > 0)
        good = end(pid, read_answer(ends[0], wait_ms, until, out, size));
    close(ends[0]);
    return good;
}
