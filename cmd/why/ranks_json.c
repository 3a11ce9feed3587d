/* See ranks.h: the document, and the way to it. */
#include "cmd/why/ranks.h"

#include "alloc/base/units.h"
#include "cmd/info/site_rows.h"
#include "cmd/ui/exports.h"

#include <math.h>

static void write_memory(struct tp_json *j, cJSON *in, const struct tp_rank *rank)
{
    cJSON *o = tp_json_object(j, in, "memory");
    tp_json_uint(j, o, "reserved_bytes", rank->sum.reserved);
    tp_json_uint(j, o, "requested_bytes", rank->sum.requested);
    tp_json_uint(j, o, "rounding_bytes", rank->sum.rounding);
    tp_json_uint(j, o, "free_bytes", tp_rank_free(rank));
    tp_json_uint(j, o, "largest_free_bytes", rank->largest);
    tp_json_uint(j, o, "live_blocks", rank->sum.live);
}

static void write_share(struct tp_json *j, cJSON *in, const char *name, double share)
{
    tp_json_real(j, in, name, isinf(share) ? (double)NAN : share);
}

static void write_good(struct tp_json *j, cJSON *o, const struct tp_ranks *r,
                       const struct tp_rank *rank)
{
    tp_json_uint(j, o, "device", rank->device);
    tp_json_uint(j, o, "events", rank->events);
    tp_json_uint(j, o, "peak_event", rank->peak);
    write_memory(j, o, rank);
    if (r->good > 1 && rank->judged) {
        cJSON *apart = tp_json_object(j, o, "from_median");
        write_share(j, apart, "reserved", tp_rank_apart(r, rank, TP_RANK_RESERVED));
        write_share(j, apart, "requested", tp_rank_apart(r, rank, TP_RANK_REQUESTED));
    }
    cJSON *fidelity = tp_json_object(j, o, "fidelity");
    tp_json_uint(j, fidelity, "addresses", rank->addresses.all);
    tp_json_uint(j, fidelity, "as_recorded", rank->addresses.good);
    tp_json_uint(j, fidelity, "differs_at_event", rank->differs_at);
}

static void write_rank(struct tp_json *j, cJSON *o, const struct tp_ranks *r,
                       const struct tp_rank *rank)
{
    tp_json_text(j, o, "name", rank->name);
    tp_json_text(j, o, "file", rank->file);
    if (rank->status != TP_OK)
        tp_json_text(j, o, "error", rank->why);
    else
        write_good(j, o, r, rank);
}

static void write_verdict(struct tp_json *j, cJSON *root, const struct tp_ranks *r)
{
    static const char *const figures[TP_RANK_FIGURES] = {
        [TP_RANK_RESERVED] = "reserved", [TP_RANK_REQUESTED] = "requested"};
    if (r->good < 2)
        return;
    cJSON *o = tp_json_object(j, root, "verdict");
    tp_json_bool(j, o, "agree", r->agree);
    tp_json_real(j, o, "agree_within", TP_RANKS_AGREE);
    tp_json_uint(j, o, "beyond", r->beyond);
    tp_json_uint(j, o, "odd", r->agree ? TP_NONE : r->odd);
    tp_json_uint(j, o, "median", r->median);
    tp_json_text(j, o, "figure", figures[r->figure]);
    tp_json_uint(j, o, "median_reserved_bytes", r->medians[TP_RANK_RESERVED]);
    tp_json_uint(j, o, "median_requested_bytes", r->medians[TP_RANK_REQUESTED]);
}

/* What is written, of which parts are not there before the files are read. */
struct showing {
    const struct tp_ranks_ask *ask;
    const struct tp_ranks *ranks;
};

static cJSON *ranks_tree(struct tp_json *j, const void *of)
{
    const struct tp_ranks *r = ((const struct showing *)of)->ranks;
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.ranks/2");
    tp_json_tool(j, root);
    write_verdict(j, root, r);
    cJSON *ranks = tp_json_array(j, root, "ranks");
    for (size_t i = 0; i < r->count; i++)
        write_rank(j, tp_json_item(j, ranks), r, &r->list[i]);
    if (r->good > 1 && !r->agree)
        tp_json_site_rows(j, root, "sites", &r->sites, TP_BY_PLACE);
    return root;
}

/* ---- from files to there ---- */

static void print_text(const void *of, struct tp_page *page)
{
    tp_ranks_text(((const struct showing *)of)->ranks, page);
}

/* What a command has beyond the two formats is about one snapshot. */
static int refuse(const void *of, struct tp_err *err)
{
    static const char *const words[] = {TP_EXPORT_WORDS(TP_WHY_EXPORTS)};
    return tp_fail(err, TP_EUSAGE, "the format %s takes one snapshot",
                   words[((const struct showing *)of)->ask->exports->format]);
}

static const struct tp_exporter ranks_text = {.name = "text", .print = print_text};
static const struct tp_exporter ranks_folded = {.name = "folded", .check = refuse};
static const struct tp_exporter ranks_html = {.name = "html", .check = refuse};
static const struct tp_exporter ranks_svg = {.name = "svg", .check = refuse};
static const struct tp_exporters ranks_exporters =
    TP_EXPORT_TABLE(ranks, TP_WHY_EXPORTS, ranks_tree);

int tp_ranks_run(const struct tp_ranks_ask *ask, FILE *out, struct tp_err *err)
{
    struct tp_ranks ranks = {.count = 0};
    const struct showing s = {ask, &ranks};
    int rc = tp_exports_check(ask->exports, &ranks_exporters, &s, err);
    if (rc == TP_OK)
        rc = tp_ranks_read(&ask->cfg, &ranks, err);
    if (rc == TP_OK)
        rc = tp_exports_write(ask->exports, &ranks_exporters, &s, out, err);
    if (rc == TP_OK)
        rc = tp_ranks_status(&ranks, err);
    tp_ranks_release(&ranks);
    return rc;
}
