/* Which strategy is picked, and in which words: a table of records, made by hand. Each is handed to
 * the rule as replay fills it and as compare fills it, and both must say the same. */
#include "cmd/compare/compare.h"
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPLAYERS = 4, ROUNDS = 12, OPERATIONS = 4000 };

/* One strategy, by the name of one that there is. 0: it does not say, or it did not happen. */
struct replayer {
    const char *name;
    double fits, peak, calls, ns, resident, wall;
    unsigned failed;
    bool unsafe, small, aged;
};

#define GIB 1073741824.0

enum kind { DEVICE, HOST };

struct record {
    const char *what;
    enum kind kind; /* virtual device: calls count; host: times do */
    struct replayer replayers[REPLAYERS];
    const char *said;
    bool frees_nothing; /* one by one */
    double capacity;
};

enum flag { NONE, FAILED, UNSAFE, SMALL, AGED };

#define REPLAYER(name_, fits_, peak_, calls_, ns_, flag)                                           \
    {                                                                                              \
        .name = (name_), .fits = (fits_), .peak = (peak_), .calls = (calls_), .ns = (ns_),         \
        .failed = (flag) == FAILED, .unsafe = (flag) == UNSAFE, .small = (flag) == SMALL,          \
        .aged = (flag) == AGED                                                                     \
    }
/* of a real process: peak resident beside peak reserved */
#define R(name_, resident_, peak_, ns_)                                                            \
    {                                                                                              \
        .name = (name_), .resident = (resident_), .peak = (peak_), .calls = 9, .ns = (ns_)         \
    }
/* by several threads: the time that passed beside that of a call */
#define T(name_, peak_, ns_, wall_)                                                                \
    {                                                                                              \
        .name = (name_), .peak = (peak_), .calls = 9, .ns = (ns_), .wall = (wall_)                 \
    }
#define P(name_, fits_, peak_, calls_, ns_) REPLAYER(name_, fits_, peak_, calls_, ns_, NONE)

/* What a row has beyond these stands before it. */
#define ROW_WITH(more, what_, kind_, said_, ...)                                                   \
    {                                                                                              \
        .what = (what_), .kind = (kind_), .said = (said_), .replayers = {__VA_ARGS__}, more        \
    }
#define ROW(...)                    ROW_WITH(.capacity = 0, __VA_ARGS__)
#define LIMITED_ROW(capacity_, ...) ROW_WITH(.capacity = (capacity_), __VA_ARGS__)
#define FREELESS_ROW(...)           ROW_WITH(.frees_nothing = true, __VA_ARGS__)

