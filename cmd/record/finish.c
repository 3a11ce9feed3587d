/* See finish.h. */
#include "cmd/record/finish.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "cmd/measure/catalog.h"
#include "cmd/measure/open_trace.h"
#include "cmd/measure/save_trace.h"
#include "cmd/report/report_head.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/text.h"
#include "traces/record/ended.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one recording ---- */

/* Makes the trace of a recording and removes that. `trace` is to be closed after TP_OK. */
static int make_trace(const char *recording, const char *output, bool force, struct tp_trace *trace,
                      struct tp_err *err)
{
    const struct tp_open_opts open = {.device = TP_OPT_KEYWORD(0)};
    int status = tp_open_trace(recording, &open, false, trace, err);
    if (status)
        return status;
    const struct tp_saving saving = {
        .writer = &tp_writer_tpt, .trace = trace, .path = output, .device = -1, .force = force};
    status = tp_trace_save(&saving, NULL, err);
    if (!status)
        unlink(recording);
    else
        tp_trace_close(trace);
    return status;
}

enum { NOTE = 6 }; /* column */

/* What was recorded, and what is to be known of it. */
static void print_trace(struct tp_page *page, const struct tp_trace *t, const char *path)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    const struct tp_demand *demand = tp_program_demand(t->program, 0);
    struct stat st;
    char shown[256];
    tp_clean_text(path, shown, sizeof shown);
    tp_page_at(page, 0, "%s: %s of %s, peak %s at event %s", shown, tp_plural(f->events, "event").s,
               tp_plural(f->threads, "thread").s, tp_bytes(demand->bytes, false).s,
               tp_count(demand->event).s);
    if (stat(path, &st) == 0 && f->events)
        tp_page_more(page, 0, "; %s, %.1f bytes an event", tp_bytes((uint64_t)st.st_size, false).s,
                     (double)st.st_size / (double)f->events);
    tp_page_line(page);
    tp_remarks_print(t, 0, NOTE, page);
}

/* ---- children ---- */

/* Counts, and the events of all. */
struct children {
    uint64_t traces, empty, failed, running, events;
};

/* The process id in the name of a child's recording, which is BASE.PID.recording; 0: it is none. */
static long child_of(const char *name, const char *base)
{
    size_t length = strlen(base);
    char *end = NULL;
    if (strncmp(name, base, length) != 0 || name[length] != '.')
        return 0;
    const char *digits = name + length + 1;
    errno = 0;
    long pid = *digits >= '1' && *digits <= '9' ? strtol(digits, &end, 10) : 0;
    return pid && !errno && !strcmp(end, TP_RECORDING_SUFFIX) ? pid : 0;
}

/* `output` is the program's trace: its children have their number before the suffix. */
static void finish_child(const char *output, long pid, bool force, struct children *c)
{
    const char *suffix = tp_writer_tpt.suffix;
    char recording[PATH_MAX], path[PATH_MAX];
    size_t stem = strlen(output), end = strlen(suffix);
    struct tp_trace trace = {0};
    struct tp_err err = {0};
    stem -= stem > end && !strcmp(output + stem - end, suffix) ? end : 0;
    int whole = snprintf(recording, sizeof recording, "%s.%ld" TP_RECORDING_SUFFIX, output, pid);
    snprintf(path, sizeof path, "%.*s.%ld%s", (int)stem, output, pid, suffix);
    if (whole >= (int)sizeof recording)
        return;
    if (kill((pid_t)pid, 0) == 0 || errno == EPERM) {
        c->running++;
    } else if (make_trace(recording, path, force, &trace, &err) == TP_OK) {
        c->events += tp_program_facts(trace.program)->events;
        c->traces++;
        tp_trace_close(&trace);
    } else if (err.reason == TP_REASON_EMPTY) {
        unlink(recording);
        c->empty++;
    } else {
        tp_error_print(&err);
        c->failed++;
    }
}

