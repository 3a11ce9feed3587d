/* What `tapool info` knows about one trace, or about two beside each other, as its writers read it.
 */
#ifndef TP_INFO_H
#define TP_INFO_H

#include "cmd/info/info_scan.h"
#include "cmd/results/captured.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"
#include "traces/places/site_ages.h"
#include "traces/trace.h"

struct tp_info_report {
    const struct tp_trace *trace;
    const struct tp_info *info;
    const struct tp_captured *captured;
    const struct tp_site_ages *ages; /* NULL: not known, or not asked for */
    bool ages_shown;                 /* on screens */
};

void tp_info_text(const struct tp_info_report *r, struct tp_page *page);

/* The lifetimes by site of a trace with one device, by size where it has no sites by line; NULL:
 * there are none, or they cannot be read. The caller frees them. */
struct tp_site_ages *tp_info_find_ages(const struct tp_trace *t, const struct tp_sites_opts *o,
                                       int (*stop)(struct tp_err *err));

/* Parts of the screen, in their order: the name and what the trace is; what is in it, what was
 * repaired and what is not known; the peaks of each device, with its curve on a page that is a
 * screen; lifetimes by site; sizes and lifetimes, beside each other where the page is a screen;
 * what is live at the end.
 */
void tp_info_name(const struct tp_info_report *r, struct tp_page *page);
void tp_info_contents(const struct tp_info_report *r, struct tp_page *page);
void tp_info_live(const struct tp_info_report *r, struct tp_page *page);
void tp_info_ages(const struct tp_info_report *r, struct tp_page *page);
/* The name of row i of a table of sizes: "512 B - 64 KiB" is above 512 B. */
struct tp_text tp_info_size_name(const struct tp_info_size *sizes, int i);

void tp_info_objects(const struct tp_info_report *r, struct tp_page *page);
void tp_info_end(const struct tp_info_report *r, struct tp_page *page);

/* The document tapool.info/2, in which names never change and are only added. The caller deletes
 * it; it is incomplete if `j` has failed. */
cJSON *tp_info_tree(struct tp_json *j, const struct tp_info_report *r);

/* Adds its member of lifetimes by site; NULL adds nothing. */
void tp_info_write_ages(struct tp_json *j, cJSON *root, const struct tp_site_ages *a);

/* Adds those of its members that say what the file knows of the recorded allocator, and who holds
 * the memory. */
void tp_info_captured(struct tp_json *j, cJSON *in, const struct tp_info_report *r);

/* Adds a member with the parts of the document that tell operations, sizes, lifetimes, threads,
 * streams, devices and phases, without curves and with long names cut. */
void tp_info_parts(struct tp_json *j, cJSON *in, const char *name, const struct tp_info_report *r);

/* ---- two traces ---- */

struct tp_trace_pair;
struct tp_pair_growth;

/* Prints the figures of both and by how much the second differs. */
void tp_info_pair_text(const struct tp_trace_pair *pair, struct tp_page *page);

/* Its parts: which files they are, the peaks as a table of figures (cmd/ui/table.h), and the table.
 */
void tp_info_pair_files(const struct tp_trace_pair *pair, struct tp_page *page);
struct tp_table;
void tp_info_pair_figures(const struct tp_trace_pair *pair, struct tp_table *t);
void tp_info_pair_table(const struct tp_trace_pair *pair, struct tp_page *page);

/* Prints which allocation sites grew, and by how much in the phases that both have. */
void tp_info_growth_text(const struct tp_pair_growth *g, struct tp_page *page);

/* The document tapool.info-pair/2, of which holds the same. */
cJSON *tp_info_pair_tree(struct tp_json *j, const struct tp_trace_pair *pair);

/* Adds its members that tell the growth. */
void tp_info_growth(struct tp_json *j, cJSON *in, const struct tp_pair_growth *g);

#endif
