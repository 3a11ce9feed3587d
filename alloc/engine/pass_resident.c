/* The resident pass: untimed. It replays the program once as a program would use its blocks,
 * writing each of them wholly, and asks the kernel how much private memory the process has written
 * (process_watch.h says when, alloc/base/process_memory.h what).
 *
 * What the engine itself needs is written before the base is read. So the difference is what the
 * strategy has written for itself, and what the program has written in its blocks. A strategy's
 * state and tables count as far as they are written: they are memory of the strategy, like that of
 * a real allocator. */
#include "alloc/base/process_memory.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/page_ledger.h"
#include "alloc/engine/process_watch.h"

struct resident_reader {
    struct tp_written written;
    struct tp_page_ledger ledger;
    bool pages; /* the ledger is open and has its base */
    const struct tp_page_asked *asked;
    struct tp_resident *out;
};

static uint64_t read_written(void *ctx)
{
    return tp_written_read(&((struct resident_reader *)ctx)->written);
}

static void begun(void *ctx)
{
    struct resident_reader *r = ctx;
    r->pages = r->pages && tp_page_ledger_begin(&r->ledger);
}

/* Nothing is listed where the parts are not known. A list that cannot be written whole is the last
 * one. */
static bool list_pages(struct resident_reader *r, const struct tp_replayer *p,
                       const struct tp_watch_moment *m, bool purged)
{
    struct tp_page_errors errors;
    struct tp_page_list_head head = {.event = m->event, .clock = m->clock};
    head.flags = (m->last ? TP_PAGE_LIST_LAST : 0U) | (purged ? TP_PAGE_LIST_PURGED : 0U);
    head.parts = tp_page_ledger_take(&r->ledger, p, &errors);
    if (head.parts.resident == TP_NONE)
        return false;
    r->pages = tp_page_ledger_list(&r->ledger, &head, r->asked->fd);
    return r->pages;
}

static bool purge(const struct tp_replayer *p)
{
    return p->strategy->trim && !p->strategy->trim(p->instances->state, 0);
}

static void moment(void *ctx, const struct tp_replayer *p, const struct tp_watch_moment *m)
{
    struct resident_reader *r = ctx;
    if (!r->pages)
        return;
    if (m->when == TP_WATCH_END)
        r->out->parts_end = tp_page_ledger_take(&r->ledger, p, &r->out->errors_end);
    else if (m->when == TP_WATCH_PEAK)
        r->out->parts_at_peak = tp_page_ledger_take(&r->ledger, p, &r->out->errors_at_peak);
    else if (list_pages(r, p, m, false) && m->last && r->asked->purge && purge(p))
        list_pages(r, p, m, true);
    r->out->pages_every = UINT64_C(1) << r->ledger.now.shift;
}

static struct tp_spread once(uint64_t value)
{
    return (struct tp_spread){value, value, value};
}

static void give(const struct tp_process_watch *w, struct tp_resident *out)
{
    out->passes = 1;
    out->at_peak = once(w->at_peak);
    out->peak = once(w->peak);
    out->end = once(w->end);
}

int tp_pass_resident(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct resident_reader r = {.asked = cfg->page_lists, .out = &out->resident};
    struct tp_process_watch w = {.pass = "resident",
                                 .read = read_written,
                                 .begun = begun,
                                 .moment = moment,
                                 .asked = r.asked ? r.asked->events : NULL,
                                 .asked_count = r.asked ? r.asked->count : 0,
                                 .ctx = &r,
                                 .course = &out->resident.course};
    struct tp_replay_cfg whole = *cfg;
    out->resident = (struct tp_resident){.at_peak = once(TP_NONE),
                                         .peak = once(TP_NONE),
                                         .end = once(TP_NONE),
                                         .parts_at_peak = tp_page_parts_unknown,
                                         .parts_end = tp_page_parts_unknown,
                                         .errors_at_peak = tp_page_errors_unknown,
                                         .errors_end = tp_page_errors_unknown,
                                         .pages_every = TP_NONE,
                                         .threads = tp_crew_threads(cfg),
                                         .huge_pages = cfg->huge_pages};
    if (!tp_watch_applies(cfg) || !tp_written_open(&r.written, "/proc/self"))
        return TP_OK;
    whole.touch = TP_TOUCH_ALL;
    whole.shared.touched = cfg->touched;
    r.pages = !(cfg->strategy->caps & TP_CAP_ALIASES) &&
              tp_page_ledger_open(&r.ledger, tp_program_facts(cfg->program)->slots);
    r.written.unshared = r.pages; /* the ledger itself is shared memory */
    out->resident.by_mincore = r.pages && r.ledger.now.pagemap < 0;
    whole.shared.cover = r.pages ? &r.ledger.cover : NULL;
    bool opened = r.pages;
    bool were_off = cfg->huge_pages || tp_huge_pages_off(true);
    int status = tp_watch_process(&w, &whole, err);
    if (!were_off)
        tp_huge_pages_off(false);
    tp_written_close(&r.written);
    if (opened)
        tp_page_ledger_close(&r.ledger);
    bool lacks = status == TP_EIO || status == TP_ENOMEM;
    if (lacks && out->resident.threads > 1) { /* the other passes need none of them */
        out->resident.threads = 0;
        status = TP_OK;
    } else if (!status && w.base != TP_NONE && w.end != TP_NONE) {
        give(&w, &out->resident);
        return TP_OK;
    }
    out->resident.course.count = 0;
    return status;
}
