/* See machine.h. */
#include "cmd/jobs/machine.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

bool tp_machine_line(const char *path, const char *key, char *out, size_t size)
{
    char line[8192];
    bool found = false;
    FILE *f = fopen(path, "re");
    out[0] = '\0';
    while (f && !found && fgets(line, sizeof line, f)) {
        size_t length = strlen(key);
        found = !strncmp(line, key, length);
        if (!found)
            continue;
        const char *value = line + length + strspn(line + length, " \t:");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
    }
    if (f)
        fclose(f);
    return found;
}

/* Tries growing masks, because sched_getaffinity fails with EINVAL if the mask is too small for
 * this machine. */
uint64_t tp_machine_cores_allowed(void)
{
    for (size_t cores = 1024; cores <= 1 << 20; cores *= 2) {
        cpu_set_t *set = CPU_ALLOC(cores);
        size_t size = CPU_ALLOC_SIZE(cores);
        bool known = set && sched_getaffinity(0, size, set) == 0;
        int error = errno, allowed = known ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (known || error != EINVAL)
            return (uint64_t)allowed;
    }
    return 0;
}

uint64_t tp_machine_cores_to_use(void)
{
    uint64_t cores = tp_machine_cores_allowed();
    unsigned long long time, period;
    char quota[64];
    if (tp_machine_line("/sys/fs/cgroup/cpu.max", "", quota, sizeof quota) &&
        sscanf(quota, "%llu %llu", &time, &period) == 2 && period && time / period < cores)
        cores = time / period;
    return cores ? cores : 1;
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
    tp_machine_line("/proc/cpuinfo", "model name", out->cpu, sizeof out->cpu);
    snprintf(out->libc, sizeof out->libc, "glibc %s", gnu_get_libc_version());
    out->cores = system_value(_SC_NPROCESSORS_ONLN);
    out->page_bytes = system_value(_SC_PAGESIZE);
    out->memory_bytes = system_value(_SC_PHYS_PAGES) * out->page_bytes;
}
