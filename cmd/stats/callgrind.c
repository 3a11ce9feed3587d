/* See callgrind.h. Only the head and the last line of callgrind's output file are used:
 *
 *     # callgrind format
 *     version: 1                  there is no other version
 *     ...
 *     events: Ir                  must be instructions alone
 *     summary: 624016             of this part; some versions leave it out
 *     fn=... and the costs
 *     totals: 624016              the last line; without it the file is cut off
 *
 * Known weakness: the C library has several variants of memcpy and similar functions. It selects
 * one by the processor that valgrind emulates (with AVX2 or without), so counts differ between such
 * machines. */
#include "cmd/stats/callgrind.h"

#include "alloc/base/clean.h"
#include "cmd/ui/ask.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION_WAIT_MS = 2000, LINE = 4096 };

/* ---- finding valgrind ---- */

static void ask_version(struct tp_valgrind *v)
{
    char line[128];
    const char *argv[] = {v->path, "--tool=callgrind", "--version", NULL};
    bool good = tp_ask(argv, VERSION_WAIT_MS, TP_ASK_LINE, line, sizeof line);
    bool known = !strncmp(line, "valgrind-", 9) && line[9] >= '0' && line[9] <= '9';
    line[strcspn(line, " \t\r")] = '\0';
    if (good && known)
        tp_clean_text(line, v->version, sizeof v->version);
    else
        snprintf(v->reason, sizeof v->reason, "'%.100s --tool=callgrind --version' %s", v->path,
                 known || !line[0] ? "gives no answer" : "answers as no valgrind does");
}

/* Returns 0, or the errno that says why the given file cannot be started. */
static int refusal(const char *given, size_t size)
{
    if (strlen(given) >= size)
        return ENAMETOOLONG;
    return access(given, X_OK) ? errno : 0;
}

void tp_valgrind_find(struct tp_valgrind *out)
{
    const char *given = getenv("TAPOOL_VALGRIND");
    *out = (struct tp_valgrind){0};
    int error = given ? refusal(given, sizeof out->path) : 0;
    if (given && !*given)
        snprintf(out->reason, sizeof out->reason, "TAPOOL_VALGRIND is empty: none is used");
    else if (error)
        snprintf(out->reason, sizeof out->reason, "TAPOOL_VALGRIND=%.100s: %s", given,
                 strerror(error));
    else if (given)
        snprintf(out->path, sizeof out->path, "%s", given);
    else if (!tp_ask_find("valgrind", out->path, sizeof out->path)) {
        out->path[0] = '\0';
        snprintf(out->reason, sizeof out->reason, "valgrind is not in PATH (apt install valgrind)");
    }
    if (out->path[0])
        ask_version(out);
}

/* ---- the command line ---- */

/* Doubles each %, because valgrind expands % in the names of its files. */
static bool name_files(const char *folder, const char *name, char *out, size_t size)
{
    size_t used = 0;
    for (; *folder && used + 2 < size; folder++) {
        out[used++] = *folder;
        if (*folder == '%')
            out[used++] = '%';
    }
    int n = snprintf(out + used, size - used, "/%s.%%p", name);
    return !*folder && n > 0 && (size_t)n < size - used;
}

/* Sets every option that a user's ~/.valgrindrc or VALGRIND_OPTS could change. */
int tp_callgrind_runner(struct tp_callgrind_runner *out, const struct tp_valgrind *valgrind,
                        const char *folder, struct tp_err *err)
{
    char count[4096], log[4096];
    if (!name_files(folder, "count", count, sizeof count) ||
        !name_files(folder, "log", log, sizeof log))
        return tp_fail(err, TP_EIO, "the name of the folder '%.200s' is too long", folder);
    *out = (struct tp_callgrind_runner){0};
    snprintf(out->path, sizeof out->path, "%s", valgrind->path);
    snprintf(out->count, sizeof out->count, "--callgrind-out-file=%s", count);
    snprintf(out->log, sizeof out->log, "--log-file=%s", log);
    const char *words[] = {out->path,
                           "--command-line-only=yes",
                           "--tool=callgrind",
                           "--quiet",
                           "--trace-children=yes", /* a foreign allocator replays in a child */
                           "--collect-atstart=no",
                           "--toggle-collect=tp_replay_counted",
                           "--dump-line=no",
                           "--dump-instr=no",
                           "--collect-jumps=no",
                           "--cache-sim=no",
                           "--branch-sim=no",
                           "--vgdb=no", /* vgdb's pipes in TMPDIR would outlive a kill */
                           out->count,
                           out->log,
                           NULL};
    static_assert(sizeof words / sizeof *words <= TP_CALLGRIND_WORDS, "they fit");
    memcpy(out->words, words, sizeof words);
    return TP_OK;
}

/* ---- the output files ---- */

struct callgrind_reading {
    const char *path;
    bool begun, events, ended, has_summary;
    uint64_t summary, totals;
};

static int damaged(const struct callgrind_reading *r, const char *what, struct tp_err *err)
{
    const char *name = strrchr(r->path, '/');
    return tp_fail(err, TP_EIO, "the output of callgrind (%s) %s", name ? name + 1 : r->path, what);
}

