/* Programs as properties: replay one from a seed, shrink one that fails, keep it as a trace.
 *
 *     seed --> program --> fails? --> drop chunks, then single steps --> smaller sizes, one thread,
 *                                     until no single step is too much   one stream, no gaps
 *                                                  \--> tapool JSON trace + the command to replay
 * it
 *
 * A smaller program counts only if it fails in the same way (enum model_kind). Crashes are failures
 * too: then every attempt runs in a process of its own. */
#ifndef TP_TEST_PROPERTY_H
#define TP_TEST_PROPERTY_H

#include "alloc/conformance/conformance_gen.h"
#include "alloc/conformance/conformance_replay.h"
#include "tests/unit/async_source.h"
#include "tests/unit/conformance.h"
#include "tests/unit/fake_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROPERTY_STEPS   300  /* of a program; its objects have a slot each */
#define PROPERTY_REPLAYS 6000 /* at most, to shrink one program */
static_assert(PROPERTY_STEPS <= GEN_SLOTS, "every step may allocate");

struct property_source {
    const char *spec; /* as on the command line */
    const struct tp_source_ops *base;
    enum tp_kind kind;
    bool shuffle;
    rig_complaint_fn *complaint;
    rig_passes_fn *passes;
};

static const struct property_source property_sources[] = {
    {"host", &tp_source_host, TP_KIND_HOST, false, NULL, NULL},
    {"virtual", &tp_source_virtual, TP_KIND_DEVICE, false, NULL, NULL},
    {"host+shuffle:seed=7", &tp_source_host, TP_KIND_HOST, true, NULL, NULL},
    {"virtual+shuffle:seed=7", &tp_source_virtual, TP_KIND_DEVICE, true, NULL, NULL},
    {"cuda", &tp_source_cuda, TP_KIND_DEVICE, false, fake_driver_complaint, fake_driver_passes},
    {"cuda's double", &async_double, TP_KIND_DEVICE, false, async_complaint, NULL},
};
#define PROPERTY_SOURCES (sizeof property_sources / sizeof property_sources[0])

/* The double has no ranges, others have no pool, and there may be no driver. */
static inline bool property_replays(const struct tp_strategy *s, const struct property_source *on)
{
    if (on->base == &tp_source_cuda && !fake_driver_ready())
        return false;
    bool pool = s->caps & TP_CAP_ASYNC;
    return pool ? on->base->get_async != NULL : on->base != &async_double;
}

struct property_case {
    const struct tp_strategy *strategy;
    const char *options;
    const struct property_source *source;
};

struct property_program {
    struct tp_insn insns[PROPERTY_STEPS];
    uint32_t count;
    bool probes; /* wrong calls after every step: half of the programs go without */
};

/* Leaves out the steps that do nothing to any object. */
static inline void property_normalise(struct property_program *p)
{
    uint32_t refs[GEN_SLOTS] = {0}, kept = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (tp_gen_effect(refs, &p->insns[i], GEN_SLOTS))
            p->insns[kept++] = p->insns[i];
    p->count = kept;
}

static inline void property_generate(uint64_t seed, struct property_program *p)
{
    struct gen *g = calloc(1, sizeof *g);
    assert_non_null(g);
    tp_gen_start(g, seed, GEN_SLOTS);
    g->fresh_slots = true;
    g->most_live = 2 + (uint32_t)tp_gen_below(g, 60);
    p->probes = tp_gen_below(g, 2);
    p->count = PROPERTY_STEPS;
    for (uint32_t i = 0; i < p->count; i++)
        p->insns[i] = tp_gen_next(g);
    free(g);
    property_normalise(p);
}

static inline struct rig_cfg property_config(const struct property_case *c)
{
    return (struct rig_cfg){.strategy = c->strategy,
                            .options = c->options,
                            .base = c->source->base,
                            .kind = c->source->kind,
                            .shuffle = c->source->shuffle,
                            .complaint = c->source->complaint,
                            .passes = c->source->passes,
                            .threads = GEN_THREADS,
                            .streams = GEN_STREAMS};
}

