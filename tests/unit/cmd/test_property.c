/* Random programs on every strategy of the registry, with its defaults and with options drawn from
 * its own rows, on host, virtual and shuffled sources; see property.h for what happens to a
 * failure.
 *
 *     TAPOOL_PROPERTY_SEED=77   that program only; a failure prints it
 *     TAPOOL_PROPERTY_RUNS=1000 so many seeds, from 1 or from the one above
 *     TAPOOL_PROPERTY_DIR=DIR   where failing programs are kept ($TMPDIR)
 *
 * Each set of options replays in a child process, so that a crash has a seed and is shrunk as well.
 * The second half plants bugs and wants each found, made small and kept. */
#include "tests/unit/property.h"

#include "cmd/jobs/catalog.h"
#include "tests/unit/property_planted.h"
#include "traces/trace.h"

#include <sys/mman.h>
#include <sys/stat.h>

#define DEFAULT_RUNS 16u
#define OPTION_SETS  4 /* the defaults among them */
#define OPTION_TRIES 40
#define NO_FIT       3 /* exit status of a child */

/* ---- seeds and options ---- */

struct seeds {
    uint64_t first, count;
};

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || !*text)
        return otherwise;
    uint64_t value = strtoull(text, &end, 10);
    if (*end)
        fail_msg("%s=%s is not a number", name, text);
    return value;
}

static struct seeds seeds_to_run(void)
{
    const char *seed = getenv("TAPOOL_PROPERTY_SEED");
    bool one = seed && *seed;
    return (struct seeds){number_of("TAPOOL_PROPERTY_SEED", 1),
                          number_of("TAPOOL_PROPERTY_RUNS", one ? 1 : DEFAULT_RUNS)};
}

/* A value for one option, of moderate size: a range of 1 TiB would test the machine. */
static void value_text(const struct tp_opt *row, uint64_t x, char *out, size_t size)
{
    const uint64_t most = UINT64_C(1) << 23;
    size_t words = 0;
    while (row->choices && row->choices[words])
        words++;
    if (row->type == TP_OPT_FLAG) {
        snprintf(out, size, "%s", x & 1 ? "yes" : "no");
    } else if (row->type == TP_OPT_CHOICE || (words && x % 4 == 0)) {
        snprintf(out, size, "%s", row->choices[(x >> 8) % words]);
    } else {
        uint64_t max = row->max && row->max < most ? row->max : most;
        uint64_t value = UINT64_C(1) << (x >> 8) % 24;
        if (x % 4 == 1)
            value = tp_model_mix(x) % (value + 1);
        if (value < row->min)
            value = row->min;
        snprintf(out, size, "%llu%s", (unsigned long long)(value < max ? value : max),
                 row->type == TP_OPT_DURATION ? "ns" : "");
    }
}

/* The options of a set as text: none in the first, each second row in the others. */
static void option_text(const struct tp_strategy *s, uint64_t salt, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const struct tp_opt *row = s->options; salt && row && row->name; row++) {
        char value[64];
        uint64_t x = tp_model_mix(salt ^ tp_model_mix((uint64_t)(row - s->options)));
        if (x & 1 || row->type == TP_OPT_TEXT || row->type == TP_OPT_LIST)
            continue;
        value_text(row, x >> 1, value, sizeof value);
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s=%s", used ? "," : "", row->name, value);
        assert_true(used < size);
    }
}

static bool options_fit_here(const struct property_case *c)
{
    struct tp_err err;
    struct rig_cfg cfg = property_config(c);
    void *opts = calloc(1, c->strategy->opts_size ? c->strategy->opts_size : 1);
    assert_non_null(opts);
    int rc = tp_opts_defaults(c->strategy->options, opts, &err);
    if (!rc && *c->options)
        rc = tp_opts_parse(c->strategy->options, opts, c->options, "test", &err);
    free(opts);
    if (rc)
        return false;
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    rc = rig_open(r, &cfg);
    if (!rc)
        rig_close(r);
    free(r);
    return rc == TP_OK;
}

/* Do the strategy and the rows take these options together? Asked in a child: where a process has
 * called cuInit, its forks cannot use the driver. */
static bool options_fit(const struct property_case *c)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        exit(options_fit_here(c) ? 0 : NO_FIT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NO_FIT));
    return status == 0;
}

