/* What `tapool why` prints. */
#ifndef TP_WHY_TEXT_H
#define TP_WHY_TEXT_H

#include "cmd/pytorch/why/why_answer.h"
#include "cmd/ui/text.h"

/* A row of the sum. */
struct tp_why_part {
    const char *sign; /* " ", "+", and "=" for the whole */
    uint64_t bytes;
    struct tp_text label, note;
};
enum { TP_WHY_PARTS = 5 };

/* The rows of the sum; `exact` as of tp_bytes. */
void tp_why_parts(const struct tp_why_sum *s, bool exact, struct tp_why_part out[TP_WHY_PARTS]);

/* Parts of the screen: what happened, the verdict, what would have made room without the list of
 * blocks (none: nothing is printed), and what all rests on. */
void tp_why_head_print(const struct tp_why *w, struct tp_page *page);
void tp_why_verdict_print(const struct tp_why *w, struct tp_page *page);
void tp_why_way_print(const struct tp_why *w, struct tp_page *page);
void tp_why_ground_print(const struct tp_why *w, struct tp_page *page);

/* Whether the rules did what the recorded allocator did, up to the event: else no setting is tried.
 */
bool tp_why_is_faithful(const struct tp_why *w);

/* "as recorded", or the setting, with how it began. */
struct tp_text tp_why_try_name(const struct tp_why_try *t);

/* "fits", "no room", or "" where it is not known what the device has. */
const char *tp_why_fate(const struct tp_why *w, const struct tp_why_try *t);
/* How the rows of other settings are to be read; there may be nothing to say. */
void tp_why_tries_print(const struct tp_why *w, int column, struct tp_page *page);

/* Prints the screen of one device. `several`: there are more. */
void tp_why_text(const struct tp_why *w, bool several, struct tp_page *page);

#endif