/* Replays a program on a fresh instance. The kind of failure, MODEL_FINE if there was none. */
static inline enum model_kind property_replay(const struct property_case *c,
                                              const struct property_program *p,
                                              struct model_failure *failure)
{
    struct rig *r = calloc(1, sizeof *r);
    struct model *m = calloc(1, sizeof *m);
    struct rig_cfg cfg = property_config(c);
    bool ok = true;
    assert_true(r && m);
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    tp_model_open(m, r);
    m->probes = p->probes;
    for (uint32_t i = 0; i < p->count && ok; i++)
        ok = tp_model_step(m, &p->insns[i], i);
    m->step = p->count;
    if (ok)
        tp_model_drain(m);
    char text[240];
    const char *left = tp_rig_shut(r, text, sizeof text);
    if (left)
        tp_model_fail(m, MODEL_LEFT, "%s", left);
    *failure = m->failure;
    tp_model_close(m);
    free(m);
    free(r);
    return failure->kind;
}

/* The same in a process of its own, silently; what ends that process otherwise is a crash. */
static inline enum model_kind property_replay_apart(const struct property_case *c,
                                                    const struct property_program *p,
                                                    struct model_failure *failure)
{
    enum { FIRST_STATUS = 100 };
    int status = 0;
    struct model_failure *said =
        mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(said != MAP_FAILED);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0)
            dup2(null, STDERR_FILENO);
        _exit(FIRST_STATUS + (int)property_replay(c, p, said));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *failure = *said;
    munmap(said, sizeof *said);
    if (WIFEXITED(status) && WEXITSTATUS(status) == FIRST_STATUS + (int)failure->kind)
        return failure->kind;
    *failure = (struct model_failure){.kind = MODEL_CRASH, .step = p->count};
    snprintf(failure->text, sizeof failure->text,
             WIFSIGNALED(status) ? "signal %d" : "exit status %d",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return MODEL_CRASH;
}

/* ---- shrinking ---- */

struct property_shrink {
    const struct property_case *c;
    struct property_program *best, candidate;
    struct model_failure failure; /* of `best` */
    enum model_kind kind;
    uint32_t replays;
};

/* Takes the candidate if it fails in the same way. */
static inline bool property_try(struct property_shrink *s)
{
    struct model_failure failure;
    if (s->replays++ >= PROPERTY_REPLAYS)
        return false;
    property_normalise(&s->candidate);
    /* a driver that this process has called is one that its later forks cannot use */
    bool apart = s->kind == MODEL_CRASH || s->c->source->base == &tp_source_cuda;
    enum model_kind kind = apart ? property_replay_apart(s->c, &s->candidate, &failure)
                                 : property_replay(s->c, &s->candidate, &failure);
    if (kind != s->kind)
        return false;
    *s->best = s->candidate;
    s->failure = failure;
    return true;
}

static inline void property_without(struct property_shrink *s, uint32_t from, uint32_t count)
{
    struct property_program *p = &s->candidate;
    *p = *s->best;
    if (count > p->count - from)
        count = p->count - from;
    memmove(&p->insns[from], &p->insns[from + count],
            (p->count - from - count) * sizeof p->insns[0]);
    p->count -= count;
}

/* Drops chunks of half the length, a quarter, ... one step. */
static inline bool property_drop(struct property_shrink *s)
{
    bool any = false;
    for (uint32_t chunk = (s->best->count + 1) / 2; chunk; chunk /= 2)
        for (uint32_t from = 0; from < s->best->count;) {
            property_without(s, from, chunk);
            if (property_try(s))
                any = true;
            else
                from += chunk;
        }
    return any;
}

/* Drops any two steps of a short program: what only works in pairs. */
static inline bool property_drop_pairs(struct property_shrink *s)
{
    bool any = false;
    for (uint32_t i = 0; s->best->count <= 24 && i < s->best->count; i++)
        for (uint32_t k = i + 1; k < s->best->count; k++) {
            property_without(s, k, 1);
            memmove(&s->candidate.insns[i], &s->candidate.insns[i + 1],
                    (s->candidate.count - i - 1) * sizeof s->candidate.insns[0]);
            s->candidate.count--;
            any = property_try(s) || any;
        }
    return any;
}

static inline bool property_edit(struct property_shrink *s, uint32_t index, struct tp_insn to)
{
    if (!memcmp(&s->best->insns[index], &to, sizeof to))
        return false;
    s->candidate = *s->best;
    s->candidate.insns[index] = to;
    return property_try(s);
}

