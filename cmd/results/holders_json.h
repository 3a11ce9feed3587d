/* Who holds the memory, as a member of JSON documents. */
#ifndef TP_HOLDERS_JSON_H
#define TP_HOLDERS_JSON_H

#include "cmd/ui/json_out.h"
#include "traces/places/holder_groups.h"

/* Writes a member of this name; none where `h` is NULL. */
void tp_json_holders(struct tp_json *j, cJSON *in, const char *name, const struct tp_holders *h);

#endif