static const struct record records[] = {
    /* beside a real allocator memory is what is resident */
    ROW("address space is no memory", HOST,
        "Pick arena: total resident 900 B, the smallest; 20 ns/op, the fastest",
        R("arena", 900, 4000, 20), R("lru", 2000, 1500, 20), R("system", 1000, 0, 20)),
    ROW("the leanest of all is a real one", HOST,
        "Smallest: system (total resident 1,000 B, -33.3% vs arena). Fastest: arena (10 ns/op, "
        "-50.0% vs system)",
        R("arena", 1500, 1000, 10), R("system", 1000, 0, 20)),
    ROW("among strategies alone it does not count", HOST,
        "Pick lru: peak reserved 1.465 KiB, the smallest; 20 ns/op, the fastest",
        R("arena", 900, 4000, 20), R("lru", 2000, 1500, 20)),
    ROW("where it is not known of one, it counts for none", HOST,
        "Pick arena: peak reserved 1,000 B, the smallest; 20 ns/op, the fastest",
        R("arena", 900, 1000, 20), R("lru", 0, 1500, 20), R("system", 1200, 2000, 20)),
    /* where threads replayed, time is what passed */
    ROW("of threads the one that is done first", HOST,
        "Pick arena: peak reserved 1,000 B, the smallest; 10 ns/op of wall time, the fastest",
        T("arena", 1000, 20, 10), T("lru", 1000, 10, 20)),
    ROW("a time of calls that differs is none of the user's", HOST, "Pick: no relevant difference",
        T("arena", 1000, 20, 10), T("lru", 1000, 10, 10)),
    ROW("nor is it in the words", HOST,
        "Smallest: arena (peak reserved 1,000 B, -50.0% vs lru). Fastest: lru (10 ns/op of wall "
        "time, -50.0% vs arena)",
        T("arena", 1000, 20, 20), T("lru", 2000, 20, 10)),
    /* who may be picked */
    ROW("equals", HOST, "Pick: no relevant difference", P("arena", 0, 1000, 10, 20),
        P("lru", 0, 1000, 10, 20)),
    ROW("a region is no answer where objects are freed", DEVICE,
        "Pick lru: min capacity 1.855 KiB vs 3.906 KiB of stream-pool (-52.5%)",
        P("bump", 1000, 1000, 1, 5), P("lru", 1900, 1900, 100, 20),
        P("stream-pool", 4000, 4000, 100, 20)),
    ROW("nor is it the runner-up", HOST,
        "Pick lru: the only strategy here that reuses single freed blocks",
        P("bump", 0, 1000, 1, 5), P("lru", 0, 1900, 9, 20)),
    FREELESS_ROW("but where nothing is freed singly", HOST,
                 "Pick bump: peak reserved 1,000 B, the smallest; 5 ns/op, the fastest",
                 P("bump", 0, 1000, 1, 5), P("lru", 0, 1900, 9, 20)),
    ROW("or where nobody else serves", DEVICE,
        "Pick bump: the only strategy here that serves every allocation, references excluded",
        P("bump", 0, 1000, 1, 5), REPLAYER("lru", 0, 1900, 9, 20, FAILED),
        P("direct", 0, 900, 9, 20)),
    ROW("a reference never", DEVICE, "Pick lru: the others here are references",
        P("direct", 500, 500, 1, 5), P("lru", 900, 900, 9, 20)),
    ROW("nobody", HOST, "Pick: none, every strategy here failed or is a reference",
        P("direct", 0, 500, 1, 5), REPLAYER("lru", 0, 900, 9, 20, FAILED)),
    ROW("for whatever reason", HOST,
        "Pick: none, every strategy here is a reference or does not report its memory",
        P("direct", 0, 500, 1, 5), P("system", 0, 0, 9, 20)),
    ROW("memory that is not known is not a reference's", HOST,
        "Pick arena: the only strategy here that reports memory", P("arena", 0, 1000, 0, 20),
        P("system", 0, 0, 0, 5)),
    ROW("though a reference's may be", HOST,
        "Pick arena: the only strategy here that reports memory, references excluded",
        P("arena", 0, 1000, 0, 20), P("system", 0, 0, 0, 5), P("direct", 0, 4000, 9, 90)),
    ROW("unsafe ones are out", DEVICE,
        "Pick lru: the only strategy here that respects streams, references excluded",
        REPLAYER("arena", 500, 500, 1, 5, UNSAFE), P("lru", 900, 900, 9, 20),
        P("direct", 1, 1, 1, 1)),
    ROW("unless all are", DEVICE,
        "Pick arena: the only strategy here that reuses single freed blocks",
        REPLAYER("arena", 500, 500, 1, 5, UNSAFE), REPLAYER("bump", 900, 900, 9, 20, UNSAFE)),
    ROW("an aged heap is not compared with packed ones", DEVICE,
        "Pick lru: the only strategy here that begins compacted",
        REPLAYER("arena", 500, 500, 0, 5, AGED), P("lru", 900, 900, 9, 20)),
    ROW("but with others of its kind", DEVICE,
        "Pick arena: min capacity 500 B vs 900 B of lru (-44.4%)",
        REPLAYER("arena", 500, 500, 1, 5, AGED), REPLAYER("lru", 900, 900, 1, 5, AGED)),
    ROW("several are left of more", DEVICE,
        "Pick lru or stream-pool: no relevant difference between them; the only strategies here "
        "that respect streams and reuse single freed blocks",
        P("lru", 900, 900, 9, 9), REPLAYER("arena", 500, 500, 1, 5, UNSAFE),
        P("stream-pool", 900, 900, 9, 9), P("bump", 900, 900, 9, 9)),
    ROW("two reasons", DEVICE,
        "Pick lru: the only strategy here that serves every allocation and respects streams",
        REPLAYER("arena", 500, 500, 1, 5, UNSAFE), P("lru", 900, 900, 9, 20),
        REPLAYER("stream-pool", 0, 9, 9, 9, FAILED)),
    LIMITED_ROW(2048, "with a limit", DEVICE,
                "Pick lru: the only strategy here that fits in 2 KiB, references excluded",
                REPLAYER("arena", 0, 900, 9, 9, FAILED), P("lru", 0, 900, 9, 20),
                P("direct", 0, 900, 9, 20)),
    LIMITED_ROW(2048, "the only one of all", DEVICE,
                "Pick lru: the only one of the 2 that fits in 2 KiB",
                REPLAYER("arena", 0, 900, 9, 9, FAILED), P("lru", 0, 900, 9, 20)),
    ROW("too small to tell", HOST, "Pick: none, this trace is too small to tell (small-trace)",
        REPLAYER("arena", 0, 1000, 9, 20, SMALL), P("lru", 0, 5000, 9, 20)),
    ROW("the warning of one that is out anyway counts for nothing", HOST,
        "Pick arena: peak reserved 1,000 B, the smallest; 5 ns/op, the fastest",
        REPLAYER("bump", 0, 1000, 9, 20, SMALL), P("arena", 0, 1000, 9, 5),
        P("lru", 0, 1000, 9, 9)),

    /* memory */
    ROW("within 5% is the same", HOST, "Pick: no relevant difference", P("arena", 0, 1049, 10, 20),
        P("lru", 0, 1000, 10, 20)),
    ROW("beyond 5% it decides", HOST,
        "Pick lru: peak reserved 1,000 B, the smallest; 20 ns/op, the fastest",
        P("arena", 0, 1060, 10, 20), P("lru", 0, 1000, 10, 20)),
    ROW("what it fits in counts for more than the peak", DEVICE,
        "Pick lru: min capacity 500 B vs 900 B of arena (-44.4%)", P("arena", 900, 1000, 9, 9),
        P("lru", 500, 3000, 9, 9)),
    ROW("where it is known of all", DEVICE,
        "Pick arena: peak reserved 1,000 B vs 2.93 KiB of lru (-66.7%)", P("arena", 0, 1000, 9, 9),
        P("lru", 500, 3000, 9, 9)),
    ROW("the quicker one is named", HOST,
        "Smallest: lru (peak reserved 1,000 B, -50.0% vs arena). Fastest: arena (5 ns/op, -75.0% "
        "vs lru)",
        P("arena", 0, 2000, 9, 5), P("lru", 0, 1000, 9, 20)),

    /* calls */
    ROW("calls decide where they cost nothing", DEVICE,
        "Pick arena: 6 driver calls vs 264 of lru, but min capacity 2.7% higher. Smallest: lru or "
        "stream-pool, min capacity 3.501 KiB vs 3.596 KiB (-2.6%)",
        P("arena", 3682, 3682, 6, 14), P("lru", 3585, 3726, 264, 16),
        P("stream-pool", 3585, 3726, 264, 21)),
    ROW("slower or not", DEVICE,
        "Pick arena: 9 driver calls vs 100 of lru (their time is not in ns/op), same min capacity",
        P("arena", 1000, 1000, 9, 500), P("lru", 1000, 1000, 100, 5)),
    ROW("one call in 1,823 is none: 9 GiB are more", DEVICE,
        "Pick lru: peak reserved 31 GiB vs 40 GiB of stream-pool (-22.5%)",
        P("lru", 31 * GIB, 31 * GIB, 1823, 9), P("stream-pool", 31 * GIB, 40 * GIB, 1822, 9)),
    ROW("nor are 3 calls of 4,000 operations", DEVICE, "Pick: no relevant difference",
        P("arena", 1000, 1000, 6, 9), P("lru", 1000, 1000, 9, 9)),
    ROW("calls go with the memory that they were counted with", DEVICE,
        "Pick arena: 6 driver calls (peak reserved 1.855 KiB) vs 99 of lru, same min capacity",
        P("arena", 1000, 1900, 6, 9), P("lru", 1000, 1000, 99, 9)),
    ROW("who held far more is out", DEVICE,
        "Pick lru: peak reserved 1,000 B vs 4 KiB of arena (-75.6%). Smallest: arena, min capacity "
        "990 B vs 1,000 B (-1.0%)",
        P("arena", 990, 4096, 6, 9), P("lru", 1000, 1000, 264, 9)),
    ROW("the runner-up for memory is the one that needs least", DEVICE,
        "Pick stream-pool: 5 driver calls vs 90 of arena, but min capacity 1.1% higher. Smallest: "
        "lru, "
        "min capacity 3.083 KiB vs 3.203 KiB (-3.7%)",
        P("stream-pool", 3280, 3280, 5, 9), P("arena", 3245, 3245, 90, 9),
        P("lru", 3157, 3157, 264, 9)),
    ROW("several are tied", DEVICE,
        "Pick lru or stream-pool: lru has min capacity 2.246 KiB vs 4.297 KiB of arena (-47.7%)",
        P("arena", 4400, 4400, 9, 9), P("lru", 2300, 2300, 9, 9),
        P("stream-pool", 2300, 2300, 9, 9)),

    /* times */
    ROW("times decide where they are real", HOST,
        "Pick arena: peak reserved 1,000 B, the smallest; 15 ns/op, the fastest",
        P("arena", 0, 1000, 900, 15), P("lru", 0, 1020, 10, 20)),
    ROW("by over 5%", HOST, "Pick: no relevant difference", P("arena", 0, 1000, 10, 19.5),
        P("lru", 0, 1000, 10, 20)),
    ROW("a time that speaks against the pick is no reason for it", HOST,
        "Pick stream-pool: peak reserved 1,000 B, the smallest; 4.867 ns/op, the fastest",
        P("stream-pool", 0, 1000, 10, 4.867), P("bump", 0, 1040, 10, 3.652),
        P("arena", 0, 1500, 1, 9)),
};

