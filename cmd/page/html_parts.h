/* Parts of articles that several pages have. */
#ifndef TP_HTML_PARTS_H
#define TP_HTML_PARTS_H

#include "alloc/base/err.h"
#include "cmd/report/memory_sum.h"
#include "cmd/ui/table.h"

#include <stdint.h>
#include <stdio.h>

struct tp_result;

/* Writes and drops a table that stands between paragraphs. TP_ENOMEM: a part is missing. */
int tp_html_table(struct tp_table *t, FILE *out, struct tp_err *err);

/* What goes after the name of a result on one of its several devices: ", device 1"; "" where it
 * has one. */
struct tp_text tp_html_device(const struct tp_result *r, uint32_t device);

/* ---- bars: pieces side by side in the colours and patterns of the map of the heap ---- */

/* Writes a piece as long as its share of `whole`, or nothing for none; `class` gives its look. */
void tp_html_piece(const char *css_class, uint64_t part, uint64_t whole, FILE *out);

/* Writes what pieces of a class are, as an item of the list of class `keys`. */
void tp_html_key(const char *css_class, const char *name, FILE *out);

/* Writes the parts of a sum as pieces of `whole`, and what they are. */
void tp_html_sum(const struct tp_sum_part *parts, int count, uint64_t whole, bool exact, FILE *out);

/* Prints what this machine is. */
void tp_html_machine(struct tp_page *page);

/* Memory over time as pictures, for readers without JavaScript. */

struct tp_chart;

/* Makes the chart of a device with so many columns, and writes it by tp_still_html. */
typedef int tp_write_still(const void *of, uint16_t device, uint32_t columns, FILE *out,
                           struct tp_err *err);
void tp_still_html(const struct tp_chart *chart, FILE *out);

/* Writes the charts of the first devices. */
int tp_stills_html(tp_write_still *write, const void *of, uint32_t devices, FILE *out,
                   struct tp_err *err);

#endif
