/* See remedies.h. All rows are listed first, in the order in which they are tried: what costs least
 * to do comes first, so that little is missed where time ends. */
#include "cmd/pages/remedies.h"

#include "alloc/base/clock.h"
#include "alloc/base/str.h"
#include "cmd/jobs/libraries.h"
#include "cmd/jobs/spec.h"
#include "cmd/pages/apart.h"
#include "cmd/tune/malloc_settings.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/stop.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 64,    /* at most */
    SETTINGS = 8, /* of the base's library */
    SOON = 2,     /* of these before other libraries are tried */
    AGAIN = 3     /* rows that are replayed twice */
};

/* Settings that may save resident memory: single ones first, the one that most often does at the
 * top. One that the library here does not know is passed over. */
static const struct worth {
    const char *library; /* the beginning of its name */
    bool threads;        /* only where several threads allocate */
    const char *grid;
} worth[] = {
    {"glibc", true, "arena_max=1"},
    {"glibc", true, "arena_max=2"},
    {"glibc", false, "mmap_threshold=65536"}, /* it fixes the threshold for trims too */
    {"glibc", false, "mmap_threshold=4096"},
    {"glibc", false, "trim_threshold=65536"},
    {"glibc", false, "tcache_count=0"},
    {"glibc", false, "mxfast=0"},
    {"glibc", true, "arena_max=1,tcache_count=0"},
    {"jemalloc", false, "dirty_decay_ms=0"},
    {"jemalloc", true, "narenas=1"},
    {"jemalloc", false, "tcache=false"},
    {"jemalloc", false, "background_thread=true"},
    {"jemalloc", false, "lg_tcache_max=12"},
    {"jemalloc", false, "lg_extent_max_active_fit=3"},
    {"jemalloc", false, "dirty_decay_ms=0,muzzy_decay_ms=0"},
    {"jemalloc", true, "narenas=1,dirty_decay_ms=0"},
    {"mimalloc", false, "purge_delay=0"},
    {"mimalloc", false, "decommit_delay=0"},
    {"mimalloc", false, "page_reset=1"},
    {"mimalloc", true, "abandoned_page_purge=1"},
    {"mimalloc", true, "abandoned_page_decommit=1"},
    {"mimalloc", false, "arena_eager_commit=0"},
    {"mimalloc", false, "decommit_delay=0,segment_decommit_delay=0"},
    {"tcmalloc", false, "aggressive_decommit=1"},
    {"tcmalloc", false, "release_rate=10"},
    {"tcmalloc", false, "max_total_thread_cache_bytes=524288"},
    {"tcmalloc", false, "aggressive_decommit=1,max_total_thread_cache_bytes=524288"},
};

/* Calls that give memory back, of the libraries that have one. */
static const char *const purges[][2] = {
    {"glibc", "malloc_trim(0)"},
    {"jemalloc", "mallctl(\"arena.4096.purge\")"},
    {"mimalloc", "mi_collect(true)"},
    {"tcmalloc", "MallocExtension_ReleaseFreeMemory()"},
};

