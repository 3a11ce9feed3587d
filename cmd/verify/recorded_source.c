/* See recorded_source.h. */
#include "cmd/verify/recorded_source.h"

#include <string.h>

#define INVENTED_MOST TP_INVENTED         /* bytes */
#define MAP_PAGE      (UINT64_C(2) << 20) /* bytes */

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

static void take_coming(struct tp_recorded_source *s, size_t i)
{
    s->count--;
    memmove(&s->coming[i], &s->coming[i + 1], (s->count - i) * sizeof *s->coming);
}

static int recorded_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct tp_recorded_source *s = state;
    (void)align;
    for (size_t i = 0; i < s->count; i++)
        if (s->coming[i].size == size && !s->coming[i].mapped) {
            *out = s->coming[i].base;
            take_coming(s, i);
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

/* ---- spaces ---- */

static uint64_t recorded_map_page(void *state)
{
    (void)state;
    return MAP_PAGE;
}

static int recorded_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct tp_recorded_source *s = state;
    (void)size, (void)unit;
    for (size_t i = 0; i < s->count; i++)
        if (s->coming[i].mapped) {
            *out = s->coming[i].base;
            s->given++;
            return TP_OK;
        }
    s->wanted_maps++;
    return TP_EIO;
}

static int recorded_space_put(void *state, tp_addr base, uint64_t size)
{
    (void)state, (void)base, (void)size;
    return TP_OK;
}

static int recorded_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct tp_recorded_source *s = state;
    for (size_t i = 0; i < s->count; i++)
        if (s->coming[i].mapped && s->coming[i].base == base + from && s->coming[i].size == size) {
            take_coming(s, i);
            s->given_maps++;
            return TP_OK;
        }
    if (!s->strict)
        return TP_OK;
    s->wanted_maps++;
    return TP_EIO;
}

static int recorded_unmap(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    (void)state, (void)base, (void)from, (void)size;
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
    .map_page = recorded_map_page,
    .space_get = recorded_space_get,
    .space_put = recorded_space_put,
    .map = recorded_map,
    .unmap = recorded_unmap,
};