/* ---- one set of options on one source ---- */

/* What the child has to say. */
struct verdict {
    uint64_t seed; /* the one it is at */
    uint64_t steps;
    struct model_failure failure;
};

static void replay_seeds(const struct property_case *c, struct seeds seeds, struct verdict *v)
{
    struct property_program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    for (uint64_t i = 0; i < seeds.count && !v->failure.kind; i++) {
        v->seed = seeds.first + i;
        property_generate(v->seed, p);
        v->steps += p->count;
        property_replay(c, p, &v->failure);
    }
    free(p);
}

/* Replays the seeds in a child. `quiet`: what a sanitizer says is not wanted. */
static struct verdict replay_apart(const struct property_case *c, struct seeds seeds, bool quiet)
{
    int status = 0;
    struct verdict *v =
        mmap(NULL, sizeof *v, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(v != MAP_FAILED);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        int null = quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
        if (null >= 0)
            dup2(null, STDERR_FILENO);
        replay_seeds(c, seeds, v);
        exit(0); /* leaks are looked for, coverage is written */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    struct verdict out = *v;
    munmap(v, sizeof *v);
    if (!out.failure.kind && status) {
        out.failure.kind = MODEL_CRASH;
        snprintf(out.failure.text, sizeof out.failure.text, "the process ended with status %#x",
                 (unsigned)status);
    }
    return out;
}

static void path_for(const struct property_case *c, uint64_t seed, char *out, size_t size)
{
    const char *dir = getenv("TAPOOL_PROPERTY_DIR");
    if (!dir || !*dir)
        dir = getenv("TMPDIR");
    uint64_t case_hash = 0; /* one seed may fail with several options, on several sources */
    for (const char *p = c->options; *p; p++)
        case_hash = tp_model_mix(case_hash ^ (unsigned char)*p);
    case_hash = tp_model_mix(case_hash ^ (uint64_t)(c->source - property_sources));
    int n = snprintf(out, size, "%s/property-%s-%llu-%04x-%d.json", dir && *dir ? dir : "/tmp",
                     c->strategy->name, (unsigned long long)seed, (unsigned)case_hash & 0xffff,
                     (int)getpid());
    assert_true(n > 0 && (size_t)n < size);
}

/* Shrinks the program of a seed that failed and keeps it in `path`; `s->best` is the owner's. */
static void shrink_and_keep(struct property_shrink *s, const struct verdict *v, const char *path)
{
    property_generate(v->seed, s->best);
    s->failure = v->failure;
    property_shrink(s);
    if (property_save(path, s->c, s->best, v->seed, &s->failure))
        fail_msg("%s cannot be written", path);
}

static void print_program(const struct property_program *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tp_insn *in = &p->insns[i];
        print_error(
            "    %u: %-10s object %-3u size %-8llu align 2^%-2u thread %u stream %u +%u ns\n", i,
            tp_op_rows[in->op].name, in->slot, (unsigned long long)in->size, in->align_log2,
            in->thread, in->stream, in->gap_ns);
    }
}

static void report(const struct property_case *c, const struct verdict *v)
{
    char path[4096];
    struct property_shrink *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->c = c;
    s->best = calloc(1, sizeof *s->best);
    assert_non_null(s->best);
    print_error("%s:%s on %s, seed %llu, step %u: %s: %s\n", c->strategy->name, c->options,
                c->source->spec, (unsigned long long)v->seed, v->failure.step,
                tp_model_kind_names[v->failure.kind], v->failure.text);
    path_for(c, v->seed, path, sizeof path);
    shrink_and_keep(s, v, path);
    print_error("  shrunk to %u steps%s; at %u: %s: %s\n", s->best->count,
                s->best->probes ? ", wrong calls after each" : "", s->failure.step,
                tp_model_kind_names[s->failure.kind], s->failure.text);
    print_program(s->best);
    print_error("  TAPOOL_PROPERTY_SEED=%llu test_property\n"
                "  tapool replay %s -s '%s%s%s' --source %s\n",
                (unsigned long long)v->seed, path, c->strategy->name, *c->options ? ":" : "",
                c->options, c->source->spec);
    free(s->best);
    free(s);
}

/* ---- every strategy ---- */

