/* What is left of the memory, on machines that are made of files. */
#include "alloc/sources/memory_left.h"
#include "tests/unit/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

static char root[64];

static void write_file(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int new_machine(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/tapool-left-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    write_file("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable:   12582912 kB\n");
    return 0;
}

static int remove_machine(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf -- '%s'", root);
    return system(command);
}

/* A group of version 2: limit, in use, and file pages of that. */
static void group(const char *path, const char *limit, uint64_t in_use, uint64_t files)
{
    char name[256], text[256];
    snprintf(name, sizeof name, "/sys/fs/cgroup%s/memory.max", path);
    snprintf(text, sizeof text, "%s\n", limit);
    write_file(name, text);
    snprintf(name, sizeof name, "/sys/fs/cgroup%s/memory.current", path);
    snprintf(text, sizeof text, "%llu\n", (unsigned long long)in_use);
    write_file(name, text);
    snprintf(name, sizeof name, "/sys/fs/cgroup%s/memory.stat", path);
    snprintf(text, sizeof text, "anon 1\nfile 77\ninactive_file %llu\n", (unsigned long long)files);
    write_file(name, text);
}

static const char v2[] = "22 1 0:20 / /proc rw shared:1 - proc proc rw\n"
                         "30 22 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";

TEST_WITH(without_groups, new_machine, remove_machine)
{
    assert_int_equal(memory_left(root, 16 * GIB), 12 * GIB);
    assert_int_equal(memory_left(root, 4 * GIB), 4 * GIB); /* never more than there is */
    write_file("/proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(memory_left(root, 16 * GIB), 12 * GIB); /* no mount */
    write_file("/proc/self/mountinfo", v2);
    assert_int_equal(memory_left(root, 16 * GIB), 12 * GIB); /* no files */
}

TEST_WITH(the_fullest_ancestor_counts, new_machine, remove_machine)
{
    write_file("/proc/self/cgroup", "1:name=systemd:/x\n0::/a/b/c\n");
    write_file("/proc/self/mountinfo", v2);
    group("/a/b/c", "max", GIB, 0);
    group("/a/b", "8589934592", 2 * GIB, 0);
    group("/a", "4294967296", 3 * GIB, 256 * MIB);
    group("", "17179869184", 2 * GIB, 0);
    assert_int_equal(memory_left(root, 16 * GIB), GIB + 256 * MIB - 64 * MIB);
    group("/a/b", "2147483648", 2 * GIB - 80 * MIB, 0);
    assert_int_equal(memory_left(root, 16 * GIB), 70 * MIB); /* an eighth stays */
    group("/a/b/c", "1000", 5000, 0);
    assert_int_equal(memory_left(root, 16 * GIB), 0);
}

/* A container sees its own part, by its own name or by that of the machine. */
TEST_WITH(the_mount_may_begin_below, new_machine, remove_machine)
{
    write_file("/proc/self/mountinfo", "30 22 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 c rw\n");
    group("", "1073741824", 0, 0);
    group("/job", "536870912", 0, 0);
    write_file("/proc/self/cgroup", "0::/docker/abc/job\n");
    assert_int_equal(memory_left(root, 16 * GIB), 512 * MIB - 64 * MIB);
    write_file("/proc/self/cgroup", "0::/docker/abc\n");
    assert_int_equal(memory_left(root, 16 * GIB), GIB - 64 * MIB);
    write_file("/proc/self/cgroup", "0::/docker/abcdef\n");
    assert_int_equal(memory_left(root, 16 * GIB), GIB - 64 * MIB);
    write_file("/proc/self/cgroup", "0::/../other\n");
    assert_int_equal(memory_left(root, 16 * GIB), GIB - 64 * MIB);
}

TEST_WITH(version_1, new_machine, remove_machine)
{
    write_file("/proc/self/cgroup", "7:cpu,cpuacct:/x\n5:memory:/lim\n0::/\n");
    write_file("/proc/self/mountinfo",
               "30 22 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
               "31 22 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    write_file("/sys/fs/cgroup/memory/lim/memory.limit_in_bytes", "1073741824\n");
    write_file("/sys/fs/cgroup/memory/lim/memory.usage_in_bytes", "536870912\n");
    write_file("/sys/fs/cgroup/memory/lim/memory.stat",
               "inactive_file 3\ntotal_inactive_file 268435456\n");
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "12884901888\n");
    assert_int_equal(memory_left(root, 16 * GIB), 768 * MIB - 64 * MIB);
}