struct remedy_search {
    const struct tp_remedies_cfg *cfg;
    struct tp_remedies *out;
    const struct tp_remedy_site *sites[ROWS]; /* of the rows; NULL: none */
    uint64_t started_ns;
    int64_t given_back; /* by the purge */
    struct tp_progress_line line;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- one replay ---- */

/* Of the library before the first event. */
static uint64_t known_start(uint64_t start)
{
    return start == TP_NONE ? 0 : start;
}

static int replay_at(const struct tp_remedies_cfg *cfg, struct tp_program *program,
                     const char *strategy, bool purge, struct tp_page_replay *out,
                     struct tp_err *err)
{
    struct tp_page_job job = *cfg->job;
    const struct tp_page_asked asked = {.purge = purge, .count = 1, .events = {cfg->event}};
    job.program = program;
    return tp_page_replay(&job, strategy, &asked, out, err);
}

/* Counts what a replay has left. */
static void count_replay(struct tp_remedy *row, uint64_t resident)
{
    row->low = row->replays && row->low < resident ? row->low : resident;
    row->high = row->replays && row->high > resident ? row->high : resident;
    row->resident = row->low + (row->high - row->low) / 2;
    row->replays++;
}

static void take_replay(struct tp_remedy *row, const struct tp_page_replay *r)
{
    row->parts = r->lists.lists[0].head.parts;
    row->start = known_start(r->start);
    snprintf(row->library, sizeof row->library, "%s", r->library);
    count_replay(row, row->parts.resident + row->start + row->region.resident);
}

static int replay_whole(struct remedy_search *s, struct tp_remedy *row, struct tp_err *err)
{
    struct tp_page_replay r;
    int status = replay_at(s->cfg, s->cfg->job->program, row->strategy, false, &r, err);
    if (!status)
        take_replay(row, &r);
    tp_page_replay_release(&r);
    return status;
}

static int replay_parts(struct remedy_search *s, struct tp_remedy *row, const struct tp_apart *a,
                        struct tp_err *err)
{
    struct tp_page_replay region, rest = {.start = TP_NONE};
    int status = replay_at(s->cfg, a->region, "arena", false, &region, err);
    if (!status)
        status = replay_at(s->cfg, a->rest, row->strategy, false, &rest, err);
    if (!status) {
        row->region = region.lists.lists[0].head.parts;
        take_replay(row, &rest);
    }
    tp_page_replay_release(&region);
    tp_page_replay_release(&rest);
    return status;
}

static int replay_site(struct remedy_search *s, struct tp_remedy *row,
                       const struct tp_remedy_site *site, struct tp_err *err)
{
    struct tp_apart a;
    int status = tp_apart(s->cfg->job->program, site->places, site->count, s->cfg->event, &a, err);
    if (!status)
        status = replay_parts(s, row, &a, err);
    tp_apart_release(&a);
    return status;
}

/* ---- the rows ---- */

static void release_row(struct tp_remedy *row)
{
    free(row->what);
    free(row->strategy);
}

static int add_row(struct remedy_search *s, enum tp_remedy_kind kind, const char *what,
                   const char *strategy, struct tp_err *err)
{
    struct tp_remedies *out = s->out;
    struct tp_remedy row = {.kind = kind, .what = strdup(what), .strategy = strdup(strategy)};
    if (!row.what || !row.strategy || out->count == ROWS) {
        release_row(&row);
        return out->count == ROWS ? TP_OK : no_memory(err);
    }
    out->rows[out->count++] = row;
    return TP_OK;
}

static int add_site(struct remedy_search *s, const struct tp_remedy_site *site, struct tp_err *err)
{
    struct tp_str what = {0};
    size_t number = s->out->count;
    tp_str_add(&what, "own region: %s", site->name);
    int status = tp_str_status(&what, err);
    if (!status)
        status = add_row(s, TP_REMEDY_APART, what.s, s->cfg->strategy, err);
    if (number < s->out->count)
        s->sites[number] = site;
    tp_str_drop(&what);
    return status;
}

static int add_sites(struct remedy_search *s, size_t from, size_t to, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = from; !status && i < to && i < s->cfg->site_count; i++)
        status = add_site(s, &s->cfg->sites[i], err);
    return status;
}

/* Whether two texts name the same strategy with the same options. */
static bool is_same(const char *a, const char *b)
{
    struct tp_strategy_spec one = {0}, other = {0};
    struct tp_str first = {0}, second = {0};
    bool both = !tp_strategy_spec_named(&one, a, NULL) && !tp_strategy_spec_named(&other, b, NULL);
    if (both) {
        tp_strategy_spec_add(&first, &one, one.preload);
        tp_strategy_spec_add(&second, &other, other.preload);
    }
    bool same = both && !strcmp(tp_str_text(&first), tp_str_text(&second));
    tp_str_drop(&first);
    tp_str_drop(&second);
    tp_strategy_spec_release(&one);
    tp_strategy_spec_release(&other);
    return same;
}

/* The library of the base, "glibc" or a name of tp_libraries; NULL: another one, or none. */
static const char *own_library(const char *strategy)
{
    struct tp_strategy_spec spec = {0};
    const struct tp_library *here[TP_LIBRARIES_MAX];
    char path[TP_LIBRARY_PATH];
    const char *found = NULL;
    if (tp_strategy_spec_named(&spec, strategy, NULL))
        return NULL;
    if (!strcmp(spec.strategy->name, "system"))
        found = "glibc";
    size_t count = spec.preload ? tp_libraries_here(here) : 0;
    for (size_t i = 0; !found && i < count; i++)
        if (!tp_library_find(here[i]->name, path, NULL) && !strcmp(path, spec.preload))
            found = here[i]->name;
    tp_strategy_spec_release(&spec);
    return found;
}

/* What is pasted before a command that has the library already. */
static const char *without_preload(const char *paste)
{
    const char *blank = strncmp(paste, "LD_PRELOAD=", 11) ? NULL : strchr(paste, ' ');
    return blank ? blank + 1 : paste;
}

/* Lists settings of a library until the list has `most`. NULL: it has none. */
static int list_settings(const struct remedy_search *s, const char *own, size_t most,
                         struct tp_malloc_settings *list, struct tp_err *err)
{
    bool threads = tp_program_facts(s->cfg->job->program)->threads > 1;
    char grid[256];
    int status = TP_OK;
    for (size_t i = 0; !status && own && i < sizeof worth / sizeof *worth; i++) {
        if (list->count >= most)
            break;
        if (strncmp(own, worth[i].library, strlen(worth[i].library)) ||
            (worth[i].threads && !threads))
            continue;
        snprintf(grid, sizeof grid, "%s:%s", own, worth[i].grid);
        status = tp_malloc_settings_add(list, grid, err);
        status = status == TP_EUSAGE ? TP_OK : status;
    }
    return status;
}

