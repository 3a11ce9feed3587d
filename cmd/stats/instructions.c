/* See instructions.h.
 *
 *     callgrind    valgrind ... tapool replay --passes count    files count.PID in a private folder
 *     perf_event              tapool replay --passes count      instructions.per_op of the answer
 */
#include "cmd/stats/instructions.h"

#include "alloc/base/clean.h"
#include "alloc/engine/counter.h"
#include "cmd/jobs/machine.h"
#include "cmd/results/record.h"
#include "cmd/stats/callgrind.h"
#include "cmd/ui/ask.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SELF_WAIT_MS = 20000, SELF_BYTES = 1 << 18, MEMBER = 256 };

/* ---- finding a counter ---- */

static int try_perf(void)
{
    struct tp_instruction_counter c;
    int error = tp_counter_open(&c);
    tp_counter_close(&c);
    return error;
}

/* A sanitized build cannot run under valgrind: the shadow memory of the sanitizers needs the
 * addresses that valgrind uses. */
static bool is_sanitized(const char *build)
{
    return strchr(build, '+') != NULL;
}

void tp_counting_find(struct tp_counting *out)
{
    struct tp_valgrind v;
    *out = (struct tp_counting){.counter = TP_COUNTER_NONE};
    tp_valgrind_find(&v);
    if (v.version[0] && is_sanitized(TAPOOL_BUILD)) {
        v.version[0] = '\0';
        snprintf(v.reason, sizeof v.reason, "a build with sanitizers does not run under valgrind");
    }
    if (v.version[0]) {
        out->counter = TP_COUNTER_CALLGRIND;
        out->allowed = 0.01;
        snprintf(out->version, sizeof out->version, "%s", v.version);
        return;
    }
    int error = try_perf();
    if (!error) {
        out->counter = TP_COUNTER_PERF;
        out->allowed = 0.02;
        snprintf(out->version, sizeof out->version, "perf_event");
        return;
    }
    snprintf(out->reason, sizeof out->reason, "%.130s; perf_event: %.50s", v.reason,
             strerror(error));
}

/* ---- counting ---- */

/* Decides whether valgrind or the replay has failed. If the folder holds no count, valgrind did not
 * work, whatever the child printed. A replay that fails under a working valgrind leaves a count,
 * even if it is 0. */
static int blame(const struct tp_valgrind *v, const char *folder, int status, struct tp_err *err)
{
    uint64_t ignored;
    char text[TP_ERR_TEXT], hint[TP_ERR_TEXT], own[200];
    if (status == TP_ESTOP || status == TP_ELATE || !tp_callgrind_sum(folder, &ignored, NULL))
        return status;
    snprintf(text, sizeof text, "%s", err ? err->text : "");
    snprintf(hint, sizeof hint, "%s", err ? err->hint : "");
    status = tp_fail(err, TP_EIO, "%.100s does not count instructions: %.300s", v->path, text);
    tp_callgrind_complaint(folder, own, sizeof own);
    if (own[0])
        return tp_hint(err, status, "valgrind says: %s", own);
    return hint[0] ? tp_hint(err, status, "%s", hint) : status;
}

static int count_in(const char *folder, const struct tp_valgrind *v, const struct tp_measure *m,
                    double *per_operation, struct tp_err *err)
{
    struct tp_callgrind_runner *runner = calloc(1, sizeof *runner);
    struct tp_stored answer = {0};
    struct tp_measure counted = *m;
    uint64_t total = 0;
    if (!runner)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = tp_callgrind_runner(runner, v, folder, err);
    counted.passes = "count";
    counted.runner = runner->words;
    if (!status) {
        status = tp_measure(&counted, &answer, err);
        status = status ? blame(v, folder, status, err) : tp_callgrind_sum(folder, &total, err);
    }
    uint64_t operations = answer.count ? answer.runs[0].operations : 0;
    if (!status && operations == TP_NONE)
        status = tp_fail(err, TP_EIO, "%s does not say how many operations it replayed",
                         m->binary ? m->binary : "this tapool");
    if (!status && !total && operations)
        status = tp_hint(err,
                         tp_fail(err, TP_EIO, "%s has no function 'tp_replay_counted' to count in",
                                 m->binary ? m->binary : "this tapool"),
                         "was it stripped? the name must be there (install without strip)");
    *per_operation = !status && operations ? (double)total / (double)operations : (double)NAN;
    tp_stored_release(&answer);
    free(runner);
    return status;
}

static int count_callgrind(const struct tp_measure *m, double *per_operation, struct tp_err *err)
{
    struct tp_valgrind *v = calloc(1, sizeof *v);
    char folder[4096];
    if (!v)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    tp_valgrind_find(v);
    int status = v->version[0] ? TP_OK : tp_fail(err, TP_EIO, "%s", v->reason);
    if (!status)
        status = tp_measure_folder(folder, sizeof folder, err);
    if (!status) {
        status = count_in(folder, v, m, per_operation, err);
        tp_measure_folder_remove(folder);
    }
    free(v);
    return status;
}

static int count_perf(const struct tp_measure *m, double *per_operation, struct tp_err *err)
{
    const struct tp_metric *metric = tp_metric_find("instructions", err);
    struct tp_measure counted = *m;
    struct tp_stored answer;
    counted.passes = "count";
    int status = tp_measure(&counted, &answer, err);
    if (!status)
        *per_operation = tp_record_value(&answer.runs[0], metric, 0);
    if (!status && isnan(*per_operation) && answer.runs[0].operations)
        status = tp_hint(err,
                         tp_fail(err, TP_EIO,
                                 "the processor's counter of instructions was taken "
                                 "away while it counted"),
                         "another program uses the counters (perf, a watchdog): try again");
    tp_stored_release(&answer);
    return status;
}

