/* See planned_match.h. A request takes at most some hundred steps. */
#include "alloc/strategies/planned/planned_match.h"

#include "alloc/base/steps.h"

#define NO_ROW UINT32_MAX

void tp_planned_begin(struct planned_match *m, const struct planned_plan *plan)
{
    *m = (struct planned_match){.plan = plan, .on = plan->count && !plan->mark[0]};
}

void tp_planned_step(struct planned_match *m)
{
    m->next = m->known = 0;
    m->row = TP_PLANNED_TRUSTED;
    m->on = m->known_place = true;
    m->deviated = false;
}

static bool fits(const struct planned_row *row, const struct tp_req *rq)
{
    return row->size == rq->size && row->align == rq->align && row->stream == rq->stream;
}

/* The index that lies so far from another; NO_ROW: there is none. */
static uint32_t index_from(const struct planned_match *m, uint32_t from, int64_t distance)
{
    int64_t count = m->plan->count, at = (int64_t)from + distance;
    if (!m->plan->mark[0])
        at = ((at % count) + count) % count;
    return at >= 0 && at < count ? (uint32_t)at : NO_ROW;
}

static bool fits_at(const struct planned_match *m, uint32_t index, const struct tp_req *rq)
{
    return index != NO_ROW && fits(&m->plan->rows[index], rq);
}

/* Whether the request fits there, and so many before it fit in front. */
static bool fits_with(const struct planned_match *m, uint32_t index, const struct tp_req *rq,
                      uint32_t before)
{
    bool good = before <= m->known && fits_at(m, index, rq);
    for (uint32_t i = 0; good && i < before; i++)
        good = fits_at(m, index_from(m, index, -1 - (int64_t)i), &m->before[i]);
    return good;
}

/* Whether the place was right before requests began to deviate. */
static bool is_trusted(const struct planned_match *m)
{
    return m->deviated ? m->trusted : m->row >= TP_PLANNED_TRUSTED;
}

static uint32_t find_near(const struct planned_match *m, const struct tp_req *rq)
{
    const uint32_t before = is_trusted(m) ? 1 : TP_PLANNED_BEFORE;
    for (int64_t d = 0; d <= TP_PLANNED_REACH; d++) {
        uint32_t ahead = index_from(m, m->next, d), back = index_from(m, m->next, -d);
        TP_STEP();
        if (fits_with(m, ahead, rq, before))
            return ahead;
        if (fits_with(m, back, rq, before))
            return back;
    }
    return NO_ROW;
}

/* The begin of a step, told by its first requests. */
static uint32_t find_begin(const struct planned_match *m, const struct tp_req *rq)
{
    const uint32_t most = TP_PLANNED_BEFORE, last = m->plan->count - 1;
    const uint32_t at = last < most ? last : most;
    return fits_with(m, at, rq, at) ? at : NO_ROW;
}

static uint32_t find(const struct planned_match *m, const struct tp_req *rq)
{
    uint32_t next = index_from(m, m->next, 0), behind = index_from(m, m->next, 1);
    if (m->deviated && m->trusted && fits_at(m, behind, rq))
        return behind;
    if ((!m->deviated || m->trusted) && fits_at(m, next, rq))
        return next;
    return m->known_place ? find_near(m, rq) : find_begin(m, rq);
}

const struct planned_row *tp_planned_next(struct planned_match *m, const struct tp_req *rq)
{
    if (!m->on)
        return NULL;
    const uint32_t at = find(m, rq);
    m->before[1] = m->before[0];
    m->before[0] = *rq;
    m->known += m->known < TP_PLANNED_BEFORE;
    m->trusted = is_trusted(m);
    m->deviated = at == NO_ROW;
    m->row = m->deviated ? 0 : m->row + 1;
    m->known_place |= m->row >= TP_PLANNED_TRUSTED;
    if (m->deviated)
        return NULL;
    m->next = at + 1;
    return &m->plan->rows[at];
}
