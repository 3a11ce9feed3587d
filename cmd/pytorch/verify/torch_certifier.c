/* The certifier of PyTorch's caching allocator (cmd/verify/certifier.h): its snapshots, the rules
 * of the strategy `torch`, and the sentences about segments and their settings. */
#include "cmd/pytorch/verify/verify.h"

#include "alloc/base/numbers.h"
#include "traces/formats/pytorch/pytorch_heap.h"

#include <stdlib.h>

extern const struct tp_format tp_format_pytorch;

static const char *const options[] = {"conf", "allocator", "pytorch", NULL};

/* ---- sentences ---- */

#define AT(member)        .at = offsetof(struct tp_verified, member)
#define AGREEMENT(member) .agreement = true, AT(member)

static const struct tp_verify_row rows[] = {
    {TP_ROW_HEAD, "fidelity", AGREEMENT(addresses), .after = " addresses"},
    {TP_ROW_HEAD, "fidelity", AGREEMENT(segments), .after = " segments"},
    {TP_ROW_DRIVER, "segments", AGREEMENT(taken), .after = " taken where the file takes them"},
    {TP_ROW_DRIVER, "segments", AGREEMENT(returned), .joins = true,
     .after = " wholly free where the file gives them back"},
    {TP_ROW_DRIVER, "mapped", AGREEMENT(mapped), .after = " times as the file maps memory"},
    {TP_ROW_DRIVER, "unmapped", AGREEMENT(unmapped),
     .after = " times the whole free units where the file unmaps them"},
    {TP_ROW_DRIVER, "from the file", AT(switches), .noun = "time",
     .before = "that expandable_segments changed, ", .after = ": where memory is taken shows it"},
    {TP_ROW_DRIVER, "from the file", AT(with_base),
     .after = " of these addresses: the base of a new segment is the driver's choice"},
    {TP_ROW_START, "", AT(start_stretches), .noun = "part",
     .after = " of segments that grow; these begin at the lowest address in the file"},
    {TP_ROW_START, "", AT(start_inferred),
     .after = " of them taken for the large pool: the file does not say which"},
    {TP_ROW_START, "", AT(start_rounded),
     .after = " of these blocks were freed later: their size is their request's, rounded up"},
    {TP_ROW_START, "", AT(start_shown),
     .after = " of them kept a rest: its size is taken from the first address behind it"},
    {TP_ROW_END, "not compared", AT(unpooled), .noun = "request",
     .after = " in private pools, which the events do not name"},
    {.label = NULL}};

static const struct tp_verify_sentence sentences[TP_DIFFERENCE_KINDS] = {
    [TP_NEEDS_SEGMENT] = {"alloc of", NULL, "a new segment: nothing free fits"},
    [TP_NEEDS_MAPPING] = {"alloc of", NULL, "maps memory: nothing free fits"},
    [TP_NOT_ITS_UNITS] = {"segment_unmap of", "these units", "more of the free block"},
    [TP_MAPPED_IN_USE] = {"segment_unmap of", "whole units that are free", "not free"},
    [TP_SEGMENT_IN_USE] = {"segment_free of", "a segment that is wholly free", "not wholly free"},
    [TP_START_UNPLACED] = {"a place for", "a place of its own",
                           "it overlaps, or lies in no segment"},
    [TP_OTHER_LAYOUT] = {"at the end, segment of", "its blocks as in the file", "others"},
};

/* ---- a snapshot ---- */

static int open_snapshot(const struct tp_reading *r, void **state, struct tp_err *err)
{
    struct tp_torch_file *f = *state = calloc(1, sizeof *f);
    if (!f)
        return tp_input_no_memory(r->in, err);
    f->snapshot.reading = r;
    int rc = tp_pytorch_read(&f->snapshot, err);
    return rc == TP_OK ? tp_pytorch_date_segments(&f->snapshot, err) : rc;
}

static void close_snapshot(void *state)
{
    tp_pytorch_release(&((struct tp_torch_file *)state)->snapshot);
    free(state);
}

static uint32_t count_devices(const void *state)
{
    (void)state;
    return TP_PYTORCH_DEVICES;
}

static struct tp_recorded_part part(const void *state, uint32_t device)
{
    const struct tp_torch_file *f = state;
    const struct tp_pytorch_device *d = &f->snapshot.devices[device];
    bool events = tp_pytorch_has_events(d);
    return (struct tp_recorded_part){.events = events, .memory = events || d->end.end_segments};
}

static int fail_silent(const void *state, struct tp_err *err)
{
    const struct tp_pytorch *s = &((const struct tp_torch_file *)state)->snapshot;
    const char *name = tp_input_name(s->reading->in);
    const struct tp_pytorch_silence silence = tp_pytorch_silence(s);
    uint64_t pinned = s->devices[TP_PYTORCH_HOST].count;
    if (pinned)
        return tp_hint(err,
                       tp_fail(err, TP_EINPUT,
                               "%s: no events of a GPU: its %s are of pinned memory of the host",
                               name, tp_plural(pinned, "event").s),
                       "'tapool info' and 'tapool tune' show them: --space='%s'",
                       TP_PYTORCH_HOST_SPACE);
    return tp_hint(err, tp_fail(err, TP_EINPUT, "%s: no events: %s", name, silence.why), "%s",
                   silence.hint);
}

/* ---- the rules ---- */

static int set_rules(void *state, const struct tp_rules_ask *ask, struct tp_err *err)
{
    struct tp_torch_file *f = state;
    struct tp_torch_rules tried = tp_torch_defaults;
    f->ask = *ask;
    int rc = ask->broken ? tp_mutate(&tried, tp_torch_mutations, ask->broken, err) : TP_OK;
    if (rc != TP_OK)
        return rc;
    return tp_verify_rules_of(&f->snapshot, ask->device, ask->release, ask->conf, &f->rules, err);
}

static const char *allocator(const void *state)
{
    return tp_torch_devices[((const struct tp_torch_file *)state)->rules.device].title;
}

static int verify_device(void *state, uint32_t device, struct tp_verified *out, struct tp_err *err)
{
    const struct tp_torch_file *f = state;
    const struct tp_rules_ask *ask = &f->ask;
    int rc = tp_verify(&f->snapshot, device, &f->rules, ask->broken, out, err);
    if (rc == TP_OK && ask->explain && !ask->broken)
        rc = tp_verify_changes(&f->snapshot, &f->rules,
                               ask->conf ? ask->conf : tp_pytorch_conf(&f->snapshot), out, err);
    return rc;
}

const struct tp_certifier tp_certifier_torch = {
    .by = "PyTorch",
    .format = &tp_format_pytorch,
    .segment = "segment",
    .options = options,
    .rows = rows,
    .sentences = sentences,
    .no_change = "no other max_split_size_mb or roundup_power2_divisions that was tried, from any "
                 "event on, explains the addresses",
    .streams = true,
    .rules = tp_torch_mutations,
    .open = open_snapshot,
    .close = close_snapshot,
    .count = count_devices,
    .part = part,
    .fail_silent = fail_silent,
    .set_rules = set_rules,
    .allocator = allocator,
    .verify = verify_device,
};