/* One thread, one stream, no gap, a small size: what is not needed goes. */
static inline bool property_simplify(struct property_shrink *s, uint32_t i)
{
    static const uint64_t sizes[] = {1, 16, 64, 256, 512, 4096, 16384};
    bool any = false;
    struct tp_insn in = s->best->insns[i];
    bool sized = in.op == TP_ALLOC || in.op == TP_ADOPT || in.op == TP_REALLOC || in.op == TP_TRIM;
#define PROPERTY_ZERO(member)                                                                      \
    in = s->best->insns[i], in.member = 0, any = property_edit(s, i, in) || any
    PROPERTY_ZERO(thread);
    PROPERTY_ZERO(stream);
    PROPERTY_ZERO(gap_ns);
    PROPERTY_ZERO(align_log2);
#undef PROPERTY_ZERO
    in = s->best->insns[i];
    for (size_t k = 0; sized && k < sizeof sizes / sizeof sizes[0] && sizes[k] < in.size; k++) {
        struct tp_insn smaller = in;
        smaller.size = sizes[k];
        if (property_edit(s, i, smaller))
            return true;
    }
    while (sized && in.size > 1) {
        in.size -= in.size / 4 + 1;
        if (!in.size || !property_edit(s, i, in))
            break;
        any = true;
    }
    return any;
}

/* Makes a failing program as small as it gets; `s->failure` is then how it fails. */
static inline void property_shrink(struct property_shrink *s)
{
    bool any = true;
    s->kind = s->failure.kind;
    if (s->best->probes) {
        s->candidate = *s->best;
        s->candidate.probes = false;
        property_try(s);
    }
    while (any && s->replays < PROPERTY_REPLAYS) {
        any = property_drop(s);
        any = property_drop_pairs(s) || any;
        for (uint32_t i = 0; i < s->best->count; i++)
            any = property_simplify(s, i) || any;
    }
}

/* ---- keeping ---- */

/* One event, as `tapool help format` has it. */
static inline void property_event(FILE *f, const struct tp_insn *in, uint64_t time, uint64_t pool)
{
    unsigned op = in->op;
    fprintf(f, "{\"t\": %llu, \"op\": \"%s\"", (unsigned long long)time, tp_op_rows[op].name);
    if (tp_op_is(op, TP_IS_NEW | TP_IS_LIVE))
        fprintf(f, ", \"id\": %u", in->slot);
    if (tp_op_is(op, TP_ASKS) || op == TP_TRIM)
        fprintf(f, ", \"size\": %llu", (unsigned long long)in->size);
    if (tp_op_is(op, TP_IS_NEW))
        fprintf(f, ", \"align\": %llu", 1ULL << in->align_log2);
    if (tp_op_is(op, TP_HAS_STREAM) && in->stream != TP_ALL_STREAMS)
        fprintf(f, ", \"stream\": %u", in->stream);
    if (op == TP_ALLOC && pool)
        fprintf(f, ", \"pool\": 0, \"pool_2\": %llu", (unsigned long long)pool);
    fprintf(f, ", \"thread\": %u}", in->thread);
}

/* Writes the program as a trace. 0: it is there in full. */
static inline int property_save(const char *path, const struct property_case *c,
                                const struct property_program *p, uint64_t seed,
                                const struct model_failure *failure)
{
    uint64_t time = 0, pool = 0;
    const char *before = "    ";
    FILE *f = fopen(path, "we");
    if (!f)
        return -1;
    fprintf(f,
            "{ \"format\": \"tapool-trace\", \"version\": 1,\n"
            "  \"meta\": { \"name\": \"%s fails: %s\", \"kind\": \"%s\",\n"
            "            \"strategy\": \"%s:%s\", \"source\": \"%s\", \"seed\": \"%llu\" },\n"
            "  \"streams\": [",
            c->strategy->name, tp_model_kind_names[failure->kind],
            c->source->kind == TP_KIND_HOST ? "host" : "device", c->strategy->name, c->options,
            c->source->spec, (unsigned long long)seed);
    for (unsigned i = 0; i < GEN_STREAMS; i++)
        fprintf(f, "%s{\"id\": %u, \"device\": 0}", i ? ", " : "", i);
    fprintf(f, "],\n  \"events\": [\n");
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tp_insn *in = &p->insns[i];
        time += in->gap_ns;
        if (in->op == TP_POOL) { /* a trace has it as a member of the allocation */
            pool = in->size;
            continue;
        }
        fputs(before, f);
        property_event(f, in, time, pool);
        pool = in->op == TP_ALLOC ? 0 : pool;
        before = ",\n    ";
    }
    fprintf(f, "\n  ] }\n");
    bool bad = ferror(f);
    return fclose(f) || bad ? -1 : 0;
}

#endif