static bool replay_case(const struct property_case *c, struct seeds seeds, uint64_t *steps)
{
    struct verdict v = replay_apart(c, seeds, false);
    *steps += v.steps;
    if (v.failure.kind)
        report(c, &v);
    return v.failure.kind == MODEL_FINE;
}

static const struct property_source *first_source(const struct tp_strategy *s)
{
    const struct property_source *on = property_sources;
    while (!property_replays(s, on))
        on++;
    return on;
}

/* Returns in how many ways it failed. */
static unsigned replay_strategy(const struct tp_strategy *s)
{
    struct seeds seeds = seeds_to_run();
    unsigned failed = 0, sets = 0;
    uint64_t steps = 0;
    for (uint64_t salt = 0; sets < OPTION_SETS && salt < OPTION_TRIES; salt++) {
        char options[1024];
        option_text(s, salt, options, sizeof options);
        struct property_case c = {s, options, first_source(s)};
        if ((salt && !*options) || !options_fit(&c))
            continue;
        sets++;
        for (size_t i = 0; i < PROPERTY_SOURCES; i++) {
            c.source = &property_sources[i];
            if (!property_replays(s, c.source))
                continue;
            print_message("  %s:%s on %s, seeds %llu to %llu\n", s->name, options, c.source->spec,
                          (unsigned long long)seeds.first,
                          (unsigned long long)(seeds.first + seeds.count - 1));
            failed += !replay_case(&c, seeds, &steps);
        }
    }
    print_message("  %s: %u sets of options, %llu steps\n", s->name, sets,
                  (unsigned long long)steps);
    assert_true(sets > 0 && steps > 0);
    return failed;
}

TEST(every_strategy)
{
    unsigned failed = 0;
    for (size_t i = 0; tp_strategies[i]; i++)
        if (tp_strategy_takes_source(tp_strategies[i]))
            failed += replay_strategy(tp_strategies[i]);
    assert_int_equal(failed, 0);
}

/* The negative control, and the only one here with every member until others have them. */
TEST(correct_planted_strategy)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < PROPERTY_SOURCES; i++) {
        struct property_case c = {&planted_strategy, "", &property_sources[i]};
        if (property_replays(c.strategy, c.source))
            assert_true(replay_case(&c, seeds_to_run(), &steps));
    }
    assert_true(steps > 0);
}

/* ---- the programs themselves ---- */

TEST(programs_are_functions_of_the_seed)
{
    struct property_program *a = calloc(2, sizeof *a), *b = a + 1;
    uint64_t ops[TP_OP_COUNT] = {0};
    assert_non_null(a);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        property_generate(seed, a);
        property_generate(seed, b);
        assert_memory_equal(a, b, sizeof *a);
        for (uint32_t i = 0; i < a->count; i++)
            ops[a->insns[i].op]++;
        property_normalise(b);
        assert_int_equal(a->count, b->count);
    }
    for (int op = 0; op <= TP_THREAD_END; op++)
        assert_true(ops[op] > 0);
    free(a);
}

/* ---- planted bugs ---- */

static struct tp_trace open_trace(const char *path)
{
    struct tp_trace trace = {0};
    struct tp_err err;
    const char *const none[] = {NULL};
    const struct tp_trace_cfg cfg = {
        .path = path, .strictness = TP_STRICT, .formats = tp_formats, .sample_dirs = none};
    if (tp_trace_open(&cfg, &trace, &err))
        fail_msg("%s", err.text);
    return trace;
}

/* Reads the trace as tapool does and replays what was read. */
static enum model_kind replay_kept(const struct property_case *c, const char *path, bool probes)
{
    struct tp_trace trace = open_trace(path);
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    struct model_failure failure;
    struct property_program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->probes = probes;
    const struct tp_program_facts *facts = tp_program_facts(trace.program);
    assert_true(facts->slots <= GEN_SLOTS && facts->threads <= GEN_THREADS);
    assert_int_equal(facts->streams, GEN_STREAMS);
    assert_int_equal(tp_cursor_open(trace.program, &cursor, NULL), TP_OK);
    while (tp_cursor_next(cursor, &w, NULL) == 1) {
        assert_true(w.count <= PROPERTY_STEPS - p->count);
        memcpy(&p->insns[p->count], w.insns, w.count * sizeof p->insns[0]);
        p->count += w.count;
    }
    tp_cursor_close(cursor);
    tp_trace_close(&trace);
    enum model_kind kind = property_replay_apart(c, p, &failure);
    free(p);
    return kind;
}

