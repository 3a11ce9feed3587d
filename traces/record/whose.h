/* Which process a recording is of. A number alone does not say: it is given out again, and the
 * namespaces of containers have the same numbers. */
#ifndef TP_RECORDING_WHOSE_H
#define TP_RECORDING_WHOSE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tp_recorded_process {
    int64_t pid;
    uint64_t born;  /* ticks of the kernel's clock since it started; 0: /proc does not say */
    uint64_t space; /* i-node of the namespace of `pid`; 0: not known */
};

enum { TP_STAT_BYTES = 1024 };

/* A field of a process's line in /proc, from 3 on, in `text`; NULL: /proc does not say. The name in
 * field 2 may have blanks and brackets. */
static inline const char *tp_stat_field(const char *path, int field, char text[TP_STAT_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, TP_STAT_BYTES - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strrchr(text, ')');
    for (int i = 2; at && i < field; i++)
        at = strchr(at + 1, ' ');
    return at;
}

static inline uint64_t tp_recorded_birth(void)
{
    char text[TP_STAT_BYTES];
    const char *at = tp_stat_field("/proc/self/stat", 22, text);
    return at ? strtoull(at, NULL, 10) : 0;
}

static inline struct tp_recorded_process tp_recorded_self(void)
{
    struct stat st;
    bool known = stat("/proc/self/ns/pid", &st) == 0;
    return (struct tp_recorded_process){.pid = (int64_t)getpid(),
                                        .born = tp_recorded_birth(),
                                        .space = known ? (uint64_t)st.st_ino : 0};
}

static inline bool tp_recorded_same(const struct tp_recorded_process *a,
                                    const struct tp_recorded_process *b)
{
    return a->pid == b->pid && (a->born == b->born || !a->born || !b->born) &&
           (a->space == b->space || !a->space || !b->space);
}

#endif
