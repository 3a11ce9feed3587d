/* See finish.h. */
#include "cmd/record/finish.h"

#include "alloc/base/clean.h"
#include "alloc/base/numbers.h"
#include "alloc/base/units.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/child.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/jobs/save_trace.h"
#include "cmd/report/report_head.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"
#include "traces/record/ended.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- one recording ---- */

/* Reads the head of a recording; false: the file is none of this version. */
static bool read_head(const char *path, struct tp_recording_head *out)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool read_all = pread(fd, out, sizeof *out, 0) == (ssize_t)sizeof *out;
    close(fd);
    return read_all && !memcmp(out->magic, TP_RECORDING_MAGIC, sizeof out->magic) &&
           out->version == TP_RECORDING_VERSION;
}

/* Says which version of the library served the program: a process of its own tells. */
static void name_malloc(const char *recording, struct tp_trace *trace)
{
    struct tp_recording_head head;
    struct tp_strategy_spec spec;
    struct tp_err err = {0};
    char text[TP_RECORDING_LIBRARY + 8], said[TP_RUN_LIBRARY] = "";
    if (!trace->meta.allocator || !read_head(recording, &head))
        return;
    if (!strncmp(trace->meta.allocator, "libc.", 5)) {
        tp_meta_set(&trace->meta, &trace->meta.allocator, "glibc %s", gnu_get_libc_version());
        return;
    }
    snprintf(text, sizeof text, "lib:%.*s", TP_RECORDING_LIBRARY, head.library);
    if (tp_strategy_spec_parse(&spec, text, &err))
        return;
    if (tp_child_library(&spec, tp_stop_flag(), said, sizeof said, &err) == TP_OK && said[0])
        tp_meta_set(&trace->meta, &trace->meta.allocator, "%s", said);
    tp_strategy_spec_release(&spec);
}

/* Makes the trace of a recording and removes that. `trace` is to be closed after TP_OK. */
static int make_trace(const char *recording, const char *output, bool force, struct tp_trace *trace,
                      struct tp_err *err)
{
    const struct tp_open_opts open = {.device = TP_OPT_KEYWORD(0)};
    int status = tp_open_trace(recording, &open, false, trace, err);
    if (status)
        return status;
    name_malloc(recording, trace);
    const struct tp_saving saving = {
        .writer = &tp_writer_tpt, .trace = trace, .path = output, .device = -1, .force = force};
    status = tp_trace_save(&saving, NULL, err);
    if (!status) {
        unlink(recording);
        return TP_OK;
    }
    tp_trace_close(trace);
    return err->hint[0] ? status
                        : tp_hint(err, status,
                                  "the recording is kept: 'tapool convert --recover %s' makes it "
                                  "a trace (-o FILE: elsewhere)",
                                  recording);
}

enum { NOTE = 8 }; /* column */

/* What was recorded, and what is to be known of it. */
static void print_trace(struct tp_page *page, const struct tp_trace *t, const char *path)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    const struct tp_demand *demand = tp_program_demand(t->program, 0);
    uint64_t bytes = tp_saved_bytes(path);
    char shown[256];
    tp_clean_text(path, shown, sizeof shown);
    tp_page_at(page, 0, "%s: %s of %s, peak %s at event %s", shown, tp_plural(f->events, "event").s,
               tp_plural(f->recorded_threads, "thread").s, tp_bytes(demand->bytes, false).s,
               tp_count(demand->event).s);
    if (bytes != TP_NONE && f->events)
        tp_page_more(page, 0, "; %s, %.1f B/event", tp_bytes(bytes, false).s,
                     (double)bytes / (double)f->events);
    tp_page_line(page);
    tp_remarks_print(t, 0, NOTE, page);
}

/* ---- children ---- */

/* Counts, and the events of all. */
struct children {
    uint64_t traces, failed, running, others, events;
    uint64_t lost; /* that could not be recorded */
};

/* The part of a child's recording BASE.PART.recording that is its process id, or that and a number
 * which tells it from others with it; its length, 0: the file is none. */
static size_t part_of(const char *name, const char *base, const char **part)
{
    size_t length = strlen(base), digits = 0, more = 0;
    if (strncmp(name, base, length) != 0 || name[length] != '.')
        return 0;
    const char *at = *part = name + length + 1;
    digits = strspn(at, "0123456789");
    if (digits && at[digits] == '.')
        more = strspn(at + digits + 1, "0123456789");
    digits += more ? more + 1 : 0;
    return digits && !strcmp(at + digits, TP_RECORDING_SUFFIX) ? digits : 0;
}

