/* What the resident pages of a process hold: the memory of the resident pass, part by part.
 *
 *     page    | live block |rounding| free   | live | never in a block |     partly free
 *             | free                         | never in a block        |     free page
 *     sums      live + rounding + partly_free + free_pages + own = resident, to the byte
 *
 * Pages that the process had written before the first event are in no part, and neither is what of
 * a block lies on such a page or was never written. Freed bytes of a page without a live block are
 * free pages: caches, arenas, memory that is given back with a delay. Bytes that were never part of
 * a block are the allocator's own data, or memory that it wrote and has not yet used.
 *
 * Huge pages are counted as the pages of usual size that they consist of: a free page inside one is
 * a free page. Of very many pages a sample is looked at, and sums are estimates (page_sample.h). */
#ifndef TP_PAGE_LEDGER_H
#define TP_PAGE_LEDGER_H

#include "alloc/base/cover.h"
#include "alloc/base/own_pages.h"
#include "alloc/engine/page_list.h"
#include "alloc/engine/replayer.h"

struct tp_page_ledger {
    struct tp_own_pages base, now;
    struct tp_cover cover;
    struct tp_page_block *blocks, *spare;
    size_t room;     /* of both */
    size_t count;    /* blocks of the last parts that were taken */
    uint64_t listed; /* bytes of the lists that are written */
};

/* all members TP_NONE */
extern const struct tp_page_parts tp_page_parts_unknown;
extern const struct tp_page_errors tp_page_errors_unknown;

/* Opens the ledger of a program with `slots` slots. false: nothing to close, and nothing is known.
 */
bool tp_page_ledger_open(struct tp_page_ledger *l, uint32_t slots);
void tp_page_ledger_close(struct tp_page_ledger *l);

/* Notes the pages that are there before the first event. */
bool tp_page_ledger_begin(struct tp_page_ledger *l);

/* The parts now, while no thread replays. All members are TP_NONE if they are not known. */
struct tp_page_parts tp_page_ledger_take(struct tp_page_ledger *l, const struct tp_replayer *p,
                                         struct tp_page_errors *errors);

/* Writes what was taken last as a list; page_list.h. false: it could not be written whole. */
bool tp_page_ledger_list(struct tp_page_ledger *l, const struct tp_page_list_head *head, int fd);

/* The same of given pages and of blocks in the order of their addresses, which do not overlap. */
struct tp_page_parts tp_page_ledger_sum(const struct tp_page_ledger *l,
                                        const struct tp_page_block *blocks, size_t count,
                                        struct tp_page_errors *errors);

#endif