int tp_instructions_count(const struct tp_counting *c, const struct tp_measure *m,
                          double *per_operation, struct tp_err *err)
{
    *per_operation = (double)NAN;
    if (c->counter == TP_COUNTER_NONE)
        return tp_fail(err, TP_EIO, "instructions cannot be counted: %s", c->reason);
    int status = c->counter == TP_COUNTER_PERF ? count_perf(m, per_operation, err)
                                               : count_callgrind(m, per_operation, err);
    return !status && isnan(*per_operation) ? tp_fail(err, TP_EIO, "the trace has no operations")
                                            : status;
}

/* ---- what a count depends on ---- */

struct self {
    char compiler[MEMBER], build[MEMBER], flags[MEMBER], arch[MEMBER], libc[MEMBER];
};

static void read_own(struct self *s)
{
    struct tp_machine machine;
    tp_machine_read(&machine);
    snprintf(s->compiler, MEMBER, "%s", TAPOOL_COMPILER);
    snprintf(s->build, MEMBER, "%s", TAPOOL_BUILD);
    snprintf(s->flags, MEMBER, "%s", TAPOOL_FLAGS);
    snprintf(s->arch, MEMBER, "%s", machine.arch);
    snprintf(s->libc, MEMBER, "%s", machine.libc);
}

static bool read_member(const cJSON *root, const char *object, const char *name, char *out)
{
    const cJSON *in = cJSON_GetObjectItemCaseSensitive(root, object);
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(in, name);
    tp_clean_text(cJSON_IsString(m) ? m->valuestring : "", out, MEMBER);
    return cJSON_IsString(m);
}

/* Asks another binary how it was built: `BINARY doctor --json`, which needs no trace. */
static int read_other(const char *binary, struct self *s, struct tp_err *err)
{
    const char *argv[] = {binary, "doctor", "--json", NULL};
    char *text = malloc(SELF_BYTES);
    if (!text)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    bool good = tp_ask(argv, SELF_WAIT_MS, TP_ASK_END, text, SELF_BYTES);
    cJSON *root = good ? cJSON_Parse(text) : NULL;
    bool known = read_member(root, "tool", "compiler", s->compiler) &&
                 read_member(root, "tool", "build", s->build) &&
                 read_member(root, "machine", "arch", s->arch) &&
                 read_member(root, "machine", "libc", s->libc);
    if (!read_member(root, "tool", "flags", s->flags)) /* an older tapool does not have it */
        snprintf(s->flags, MEMBER, "unknown flags");
    cJSON_Delete(root);
    free(text);
    return known ? TP_OK
                 : tp_fail(err, TP_EIO, "'%.300s doctor --json' does not say how it was built",
                           binary);
}

/* Describes the processor as far as the C library's choice of memcpy and similar functions depends
 * on it. Under valgrind that is the highest vector extension that valgrind emulates, at most AVX2.
 * Natively it is the model of the processor. */
static void describe_processor(enum tp_counter counter, char *out, size_t size)
{
    struct tp_machine machine;
    tp_machine_read(&machine);
    snprintf(out, size, "%s", counter == TP_COUNTER_PERF ? machine.cpu : "");
#if defined(__x86_64__) || defined(__i386__)
    const char *extension = __builtin_cpu_supports("avx") ? "avx" : "sse";
    if (__builtin_cpu_supports("avx2"))
        extension = "avx2";
    if (counter != TP_COUNTER_PERF)
        snprintf(out, size, "%s", extension);
#endif
}

/* Whether a flag only names a source folder. Two builds of one job are in different folders, which
 * does not change the code. */
static bool is_place(const char *flag, size_t length)
{
    static const char *const places[] = {
        "-ffile-prefix-map=", "-fdebug-prefix-map=", "-fmacro-prefix-map="};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (length >= strlen(places[i]) && !strncmp(flag, places[i], strlen(places[i])))
            return true;
    return false;
}

static void leave_out_places(char *flags)
{
    char *out = flags;
    for (const char *in = flags; *in;) {
        size_t length = strcspn(in, " "), gap = strspn(in + length, " ");
        if (!is_place(in, length)) {
            if (out != flags)
                *out++ = ' ';
            memmove(out, in, length);
            out += length;
        }
        in += length + gap;
    }
    *out = '\0';
}

int tp_instructions_fingerprint(const struct tp_counting *c, const char *binary, char *text,
                                size_t size, struct tp_err *err)
{
    struct self s;
    char processor[MEMBER];
    int status = TP_OK;
    if (binary)
        status = read_other(binary, &s, err);
    else
        read_own(&s);
    if (status)
        return status;
    leave_out_places(s.flags);
    describe_processor(c->counter, processor, sizeof processor);
    int n = snprintf(text, size, "%s%s%s, %s, %s (%s), %s, %s", s.arch, processor[0] ? " " : "",
                     processor, s.compiler, s.build, s.flags, s.libc,
                     c->version[0] ? c->version : "no counter");
    return n > 0 && (size_t)n < size
               ? TP_OK
               : tp_fail(err, TP_EIO,
                         "the description of what instruction counts depend on exceeds %zu bytes",
                         size);
}
