/* See fidelity.h. The file is read once more, in its own terms: a program has no addresses. */
#include "cmd/verify/fidelity.h"

#include "cmd/verify/snapshot_file.h"
#include "cmd/verify/verify.h"

static void add(struct tp_agreement *sum, const struct tp_agreement *more)
{
    sum->good += more->good;
    sum->all += more->all;
}

static int add_devices(const struct tp_pytorch *s, int64_t device, struct tp_agreement *addresses,
                       struct tp_agreement *segments, struct tp_err *err)
{
    struct tp_torch_rules rules;
    int rc = tp_verify_rules(s, NULL, &rules, err);
    for (uint32_t i = 0; rc == TP_OK && i < TP_PYTORCH_DEVICES; i++) {
        struct tp_verified v;
        if (!tp_pytorch_has_events(&s->devices[i]) || (device >= 0 && device != i))
            continue;
        rc = tp_verify(s, i, &rules, NULL, &v, err);
        if (rc != TP_OK)
            return rc;
        add(addresses, &v.addresses);
        add(segments, &v.segments);
    }
    return rc;
}

int tp_fidelity_of(const char *path, int64_t device, uint64_t max_memory,
                   struct tp_agreement *addresses, struct tp_agreement *segments,
                   struct tp_err *err)
{
    struct tp_snapshot_file file;
    *addresses = *segments = (struct tp_agreement){0, 0};
    int rc = tp_snapshot_open(&file, path, max_memory, err);
    if (rc == TP_OK)
        rc = add_devices(file.snapshot, device, addresses, segments, err);
    tp_snapshot_close(&file);
    return rc;
}
