/* See page_sample.h. */
#include "alloc/engine/page_sample.h"

#include "alloc/base/own_pages.h"

#include <math.h>

static void add_squares(struct tp_page_sample *s, const struct tp_page_parts *sum)
{
    const uint64_t held[TP_PAGE_PARTS] = {
        sum->resident - s->before.resident,     sum->live - s->before.live,
        sum->rounding - s->before.rounding,     sum->partly_free - s->before.partly_free,
        sum->free_pages - s->before.free_pages, sum->own - s->before.own};
    for (size_t i = 0; i < TP_PAGE_PARTS; i++)
        s->squares[i] += (double)held[i] * (double)held[i];
    s->before = *sum;
}

void tp_page_sample_at(struct tp_page_sample *s, uint64_t number, const struct tp_page_parts *sum)
{
    if (tp_run_of_page(number) == s->run)
        return;
    add_squares(s, sum);
    s->run = tp_run_of_page(number);
}

struct tp_page_errors tp_page_sample_end(struct tp_page_sample *s, unsigned shift,
                                         struct tp_page_parts *sum)
{
    uint64_t *const parts[TP_PAGE_PARTS] = {&sum->resident,    &sum->live,       &sum->rounding,
                                            &sum->partly_free, &sum->free_pages, &sum->own};
    double n = (double)(UINT64_C(1) << shift);
    uint64_t errors[TP_PAGE_PARTS];
    add_squares(s, sum);
    for (size_t i = 0; i < TP_PAGE_PARTS; i++) {
        *parts[i] <<= shift;
        errors[i] = (uint64_t)sqrt(n * (n - 1) * s->squares[i]);
    }
    return (struct tp_page_errors){errors[0], errors[1], errors[2],
                                   errors[3], errors[4], errors[5]};
}
