/* What is reserved at the value under the recorded setting, and under the best of those tried; see
 * predict_text.h. Settings are written as the recorded allocator has them (tunable.h). */
#include "cmd/predict/predict_text.h"

#include "alloc/base/units.h"
#include "cmd/tune/tunable.h"

/* Prints a peak under a setting and `what`. */
static void print_try(const struct tp_predict_report *r, const char *name,
                      const struct tp_predict_try *of, const char *what, struct tp_page *page)
{
    const struct tp_prediction *prediction = &r->answer->prediction;
    const struct tp_trace *trace = &prediction->recordings[prediction->base]->trace;
    struct tp_str text = {0};
    if (*of->conf)
        tp_tunable_show(tp_tunable_of(trace->recorded.by), &trace->meta, of->conf, &text);
    else
        tp_str_add(&text, "defaults");
    tp_page_row(page, 0, name, TP_PREDICT_NOTE, "%-10s  %s (%s)",
                tp_bytes(of->peak_reserved, page->exact).s, tp_str_text(&text), what);
    if (of->failed)
        tp_page_row(page, 0, "", TP_PREDICT_NOTE, "%-10s  OOM by this limit: %s, first event %s",
                    "", tp_plural(of->failed, "request").s, tp_count(of->failed_event).s);
    tp_str_drop(&text);
}

/* "recorded setting, compacted start"; the start is said where there is more than one. */
void tp_predict_tries_print(const struct tp_predict_report *r, struct tp_page *page)
{
    const struct tp_predict_try *tries = r->answer->tries, *of = &tries[TP_PREDICT_RECORDED];
    const bool starts = tries[TP_PREDICT_COMPACTED].conf;
    if (!of->conf)
        return;
    print_try(r, "peak reserved", of,
              starts ? "recorded setting, recorded heap" : "recorded setting", page);
    if (starts)
        print_try(r, "", &tries[TP_PREDICT_COMPACTED], "recorded setting, compacted start", page);
    const struct tp_predict_try *same = starts ? &tries[TP_PREDICT_COMPACTED] : of;
    const struct tp_predict_try *best = &tries[TP_PREDICT_BEST];
    struct tp_text tried = tp_plural(r->asking->setting_count, "setting");
    bool fails = same->failed && !best->failed;
    if (best->conf && tp_predict_reserves_less(best, same))
        print_try(r, "", best,
                  tp_text_of("lowest of %s%s%s", tried.s, fails ? " without OOM" : "",
                             starts ? ", compacted start" : "")
                      .s,
                  page);
    else if (best->conf)
        tp_page_row(page, 0, "", TP_PREDICT_NOTE, "%-10s  none of %s reserves less", "", tried.s);
    if (of->min_capacity != TP_NONE)
        tp_page_row(page, 0, "min capacity", TP_PREDICT_NOTE,
                    "%-10s  smallest device without OOM, recorded setting",
                    tp_bytes(of->min_capacity, page->exact).s);
}
