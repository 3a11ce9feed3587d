/* See recorded_source.h. */
#include "cmd/verify/recorded_source.h"

#include <string.h>

#define INVENTED_MOST TP_INVENTED /* bytes */

static int recorded_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct tp_recorded_source *s = state;
    (void)cfg, (void)err;
    s->next_invented = TP_INVENTED;
    return TP_OK;
}

static void recorded_fini(void *state)
{
    struct tp_recorded_source *s = state;
    TP_GROW_END(&s->coming, &s->room, .budget = NULL);
}

static uint64_t recorded_page(void *state)
{
    (void)state;
    return TP_RECORDED_PAGE;
}

int tp_recorded_source_add(struct tp_source *src, const struct tp_coming_range *range,
                           struct tp_err *err)
{
    struct tp_recorded_source *s = tp_recorded_source_of(src);
    int rc = TP_GROW(&s->coming, &s->room, s->count + 1, err, .what = "segments");
    if (rc != TP_OK)
        return rc;
    s->coming[s->count++] = *range;
    return TP_OK;
}

static int recorded_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct tp_recorded_source *s = state;
    (void)align;
    for (size_t i = 0; i < s->count; i++)
        if (s->coming[i].size == size) {
            *out = s->coming[i].base;
            s->count--;
            memmove(&s->coming[i], &s->coming[i + 1], (s->count - i) * sizeof *s->coming);
            s->given++;
            return TP_OK;
        }
    if (size > TP_INVENTED + INVENTED_MOST - s->next_invented)
        return TP_EOOM;
    s->inventions++;
    s->invented = (struct tp_coming_range){.base = s->next_invented, .size = size};
    *out = s->next_invented;
    s->next_invented += size;
    return TP_OK;
}

static int recorded_put(void *state, tp_addr addr, uint64_t size)
{
    (void)state, (void)addr, (void)size;
    return TP_OK;
}

const struct tp_source_ops tp_source_recorded = {
    .name = "recorded",
    .summary = "addresses of a recording",
    .flags = TP_SRC_VIRTUAL,
    .state_size = sizeof(struct tp_recorded_source),
    .init = recorded_init,
    .fini = recorded_fini,
    .page = recorded_page,
    .get = recorded_get,
    .put = recorded_put,
};
