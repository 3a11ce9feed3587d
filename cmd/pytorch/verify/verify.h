/* Does the strategy `torch` do what the recorded allocator did? A snapshot's trace is replayed on
 * an instance that begins with the recorded heap, and every answer is compared with the file.
 *
 *     snapshot --> heap at the start (pytorch_heap.h) --> placed on the instance (torch_place.h)
 *              --> events: alloc --> the same address?   free, segments: verify.c
 *              --> the segments at the end, with their blocks
 *
 * Addresses of new segments are the driver's choice: the instance gets them from the file
 * (recorded_source.h). After a difference the recorded answer is forced, so that the next one is a
 * difference of its own. */
#ifndef TP_VERIFY_H
#define TP_VERIFY_H

#include "alloc/strategies/torch/torch_rules.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

/* What the certifier keeps of an open file. */
struct tp_torch_file {
    struct tp_pytorch snapshot;
    struct tp_torch_rules rules;
    struct tp_rules_ask ask;
};

/* The rules for a snapshot: with `conf`, or the settings that the file recorded where that is NULL,
 * of the allocator that the file's frames name. */
int tp_verify_rules(const struct tp_pytorch *s, const char *conf, struct tp_torch_rules *rules,
                    struct tp_err *err);

/* The same for the allocator of a device (struct tp_torch_device), of a release (tp_torch_version).
 * NULL: that of the frames, and the newest that writes such a snapshot. */
int tp_verify_rules_of(const struct tp_pytorch *s, const char *device, const char *release,
                       const char *conf, struct tp_torch_rules *rules, struct tp_err *err);

/* Replays the events of a device. `broken` is the name of a rule to break, or NULL. TP_EINPUT: the
 * file has what the rules do not know, such as segments that grow. */
int tp_verify(const struct tp_pytorch *s, uint32_t device, const struct tp_torch_rules *rules,
              const char *broken, struct tp_verified *out, struct tp_err *err);

/* The same step by step, for those who look at the heap at an event. *replay must be stopped in
 * every case; `rules` and `out`, which has what was found so far, are used until then. */
struct tp_verify_replay;
int tp_verify_begin(const struct tp_pytorch *s, uint32_t device, const struct tp_torch_rules *rules,
                    struct tp_verified *out, struct tp_verify_replay **replay, struct tp_err *err);

/* As tp_verify_begin, from a start that is used for several replays; out->device is set. */
struct tp_verify_start;
int tp_verify_begin_from(const struct tp_pytorch *s, const struct tp_verify_start *from,
                         const struct tp_torch_rules *rules, struct tp_verified *out,
                         struct tp_verify_replay **replay, struct tp_err *err);

/* Replays up to and with an event: its number among those of the device, from 1. Beyond the last
 * one all are replayed. */
int tp_verify_until(struct tp_verify_replay *replay, uint64_t event, struct tp_err *err);

/* Replays up to the event before this one, or to the first difference, and sets other settings. */
int tp_verify_set(struct tp_verify_replay *replay, uint64_t event,
                  const struct tp_torch_settings *conf, struct tp_err *err);

/* Replays the rest and compares the end, or stops at the first difference. */
int tp_verify_agreeing(struct tp_verify_replay *replay, struct tp_err *err);

/* The number of a stream on the instance. */
int tp_verify_number(struct tp_verify_replay *replay, int64_t stream, uint16_t *out,
                     struct tp_err *err);

/* The instance of `torch` (alloc/strategies/torch/torch_place.h). */
void *tp_verify_instance(struct tp_verify_replay *replay);
void tp_verify_stop(struct tp_verify_replay *replay); /* NULL is fine */

/* Where addresses differ: do other settings, set while the program ran, explain them? */

/* Looks for them, in a table of settings that programs are known to set, and fills in v->search and
 * v->changes. `v` is what tp_verify found by these rules. Does nothing where it agrees, or where
 * the start could not be placed. What is replayed is bounded: some 20 million events and 8 times
 * those of the device. `recorded` (NULL: "") is the text whose settings the rules have; it is
 * borrowed by v->changes. */
int tp_verify_changes(const struct tp_pytorch *s, const struct tp_torch_rules *rules,
                      const char *recorded, struct tp_verified *v, struct tp_err *err);

#endif