static int add_settings(struct remedy_search *s, const struct tp_malloc_settings *list, size_t from,
                        size_t to, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = from; !status && i < to && i < list->count; i++)
        if (!is_same(list->items[i].strategy, s->cfg->strategy))
            status = add_row(s, TP_REMEDY_SETTING, without_preload(list->items[i].paste),
                             list->items[i].strategy, err);
    return status;
}

/* Defaults of all libraries but the base's, unless that one has settings. */
static int add_libraries(struct remedy_search *s, const char *own, struct tp_err *err)
{
    struct tp_malloc_settings list = {0};
    struct tp_str what = {0};
    int status = tp_malloc_settings_usual(&list, false, false, err);
    for (size_t i = 0; !status && i < list.count; i++) {
        const struct tp_malloc_setting *m = &list.items[i];
        bool is_own = own && !strcmp(m->library, own);
        if (is_same(m->strategy, s->cfg->strategy))
            continue;
        what = (struct tp_str){0};
        if (is_own)
            tp_str_add(&what, "%s, nothing set", own);
        else
            tp_str_add(&what, "%s", tp_malloc_label(m));
        status = tp_str_status(&what, err);
        if (!status)
            status = add_row(s, is_own ? TP_REMEDY_SETTING : TP_REMEDY_LIBRARY, what.s, m->strategy,
                             err);
        tp_str_drop(&what);
    }
    tp_malloc_settings_release(&list);
    return status;
}

/* The setting of each other library that most often saves memory. */
static int add_eager_libraries(struct remedy_search *s, const char *own, struct tp_err *err)
{
    const struct tp_library *here[TP_LIBRARIES_MAX];
    struct tp_malloc_settings list = {0};
    size_t count = tp_libraries_here(here);
    int status = TP_OK;
    for (size_t i = 0; !status && i < count; i++)
        if (!own || strcmp(here[i]->name, own))
            status = list_settings(s, here[i]->name, list.count + 1, &list, err);
    for (size_t i = 0; !status && i < list.count; i++) {
        const struct tp_malloc_setting *m = &list.items[i];
        struct tp_str what = {0};
        if (is_same(m->strategy, s->cfg->strategy))
            continue;
        tp_str_add(&what, "%s with %s", m->library, without_preload(m->paste));
        status = tp_str_status(&what, err);
        if (!status)
            status = add_row(s, TP_REMEDY_LIBRARY, what.s, m->strategy, err);
        tp_str_drop(&what);
    }
    tp_malloc_settings_release(&list);
    return status;
}

static int list_rows(struct remedy_search *s, struct tp_err *err)
{
    const char *own = own_library(s->cfg->strategy);
    struct tp_malloc_settings settings = {0};
    int status = list_settings(s, own, SETTINGS, &settings, err);
    if (!status)
        status = add_sites(s, 0, 1, err);
    if (!status)
        status = add_settings(s, &settings, 0, SOON, err);
    if (!status)
        status = add_libraries(s, own, err);
    if (!status)
        status = add_eager_libraries(s, own, err);
    if (!status)
        status = add_settings(s, &settings, SOON, SETTINGS, err);
    if (!status)
        status = add_sites(s, 1, SIZE_MAX, err);
    tp_malloc_settings_release(&settings);
    return status;
}

/* ---- the base, and its purge ---- */

static const char *purge_of(const char *library)
{
    for (size_t i = 0; i < sizeof purges / sizeof *purges; i++)
        if (strstr(library, purges[i][0]))
            return purges[i][1];
    return "free memory given back";
}

/* The base once more, and at its moment what a purge leaves. */
static int replay_base(struct remedy_search *s, struct tp_err *err)
{
    const struct tp_remedies_cfg *cfg = s->cfg;
    struct tp_remedy *base = &s->out->base;
    struct tp_page_replay r;
    base->strategy = strdup(cfg->strategy);
    count_replay(base, cfg->parts->resident + known_start(cfg->start));
    int status = replay_at(cfg, cfg->job->program, cfg->strategy, true, &r, err);
    base->what = strdup(r.label);
    if (!status && (!base->strategy || !base->what))
        status = no_memory(err);
    if (!status)
        take_replay(base, &r);
    if (!status && r.lists.count > 1) {
        status = add_row(s, TP_REMEDY_PURGE, purge_of(r.library), cfg->strategy, err);
        struct tp_remedy *purge = &s->out->rows[0];
        if (!status) {
            take_replay(purge, &r);
            purge->parts = r.lists.lists[1].head.parts;
            s->given_back = (int64_t)(base->parts.resident - purge->parts.resident);
        }
    }
    tp_page_replay_release(&r);
    return status;
}

