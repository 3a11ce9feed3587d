/* Checks of what tapool can use here: counters of the processor, valgrind, sources, samples, the
 * folder for large programs, the terminal. */
#include "alloc/engine/counter.h"
#include "cmd/doctor/doctor.h"
#include "cmd/jobs/catalog.h"
#include "cmd/stats/callgrind.h"
#include "cmd/ui/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOW_SPOOL (UINT64_C(1) << 30) /* bytes free */

/* ---- counters ---- */

static void advise_counters(const struct tp_doctor *d, struct tp_doctor_check *c, int error)
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
        tp_doctor_advise(c, "this kernel has no such counter, as in many virtual machines; "
                            "valgrind --tool=callgrind counts instructions without one");
}

/* Checks that the counter can be opened and that it counts. */
static void check_counters(struct tp_doctor *d)
{
    struct tp_instruction_counter c;
    int error = tp_counter_open(&c);
    tp_counter_close(&c);
    if (!error)
        tp_doctor_add(d, "instructions", TP_VERDICT_OK, NULL,
                      "instructions can be counted (perf_event_open)");
    else
        advise_counters(
            d,
            tp_doctor_add(d, "instructions", TP_VERDICT_MISSING, NULL,
                          "no hardware counter of instructions: %s",
                          error == ENODATA ? "the counter stands still" : strerror(error)),
            error);
}

/* ---- valgrind ---- */

static void check_valgrind(struct tp_doctor *d)
{
    struct tp_valgrind v;
    tp_valgrind_find(&v);
    if (v.version[0])
        tp_doctor_add(d, "valgrind", TP_VERDICT_OK, NULL, "%s, %s; callgrind counts instructions",
                      v.version, v.path);
    else if (v.path[0])
        tp_doctor_advise(tp_doctor_add(d, "valgrind", TP_VERDICT_WARNING, NULL, "%s", v.path),
                         "it may not work: %s", v.reason);
    else
        tp_doctor_add(d, "valgrind", TP_VERDICT_MISSING,
                      "it counts instructions, which other processes do not change", "%s",
                      v.reason);
}

/* ---- tapool's own ---- */

static void check_sources(struct tp_doctor *d)
{
    char text[2][128] = {"", ""};
    for (size_t i = 0; tp_sources[i]; i++) {
        char *list = text[(tp_sources[i]->flags & TP_SRC_WRAPPER) != 0];
        tp_append(list, sizeof text[0], "%s%s", *list ? ", " : "", tp_sources[i]->name);
    }
    tp_doctor_add(d, "sources", TP_VERDICT_OK, NULL, "compiled in: %s; wrappers: %s", text[0],
                  text[1]);
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
    struct tp_str text = {0};
    tp_sample_dirs(&dirs);
    for (size_t i = 0; dirs.list[i]; i++) {
        int count = count_samples(dirs.list[i]);
        if (count > 0 && (!i || strcmp(dirs.list[i], dirs.list[i - 1]) != 0))
            tp_str_item(&text, "; ", "%d in %s", count, dirs.list[i]);
    }
    tp_doctor_add(d, "samples", text.length ? TP_VERDICT_OK : TP_VERDICT_MISSING,
                  "set TAPOOL_SAMPLES to the folder that holds sqlite.json", "%s",
                  text.length ? tp_str_text(&text) : "none was found");
    tp_str_drop(&text);
}

static void check_spool(struct tp_doctor *d)
{
    const char *given = getenv("TMPDIR");
    const char *path = given && *given ? given : "/tmp";
    struct statvfs fs;
    if (access(path, W_OK | X_OK) || statvfs(path, &fs)) {
        tp_doctor_add(
            d, "temporary", TP_VERDICT_MISSING,
            "traces above 1.4 million instructions are kept there while they are replayed: "
            "set TMPDIR",
            "%s: %s", path, strerror(errno));
        return;
    }
    uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    d->temporary_free_bytes = free_bytes;
    tp_doctor_add(
        d, "temporary", tp_warn_if(free_bytes < LOW_SPOOL),
        "traces above 1.4 million instructions are kept there while they are replayed: set "
        "TMPDIR to a folder with room",
        "%s, %s free", path, tp_bytes(free_bytes, false).s);
}

static void check_terminal(struct tp_doctor *d)
{
    struct tp_page page;
    tp_page_init(&page, d->out, 0);
    bool terminal = isatty(fileno(d->out));
    tp_doctor_add(d, "output", TP_VERDICT_OK, NULL, "%s, %d columns",
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