TEST(a_kept_program_names_its_pools)
{
    char path[4096];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tapool-property-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    struct property_case c = {&planted_strategy, "", &property_sources[0]};
    struct property_program p = {.count = 4,
                                 .insns = {{.op = TP_POOL, .size = 3},
                                           {.op = TP_SYNC},
                                           {.op = TP_ALLOC, .size = 8},
                                           {.op = TP_ALLOC, .slot = 1, .size = 8}}};
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(property_save(path, &c, &p, 1, &(struct model_failure){0}), 0);
    struct tp_trace trace = open_trace(path);
    assert_int_equal(unlink(path), 0);
    const struct tp_program_facts *f = tp_program_facts(trace.program);
    assert_int_equal(f->ops[TP_ALLOC], 2);
    assert_int_equal(f->ops[TP_POOL], 1);
    assert_int_equal(f->instructions, 4);
    tp_trace_close(&trace);
}

/* No step of it can be left out. */
static void assert_minimal(struct property_shrink *s)
{
    struct model_failure failure;
    for (uint32_t i = 0; i < s->best->count; i++) {
        property_without(s, i, 1);
        property_normalise(&s->candidate);
        assert_true(property_replay_apart(s->c, &s->candidate, &failure) != s->kind);
    }
}

struct planted_case {
    const char *options;
    enum model_kind kind; /* the way it fails */
    uint32_t steps;       /* at most */
    size_t source;
};

static const struct planted_case planted_cases[] = {
    {"bug=overlap", MODEL_OVERLAP, 4, 0},        {"bug=walk", MODEL_WALK, 2, 1},
    {"bug=double_free", MODEL_WRONG_CALL, 2, 0}, {"bug=misalign", MODEL_MISALIGNED, 1, 2},
    {"bug=clobber", MODEL_CONTENTS, 2, 0},       {"bug=size", MODEL_WRONG_CALL, 2, 1},
    {"bug=stream", MODEL_STREAM, 3, 1},          {"bug=use", MODEL_STREAM, 4, 3},
    {"bug=reference", MODEL_STATUS, 3, 1},       {"bug=keep", MODEL_LEFT, 1, 1},
    {"bug=interior", MODEL_WRONG_CALL, 1, 3},    {"bug=abort", MODEL_CRASH, 3, 1},
    {"bug=stream", MODEL_SOURCE, 4, 4},          {"bug=use", MODEL_SOURCE, 5, 4},
};

static void find_shrink_and_replay(const struct planted_case *pc, const char *dir)
{
    char path[4096];
    struct seeds seeds = {1, DEFAULT_RUNS};
    struct property_case c = {&planted_strategy, pc->options, &property_sources[pc->source]};
    struct property_shrink *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->c = &c;
    s->best = calloc(1, sizeof *s->best);
    assert_non_null(s->best);
    struct verdict v = replay_apart(&c, seeds, true);
    print_message("  %s: seed %llu, %s: %s\n", pc->options, (unsigned long long)v.seed,
                  tp_model_kind_names[v.failure.kind], v.failure.text);
    assert_int_equal(v.failure.kind, pc->kind);
    snprintf(path, sizeof path, "%s/trace.json", dir);
    shrink_and_keep(s, &v, path);
    print_message("    %u steps after %u replays: %s\n", s->best->count, s->replays,
                  s->failure.text);
    if (s->best->count > pc->steps)
        print_program(s->best);
    assert_true(s->best->count <= pc->steps);
    assert_int_equal(s->failure.kind, pc->kind);
    assert_int_equal(replay_kept(&c, path, s->best->probes), pc->kind);
    assert_minimal(s);
    c.options = ""; /* without the bug, what failed passes */
    assert_int_equal(replay_kept(&c, path, s->best->probes), MODEL_FINE);
    assert_int_equal(unlink(path), 0);
    free(s->best);
    free(s);
}

TEST(planted_bugs_are_found_and_made_small)
{
    char dir[2048];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/tapool-property-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < sizeof planted_cases / sizeof planted_cases[0]; i++)
        if (planted_cases[i].kind != MODEL_SOURCE || fake_driver_is_fake())
            find_shrink_and_replay(&planted_cases[i], dir);
    assert_int_equal(rmdir(dir), 0);
}
