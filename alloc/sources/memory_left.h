/* How much memory this process can still take before the kernel kills something.
 *
 *     what the machine has available, and in each control group that the process is in, from its
 *     own up to the root:    limit - (in use - file pages that the kernel would drop first) - slack
 *
 * The smallest of these values is the result, because every enclosing group limits the process.
 * Both versions of control groups are read, since a machine may have both. The slack is for tapool
 * itself. `root` is put before every path: "", or in tests a folder that stands for the machine.
 *
 * Known weakness: memory that other processes of the group take later is not foreseen, and swap is
 * not counted. */
#ifndef TP_MEMORY_LEFT_H
#define TP_MEMORY_LEFT_H

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_LEFT_SLACK (UINT64_C(64) << 20) /* bytes, at most an eighth of what is left */

/* The files of a group, by version. */
struct memory_group_kind {
    const char *system; /* type of the file system */
    const char *member; /* second field of the group's line in /proc/self/cgroup */
    const char *limit, *in_use, *droppable; /* two names of files, and a word in memory.stat */
};

/* Reads the number after `word` at the start of a line; with `word` "" the file holds only a
 * number. */
static inline bool memory_number(const char *path, const char *word, uint64_t *out)
{
    char line[256];
    size_t length = strlen(word);
    bool found = false;
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *end = NULL;
        const char *number = line + length + strspn(line + length, ": ");
        if (strncmp(line, word, length) != 0)
            continue;
        *out = strtoull(number, &end, 10);
        found = end != number; /* "max" is not a number */
    }
    if (f)
        fclose(f);
    return found;
}

/* Reads a number from a file of a group; false: the file has none. */
static inline bool memory_group_number(const char *folder, const char *file, const char *word,
                                       uint64_t *out)
{
    char path[4 * PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    return n > 0 && (size_t)n < sizeof path && memory_number(path, word, out);
}

/* Bytes left in one group; UINT64_MAX: the group has no limit. */
static inline uint64_t memory_left_in(const char *folder, const struct memory_group_kind *k)
{
    uint64_t limit = UINT64_MAX, in_use = 0, droppable = 0;
    if (!memory_group_number(folder, k->limit, "", &limit) || limit >= UINT64_C(1) << 62 ||
        !memory_group_number(folder, k->in_use, "", &in_use))
        return UINT64_MAX;
    memory_group_number(folder, "memory.stat", k->droppable, &droppable);
    in_use -= droppable < in_use ? droppable : in_use;
    uint64_t left = limit > in_use ? limit - in_use : 0;
    return left - (left / 8 < MEMORY_LEFT_SLACK ? left / 8 : MEMORY_LEFT_SLACK);
}

/* Copies the path of the process's group from /proc/self/cgroup; false: it is not listed. */
static inline bool memory_group_path(const char *root, const struct memory_group_kind *k, char *out,
                                     size_t size)
{
    char line[PATH_MAX + 256];
    bool found = false;
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *f = fopen(line, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *members = strchr(line, ':'), *path = members ? strchr(members + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        char *rest = NULL;
        for (const char *m = strtok_r(members + 1, ",", &rest); m && !found;
             m = strtok_r(NULL, ",", &rest))
            found = !strcmp(m, k->member);
        found = found || (!*k->member && !members[1]);
        if (found)
            snprintf(out, size, "%s", path);
    }
    if (f)
        fclose(f);
    return found;
}

/* Finds where the groups are mounted (`point`) and which group is mounted there (`top`). */
static inline bool memory_group_mount(const char *root, const struct memory_group_kind *k,
                                      char *point, char *top, size_t size)
{
    char line[2 * PATH_MAX + 512], type[64], options[256];
    bool found = false;
    snprintf(line, sizeof line, "%s/proc/self/mountinfo", root);
    FILE *f = fopen(line, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        static_assert(PATH_MAX == 4096, "the widths below");
        const char *behind = strstr(line, " - ");
        char from[PATH_MAX], at[PATH_MAX];
        if (!behind || sscanf(line, "%*s %*s %*s %4095s %4095s", from, at) != 2 ||
            sscanf(behind, " - %63s %*s %255s", type, options) != 2 || strcmp(type, k->system) != 0)
            continue;
        found = !*k->member || strstr(options, k->member);
        snprintf(top, size, "%s", from);
        snprintf(point, size, "%s", at);
    }
    if (f)
        fclose(f);
    return found;
}

/* The smallest number of bytes left in the process's group and in every enclosing one. */
static inline uint64_t memory_left_in_groups(const char *root, const struct memory_group_kind *k)
{
    char path[PATH_MAX], point[PATH_MAX], top[PATH_MAX], folder[3 * PATH_MAX];
    if (!memory_group_path(root, k, path, sizeof path) ||
        !memory_group_mount(root, k, point, top, sizeof point))
        return UINT64_MAX;
    size_t above = strcmp(top, "/") ? strlen(top) : 0; /* a container may see its own part only */
    bool below = !strncmp(path, top, above) && (!path[above] || path[above] == '/');
    size_t end = strlen(root) + strlen(point);
    snprintf(folder, sizeof folder, "%s%s%s", root, point, below ? path + above : "");
    uint64_t least = UINT64_MAX;
    for (size_t length = strlen(folder); length >= end; length--) {
        if (length > end && folder[length] != '/' && folder[length])
            continue; /* go on to the end of the parent's path */
        folder[length] = '\0';
        uint64_t left = memory_left_in(folder, k);
        least = left < least ? left : least;
    }
    return least;
}

/* Bytes that this process can still take. `physical` is the machine's whole memory, used where the
 * kernel does not report how much is available. */
static inline uint64_t memory_left(const char *root, uint64_t physical)
{
    static const struct memory_group_kind kinds[] = {
        {"cgroup2", "", "memory.max", "memory.current", "inactive_file"},
        {"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
         "total_inactive_file"}};
    char path[PATH_MAX];
    uint64_t kib = 0, least = physical;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (memory_number(path, "MemAvailable", &kib) && kib && kib < physical >> 10)
        least = kib << 10;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t left = memory_left_in_groups(root, &kinds[i]);
        least = left < least ? left : least;
    }
    return least;
}

#endif
