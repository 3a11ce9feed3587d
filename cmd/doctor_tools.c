/* Checks of what tapool can use here: counters of the processor, valgrind, sources, samples, the
 * folder for large programs, the terminal. */
#include "cmd/doctor.h"
#include "cmd/registry.h"
#include "cmd/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOW_SPOOL       (UINT64_C(1) << 30) /* bytes free */
#define VERSION_WAIT_MS 2000

extern char **environ;

/* ---- counters ---- */

static int open_counter(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void advise_counters(const struct tp_doctor *d, struct tp_check *c, int error)
{
    char level[16];
    bool known = tp_doctor_line(d, "/proc/sys/kernel/perf_event_paranoid", "", level, sizeof level);
    if ((error == EACCES || error == EPERM) && known && strtol(level, NULL, 10) > 2)
        tp_doctor_advise(c, "kernel.perf_event_paranoid is %s: sysctl kernel.perf_event_paranoid=2",
                         level);
    else if (error == EACCES || error == EPERM)
        tp_doctor_advise(c,
                         "refused to this process, as containers usually are "
                         "(kernel.perf_event_paranoid is %s)",
                         known ? level : "unknown");
    else
        tp_doctor_advise(c, "this kernel shows no such counter, as in many virtual machines; "
                            "valgrind --tool=callgrind counts instructions without one");
}

static void check_counters(struct tp_doctor *d)
{
    int fd = open_counter(), error = errno;
    if (fd >= 0) {
        close(fd);
        tp_doctor_add(d, "counters", TP_VERDICT_OK,
                      "instructions can be counted (perf_event_open)");
        return;
    }
    advise_counters(d,
                    tp_doctor_add(d, "counters", TP_VERDICT_MISSING,
                                  "instructions cannot be counted: %s", strerror(error)),
                    error);
}

/* ---- valgrind ---- */

/* The first executable of that name in PATH; folders that are not absolute are left out. */
static bool find_in_path(const char *name, char *out, size_t size)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        int n = snprintf(out, size, "%.*s/%s", (int)length, path, name);
        if (path[0] == '/' && n > 0 && (size_t)n < size && access(out, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* Its first line, or "" after VERSION_WAIT_MS. */
static void read_answer(int fd, char *out, size_t size)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t end = tp_wall_ns() + VERSION_WAIT_MS * UINT64_C(1000000);
    size_t used = 0;
    while (used < size - 1 && !memchr(out, '\n', used)) {
        uint64_t now = tp_wall_ns();
        if (now >= end || poll(&wait, 1, (int)((end - now) / 1000000) + 1) <= 0)
            break;
        ssize_t got = read(fd, out + used, size - 1 - used);
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    out[used] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static pid_t start_version(const char *path, int stdout_fd)
{
    char *argv[] = {(char *)(uintptr_t)path, (char[]){"--version"}, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    if (posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) ||
        posix_spawn_file_actions_adddup2(&actions, stdout_fd, 1) ||
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) ||
        posix_spawn(&pid, path, &actions, NULL, argv, environ))
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Started directly, never by a shell. What does not answer is ended. */
static void read_version(const char *path, char *out, size_t size)
{
    int ends[2];
    out[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return;
    pid_t pid = start_version(path, ends[1]);
    close(ends[1]);
    if (pid > 0) {
        read_answer(ends[0], out, size);
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    close(ends[0]);
}

static void check_valgrind(struct tp_doctor *d)
{
    char path[4096], version[128];
    if (!find_in_path("valgrind", path, sizeof path)) {
        tp_doctor_advise(tp_doctor_add(d, "valgrind", TP_VERDICT_MISSING, "not in PATH"),
                         "it counts instructions, which do not depend on what else runs: apt "
                         "install valgrind");
        return;
    }
    read_version(path, version, sizeof version);
    if (!version[0])
        tp_doctor_advise(tp_doctor_add(d, "valgrind", TP_VERDICT_LIMIT, "%s", path),
                         "'--version' gave no answer: it may not work");
    else
        tp_doctor_add(d, "valgrind", TP_VERDICT_OK, "%s, %s", version, path);
}

/* ---- tapool's own ---- */

static void check_sources(struct tp_doctor *d)
{
    char text[2][128] = {"", ""};
    for (size_t i = 0; tp_sources[i]; i++) {
        char *list = text[(tp_sources[i]->flags & TP_SRC_DECORATOR) != 0];
        size_t used = strlen(list);
        snprintf(list + used, sizeof text[0] - used, "%s%s", used ? ", " : "", tp_sources[i]->name);
    }
    tp_doctor_add(d, "sources", TP_VERDICT_OK, "%s; decorators %s", text[0], text[1]);
}

static int count_samples(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    if (!dir)
        return -1;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        size_t length = strlen(e->d_name);
        count += length > 5 && e->d_name[0] != '.' && !strcmp(e->d_name + length - 5, ".json");
    }
    closedir(dir);
    return count;
}

static void check_samples(struct tp_doctor *d)
{
    struct tp_sample_dirs dirs;
    char text[3072] = "";
    size_t used = 0;
    tp_sample_dirs(&dirs);
    for (size_t i = 0; dirs.list[i] && used < sizeof text; i++) {
        int count = count_samples(dirs.list[i]);
        if (count > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d in %s",
                                     used ? "; " : "", count, dirs.list[i]);
    }
    if (used)
        tp_doctor_add(d, "samples", TP_VERDICT_OK, "%s", text);
    else
        tp_doctor_advise(tp_doctor_add(d, "samples", TP_VERDICT_MISSING, "none was found"),
                         "set TAPOOL_SAMPLES to the folder that holds sqlite.json");
}

static void check_spool(struct tp_doctor *d)
{
    const char *given = getenv("TMPDIR");
    const char *path = given && *given ? given : "/tmp";
    struct statvfs fs;
    if (access(path, W_OK | X_OK) || statvfs(path, &fs)) {
        tp_doctor_advise(
            tp_doctor_add(d, "temporary", TP_VERDICT_MISSING, "%s: %s", path, strerror(errno)),
            "traces above 1.4 million instructions are kept there while they are played: set "
            "TMPDIR");
        return;
    }
    uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    bool low = free_bytes < LOW_SPOOL;
    d->temporary_free_bytes = free_bytes;
    struct tp_check *c = tp_doctor_add(d, "temporary", low ? TP_VERDICT_LIMIT : TP_VERDICT_OK,
                                       "%s, %s free", path, tp_bytes(free_bytes, false).s);
    if (low)
        tp_doctor_advise(c, "traces above 1.4 million instructions are kept there while they are "
                            "played: set TMPDIR to a folder with room");
}

static void check_terminal(struct tp_doctor *d)
{
    struct tp_page page;
    tp_page_init(&page, d->out, 0);
    bool terminal = isatty(fileno(d->out));
    tp_doctor_add(d, "output", TP_VERDICT_OK, "%s, pages of %d columns",
                  terminal ? "a terminal" : "no terminal", page.width);
}

void tp_doctor_tools(struct tp_doctor *d)
{
    check_counters(d);
    check_valgrind(d);
    tp_doctor_cuda(d);
    check_sources(d);
    check_samples(d);
    check_spool(d);
    check_terminal(d);
}