/* ---- as replay has it ---- */

struct rig {
    const struct record *r;
    size_t count;
    struct tp_strategy_spec specs[REPLAYERS];
    struct tp_source_spec source;
    struct tp_program_facts facts;
    struct tp_result results[REPLAYERS];
    struct tp_record runs[REPLAYERS];
    struct tp_record_option warnings[REPLAYERS][2];
    double values[REPLAYERS][TP_METRIC_MAX];
    struct tp_rounds rounds;
    unsigned cold[REPLAYERS];
    struct tp_compare c;
};

static double around(double ns, int value)
{
    return ns * (1 + 1e-4 * (value % 5 - 2));
}

static uint64_t bytes_or_none(double value)
{
    return value > 0 ? (uint64_t)value : TP_NONE;
}

static void fill_result(struct rig *g, size_t i)
{
    const struct replayer *p = &g->r->replayers[i];
    struct tp_run *run = calloc(1, tp_run_size(1));
    struct tp_device_run *d = &run->devices[0];
    assert_non_null(run);
    run->device_count = 1;
    run->flags = (p->fits > 0 ? TP_RUN_FITS : 0u) | (p->aged ? TP_RUN_AGED : 0u);
    d->capacity = g->r->capacity > 0 ? (uint64_t)g->r->capacity : TP_NONE;
    d->min_capacity = bytes_or_none(p->fits);
    d->peak_reserved = bytes_or_none(p->peak);
    d->gets = p->peak > 0 ? (uint64_t)p->calls : TP_NONE;
    run->passes |= p->resident > 0 ? TP_PASS_RESIDENT : 0;
    run->resident.peak.median = bytes_or_none(p->resident);
    d->failed_allocations = p->failed;
    d->allocations = 100;
    d->reused = p->unsafe ? 50 : 0;
    d->trace_peak_requested = (uint64_t)p->peak;
    if (p->small) {
        d->start_bytes = 1 << 16;
        d->trace_peak_requested /= 4;
        d->at_peak.free_bytes = d->trace_peak_requested;
    }
    run->throughput.crew.threads = p->wall > 0 ? 2 : 0;
    for (int v = 0; v < ROUNDS; v++) {
        tp_series_add(&run->throughput.runs, around(p->ns, v));
        if (p->wall > 0)
            tp_series_add(&run->throughput.crew.wall, around(p->wall, v));
    }
    g->results[i] =
        (struct tp_result){.facts = &g->facts,
                           .spec = &g->specs[i],
                           .source = tp_source_spec_of(g->specs[i].strategy, &g->source),
                           .run = run};
}

