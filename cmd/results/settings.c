/* See settings.h. */
#include "cmd/results/settings.h"

const struct tp_setting tp_settings[TP_SETTINGS] = {
    {.option = "min-time", .path = "settings.min_time"},
    {.option = "repeat", .path = "settings.repeat"},
    {.option = "threads", .path = "settings.threads", .before = "1"},
    {.option = "on-oom", .path = "settings.on_oom", .memory = true},
    {.option = "initial-heap", .path = "settings.initial_heap", .reads = true},
    {.option = "limit", .path = "settings.limit", .reads = true},
    {.option = "space", .path = "settings.space", .reads = true},
    {.option = "device", .path = "settings.device", .reads = true},
    {.option = "passes", .path = "passes"},
    {.option = "seed", .path = "seed", .document = true},
};
