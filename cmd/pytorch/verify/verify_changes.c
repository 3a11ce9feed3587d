/* See verify.h.
 *
 *     event    1 ............ N ......... E ...........
 *     rules    as recorded    candidate                  how far does it agree?
 *
 * E is the first difference. What another setting did may show late: a block that it did not split
 * looks the same until somebody takes the rest. So the change lies at E or before, and N is looked
 * for between the last change and E. An N that is too early differs before E, one that is too late
 * differs at E still. The candidate that reaches farthest is taken, and the next change is looked
 * for where it ends.
 *
 * Known weakness: a setting that is not in the table explains nothing, and of two that explain the
 * same addresses the first in the table is named. */
#include "cmd/pytorch/verify/verify.h"

#include "cmd/pytorch/verify/verify_heap.h"

#include <string.h>

#define MOST_EVENTS  UINT64_C(20000000)
#define MOST_PASSES  8
#define REPLAY_COSTS 1000 /* events, of one replay beside its own */
#define REACHES_END  UINT64_MAX
enum { SAMPLES = 12 };

/* The first stands for the recorded text. */
static const char *const candidates[] = {NULL,
                                         "",
                                         "max_split_size_mb:20",
                                         "max_split_size_mb:32",
                                         "max_split_size_mb:64",
                                         "max_split_size_mb:128",
                                         "max_split_size_mb:256",
                                         "max_split_size_mb:512",
                                         "max_split_size_mb:1024",
                                         "roundup_power2_divisions:2",
                                         "roundup_power2_divisions:4",
                                         "roundup_power2_divisions:8",
                                         "roundup_power2_divisions:16"};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

struct change_search {
    const struct tp_pytorch *snapshot;
    const struct tp_torch_rules *rules;
    const char *recorded;
    struct tp_verified *v;
    struct tp_verify_start start;
    uint64_t left;                                     /* events that may still be replayed */
    struct tp_torch_settings found[TP_VERIFY_CHANGES]; /* of v->changes */
    struct tp_torch_settings tried[CANDIDATES];
    bool readable[CANDIDATES];
};

static const char *text_of(const struct change_search *c, size_t candidate)
{
    return candidate ? candidates[candidate] : c->recorded;
}

static void read_candidates(struct change_search *c)
{
    for (size_t i = 0; i < CANDIDATES; i++)
        c->readable[i] = (!i || strcmp(candidates[i], c->recorded) != 0) &&
                         tp_torch_conf_read(&c->tried[i], c->rules, text_of(c, i), NULL) == TP_OK;
}

/* Replays with the changes that were found and, behind them, `conf` from an event on (NULL: none).
 * *reach: the event of the first difference, behind the last one if only the end differs. */
static int reach_of(struct change_search *c, const struct tp_torch_settings *conf, uint64_t from,
                    uint64_t *reach, struct tp_err *err)
{
    struct tp_verified v = {.device = c->v->device};
    struct tp_verify_replay *replay = NULL;
    int rc = tp_verify_begin_from(c->snapshot, &c->start, c->rules, &v, &replay, err);
    for (size_t i = 0; rc == TP_OK && i < c->v->change_count; i++)
        rc = tp_verify_set(replay, c->v->changes[i].event, &c->found[i], err);
    if (rc == TP_OK && conf)
        rc = tp_verify_set(replay, from, conf, err);
    if (rc == TP_OK)
        rc = tp_verify_agreeing(replay, err);
    tp_verify_stop(replay);
    uint64_t spent = v.events + c->start.heap.blocks.count + REPLAY_COSTS;
    c->left -= spent < c->left ? spent : c->left;
    *reach = v.first.event ? v.first.event : v.events + 1;
    if (tp_agrees(&v))
        *reach = REACHES_END;
    return rc;
}

/* The best place for a candidate. */
struct change_place {
    uint64_t event, reach;
};

static int try_at(struct change_search *c, size_t candidate, uint64_t event,
                  struct change_place *best, uint64_t *reach, struct tp_err *err)
{
    *reach = 0;
    int rc = c->left ? reach_of(c, &c->tried[candidate], event, reach, err) : TP_OK;
    if (*reach > best->reach)
        *best = (struct change_place){event, *reach};
    return rc;
}

/* Looks for the first event from `low` on where the candidate is not too early, and then, if it
 * does not reach the end from there, at some events up to `high`, where it differs. */
static int place_one_change(struct change_search *c, size_t candidate, uint64_t low, uint64_t high,
                            struct change_place *best, struct tp_err *err)
{
    const uint64_t differs = high;
    uint64_t reach = 0, end = high;
    int rc = TP_OK;
    while (rc == TP_OK && c->left && low < end && best->reach != REACHES_END) {
        uint64_t middle = low + (end - low) / 2;
        rc = try_at(c, candidate, middle, best, &reach, err);
        if (reach < differs)
            low = middle + 1;
        else
            end = middle;
    }
    for (uint64_t i = 1; rc == TP_OK && i <= SAMPLES && best->reach != REACHES_END; i++)
        rc = try_at(c, candidate, low + (high - low) * i / (SAMPLES + 1), best, &reach, err);
    return rc;
}

