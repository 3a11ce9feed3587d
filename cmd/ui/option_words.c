/* See option_words.h. */
#include "cmd/ui/option_words.h"

const char *const tp_touch_words[] = {"auto", "none", "first", "all", NULL};
const char *const tp_color_words[] = {"never", "always", "auto", NULL};
const char *const tp_capacity_words[] = {"recorded", NULL};
