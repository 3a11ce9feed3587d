/* Who holds the memory at an event, on screens and in files, and the options that choose it. */
#ifndef TP_REPORT_HOLDERS_H
#define TP_REPORT_HOLDERS_H

#include "alloc/base/opt.h"
#include "cmd/results/captured.h"
#include "cmd/ui/text.h"
#include "traces/places/holders.h"

/* All three write nothing where `h` is NULL: a part of a screen, one line, and the stacks for a
 * flame graph, "main;parse;read 4096". `root`: a frame around each of them, or NULL. */
void tp_holders_print(const struct tp_holders *h, struct tp_page *page);
void tp_holders_line(const struct tp_holders *h, int column, struct tp_page *page);
void tp_holders_folded(const struct tp_holders *h, const char *root, FILE *out);

/* Adds a place, "FILE:LINE FUNCTION", with the arguments of templates and functions left out:
 * "random.h:12 std::mersenne_twister_engine<...>::seed(...)". Documents have the whole name. */
void tp_place_short(const char *place, struct tp_str *out);

/* Option rows. */
#define TP_HOLDERS_BY_ROW(at, listed)                                                              \
    TP_CHOICE_AT("by", at, .def = "line", .choices = tp_holders_by_words, .arg = "WHAT",           \
                 .help = "group live memory by", TP_##listed(OUTPUT))
#define TP_HOLDERS_DEPTH_ROW(at)                                                                   \
    TP_UINT_AT("depth", at, .def = "1", .min = 1, .max = TP_HOLDER_DEPTH,                          \
               .help = "frames of the call stack that tell allocation sites apart",                \
               TP_LAST(OUTPUT))
#define TP_HOLDERS_ROWS(opts, listed)                                                              \
    TP_UINT_AT("at", offsetof(opts, holders.at), .def = "peak", .max = INT64_MAX,                  \
               .choices = tp_holders_at_words,                                                     \
               .help = "event after which to show live memory by site", TP_##listed(OUTPUT)),      \
        TP_HOLDERS_BY_ROW(offsetof(opts, holders.by), listed),                                     \
        TP_HOLDERS_DEPTH_ROW(offsetof(opts, holders.depth))
extern const char *const tp_holders_at_words[];

/* Whether the user asks for more than the peak by line. */
bool tp_holders_asked(const struct tp_holders_opts *o);

#endif