/* Where each candidate does best between two events; the simple places first, of all of them. */
static int place_changes(struct change_search *c, uint64_t low, uint64_t high,
                         struct change_place best[CANDIDATES], struct tp_err *err)
{
    uint64_t reach = 0;
    bool found = false;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < CANDIDATES; i++) {
        best[i] = (struct change_place){0, high};
        if (c->readable[i])
            rc = try_at(c, i, high, &best[i], &reach, err);
        if (rc == TP_OK && c->readable[i] && best[i].reach != REACHES_END)
            rc = try_at(c, i, low, &best[i], &reach, err);
        found |= best[i].reach == REACHES_END;
    }
    for (size_t i = 0; rc == TP_OK && !found && i < CANDIDATES; i++)
        if (c->readable[i])
            rc = place_one_change(c, i, low, high, &best[i], err);
    return rc;
}

/* Adds the change that reaches farthest beyond the event where all differ; false: there is none. */
static bool take_best(struct change_search *c, const struct change_place best[CANDIDATES],
                      uint64_t differs)
{
    size_t i = 0;
    unsigned others = 0;
    for (size_t k = 1; k < CANDIDATES; k++)
        i = best[k].reach > best[i].reach ? k : i;
    if (best[i].reach <= differs)
        return false;
    for (size_t k = 0; k < CANDIDATES; k++)
        others += k != i && best[k].reach == best[i].reach;
    c->found[c->v->change_count] = c->tried[i];
    c->v->changes[c->v->change_count++] =
        (struct tp_verify_change){.event = best[i].event, .conf = text_of(c, i), .others = others};
    return true;
}

/* Counts the addresses of each change. */
static int count_addresses(struct change_search *c, struct tp_err *err)
{
    struct tp_verified v = {.device = c->v->device};
    struct tp_verify_replay *replay = NULL;
    struct tp_verify_change *changes = c->v->changes;
    size_t count = c->v->change_count;
    int rc = tp_verify_begin_from(c->snapshot, &c->start, c->rules, &v, &replay, err);
    for (size_t i = 0; rc == TP_OK && i < count; i++) {
        rc = tp_verify_set(replay, changes[i].event, &c->found[i], err);
        changes[i].addresses = v.addresses.good;
    }
    if (rc == TP_OK)
        rc = tp_verify_agreeing(replay, err);
    for (size_t i = 0; i < count; i++)
        changes[i].addresses =
            (i + 1 < count ? changes[i + 1].addresses : v.addresses.good) - changes[i].addresses;
    tp_verify_stop(replay);
    return rc;
}

static int search_changes(struct change_search *c, uint64_t differs, struct tp_err *err)
{
    struct change_place best[CANDIDATES];
    uint64_t low = 1;
    int rc = TP_OK;
    c->v->search = TP_NO_CHANGE_FITS;
    while (rc == TP_OK && differs != REACHES_END && c->v->change_count < TP_VERIFY_CHANGES) {
        rc = place_changes(c, low, differs, best, err);
        if (rc != TP_OK || !take_best(c, best, differs))
            break;
        low = c->v->changes[c->v->change_count - 1].event + 1;
        rc = reach_of(c, NULL, 0, &differs, err);
    }
    if (differs == REACHES_END)
        c->v->search = TP_CHANGES_FOUND;
    else if (!c->left)
        c->v->search = TP_SEARCH_CUT;
    if (c->v->search != TP_CHANGES_FOUND)
        c->v->change_count = 0;
    return rc == TP_OK && c->v->change_count ? count_addresses(c, err) : rc;
}

int tp_verify_changes(const struct tp_pytorch *s, const struct tp_torch_rules *rules,
                      const char *recorded, struct tp_verified *v, struct tp_err *err)
{
    struct change_search c = {.snapshot = s,
                              .rules = rules,
                              .recorded = recorded ? recorded : "",
                              .v = v,
                              .left = MOST_EVENTS + MOST_PASSES * v->events};
    if (tp_agrees(v) || v->first.kind == TP_START_UNPLACED)
        return TP_OK;
    read_candidates(&c);
    int rc = tp_verify_start_open(s, v->device, rules->small_segment, &c.start, err);
    if (rc == TP_OK)
        rc = search_changes(&c, v->first.event ? v->first.event : v->events + 1, err);
    tp_verify_start_close(s, &c.start);
    if (rc != TP_ENOMEM && rc != TP_EINPUT)
        return rc;
    v->search = TP_SEARCH_CUT; /* the comparison itself had memory enough */
    v->change_count = 0;
    return TP_OK;
}