/* Whether a process still has a file open, or mapped, to write it; -1: the file system cannot say.
 * One lease, given back at once, is what the kernel refuses then. */
static int is_written(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETSIG,
          SIGURG); /* who opens it in this moment sends a signal: one that is ignored */
    bool free = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
    int error = errno;
    if (free)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    close(fd);
    if (free)
        return 0;
    return error == EAGAIN ? 1 : -1;
}

/* `path` is where its trace is to be. */
static void finish_child(const char *recording, const char *path, bool force, struct children *c)
{
    struct tp_recording_head head;
    struct tp_trace trace = {0};
    struct tp_err err = {0};
    if (make_trace(recording, path, force, &trace, &err) == TP_OK) {
        c->events += tp_program_facts(trace.program)->events;
        c->traces++;
        tp_trace_close(&trace);
    } else if (err.reason == TP_REASON_EMPTY) {
        c->lost += read_head(recording, &head) && tp_recording_failed(&head);
        unlink(recording);
    } else {
        tp_error_print(&err);
        c->failed++;
    }
}

/* `output` is the program's trace: its children have their part before the suffix. A file of
 * another run is not ours to take, nor to remove. */
static void look_at(const char *recording, const char *part, int length,
                    const struct tp_record_cfg *cfg, const struct tp_record_session *s, bool force,
                    struct children *c)
{
    const char *suffix = tp_writer_tpt.suffix, *output = cfg->output;
    char path[PATH_MAX];
    struct tp_recording_head head;
    size_t stem = strlen(output), end = strlen(suffix);
    stem -= stem > end && !strcmp(output + stem - end, suffix) ? end : 0;
    if (!read_head(recording, &head))
        return;
    if (snprintf(path, sizeof path, "%.*s.%.*s%s", (int)stem, output, length, part, suffix) >=
            (int)sizeof path ||
        head.session != s->head->session) {
        c->others++;
        return;
    }
    c->lost += atomic_load(&head.unfollowed);
    if (s->stopped && is_written(recording))
        c->running++;
    else
        finish_child(recording, path, force, c);
}

static void finish_children(const struct tp_record_cfg *cfg, const struct tp_record_session *s,
                            bool force, struct children *c)
{
    const char *slash = strrchr(cfg->output, '/'), *base = slash ? slash + 1 : cfg->output;
    const char *part = NULL;
    char folder[PATH_MAX], recording[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(base - cfg->output) : 2,
             slash ? cfg->output : "./");
    DIR *dir = opendir(folder);
    c->lost = atomic_load(&s->head->unfollowed);
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        size_t length = part_of(e->d_name, base, &part);
        if (length && snprintf(recording, sizeof recording, "%s%s", folder, e->d_name) <
                          (int)sizeof recording)
            look_at(recording, part, (int)length, cfg, s, force, c);
    }
    if (dir)
        closedir(dir);
}

static void print_children(struct tp_page *page, const struct children *c)
{
    if (c->traces)
        tp_page_put(page, 0, "children: %s with %s, in files with their process ids",
                    tp_plural(c->traces, "trace").s, tp_plural(c->events, "event").s);
    else if (!c->lost && !c->failed && !c->running)
        tp_page_put(page, 0, "children: none that allocated");
    const struct {
        uint64_t count;
        const char *what;
    } rest[] = {{c->lost, "not recorded, for lack of permission, descriptors or space"},
                {c->failed, "with a recording that could not become a trace and is kept"},
                {c->running, "still running, recordings kept"}};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (rest[i].count)
            tp_page_put(page, 0, "children %s: %s", rest[i].what, tp_count(rest[i].count).s);
    if (c->others)
        tp_page_put(page, 0, "recordings of other runs in the same folder: %s",
                    tp_count(c->others).s);
}

/* ---- what was found, on a screen or as JSON ---- */

struct finished {
    const struct tp_record_cfg *cfg;
    const struct tp_trace *trace;    /* NULL: nothing was recorded of the program */
    bool copy_runs;                  /* a forked copy of the program, which is not recorded */
    const struct children *children; /* NULL: they were not to be recorded */
};

static void print_finished(const struct finished *f)
{
    struct tp_page page;
    tp_page_init(&page, stderr, 0);
    if (f->trace)
        print_trace(&page, f->trace, f->cfg->output);
    if (f->copy_runs)
        tp_page_row(&page, 0, "note", NOTE,
                    "a forked copy of the program still runs (a daemon?) and is not recorded: "
                    "--follow fork records it");
    if (f->children)
        print_children(&page, f->children);
    if (f->trace)
        tp_page_command(&page, "Next: tapool replay", f->cfg->output);
}

