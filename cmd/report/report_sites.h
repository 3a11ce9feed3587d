/* Who holds the memory at an event, on screens and in files, and the options that choose it. */
#ifndef TP_REPORT_SITES_H
#define TP_REPORT_SITES_H

#include "alloc/base/opt.h"
#include "cmd/results/captured.h"
#include "cmd/ui/text.h"
#include "traces/places/sites.h"

extern const char *const tp_sites_row_words[]; /* what a row is, by enum tp_sites_by */

/* All three write nothing where `h` is NULL: a part of a screen, one line, and the stacks for a
 * flame graph, "main;parse;read 4096". `root`: a frame around each of them, or NULL. */
void tp_sites_print(const struct tp_sites *h, struct tp_page *page);
void tp_sites_line(const struct tp_sites *h, int column, struct tp_page *page);
void tp_sites_folded(const struct tp_sites *h, const char *root, FILE *out);

/* Adds a place, "FILE:LINE FUNCTION", with the arguments of templates and functions left out:
 * "random.h:12 std::mersenne_twister_engine<...>::seed(...)". Documents have the whole name. */
void tp_place_short(const char *place, struct tp_str *out);

/* Option rows. */
#define TP_SITES_BY_ROW(at, listed)                                                                \
    TP_CHOICE_AT("by", at, .def = "line", .choices = tp_sites_by_words, .arg = "WHAT",             \
                 .help = "group live memory by", TP_##listed(OUTPUT))
#define TP_SITES_DEPTH_ROW(at)                                                                     \
    TP_UINT_AT("depth", at, .def = "1", .min = 1, .max = TP_SITE_DEPTH,                            \
               .help = "frames of the call stack that tell allocation sites apart",                \
               TP_LAST(OUTPUT))
#define TP_SITES_ROWS(opts, listed)                                                                \
    TP_UINT_AT("at", offsetof(opts, sites.at), .def = "peak", .max = INT64_MAX,                    \
               .choices = tp_sites_at_words,                                                       \
               .help = "event after which to show live memory by site", TP_##listed(OUTPUT)),      \
        TP_SITES_BY_ROW(offsetof(opts, sites.by), listed),                                         \
        TP_SITES_DEPTH_ROW(offsetof(opts, sites.depth))
extern const char *const tp_sites_at_words[];

/* Whether the user asks for more than the peak by line. */
bool tp_sites_asked(const struct tp_sites_opts *o);

#endif
