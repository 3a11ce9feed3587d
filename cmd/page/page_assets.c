/* See html_page.h. The assembler embeds each file as it is; a view is one file and one row. */
#include "cmd/page/html_page.h"

#ifdef TAPOOL_DYGRAPHS

#define EMBED(id, file)                                                                            \
    __asm__(".section .rodata\n"                                                                   \
            "tp_page_" #id "_begin:\n"                                                             \
            ".incbin \"" file "\"\n"                                                               \
            "tp_page_" #id "_end:\n"                                                               \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char tp_page_##id##_begin[], tp_page_##id##_end[];

#define STYLES(X)                                                                                  \
    X(library_css, TAPOOL_DYGRAPHS "/dygraph.min.css")                                             \
    X(page_css, TAPOOL_PAGE_ASSETS "/page.css")
#define SCRIPTS(X)                                                                                 \
    X(library_js, TAPOOL_DYGRAPHS "/dygraph.min.js")                                               \
    X(base_js, TAPOOL_PAGE_ASSETS "/base.js")                                                      \
    X(chart_js, TAPOOL_PAGE_ASSETS "/chart.js")                                                    \
    X(events_js, TAPOOL_PAGE_ASSETS "/events.js")                                                  \
    X(frames_js, TAPOOL_PAGE_ASSETS "/frames.js")                                                  \
    X(board_js, TAPOOL_PAGE_ASSETS "/board.js")                                                    \
    X(table_js, TAPOOL_PAGE_ASSETS "/table.js")                                                    \
    X(forest_js, TAPOOL_PAGE_ASSETS "/forest.js")                                                  \
    X(memory_js, TAPOOL_PAGE_ASSETS "/memory.js")                                                  \
    X(site_curve_js, TAPOOL_PAGE_ASSETS "/site_curve.js")                                          \
    X(heap_js, TAPOOL_PAGE_ASSETS "/heap.js")                                                      \
    X(page_map_js, TAPOOL_PAGE_ASSETS "/page-map.js")                                              \
    X(page_parts_js, TAPOOL_PAGE_ASSETS "/page-parts.js")                                          \
    X(recorded_js, TAPOOL_PAGE_ASSETS "/recorded.js")                                              \
    X(trade_js, TAPOOL_PAGE_ASSETS "/trade.js")                                                    \
    X(heat_map_js, TAPOOL_PAGE_ASSETS "/heat-map.js")                                              \
    X(sites_js, TAPOOL_PAGE_ASSETS "/sites.js")                                                    \
    X(fragmentation_js, TAPOOL_PAGE_ASSETS "/fragmentation.js")                                    \
    X(calls_js, TAPOOL_PAGE_ASSETS "/calls.js")                                                    \
    X(latency_js, TAPOOL_PAGE_ASSETS "/latency.js")                                                \
    X(changes_js, TAPOOL_PAGE_ASSETS "/changes.js")                                                \
    X(rounds_js, TAPOOL_PAGE_ASSETS "/rounds.js")                                                  \
    X(trace_js, TAPOOL_PAGE_ASSETS "/trace.js")

STYLES(EMBED)
SCRIPTS(EMBED)

#define ROW(id, file) {#id, tp_page_##id##_begin, tp_page_##id##_end},
const struct tp_page_asset tp_page_styles[] = {STYLES(ROW){NULL, NULL, NULL}};
const struct tp_page_asset tp_page_scripts[] = {SCRIPTS(ROW){NULL, NULL, NULL}};
const char *const tp_page_lacks = NULL;

#else

const struct tp_page_asset tp_page_styles[] = {{NULL, NULL, NULL}};
const struct tp_page_asset tp_page_scripts[] = {{NULL, NULL, NULL}};
const char *const tp_page_lacks = "this tapool was built without dygraphs, which draws its charts";

#endif

static size_t bytes_of(const struct tp_page_asset *a)
{
    size_t bytes = 0;
    for (; a->name; a++)
        bytes += (size_t)(a->end - a->begin);
    return bytes;
}

size_t tp_page_asset_bytes(void)
{
    return bytes_of(tp_page_styles) + bytes_of(tp_page_scripts);
}