static void write_children(struct tp_json *j, cJSON *in, const struct children *c)
{
    if (!c) {
        tp_json_text(j, in, "children", NULL);
        return;
    }
    cJSON *o = tp_json_object(j, in, "children");
    tp_json_uint(j, o, "traces", c->traces);
    tp_json_uint(j, o, "events", c->events);
    tp_json_uint(j, o, "not_recorded", c->lost);
    tp_json_uint(j, o, "recordings_kept", c->failed);
    tp_json_uint(j, o, "running", c->running);
    tp_json_uint(j, o, "other_recordings", c->others);
}

/* tapool.record/2 (record.schema.json). */
static int write_finished(const struct finished *f, struct tp_err *err)
{
    static const struct tp_demand no_peak = {.bytes = TP_NONE, .event = TP_NONE};
    const struct tp_program_facts *facts = f->trace ? tp_program_facts(f->trace->program) : NULL;
    const struct tp_demand *peak = facts ? tp_program_demand(f->trace->program, 0) : &no_peak;
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_json_text(&j, root, "schema", "tapool.record/2");
    tp_json_tool(&j, root);
    if (facts)
        tp_json_saved(&j, root, f->cfg->output, tp_writer_tpt.name, facts->events);
    else
        tp_json_text(&j, root, "trace", NULL);
    tp_json_uint(&j, root, "threads", facts ? facts->recorded_threads : TP_NONE);
    tp_json_uint(&j, root, "trace_peak_bytes", peak->bytes);
    tp_json_uint(&j, root, "trace_peak_event", peak->event);
    tp_json_words(&j, tp_json_array(&j, root, "remarks"), facts ? f->trace->meta.remarks : NULL,
                  "\n", NULL);
    tp_json_bool(&j, root, "forked_copy_runs", f->copy_runs);
    write_children(&j, root, f->children);
    int status = tp_json_print_line(&j, root, stderr, err);
    if (!status)
        fputc('\n', stderr);
    return status;
}

/* ---- all ---- */

enum { SENTENCE = 256 };

static enum tp_status status_of_end(const struct tp_recording_head *head)
{
    if (tp_recording_failed(head))
        return TP_EIO;
    return tp_recording_forbidden(head) ? TP_EINPUT : TP_OK;
}

/* What the program left out, in a recording without an event. */
static const char *why_no_event(const struct tp_recording_head *head)
{
    if (head->memory == TP_REC_OF_HOST)
        return "did not call malloc";
    return atomic_load(&head->injected) ? "allocated no GPU memory" : "did not initialise CUDA";
}

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
            "is it, or the program it starts, static, setuid, built with a sanitizer, or in "
            "a sandbox without '%s'?",
            s->path);
    if (ended[0])
        return tp_fail(err, status_of_end(s->head), "nothing was recorded: %s", ended);
    if (atomic_load(&s->head->state) == TP_REC_WAITING)
        return tp_hint(err, tp_fail(err, TP_EINPUT, "nothing was recorded"),
                       "--after: the program made only about %s calls",
                       tp_count(atomic_load(&s->head->passed)).s);
    if (s->head->own_malloc)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT,
                               "nothing was recorded: the program has its own malloc, from a "
                               "sanitizer or an allocator linked into it"),
                       "build it without that malloc");
    if (WIFSIGNALED(s->how))
        return tp_fail(err, TP_OK,
                       "nothing was recorded: signal %d (%s) killed the program before its first "
                       "allocation was complete",
                       WTERMSIG(s->how), strsignal(WTERMSIG(s->how)));
    tp_fail(err, TP_OK, "nothing was recorded: the program %s", why_no_event(s->head));
    if (cfg->follow == TP_FOLLOW_NONE)
        tp_hint(err, TP_OK, "--follow all records programs it starts");
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
    struct tp_trace trace = {0};
    struct children children = {0};
    bool follows = cfg->follow != TP_FOLLOW_NONE;
    struct finished f = {.cfg = cfg,
                         .copy_runs = !follows && is_written(s->path) == 1,
                         .children = follows ? &children : NULL};
    int status = make_trace(s->path, cfg->output, force, &trace, err);
    bool empty = status && err->reason == TP_REASON_EMPTY;
    if (!status)
        f.trace = &trace;
    if (follows)
        finish_children(cfg, s, force, &children);
    if (!cfg->json)
        print_finished(&f);
    if (empty)
        status = end_without(cfg, s, force, &children, err);
    if (!status && cfg->json)
        status = write_finished(&f, err);
    if (f.trace)
        tp_trace_close(&trace);
    return status;
}