/* ---- as compare has it ---- */

static const struct tp_metric *metric(const char *name)
{
    return tp_metric_find(name, NULL);
}

static void set(struct rig *g, size_t i, const char *name, double value)
{
    g->values[i][metric(name) - tp_metrics] = value;
}

static void fill_row(struct rig *g, struct tp_compare_table *t, size_t i)
{
    const struct replayer *p = &g->r->replayers[i];
    const char *ids[] = {p->unsafe ? "unsafe-reuse" : NULL, p->small ? "small-trace" : NULL};
    struct tp_record *run = &g->runs[i];
    for (size_t m = 0; m < TP_METRIC_MAX; m++)
        g->values[i][m] = NAN;
    *run = (struct tp_record){
        .trace_name = (char[]){"t"},
        .kind = (char *)(uintptr_t)(g->r->kind == DEVICE ? "device" : "host"),
        .scope = (char *)(uintptr_t)(g->r->kind == DEVICE ? "strategy" : "strategy_and_source"),
        .source = g->source.name,
        .strategy = (char *)(uintptr_t)g->specs[i].strategy->name,
        .library = tp_result_is_foreign(&g->results[i]) ? (char[]){"a libc"} : NULL,
        .aged = p->aged,
        .devices = 1,
        .operations = OPERATIONS,
        .frees = g->facts.ops[TP_FREE],
        .warnings = {.items = g->warnings[i]},
        .values = g->values[i]};
    for (size_t w = 0; w < 2; w++)
        if (ids[w])
            g->warnings[i][run->warnings.count++] =
                (struct tp_record_option){(char *)(uintptr_t)ids[w], (char *)(uintptr_t)ids[w]};
    set(g, i, "hit_rate", 0.9);
    set(g, i, "failed_allocations", p->failed);
    set(g, i, "min_capacity", p->fits > 0 ? p->fits : NAN);
    set(g, i, "peak_reserved", p->peak > 0 ? p->peak : NAN);
    set(g, i, "total_resident", p->resident > 0 ? p->resident : NAN);
    set(g, i, "driver_calls.total", p->peak > 0 ? p->calls : NAN);
    set(g, i, "wall_ns_per_op", p->wall > 0 ? p->wall : NAN);
    double *times = (double *)(uintptr_t)tp_rounds_values(&g->rounds, i, metric("ns_per_op"));
    double *walls = (double *)(uintptr_t)tp_rounds_values(&g->rounds, i, metric("wall_ns_per_op"));
    for (int v = 0; v < ROUNDS; v++) {
        times[v] = around(p->ns, v);
        walls[v] = p->wall > 0 ? around(p->wall, v) : NAN;
    }
    struct tp_compare_row *row = tp_compare_add_row(t, p->name);
    assert_non_null(row);
    row->run = run;
    row->rounds = &g->rounds;
    row->side = i;
    row->base = REPLAYERS; /* replay has none */
}

