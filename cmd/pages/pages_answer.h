/* The parts of the screen of why of a host trace, which its page shows one by one. */
#ifndef TP_PAGES_ANSWER_H
#define TP_PAGES_ANSWER_H

#include "cmd/report/memory_sum.h"

struct tp_why_pages;

enum { TP_PAGES_PARTS = 6 };

void tp_pages_head_print(const struct tp_why_pages *w, struct tp_page *page);
/* Returns how many there are: live blocks first, the resident memory last. */
int tp_pages_parts(const struct tp_why_pages *w, struct tp_sum_part out[TP_PAGES_PARTS]);
void tp_pages_sum_print(const struct tp_why_pages *w, struct tp_page *page);
void tp_pages_answer_print(const struct tp_why_pages *w, struct tp_page *page);
void tp_pages_holders_print(const struct tp_why_pages *w, struct tp_page *page);
void tp_pages_growing_print(const struct tp_why_pages *w, struct tp_page *page);
void tp_pages_ground_print(const struct tp_why_pages *w, struct tp_page *page);
void tp_pages_remedies_print(const struct tp_why_pages *w, struct tp_page *page);
void tp_pages_moments_print(const struct tp_why_pages *w, struct tp_page *page);

#endif