/* ---- the search ---- */

static bool has_time(const struct remedy_search *s)
{
    return tp_wall_ns() - s->started_ns < s->cfg->budget_ns;
}

static int replay_row(struct remedy_search *s, size_t number, struct tp_err *err)
{
    struct tp_remedy *row = &s->out->rows[number];
    const struct tp_remedy_site *site = s->sites[number];
    int status = site ? replay_site(s, row, site, &row->err) : replay_whole(s, row, &row->err);
    int stopped = tp_stop_asked(err);
    if (stopped)
        return stopped;
    if (status == TP_ENOMEM || status == TP_ESTOP) {
        *err = row->err;
        return status;
    }
    if (row->replays) /* the first replay counts */
        row->err.status = TP_OK;
    return TP_OK;
}

/* Replays the rows from `first` on, until time is over. Those behind are left out. */
static int replay_rows(struct remedy_search *s, size_t first, struct tp_err *err)
{
    struct tp_remedies *out = s->out;
    int status = TP_OK;
    size_t tried = first;
    tp_progress_begin(&s->line, "remedies", out->count - first + AGAIN);
    for (; !status && tried < out->count && has_time(s); tried++) {
        tp_progress_at(&s->line, out->rows[tried].what, tried - first);
        status = replay_row(s, tried, err);
    }
    out->left_out = out->count - tried;
    while (out->count > tried)
        release_row(&out->rows[--out->count]);
    return status;
}

/* Of the rows that were replayed once the one that leaves least; NULL: none saves memory. */
static struct tp_remedy *best_row(const struct tp_remedies *out)
{
    struct tp_remedy *best = NULL;
    for (size_t i = 0; i < out->count; i++) {
        struct tp_remedy *row = &out->rows[i];
        if (row->replays == 1 && row->kind != TP_REMEDY_PURGE &&
            row->resident < (best ? best : &out->base)->resident)
            best = row;
    }
    return best;
}

static int replay_again(struct remedy_search *s, struct tp_err *err)
{
    struct tp_remedy *row;
    uint64_t done = s->line.total - AGAIN;
    int status = TP_OK;
    for (int i = 0; !status && i < AGAIN && has_time(s) && (row = best_row(s->out)) != NULL; i++) {
        tp_progress_at(&s->line, row->what, done + (uint64_t)i);
        status = replay_row(s, (size_t)(row - s->out->rows), err);
    }
    return status;
}

/* A purge may write more than it gives back. */
static uint64_t less_given_back(const struct remedy_search *s, uint64_t bytes)
{
    return (int64_t)bytes > s->given_back ? bytes - (uint64_t)s->given_back : 0;
}

/* A purge leaves what all replays of the base leave, less what it gave back in one of them. */
static void count_purge(struct remedy_search *s)
{
    const struct tp_remedy *base = &s->out->base;
    struct tp_remedy *purge = &s->out->rows[0];
    if (!s->out->count || purge->kind != TP_REMEDY_PURGE)
        return;
    purge->low = less_given_back(s, base->low);
    purge->high = less_given_back(s, base->high);
    purge->resident = less_given_back(s, base->resident);
}

static int by_resident(const void *a, const void *b)
{
    const struct tp_remedy *x = a, *y = b;
    if (!x->replays || !y->replays)
        return x->replays ? -1 : y->replays > 0;
    if (x->resident != y->resident)
        return x->resident < y->resident ? -1 : 1;
    return strcmp(x->what, y->what);
}

int tp_remedies_find(const struct tp_remedies_cfg *cfg, struct tp_remedies *out, struct tp_err *err)
{
    struct remedy_search s = {.cfg = cfg, .out = out, .started_ns = tp_wall_ns()};
    *out = (struct tp_remedies){.rows = calloc(ROWS, sizeof *out->rows)};
    int status = out->rows ? replay_base(&s, err) : no_memory(err);
    size_t first = out->count;
    if (!status)
        status = list_rows(&s, err);
    if (!status)
        status = replay_rows(&s, first, err);
    if (!status)
        status = replay_again(&s, err);
    tp_progress_clear(&s.line);
    if (status)
        return status;
    count_purge(&s);
    qsort(out->rows, out->count, sizeof *out->rows, by_resident);
    return TP_OK;
}

void tp_remedies_release(struct tp_remedies *r)
{
    for (size_t i = 0; i < r->count; i++)
        release_row(&r->rows[i]);
    release_row(&r->base);
    free(r->rows);
    *r = (struct tp_remedies){.count = 0};
}