static void fill_comparison(struct rig *g)
{
    g->rounds =
        (struct tp_rounds){.sides = REPLAYERS,
                           .rounds = ROUNDS,
                           .step_ns = 1,
                           .cold = g->cold,
                           .values = calloc(REPLAYERS * tp_metric_count * ROUNDS, sizeof(double))};
    assert_non_null(g->rounds.values);
    assert_int_equal(tp_compare_init(&g->c, NULL), TP_OK);
    g->c.live = true;
    g->c.rounds = ROUNDS;
    struct tp_compare_table *t = tp_compare_add_table(&g->c);
    t->name = "t";
    for (size_t i = 0; i < g->count; i++)
        fill_row(g, t, i);
    t->run = &g->runs[0];
    t->head = g->results[0];
    for (size_t i = 0; i < g->count; i++) /* as decide does, without its base */
        for (size_t m = 0; m < tp_metric_count; m++) {
            struct tp_compare_row *row = &t->rows[i];
            row->cells[m].value = g->values[i][m];
            if (&tp_metrics[m] == metric("ns_per_op"))
                row->cells[m].value = g->r->replayers[i].ns;
        }
}

/* ---- both ---- */

static struct rig *make(const struct record *r)
{
    struct rig *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->r = r;
    while (g->count < REPLAYERS && r->replayers[g->count].name)
        g->count++;
    g->facts = (struct tp_program_facts){.kind = r->kind == DEVICE ? TP_KIND_DEVICE : TP_KIND_HOST,
                                         .devices = 1,
                                         .streams = 1,
                                         .operations = OPERATIONS};
    for (size_t i = 0; i < g->count; i++)
        if (r->replayers[i].unsafe)
            g->facts.streams = 2;
    g->facts.ops[TP_FREE] = r->frees_nothing ? 0 : 100;
    assert_int_equal(tp_source_spec_parse(&g->source, r->kind == DEVICE ? "virtual" : "host", NULL),
                     TP_OK);
    for (size_t i = 0; i < g->count; i++) {
        assert_int_equal(tp_strategy_spec_parse(&g->specs[i], r->replayers[i].name, NULL), TP_OK);
        fill_result(g, i);
    }
    fill_comparison(g);
    return g;
}

