/* Checks of the machine: processor, clock, memory, kernel, and what else runs on it. */
#include "cmd/doctor/doctor.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUCH_LOAD  0.5                 /* load average, in cores */
#define LOW_MEMORY (UINT64_C(1) << 30) /* bytes available */
#define USUAL_MAPS UINT64_C(65530)     /* the kernel's default of vm.max_map_count */

static void check_build(struct tp_doctor *d)
{
    bool release = !strcmp(TAPOOL_BUILD, "release");
    tp_doctor_add(
        d, "build", tp_warn_if(!release),
        "memory is exact, times do not compare with a release build: cmake --preset release "
        "&& cmake --build --preset release",
        "%s, %s", TAPOOL_BUILD, TAPOOL_COMPILER);
}

/* ---- the processor ---- */

static void check_cpu(struct tp_doctor *d)
{
    bool known = d->machine.cpu[0];
    tp_doctor_add(d, "cpu", TP_VERDICT_OK, NULL, "%s%s%s", d->machine.arch, known ? ", " : "",
                  d->machine.cpu);
}

static void check_cores(struct tp_doctor *d)
{
    d->cores_allowed = tp_machine_cores_allowed();
    tp_doctor_add(d, "cores", tp_warn_if(d->cores_allowed == 1),
                  "other work on this core adds to the times", "%s online, %s allowed to tapool",
                  tp_count(d->machine.cores).s, tp_count(d->cores_allowed).s);
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

static void check_clock(struct tp_doctor *d)
{
    struct tp_err err;
    if (tp_clock_calibrate(&d->clock, &err)) {
        d->clock = (struct tp_clock){0};
        tp_doctor_add(d, "clock", TP_VERDICT_MISSING,
                      "no times can be measured here; memory and counts can", "%s", err.text);
        return;
    }
    /* by the step as it is shown: that of a clock of 1 GHz is measured as 0.9999999 ns too */
    bool coarse = tp_json_rounded(d->clock.step_ns) >= 1;
    struct tp_doctor_check *c = tp_doctor_add(
        d, "clock", tp_warn_if(coarse), NULL, "%s, steps of %s ns, a reading costs %s ns",
        d->clock.name, tp_digits(d->clock.step_ns).s, tp_digits(d->clock.stamp_ns).s);
    if (coarse)
        tp_doctor_advise(c,
                         "single calls below %s ns are shown in whole steps (~%.0f ns), within "
                         "one step as <=%.0f ns; ns/op is not limited by this",
                         tp_digits(10 * d->clock.step_ns).s, 3 * d->clock.step_ns,
                         d->clock.step_ns);
}

/* Checks whether the counter behind the clock keeps its rate when the processor changes its
 * frequency. */
static void check_counter(struct tp_doctor *d)
{
    char flags[8192], source[64];
    if (d->clock.name && strcmp(d->clock.name, "tsc") != 0) {
        tp_doctor_add(d, "tsc", TP_VERDICT_OK, NULL, "%s keeps its rate", d->clock.name);
        return;
    }
    tp_doctor_line(d, "/proc/cpuinfo", "flags", flags, sizeof flags);
    tp_doctor_line(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "",
                   source, sizeof source);
    bool invariant = has_word(flags, "constant_tsc") && has_word(flags, "nonstop_tsc");
    tp_doctor_add(d, "tsc", tp_warn_if(!invariant),
                  "the unit of all times may change with the CPU frequency",
                  "TSC %s; kernel clock: %s",
                  invariant ? "is invariant and does not stop" : "is not called invariant",
                  source[0] ? source : "unknown");
}

static void check_frequency(struct tp_doctor *d)
{
    char governor[64], boost[16];
    bool known = tp_doctor_line(d, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "",
                                governor, sizeof governor);
    bool on = false;
    if (tp_doctor_line(d, "/sys/devices/system/cpu/intel_pstate/no_turbo", "", boost, sizeof boost))
        on = boost[0] == '0';
    else if (tp_doctor_line(d, "/sys/devices/system/cpu/cpufreq/boost", "", boost, sizeof boost))
        on = boost[0] == '1';
    if (!known) {
        tp_doctor_add(d, "frequency", TP_VERDICT_MISSING,
                      "usual in virtual machines; frequency changes are not visible: "
                      "compare times within one run",
                      "no governor can be read");
        return;
    }
    bool steady = !strcmp(governor, "performance") && !on;
    const char *turbo = on ? ", turbo on" : ", turbo off";
    tp_doctor_add(d, "frequency", tp_warn_if(!steady),
                  "times change with the frequency; to reduce noise: governor performance "
                  "(cpupower frequency-set -g performance), turbo off",
                  "governor %s%s", governor, boost[0] ? turbo : "");
}

/* ---- what else runs ---- */

static void check_load(struct tp_doctor *d)
{
    char text[128];
    if (!tp_doctor_line(d, "/proc/loadavg", "", text, sizeof text)) {
        tp_doctor_add(d, "load", TP_VERDICT_MISSING, NULL, "/proc/loadavg cannot be read");
        return;
    }
    double load = d->load = strtod(text, NULL);
    tp_doctor_add(d, "load", tp_warn_if(load >= MUCH_LOAD),
                  "other processes are running: times are noisy; compare within one run, or wait",
                  "1-minute load %.2f on %s", load, tp_plural(d->machine.cores, "core").s);
}

static bool exists(const struct tp_doctor *d, const char *path)
{
    char full[4096];
    int n = snprintf(full, sizeof full, "%s%s", d->root, path);
    return n > 0 && (size_t)n < sizeof full && access(full, F_OK) == 0;
}

static void check_virtual(struct tp_doctor *d)
{
    char flags[8192];
    tp_doctor_line(d, "/proc/cpuinfo", "flags", flags, sizeof flags);
    bool machine = has_word(flags, "hypervisor") || exists(d, "/sys/hypervisor/type");
    bool container = exists(d, "/.dockerenv") || exists(d, "/run/.containerenv") ||
                     exists(d, "/run/systemd/container");
    const char *seen = container ? "" : "neither a virtual machine nor a container was seen";
    if (machine)
        seen = "virtual machine";
    tp_doctor_add(d, "isolation", tp_warn_if(machine),
                  "other guests of the same host add noise and are not visible here", "%s%s%s",
                  seen, machine && container ? ", " : "", container ? "container" : "");
}

/* Reads the memory limit of cgroup v2, else of v1. Without a limit v2 has a word there, which makes
 * this return false, and v1 a huge number. A container finds its own group at the root. */
static bool read_group_limit(const struct tp_doctor *d, uint64_t *bytes)
{
    char text[64];
    if (!tp_doctor_line(d, "/sys/fs/cgroup/memory.max", "", text, sizeof text) &&
        !tp_doctor_line(d, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "", text, sizeof text))
        return false;
    char *end;
    *bytes = strtoull(text, &end, 10);
    return end != text;
}

static void check_group(struct tp_doctor *d)
{
    uint64_t memory = 0;
    char quota[64];
    bool limited = read_group_limit(d, &memory) && memory < d->machine.memory_bytes;
    bool throttled =
        tp_doctor_line(d, "/sys/fs/cgroup/cpu.max", "", quota, sizeof quota) && quota[0] != 'm';
    if (!limited && !throttled) {
        tp_doctor_add(d, "cgroup", TP_VERDICT_OK, NULL, "no limit of memory or CPU time");
        return;
    }
    char bytes[64] = "no limit of memory", time[128] = "no limit of processor time";
    if (limited)
        snprintf(bytes, sizeof bytes, "memory up to %s", tp_bytes(memory, false).s);
    if (throttled)
        snprintf(time, sizeof time, "processor time '%s' us", quota);
    tp_doctor_add(d, "cgroup", TP_VERDICT_WARNING,
                  throttled ? "a process that used its CPU time is paused: the "
                              "slowest calls and the drift between replays come from that"
                            : "host traces whose peak comes near it end this process: replay them "
                              "with --source virtual",
                  "%s, %s", bytes, time);
}

/* ---- memory ---- */

static void check_memory(struct tp_doctor *d)
{
    char text[64];
    bool known = tp_doctor_line(d, "/proc/meminfo", "MemAvailable", text, sizeof text);
    uint64_t available = known ? strtoull(text, NULL, 10) << 10 : 0;
    d->memory_available_bytes = known ? available : TP_NONE;
    bool low = known && available < LOW_MEMORY;
    tp_doctor_add(d, "memory", tp_warn_if(low),
                  "a host trace that needs more is refused; --source virtual replays it without "
                  "memory behind it",
                  "%s, %s available, pages of %s", tp_bytes(d->machine.memory_bytes, false).s,
                  known ? tp_bytes(available, false).s : "?",
                  tp_bytes(d->machine.page_bytes, false).s);
}

static void check_maps(struct tp_doctor *d)
{
    char text[64];
    if (!tp_doctor_line(d, "/proc/sys/vm/max_map_count", "", text, sizeof text)) {
        tp_doctor_add(d, "max_map_count", TP_VERDICT_MISSING, NULL,
                      "vm.max_map_count cannot be read");
        return;
    }
    uint64_t maps = d->max_map_count = strtoull(text, NULL, 10);
    struct tp_doctor_check *c = tp_doctor_add(d, "max_map_count", tp_warn_if(maps < USUAL_MAPS),
                                              NULL, "vm.max_map_count is %s", tp_count(maps).s);
    if (maps < USUAL_MAPS)
        tp_doctor_advise(c,
                         "below the usual %s: 'direct' on the host and warnings 'put-refused' are "
                         "bound by it; sysctl vm.max_map_count=%llu",
                         tp_count(USUAL_MAPS).s, (unsigned long long)USUAL_MAPS);
}

static void check_overcommit(struct tp_doctor *d)
{
    static const char *const modes[] = {"heuristic", "always", "never"};
    char text[16];
    bool known = tp_doctor_line(d, "/proc/sys/vm/overcommit_memory", "", text, sizeof text);
    if (!known || text[0] < '0' || text[0] > '2') {
        tp_doctor_add(d, "overcommit", TP_VERDICT_MISSING, NULL,
                      "vm.overcommit_memory cannot be read");
        return;
    }
    d->overcommit_memory = (uint64_t)(text[0] - '0');
    tp_doctor_add(
        d, "overcommit", tp_warn_if(text[0] == '2'),
        "the kernel counts what is reserved but never used: a strategy that reserves ahead "
        "may be refused; sysctl vm.overcommit_memory=0",
        "vm.overcommit_memory is %c (%s)", text[0], modes[text[0] - '0']);
}

static void check_huge_pages(struct tp_doctor *d)
{
    char text[128];
    if (!tp_doctor_line(d, "/sys/kernel/mm/transparent_hugepage/enabled", "", text, sizeof text)) {
        tp_doctor_add(d, "huge_pages", TP_VERDICT_OK, NULL, "no transparent huge pages");
        return;
    }
    tp_doctor_add(d, "huge_pages", tp_warn_if(strstr(text, "[always]")),
                  "a first write may bring 2 MiB at once: cold times and resident memory differ "
                  "from a machine with [madvise]",
                  "transparent huge pages: %s", text);
}

void tp_doctor_machine(struct tp_doctor *d)
{
    tp_machine_read(&d->machine);
    check_build(d);
    tp_doctor_add(d, "kernel", TP_VERDICT_OK, NULL, "%s, %s", d->machine.os, d->machine.libc);
    check_cpu(d);
    check_cores(d);
    check_load(d);
    check_virtual(d);
    check_group(d);
    check_clock(d);
    check_counter(d);
    check_frequency(d);
    check_memory(d);
    check_maps(d);
    check_overcommit(d);
    check_huge_pages(d);
}

void tp_doctor_examine(struct tp_doctor *d)
{
    d->count = 0;
    d->load = NAN;
    d->memory_available_bytes = d->max_map_count = d->overcommit_memory = TP_NONE;
    d->temporary_free_bytes = TP_NONE;
    tp_doctor_machine(d);
    tp_doctor_tools(d);
}
