/* The verdicts of tapool doctor, on machines that are made of files: a folder stands for / and
 * holds what /proc and /sys would say. */
#include "cmd/doctor/doctor.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A machine on which nothing is in the way, as pairs of a path and its content. */
struct fake_file {
    const char *path, *text;
};

#define FLAGS "flags\t\t: fpu constant_tsc nonstop_tsc sse2"
static const struct fake_file quiet[] = {
    {"/proc/cpuinfo", "processor\t: 0\nmodel name\t: Test\n" FLAGS "\n"},
    {"/proc/loadavg", "0.01 0.50 0.90 1/200 4242\n"},
    {"/proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 1 kB\nMemAvailable:   8000000 kB\n"},
    {"/proc/sys/vm/max_map_count", "65530\n"},
    {"/proc/sys/vm/overcommit_memory", "0\n"},
    {"/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
    {"/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"},
    {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"},
    {"/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"},
    {"/sys/fs/cgroup/memory.max", "max\n"},
    {"/sys/fs/cgroup/cpu.max", "max 100000\n"}};

struct fake {
    char root[64];
    struct tp_doctor doctor;
};

static void path_of(const struct fake *f, const char *path, char *out, size_t size)
{
    snprintf(out, size, "%s%s", f->root, path);
}

static void put(const struct fake *f, const char *path, const char *text)
{
    char full[512];
    path_of(f, path, full, sizeof full);
    for (char *slash = strchr(full + strlen(f->root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *out = fopen(full, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void drop(const struct fake *f, const char *path)
{
    char full[512];
    path_of(f, path, full, sizeof full);
    assert_int_equal(unlink(full), 0);
}

static int make_quiet(void **state)
{
    struct fake *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    const char *tmp = getenv("TMPDIR");
    snprintf(f->root, sizeof f->root, "%.40s/doctor.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(f->root))
        return -1;
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
        put(f, quiet[i].path, quiet[i].text);
    f->doctor = (struct tp_doctor){.root = f->root, .out = stdout};
    *state = f;
    return 0;
}

static int remove_it(void **state)
{
    struct fake *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", f->root);
    int status = system(command);
    free(f);
    return status;
}

static const struct tp_doctor_check *find(struct fake *f, const char *name)
{
    f->doctor.count = 0;
    f->doctor.clock = (struct tp_clock){0};
    tp_doctor_machine(&f->doctor);
    for (int i = 0; i < f->doctor.count; i++)
        if (!strcmp(f->doctor.checks[i].name, name))
            return &f->doctor.checks[i];
    fail_msg("there is no check '%s'", name);
    return NULL;
}

static void expect(struct fake *f, const char *name, enum tp_doctor_verdict verdict,
                   const char *value)
{
    const struct tp_doctor_check *c = find(f, name);
    if (c->verdict != verdict || !strstr(c->value, value))
        fail_msg("%s: %s, '%s'; expected %s, '%s'", name, tp_verdict_names[c->verdict], c->value,
                 tp_verdict_names[verdict], value);
    /* what is not in order comes with a word on what to do or what it means */
    if (verdict == TP_VERDICT_WARNING && !c->advice[0])
        fail_msg("%s: warning without advice", name);
    if (verdict == TP_VERDICT_OK && c->advice[0])
        fail_msg("%s: ok with advice: %s", name, c->advice);
}

TEST_WITH(a_quiet_machine_is_in_order, make_quiet, remove_it)
{
    struct fake *f = *state;
    expect(f, "load", TP_VERDICT_OK, "1-minute load 0.01");
    expect(f, "isolation", TP_VERDICT_OK, "neither");
    expect(f, "cgroup", TP_VERDICT_OK, "no limit");
#if defined(__x86_64__)
    expect(f, "tsc", TP_VERDICT_OK, "kernel clock: tsc");
#endif
    expect(f, "frequency", TP_VERDICT_OK, "governor performance, turbo off");
    expect(f, "memory", TP_VERDICT_OK, "7.629 GiB available");
    expect(f, "max_map_count", TP_VERDICT_OK, "65,530");
    expect(f, "overcommit", TP_VERDICT_OK, "0 (heuristic)");
    expect(f, "huge_pages", TP_VERDICT_OK, "[madvise]");
    assert_int_equal(f->doctor.memory_available_bytes, UINT64_C(8000000) << 10);
    assert_int_equal(f->doctor.max_map_count, 65530);
    assert_int_equal(f->doctor.overcommit_memory, 0);
    assert_true(f->doctor.load > 0.009 && f->doctor.load < 0.011);
}

TEST_WITH(what_disturbs_is_a_warning, make_quiet, remove_it)
{
    static const struct {
        const char *path, *text, *name, *value;
    } rows[] = {
        {"/proc/loadavg", "0.50 0.1 0.1 1/2 3\n", "load", "1-minute load 0.50"},
        {"/proc/cpuinfo", FLAGS " hypervisor\n", "isolation", "virtual machine"},
        {"/sys/hypervisor/type", "xen\n", "isolation", "virtual machine"},
        {"/sys/fs/cgroup/memory.max", "104857600\n", "cgroup", "memory up to 100 MiB"},
        {"/sys/fs/cgroup/cpu.max", "50000 100000\n", "cgroup", "processor time '50000 100000'"},
        {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n", "frequency",
         "governor powersave, turbo off"},
        {"/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", "frequency", "turbo on"},
        {"/proc/meminfo", "MemAvailable:  1048575 kB\n", "memory", "1 GiB available"},
        {"/proc/sys/vm/max_map_count", "65529\n", "max_map_count", "65,529"},
        {"/proc/sys/vm/overcommit_memory", "2\n", "overcommit", "2 (never)"},
        {"/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n", "huge_pages",
         "[always]"},
#if defined(__x86_64__)
        {"/proc/cpuinfo", "flags\t: nonstop_tsc constant_tsc_not\n", "tsc", "not called"},
        {"/proc/cpuinfo", "model name: x\n", "tsc", "not called"},
#endif
    };
    struct fake *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(f, rows[i].path, rows[i].text);
        expect(f, rows[i].name, TP_VERDICT_WARNING, rows[i].value);
        for (size_t k = 0; k < sizeof quiet / sizeof *quiet; k++)
            put(f, quiet[k].path, quiet[k].text);
        if (!strcmp(rows[i].path, "/sys/hypervisor/type"))
            drop(f, rows[i].path);
        expect(f, rows[i].name, TP_VERDICT_OK, "");
    }
}

TEST_WITH(boost_of_other_drivers_is_read_too, make_quiet, remove_it)
{
    struct fake *f = *state;
    drop(f, "/sys/devices/system/cpu/intel_pstate/no_turbo");
    put(f, "/sys/devices/system/cpu/cpufreq/boost", "1\n");
    expect(f, "frequency", TP_VERDICT_WARNING, "governor performance, turbo on");
    put(f, "/sys/devices/system/cpu/cpufreq/boost", "0\n");
    expect(f, "frequency", TP_VERDICT_OK, "governor performance, turbo off");
    drop(f, "/sys/devices/system/cpu/cpufreq/boost");
    expect(f, "frequency", TP_VERDICT_OK, "governor performance");
}

TEST_WITH(a_container_and_the_older_cgroup_are_seen, make_quiet, remove_it)
{
    struct fake *f = *state;
    put(f, "/.dockerenv", "");
    expect(f, "isolation", TP_VERDICT_OK, "container");
    drop(f, "/.dockerenv");
    put(f, "/run/.containerenv", "");
    expect(f, "isolation", TP_VERDICT_OK, "container");
    drop(f, "/sys/fs/cgroup/memory.max");
    put(f, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    expect(f, "cgroup", TP_VERDICT_OK, "no limit");
    put(f, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
    expect(f, "cgroup", TP_VERDICT_WARNING, "memory up to 1 MiB");
}

TEST_WITH(what_cannot_be_read_is_missing, make_quiet, remove_it)
{
    struct fake *f = *state;
    for (size_t k = 0; k < sizeof quiet / sizeof *quiet; k++)
        drop(f, quiet[k].path);
    expect(f, "load", TP_VERDICT_MISSING, "cannot be read");
    expect(f, "frequency", TP_VERDICT_MISSING, "no governor");
    expect(f, "max_map_count", TP_VERDICT_MISSING, "cannot be read");
    expect(f, "overcommit", TP_VERDICT_MISSING, "cannot be read");
    expect(f, "memory", TP_VERDICT_OK, "? available");
    expect(f, "huge_pages", TP_VERDICT_OK, "no transparent huge pages");
    expect(f, "cgroup", TP_VERDICT_OK, "no limit");
    put(f, "/proc/sys/vm/overcommit_memory", "\n");
    expect(f, "overcommit", TP_VERDICT_MISSING, "cannot be read");
    put(f, "/proc/sys/vm/overcommit_memory", "7\n");
    expect(f, "overcommit", TP_VERDICT_MISSING, "cannot be read");
}

/* Long lines and bytes that steer a terminal. */
TEST_WITH(hostile_values_are_cut_and_cleaned, make_quiet, remove_it)
{
    struct fake *f = *state;
    char *text = malloc(20001);
    assert_non_null(text);
    memset(text, '\033', 20000);
    text[20000] = '\0';
    put(f, "/sys/kernel/mm/transparent_hugepage/enabled", text);
    put(f, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text);
    put(f, "/proc/loadavg", text);
    put(f, "/proc/cpuinfo", text);
    for (int i = (find(f, "load"), 0); i < f->doctor.count; i++) {
        assert_null(strchr(f->doctor.checks[i].value, '\033'));
        assert_null(strchr(f->doctor.checks[i].advice, '\033'));
    }
    free(text);
}

TEST_WITH(lines_are_found_by_their_key, make_quiet, remove_it)
{
    struct fake *f = *state;
    char out[8], path[128];
    put(f, "/x", "first: 1\nsecond :\t two words \nfirst: 3");
    path_of(f, "/x", path, sizeof path);
    assert_true(tp_machine_line(path, "", out, sizeof out));
    assert_string_equal(out, "first: ");
    assert_true(tp_machine_line(path, "first", out, sizeof out));
    assert_string_equal(out, "1");
    assert_true(tp_machine_line(path, "second", out, sizeof out));
    assert_string_equal(out, "two wor");
    assert_false(tp_machine_line(path, "third", out, sizeof out));
    assert_string_equal(out, "");
    assert_false(tp_machine_line("/nonesuch/x", "", out, sizeof out));
}