/* Accepts digits only. */
static bool read_count(const char *text, uint64_t *out)
{
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return !errno && (!*end || !strcmp(end, " ")) && *out != UINT64_MAX;
}

static const char *after(const char *line, const char *key)
{
    size_t length = strlen(key);
    return strncmp(line, key, length) ? NULL : line + length;
}

static int read_line(struct callgrind_reading *r, const char *line, struct tp_err *err)
{
    const char *value;
    if (r->ended && *line)
        return damaged(r, "goes on behind its totals", err);
    if ((value = after(line, "version: ")) != NULL) {
        if (strcmp(value, "1"))
            return damaged(r, "is of another version than 1", err);
        r->begun = true;
    } else if ((value = after(line, "events: ")) != NULL) {
        if (!r->begun || r->events || (strcmp(value, "Ir") && strcmp(value, "Ir ")))
            return damaged(r, "counts something else than instructions", err);
        r->events = true;
    } else if ((value = after(line, "summary: ")) != NULL) {
        if (!r->events || r->has_summary || !read_count(value, &r->summary))
            return damaged(r, "has no sum that is a number", err);
        r->has_summary = true;
    } else if ((value = after(line, "totals: ")) != NULL) {
        if (!r->events || !read_count(value, &r->totals))
            return damaged(r, "has no total that is a number", err);
        r->ended = true;
    }
    return TP_OK;
}

/* Long lines (the command) are cut, because the lines that are needed are short. */
static int read_lines(struct callgrind_reading *r, FILE *in, struct tp_err *err)
{
    char line[LINE];
    bool inside = false; /* `line` is the rest of a long line */
    int status = TP_OK;
    while (!status && fgets(line, sizeof line, in)) {
        size_t length = strlen(line);
        bool ends = length && line[length - 1] == '\n';
        if (ends)
            line[length - 1] = '\0';
        if (!inside)
            status = read_line(r, line, err);
        inside = !ends;
    }
    if (!status && (ferror(in) || !r->ended))
        status = damaged(r, r->begun ? "is cut off" : "is not a callgrind file", err);
    if (!status && r->has_summary && r->summary != r->totals)
        status = damaged(r, "contradicts itself in its sums", err);
    return status;
}

static FILE *open_regular(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool regular = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    FILE *in = regular ? fdopen(fd, "r") : NULL;
    if (!in) {
        int error = regular || fd < 0 ? errno : EINVAL;
        if (fd >= 0)
            close(fd);
        errno = error;
    }
    return in;
}

int tp_callgrind_read(const char *path, uint64_t *instructions, struct tp_err *err)
{
    struct callgrind_reading r = {.path = path};
    FILE *in = open_regular(path);
    if (!in)
        return damaged(&r, strerror(errno), err);
    int status = read_lines(&r, in, err);
    fclose(in);
    *instructions = r.totals;
    return status;
}

/* Finds the next file NAME.PID of a folder; false: there are no more. */
static bool next_file(DIR *dir, const char *folder, const char *name, char *path, size_t size)
{
    const struct dirent *e = dir ? readdir(dir) : NULL;
    size_t length = strlen(name);
    while (e && (strncmp(e->d_name, name, length) || e->d_name[length] != '.'))
        e = readdir(dir);
    if (e)
        snprintf(path, size, "%s/%s", folder, e->d_name);
    return e != NULL;
}

int tp_callgrind_sum(const char *folder, uint64_t *instructions, struct tp_err *err)
{
    DIR *dir = opendir(folder);
    char path[4608];
    int status = TP_OK, files = 0;
    uint64_t sum = 0, part = 0;
    while (!status && next_file(dir, folder, "count", path, sizeof path)) {
        status = tp_callgrind_read(path, &part, err);
        if (!status && __builtin_add_overflow(sum, part, &sum))
            status = tp_fail(err, TP_EIO, "callgrind counted more than there can be");
        files++;
    }
    if (dir)
        closedir(dir);
    *instructions = sum;
    return !status && !files ? tp_fail(err, TP_EIO, "callgrind left no count") : status;
}

/* valgrind's own lines begin with ==PID==. The first of them is the most useful one. */
void tp_callgrind_complaint(const char *folder, char *text, size_t size)
{
    DIR *dir = opendir(folder);
    char path[4608], line[LINE];
    text[0] = '\0';
    while (!text[0] && next_file(dir, folder, "log", path, sizeof path)) {
        FILE *in = open_regular(path);
        for (int i = 0; in && !text[0] && i < 1000 && fgets(line, sizeof line, in); i++) {
            size_t pid = strncmp(line, "==", 2) ? 0 : strspn(line + 2, "0123456789");
            line[strcspn(line, "\n")] = '\0';
            if (pid && !strncmp(line + 2 + pid, "== ", 3))
                tp_clean_text(line + 2 + pid + 3, text, size);
        }
        if (in)
            fclose(in);
    }
    if (dir)
        closedir(dir);
}
