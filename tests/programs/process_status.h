/* What the kernel says of a process: a number of /proc/PID/FILE, in KiB; 0: it does not say. */
#ifndef TESTS_PROCESS_STATUS_H
#define TESTS_PROCESS_STATUS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline unsigned long process_number(long pid, const char *file, const char *name)
{
    char path[64], line[256];
    unsigned long value = 0;
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, file);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoul(line + strlen(name), NULL, 10);
    if (f)
        fclose(f);
    return value;
}

static inline unsigned long process_status(long pid, const char *name)
{
    return process_number(pid, "status", name);
}

#endif