static void drop(struct rig *g)
{
    for (size_t i = 0; i < g->count; i++) {
        free(g->results[i].run);
        tp_strategy_spec_release(&g->specs[i]);
    }
    tp_source_spec_release(&g->source);
    tp_compare_release(&g->c);
    free(g->rounds.values);
    free(g);
}

static bool same(const struct record *r, const char *who, const char *said)
{
    if (!strcmp(said, r->said))
        return true;
    print_error("%s, %s says:\n  %s\nand should say:\n  %s\n", r->what, who, said, r->said);
    return false;
}

TEST(replay_and_compare_say_the_same)
{
    bool all = true;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        struct rig *g = make(&records[i]);
        struct tp_pick pick;
        char said[TP_COMPARE_PICK];
        tp_report_pick(g->results, g->count, false, &pick);
        tp_pick_text(&pick, said, sizeof said);
        all &= same(&records[i], "replay", said);
        tp_compare_pick(&g->c, &g->c.tables[0], &pick);
        tp_pick_text(&pick, said, sizeof said);
        all &= same(&records[i], "compare", said);
        drop(g);
    }
    assert_true(all);
}

/* ---- the rule alone ---- */

static void said_of(const struct tp_pick_question *q, const char *expected)
{
    struct tp_pick pick;
    char said[TP_COMPARE_PICK];
    tp_pick(q, &pick);
    tp_pick_text(&pick, said, sizeof said);
    assert_string_equal(said, expected);
}

/* What a loop costs is what its second turn costs. */
TEST(in_a_loop_the_warm_calls_counts)
{
    struct tp_choice list[] = {
        {.label = "arena", .min_capacity = 1000, .peak = 1000, .calls_first = 6, .calls_later = 90},
        {.label = "lru", .min_capacity = 1000, .peak = 1000, .calls_first = 264, .calls_later = 0}};
    struct tp_pick_question q = {.list = list,
                                 .count = 2,
                                 .base = 2,
                                 .frees = true,
                                 .strategy_time = true,
                                 .operations = OPERATIONS,
                                 .capacity = NAN,
                                 .callee = "driver"};
    said_of(&q, "Pick arena: 6 driver calls vs 264 of lru, same min capacity");
    q.loop = true;
    said_of(&q, "Pick lru: no warm driver calls vs 90 of arena, same min capacity");
    list[0].calls_later = 0; /* all that set them apart was the first pass */
    said_of(&q, "Pick: no relevant difference");
    list[0].calls_later = NAN;
    said_of(&q, "Pick: no relevant difference");
}

static struct tp_pick_question of_host(const struct tp_choice *list, size_t count, size_t base)
{
    return (struct tp_pick_question){.list = list,
                                     .count = count,
                                     .base = base,
                                     .frees = true,
                                     .operations = OPERATIONS,
                                     .capacity = NAN,
                                     .callee = "system"};
}

/* What people have now is what the pick is set beside. */
TEST(the_base_is_the_rival)
{
    const struct tp_choice list[] = {
        {.label = "system", .min_capacity = NAN, .peak = 1482, .ns = 21.4, .low = 21, .high = 22},
        {.label = "jemalloc", .min_capacity = NAN, .peak = 1314, .ns = 15.1, .low = 15, .high = 16},
        {.label = "arena", .min_capacity = NAN, .peak = 1279, .ns = 18.2, .low = 18, .high = 19}};
    struct tp_pick_question q = of_host(list, 3, 0);
    said_of(&q, "Pick jemalloc: peak reserved 1.283 KiB vs 1.447 KiB of system (-11.3%), ns/op "
                "-29.4%. Smallest: arena, peak reserved 1.249 KiB vs 1.283 KiB (-2.7%)");
    q.base = 3;
    said_of(&q,
            "Pick jemalloc: ns/op -17.0% vs arena, but peak reserved 2.7% higher. Smallest: arena, "
            "peak reserved 1.249 KiB vs 1.283 KiB (-2.7%)");
}

