/* See settings.h. */
#include "cmd/measure/settings.h"

#include <string.h>

const struct tp_setting tp_settings[TP_SETTINGS] = {
    {.option = "min-time", .path = "settings.min_time"},
    {.option = "repeat", .path = "settings.repeat"},
    {.option = "on-oom", .path = "settings.on_oom", .memory = true},
    {.option = "initial-heap", .path = "settings.initial_heap", .reads = true},
    {.option = "limit", .path = "settings.limit", .reads = true},
    {.option = "space", .path = "settings.space", .reads = true},
    {.option = "device", .path = "settings.device", .reads = true},
    {.option = "passes", .path = "passes"},
    {.option = "seed", .path = "seed", .document = true},
};

void tp_settings_write(struct tp_json *j, cJSON *run, const struct tp_report *r)
{
    static const char folder[] = "settings.";
    cJSON *settings = tp_json_object(j, run, "settings");
    for (size_t i = 0; i < TP_SETTINGS; i++) {
        const struct tp_setting *s = &tp_settings[i];
        const struct tp_opt *row = r->rows ? tp_opt_find(r->rows, s->option) : NULL;
        char value[512] = "";
        if (strncmp(s->path, folder, sizeof folder - 1) != 0)
            continue; /* it stands elsewhere for reasons of its own */
        if (row)
            tp_opt_format(row, r->opts, value, sizeof value);
        tp_json_text(j, settings, s->path + sizeof folder - 1, value[0] ? value : NULL);
    }
}
