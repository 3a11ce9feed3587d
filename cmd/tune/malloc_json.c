/* Writes tapool.tune-malloc/2 (malloc.schema.json). */
#include "cmd/results/report_json.h"
#include "cmd/tune/malloc_replay.h"
#include "cmd/ui/json_out.h"

static void write_range(struct tp_json *j, cJSON *o, const char *name,
                        const struct tp_malloc_range *r)
{
    cJSON *range = tp_json_object(j, o, name);
    tp_json_real(j, range, "median", r->median);
    tp_json_real(j, range, "low", r->low);
    tp_json_real(j, range, "high", r->high);
}

static void write_row(struct tp_json *j, cJSON *o, const struct tp_malloc_row *r)
{
    const struct tp_malloc_setting *s = r->setting;
    tp_json_text(j, o, "library", s->library);
    tp_json_text(j, o, "setting", s->paste);
    tp_json_text(j, o, "strategy", s->strategy);
    tp_json_bool(j, o, "recorded", s->recorded);
    tp_json_text(j, o, "refused", r->err.status ? r->err.text : NULL);
    if (r->err.status)
        return;
    tp_json_bool(j, o, "on_front", r->front);
    tp_json_uint(j, o, "rounds", r->rounds);
    write_range(j, o, "total_resident_bytes", &r->resident);
    write_range(j, o, "ns_per_op", &r->ns);
}

cJSON *tp_malloc_tree(struct tp_json *j, const struct tp_malloc_tune *t)
{
    char sentence[4 * TP_PICK_WORDS];
    const char *warm = t->wall ? "wall" : "steady";
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.tune-malloc/2");
    tp_json_tool(j, root);
    tp_json_host_trace(j, root, t->trace);
    tp_json_text(j, root, "time", t->cold ? "cold" : warm);
    cJSON *settings = tp_json_array(j, root, "settings");
    for (size_t i = 0; i < t->settings.count; i++)
        write_row(j, tp_json_item(j, settings), &t->rows[i]);
    tp_json_uint(j, root, "compared_with", t->base);
    cJSON *answer = tp_json_object(j, root, "answer");
    cJSON *chosen = tp_json_array(j, answer, "chosen");
    for (size_t i = 0; i < t->pick.count; i++)
        tp_json_push(j, chosen, tp_json_number(j, t->pick.chosen[i]));
    tp_pick_text(&t->pick, sentence, sizeof sentence);
    tp_json_text(j, answer, "sentence", sentence);
    return root;
}
