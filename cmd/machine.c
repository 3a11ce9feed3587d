/* See machine.h. */
#include "cmd/machine.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_cpu(char *out, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    out[0] = '\0';
    while (f && !out[0] && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10))
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(out, size, "%s", colon);
    }
    if (f)
        fclose(f);
}

static uint64_t system_value(int name)
{
    long value = sysconf(name);
    return value > 0 ? (uint64_t)value : 0;
}

void tp_machine_read(struct tp_machine *out)
{
    struct utsname names;
    memset(out, 0, sizeof *out);
    if (uname(&names) == 0) {
        snprintf(out->os, sizeof out->os, "%s %s", names.sysname, names.release);
        snprintf(out->arch, sizeof out->arch, "%s", names.machine);
    }
    read_cpu(out->cpu, sizeof out->cpu);
    snprintf(out->libc, sizeof out->libc, "glibc %s", gnu_get_libc_version());
    out->cores = system_value(_SC_NPROCESSORS_ONLN);
    out->page_bytes = system_value(_SC_PAGESIZE);
    out->memory_bytes = system_value(_SC_PHYS_PAGES) * out->page_bytes;
}