static void finish_children(const char *output, bool force, struct children *c)
{
    const char *slash = strrchr(output, '/'), *base = slash ? slash + 1 : output;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(base - output) : 1, slash ? output : ".");
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        long pid = child_of(e->d_name, base);
        if (pid)
            finish_child(output, pid, force, c);
    }
    if (dir)
        closedir(dir);
}

static void print_children(struct tp_page *page, const struct children *c)
{
    if (c->traces)
        tp_page_put(page, 0, "children: %s with %s, in files with their process ids",
                    tp_plural(c->traces, "trace").s, tp_plural(c->events, "event").s);
    else
        tp_page_put(page, 0, "children: none that allocated");
    if (c->failed)
        tp_page_put(page, 0, "%s of children could not be made traces, and are left",
                    tp_plural(c->failed, "recording").s);
    if (c->running)
        tp_page_put(page, 0, "%s of children that still run are left",
                    tp_plural(c->running, "recording").s);
}

/* ---- all ---- */

enum { SENTENCE = 256 };

/* Why there is nothing, as an error. It is one for the caller where tapool could not do what it was
 * asked for, and none where the program simply has allocated nothing. */
static int why_nothing(const struct tp_record_cfg *cfg, const struct tp_record_session *s,
                       struct tp_err *err)
{
    char ended[SENTENCE];
    tp_recording_ended(s->head, ended, sizeof ended);
    if (!atomic_load(&s->head->images))
        return tp_hint(
            err,
            tp_fail(err, TP_EINPUT, "nothing was recorded: the program did not load the recorder"),
            "is it, or what it starts at once, static, setuid, built with a sanitizer, "
            "or in a sandbox without '%s'?",
            s->path);
    if (ended[0])
        return tp_fail(err, tp_recording_failed(s->head) ? TP_EIO : TP_OK,
                       "nothing was recorded: %s", ended);
    if (atomic_load(&s->head->state) == TP_REC_WAITING)
        return tp_hint(err, tp_fail(err, TP_EINPUT, "nothing was recorded"),
                       "--after: the program made about %s calls only",
                       tp_count(atomic_load(&s->head->passed)).s);
    if (s->head->own_malloc)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT,
                               "nothing was recorded: the program's malloc is its own, that of a "
                               "sanitizer or of an allocator that is linked into it"),
                       "build it without, for the recording");
    tp_fail(err, TP_OK, "nothing was recorded: the program allocated nothing by malloc");
    if (cfg->follow == TP_FOLLOW_NONE)
        tp_hint(err, TP_OK, "--follow all records what it starts, too");
    return TP_OK;
}

/* What is left of the program is removed, and the trace that was to be overwritten: it would be
 * taken for that of this run. */
static int end_without(const struct tp_record_cfg *cfg, const struct tp_record_session *s,
                       bool force, const struct children *c, struct tp_err *err)
{
    struct stat st;
    int status = why_nothing(cfg, s, err);
    unlink(s->path);
    if (force && lstat(cfg->output, &st) == 0 && S_ISREG(st.st_mode))
        unlink(cfg->output);
    if (status == TP_EINPUT && c->traces) /* what was there to be recorded was */
        status = TP_OK;
    if (!status)
        tp_error_print(err);
    return status;
}

int tp_record_finish(const struct tp_record_cfg *cfg, const struct tp_record_session *s, bool force,
                     struct tp_err *err)
{
    struct tp_page page;
    struct tp_trace trace = {0};
    struct children children = {0};
    tp_page_init(&page, stderr, 0);
    int status = make_trace(s->path, cfg->output, force, &trace, err);
    bool recorded = status == TP_OK, empty = status && err->reason == TP_REASON_EMPTY;
    if (recorded)
        print_trace(&page, &trace, cfg->output);
    if (cfg->follow != TP_FOLLOW_NONE) {
        finish_children(cfg->output, force, &children);
        print_children(&page, &children);
    }
    if (empty)
        status = end_without(cfg, s, force, &children, err);
    if (recorded) {
        tp_page_command(&page, "Next: tapool replay", cfg->output);
        tp_trace_close(&trace);
    }
    return status;
}
