/* Settings that change while a program runs, as by torch.cuda.memory._set_allocator_settings:
 *
 *     conf    max_split_size_mb:20 ; expandable_segments:True@load weights ; @serve
 *             from the start         each time this phase begins             the empty text
 *
 * What a text does not name goes back to its default or stays, as torch_conf.c says. A further
 * replay on the same instance begins with the first text again. */
#include "alloc/base/opt.h"
#include "alloc/strategies/torch/torch_core.h"

#define NO_INDEX UINT32_MAX

/* Cuts "TEXT@PHASE" in two, without the blanks around the phase. NULL: no phase is named. */
static char *cut_phase(char *part)
{
    char *at = strchr(part, '@');
    if (!at)
        return NULL;
    *at++ = '\0';
    at += strspn(at, " \t\n");
    for (size_t n = strlen(at); n && strchr(" \t\n", at[n - 1]); n--)
        at[n - 1] = '\0';
    return at;
}

static int check_part(const struct torch_part *part, const char *text, struct tp_err *err)
{
    static const char once[] = "per_process_memory_fraction";
    if (!part->phase)
        return tp_fail(err, TP_EUSAGE, "'%.63s' names no phase: write TEXT@PHASE behind a ';'",
                       text);
    if (!*part->phase)
        return tp_fail(err, TP_EUSAGE, "'%.63s@' names no phase", text);
    if (tp_torch_conf_has(&part->settings, once))
        return tp_fail(err, TP_EUSAGE, "PyTorch reads '%s' once, before phase '%.63s' begins", once,
                       part->phase);
    return TP_OK;
}

/* Phases may come in any order: units that do not fit with the settings of another are refused. */
static int check_all(const struct torch *st, struct tp_err *err)
{
    struct tp_torch_rules all = st->rules;
    int rc = TP_OK;
    for (size_t i = 0; i < st->part_count; i++)
        all.expandable |= st->parts[i].settings.values.expandable;
    for (size_t i = 0; !rc && i <= st->part_count; i++) {
        all.large_segment = (i ? &st->parts[i - 1].settings.values : &st->rules)->large_segment;
        rc = tp_torch_check_units(&all, err);
    }
    return rc;
}

/* Reads the parts behind the first; `so_far`: the rules if the phases come in this order. */
static int read_parts(struct torch *st, char *rest, struct tp_torch_rules so_far,
                      struct tp_err *err)
{
    int rc = TP_OK;
    for (char *text; !rc && (text = strsep(&rest, ";"));) {
        struct torch_part *part = &st->parts[st->part_count++];
        part->phase = cut_phase(text);
        part->index = NO_INDEX;
        rc = tp_torch_conf_read(&part->settings, &so_far, text, err);
        if (!rc)
            rc = check_part(part, text, err);
        if (!rc)
            tp_torch_conf_set(&part->settings, &so_far);
    }
    return rc ? rc : check_all(st, err);
}

int tp_torch_phases_read(struct torch *st, const char *conf, struct tp_err *err)
{
    if (!strpbrk(conf, "@;"))
        return tp_torch_conf(&st->rules, conf, err);
    st->parts_room = 1;
    for (const char *c = conf; *c; c++)
        st->parts_room += *c == ';';
    st->conf_size = strlen(conf) + 1;
    st->conf = tp_meta_get(st->env, st->conf_size);
    st->parts = st->conf ? tp_meta_get(st->env, st->parts_room * sizeof *st->parts) : NULL;
    if (!st->parts)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    memcpy(st->conf, conf, st->conf_size);
    char *rest = st->conf;
    if (strcspn(conf, "@") < strcspn(conf, ";"))
        return read_parts(st, rest, st->rules, err);
    char *first = strsep(&rest, ";");
    int rc = tp_torch_conf(&st->rules, first, err);
    return rc ? rc : read_parts(st, rest, st->rules, err);
}

void tp_torch_phases_release(struct torch *st)
{
    tp_meta_put(st->env, st->parts, st->parts_room * sizeof *st->parts);
    tp_meta_put(st->env, st->conf, st->conf_size);
}

/* ---- the phases of a program ---- */

static int no_phase(const struct torch_part *part, const char *const *names, uint32_t count,
                    struct tp_err *err)
{
    int rc =
        tp_fail(err, TP_EUSAGE, "strategy 'torch': the trace has no phase '%.63s'", part->phase);
    const char *near = count ? tp_nearest(part->phase, names) : NULL;
    if (near)
        return tp_hint(err, rc, "did you mean '%.63s'?", near);
    return count ? tp_hint(err, rc, "'tapool info TRACE' lists its phases")
                 : tp_hint(err, rc, "it has none");
}

int tp_torch_phases(void *state, const char *const *names, uint32_t count, struct tp_err *err)
{
    struct torch *st = state;
    st->first_rules = st->rules;
    for (size_t i = 0; i < st->part_count; i++) {
        struct torch_part *part = &st->parts[i];
        for (uint32_t n = 0; part->index == NO_INDEX && n < count; n++)
            if (!strcmp(names[n], part->phase))
                part->index = n;
        if (part->index == NO_INDEX)
            return no_phase(part, names, count, err);
    }
    return TP_OK;
}

void tp_torch_phase(void *state, uint32_t index)
{
    struct torch *st = state;
    if (index == NO_INDEX)
        st->rules = st->first_rules;
    for (size_t i = 0; index != NO_INDEX && i < st->part_count; i++)
        if (st->parts[i].index == index)
            tp_torch_conf_set(&st->parts[i].settings, &st->rules);
}