/* A median says nothing where the intervals meet: of two such, none is quicker or slower. */
TEST(intervals_that_meet_tell_nobody_apart)
{
    struct tp_choice list[] = {
        {.label = "system", .min_capacity = NAN, .peak = 2000, .ns = 50, .low = 30, .high = 95},
        {.label = "arena", .min_capacity = NAN, .peak = 1000, .ns = 100, .low = 90, .high = 110}};
    struct tp_pick_question q = of_host(list, 2, 2);
    said_of(&q, "Pick arena: peak reserved 1,000 B vs 1.953 KiB of system (-50.0%)");
    list[0].high = 89; /* apart */
    said_of(&q, "Pick arena: peak reserved 1,000 B vs 1.953 KiB of system (-50.0%), but ns/op "
                "+100.0%. Fastest: system, ns/op -50.0%, but peak reserved 100.0% higher");
}

/* A cold time is no reason to call somebody fast, nor slow. */
TEST(cold_times_are_not_held_against_steady_ones)
{
    struct tp_choice list[] = {{.label = "system", .peak = 1000, .ns = 6000, .cold = true},
                               {.label = "jemalloc", .peak = 2000, .ns = 10},
                               {.label = "arena", .peak = 3000, .ns = 12}};
    for (size_t i = 0; i < 3; i++) {
        list[i].min_capacity = NAN;
        list[i].low = list[i].high = list[i].ns;
    }
    struct tp_pick_question q = of_host(list, 3, 3);
    q.host = true;
    q.share = NAN;
    said_of(&q, "Smallest: system (peak reserved 1,000 B). Fastest: not known, some times are "
                "cold; raise --min-time");
    list[1].cold = list[2].cold = true; /* all of them: they compare */
    said_of(&q,
            "Smallest: system (peak reserved 1,000 B, -50.0% vs jemalloc). Fastest: jemalloc (10 "
            "ns/op, -99.8% vs system)");
}

/* Who was faster than the base is out by a later step: the pick is not, and does not say so. */
TEST(a_time_is_the_reason_of_who_is_faster_alone)
{
    const struct tp_choice list[] = {
        {.label = "system", .min_capacity = 1000, .peak = 1500, .ns = 100, .low = 99, .high = 101},
        {.label = "jemalloc", .min_capacity = 1000, .peak = 1500, .ns = 90, .low = 89, .high = 91},
        {.label = "arena", .min_capacity = 1000, .peak = 1000, .ns = 97, .low = 88, .high = 108}};
    const struct tp_pick_question q = of_host(list, 3, 0);
    said_of(&q, "Pick arena: peak reserved 1,000 B vs 1.465 KiB of jemalloc (-33.3%)");
}

/* No more names than there is room for, however long. */
TEST(texts_end_where_they_must)
{
    static char name[400];
    struct tp_choice list[TP_PICK_MAX];
    struct tp_pick_question q = {
        .list = list, .base = TP_PICK_MAX + 9, .capacity = NAN, .callee = "system"};
    memset(name, 'x', sizeof name - 1);
    for (size_t i = 0; i < TP_PICK_MAX; i++)
        list[i] = (struct tp_choice){.label = name,
                                     .min_capacity = NAN,
                                     .peak = i < 3 ? 1000 : 3000,
                                     .ns = 1,
                                     .low = 1,
                                     .high = 1};
    struct tp_pick pick;
    for (q.count = 1; q.count <= TP_PICK_MAX; q.count++)
        tp_pick(&q, &pick);
    q.count = TP_PICK_MAX + 9; /* beyond the list: not looked at */
    tp_pick(&q, &pick);
    assert_int_equal(pick.count, 3);
    assert_int_equal(strlen(pick.head), TP_PICK_WORDS - 1);
}
