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

#include "cmd/jobs/open_trace.h"
#include "cmd/pytorch/verify/verified.h"
#include "cmd/results/result.h"
#include "cmd/ui/text.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Rows of options of the commands that read a snapshot as it is. */
#define TP_CONF_ROW(at)                                                                            \
    TP_TEXT_AT("conf", at, .from = TP_OPT_USER, .arg = "TEXT", TP_FIRST(TRACES),                   \
               .help = "PYTORCH_CUDA_ALLOC_CONF of the recording\n"                                \
                       "For a file that does not have it, or has a wrong one.")
#define TP_SNAPSHOT_MEMORY_ROW(at)                                                                 \
    TP_SIZE_AT("max-memory", at, .def = "1GiB", .min = 1 << 20, .max = UINT64_C(1) << 60,          \
               TP_IN(LIMITS), .help = "memory limit for reading a snapshot")

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

/* What `tapool verify` prints. */

/* Prints the certificate of one device, by the rules of `allocator`. `several`: the file has more
 * than one device. */
void tp_verify_text(const struct tp_verified *v, const struct tp_torch_device *allocator,
                    bool several, struct tp_page *page);

/* With --json: the document, the list of its devices, to which tp_verify_json adds one. */
struct cJSON;
struct tp_json;
struct cJSON *tp_verify_tree(struct tp_json *j, const char *file,
                             const struct tp_torch_device *allocator, struct cJSON **devices);
void tp_verify_json(struct tp_json *j, struct cJSON *devices, const struct tp_verified *v);

/* Where addresses differ: do other settings, set while the program ran, explain them? */

/* Looks for them, in a table of settings that programs are known to set, and fills in v->search and
 * v->changes. `v` is what tp_verify found by these rules. Does nothing where it agrees, or where
 * the start could not be placed. What is replayed is bounded: some 20 million events and 8 times
 * those of the device. `recorded` (NULL: "") is the text whose settings the rules have; it is
 * borrowed by v->changes. */
int tp_verify_changes(const struct tp_pytorch *s, const struct tp_torch_rules *rules,
                      const char *recorded, struct tp_verified *v, struct tp_err *err);

/* How far the strategy `torch` agrees with a snapshot: the figures of `tapool verify`, for reports.
 */

/* Adds up all devices with events, or the one that was selected, of a trace that was opened from
 * `path`. That reads the file again, so false of large ones unless `large`; and of what is no
 * snapshot, was not read whole, or holds what the rules do not know. */
bool tp_fidelity_of(const struct tp_trace *trace, const char *path, const struct tp_open_opts *o,
                    bool large, struct tp_fidelity *out);

/* A PyTorch snapshot that is read in the file's own terms, not as a trace. */

/* It must not move while it is open. */
struct tp_snapshot_file {
    struct tp_read_opts opts;
    struct tp_budget budget;
    struct tp_reading reading;
    struct tp_pytorch *snapshot;
};

/* Opens a file, or "-" for standard input. It must be closed in every case. */
int tp_snapshot_open(struct tp_snapshot_file *f, const char *path, uint64_t max_memory,
                     struct tp_err *err);
void tp_snapshot_close(struct tp_snapshot_file *f);

/* TP_EINPUT: the snapshot has no events of a GPU. */
int tp_snapshot_silent(const struct tp_pytorch *s, struct tp_err *err);

#endif
