/* The answers of a sweep in each form: the screen, JSON, CSV, pictures and a page. */
#include "cmd/charts/svg_file.h"
#include "cmd/sweep/sweep_answers.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/json_out.h"

#include <stdint.h>

static cJSON *make_sweep_tree(struct tp_json *j, const void *of)
{
    return tp_sweep_tree(j, of, SIZE_MAX);
}

/* ---- pictures ---- */

/* Calls for each picture that there is, those of one answer after those of the one before. Returns
 * the height of all. */
static uint32_t each_picture(const struct tp_sweep_answers *all, FILE *out)
{
    uint32_t y = 0;
    for (size_t i = 0; i < all->picked.asked; i++)
        for (size_t k = 0; k < TP_SWEEP_PICTURES; k++) {
            uint32_t height = tp_sweep_pictures[k].height(all, i);
            if (out && height)
                tp_sweep_pictures[k].write(all, i, y, out);
            y += height;
        }
    return y;
}

static int write_sweep_svg(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_sweep_answers *all = of;
    uint32_t height = each_picture(all, NULL), theme = all->asking->opts->exports.theme;
    (void)err;
    tp_svg_begin(theme, all->picked.sql->path, height, out);
    tp_sweep_picture_style(theme, out);
    tp_svg_paper(height, out);
    each_picture(all, out);
    tp_svg_end(NULL, height, out);
    return TP_OK;
}

/* ---- the command ---- */

const struct tp_exporter tp_sweep_svg = {.name = "svg", .write = write_sweep_svg};

const struct tp_exporters tp_sweep_exporters =
    TP_EXPORT_TABLE(tp_sweep, TP_SWEEP_EXPORTS, make_sweep_tree);

int tp_sweep_report(const struct tp_sweep_asking *asking, FILE *out, struct tp_err *err)
{
    const struct tp_exports *e = &asking->opts->exports;
    struct tp_sweep_answers all = {.asking = asking};
    int status = tp_exports_check(e, &tp_sweep_exporters, &all, err);
    if (!status)
        status = tp_sweep_evaluate(asking, &all, err);
    if (!status)
        status = tp_exports_write(e, &tp_sweep_exporters, &all, out, err);
    tp_sweep_answers_drop(&all);
    return status;
}
