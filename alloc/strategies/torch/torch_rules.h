/* The numbers that decide what PyTorch's caching allocator does: its constants, and what
 * PYTORCH_CUDA_ALLOC_CONF says.
 *
 * An edge is kept as the number that makes it, so that every rule can be broken on purpose by
 * another number: "more than 1 MiB" is "at least 1 MiB and 1 byte". */
#ifndef TP_TORCH_RULES_H
#define TP_TORCH_RULES_H

#include "alloc/base/mutation.h"
#include "alloc/base/str.h"
#include "alloc/program/heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_TORCH_INTERVALS = 16 }; /* of roundup_power2_divisions: 1 MiB, 2 MiB, ... 32 GiB */

#define TP_TORCH_NO_SPLIT_LIMIT UINT64_MAX

/* Which of the free blocks that are large enough serves a request. Only TP_TORCH_BEST is what
 * PyTorch does; the others show that a comparison with a recording can fail. */
enum tp_torch_fit {
    TP_TORCH_BEST,    /* the smallest, of equal ones the lowest address */
    TP_TORCH_HIGHEST, /* the smallest, of equal ones the highest address */
    TP_TORCH_FIRST,   /* the lowest address */
    TP_TORCH_WORST,   /* the largest */
};

/* All sizes in bytes. */
struct tp_torch_rules {
    uint64_t device;        /* index of tp_torch_devices: which settings there are */
    uint64_t extra;         /* added to the size of a request before it is rounded */
    uint64_t grain;         /* sizes are rounded up to multiples of this */
    uint64_t small_most;    /* largest rounded size that the small pool serves */
    uint64_t packed_most;   /* largest rounded size whose segment has `small_segment` bytes */
    uint64_t small_segment; /* a segment of the small pool, or a unit of one that grows */
    uint64_t own_least;     /* least rounded size that gets a segment of about its own size */
    uint64_t large_segment; /* a segment for the sizes between those two, or a unit */
    uint64_t own_grain;     /* larger segments are multiples of this */
    /* requests of at least own_grain that are served while segments grow begin at multiples of this
     * in their segment, where the free block has room for it; 0: anywhere */
    uint64_t base_grain;
    uint64_t small_rest;    /* least rest that is split off a block of the small pool */
    uint64_t large_rest;    /* the same in the large pool */
    uint64_t split_limit;   /* max_split_size_mb, or TP_TORCH_NO_SPLIT_LIMIT */
    uint64_t oversize_rest; /* max_non_split_rounding_mb */
    uint64_t merge_before;  /* bool: a freed block is merged with the free one before it */
    uint64_t merge_behind;
    uint64_t expandable;     /* bool: new segments grow */
    uint64_t fit;            /* enum tp_torch_fit */
    uint64_t collect_rounds; /* of freeing what has the average age, while it does not suffice */
    double collect_above;    /* garbage_collection_threshold; 0: off */
    double memory_fraction;  /* per_process_memory_fraction; 0: not set */
    uint64_t divisions[TP_TORCH_INTERVALS]; /* roundup_power2_divisions; 0 or 1: off */
    /* bool, graph_capture_record_stream_reuse: decides when blocks of a graph that is being
     * captured become free, which is recorded and not simulated */
    uint64_t graph_reuse;
    uint64_t rejects; /* bool, throw_on_cudamalloc_oom: above the share nothing is freed for it */
    /* expandable_segments_reserve: addresses of one segment that grows, a share of the device or
     * bytes; both 0: 9/8 of the device */
    double reserve_share;
    uint64_t reserve_bytes;
    /* bool, of a release: '>' of roundup_power2_divisions begins behind the interval before it */
    uint64_t behind_last;
    /* bool, of a release: pools that are to be used where the device is full (MemPool use_on_oom)
     * are asked before cached memory is given back, not behind that */
    uint64_t spare_first;
    uint64_t rest_follows; /* bool, of a release: a text without it sets oversize_rest */
};

extern const struct tp_torch_rules tp_torch_defaults;

/* Whose allocator it is: other devices have PyTorch's CUDA allocator with these differences. */
struct tp_torch_device {
    const char *name;     /* "npu", as in -s torch:allocator=npu */
    const char *title;    /* for reports: "Ascend (torch_npu)" */
    const char *variable; /* the environment variable of its settings: "PYTORCH_NPU_ALLOC_CONF" */
    uint64_t extra, base_grain; /* of struct tp_torch_rules */
};

/* Ends with a name of NULL. The first is CUDA. */
extern const struct tp_torch_device tp_torch_devices[];

/* The device of this name; that of CUDA where the name is NULL, or none of them. */
const struct tp_torch_device *tp_torch_device(const char *name);

/* The environment variable that a recorded program's PyTorch reads, by the name of the device, what
 * its recording says of its settings, and the release, each of which may be NULL: on CUDA the newer
 * name only where the recording has it, or is of 2.10 or newer, because older versions ignore that
 * one silently. */
const char *tp_torch_variable(const char *device, const char *said, const char *release);

/* The rules of a device without settings. */
struct tp_torch_rules tp_torch_rules_for(const struct tp_torch_device *device);

/* The same by the names of the device and the release, each of which may be NULL. A release that
 * cannot be read is the newest. */
struct tp_torch_rules tp_torch_rules_named(const char *device, const char *release);

/* Whether a release is older than this one; false where it is NULL or cannot be read. */
bool tp_torch_is_before(const char *release, unsigned major, unsigned minor);

/* Makes them those of a release of PyTorch: "2.9", "2.10.1". They begin as the newest that is
 * known. TP_EUSAGE: this is no version. */
int tp_torch_version(struct tp_torch_rules *rules, const char *version, struct tp_err *err);

/* Copies such a text without its blanks, which PyTorch allows anywhere. False: it does not fit. */
bool tp_torch_plain(const char *text, char *to, size_t room);

/* Set beside a recorded garbage_collection_threshold that collected something: the program had set
 * its share of the device, which is what is known of the device's size. */
#define TP_TORCH_WHOLE_SHARE ",per_process_memory_fraction:1.0"

/* The text among the settings that a recording says, as its reader puts them: "NAME=TEXT", or "NAME
 * is empty: defaults, expandable_segments on", where segments grow by a call of PyTorch and not by
 * that text, or "no setting is recorded: segments grow, so expandable_segments on". "" for the
 * defaults; NULL: it does not say. Points into `said`, or is static. */
const char *tp_torch_recorded(const char *said);

/* A text of settings that was read, for the device of the rules that it was read for. */
struct tp_torch_settings {
    uint64_t named;               /* a bit for each key that the text has */
    struct tp_torch_rules values; /* what these keys set */
};

/* Reads the text of PYTORCH_CUDA_ALLOC_CONF, which is to be set while `rules` hold. TP_EUSAGE names
 * the key or the value. */
int tp_torch_conf_read(struct tp_torch_settings *conf, const struct tp_torch_rules *rules,
                       const char *text, struct tp_err *err);

/* Sets it, as torch.cuda.memory._set_allocator_settings does: some keys that it does not have go
 * back to their defaults, and all others keep their value. */
void tp_torch_conf_set(const struct tp_torch_settings *conf, struct tp_torch_rules *rules);

/* Adds the parts of a text that decide nothing which is simulated, such as those of pinned memory:
 * who sets another text keeps them. A text that cannot be read adds nothing. */
void tp_torch_conf_kept(const char *text, struct tp_str *out);

/* Whether a text that was read has a key. */
bool tp_torch_conf_has(const struct tp_torch_settings *conf, const char *key);

/* Whether segments that grow do so in whole units of 2 MiB. TP_EUSAGE. */
int tp_torch_check_units(const struct tp_torch_rules *rules, struct tp_err *err);

/* Reads a text and sets it. */
int tp_torch_conf(struct tp_torch_rules *rules, const char *text, struct tp_err *err);

extern const struct tp_mutation tp_torch_mutations[]; /* of struct tp_torch_rules */

/* Whether a program with one of these settings would make blocks and segments of the same kinds as
 * with the other: segments grow with both or none, and sizes are rounded alike. Then it may begin
 * with a heap that the other one made. `device` and `release` are names, or NULL. False where a
 * text cannot be read. */
bool tp_torch_makes_alike(const char *device, const char *release, const char *one,
                          const char *other);

/* Whether `rest` bytes behind `size` bytes are split off a block of the small or the large pool. */
static inline bool tp_torch_is_split(const struct tp_torch_rules *rules, bool small, uint64_t size,
                                     uint64_t rest)
{
    if (small || rules->expandable)
        return rest >= rules->small_rest;
    return size < rules->split_limit && rest >= rules->large_rest;
}

/* The rounded size of a request of at most 2^62 bytes. */
uint64_t tp_torch_rounded(const struct tp_torch_rules *rules, uint64_t size);

/* The bytes of a block that was live when the recording began, with room up to `end`. Where they
 * are not recorded, they follow from the request and from what was made behind the block:
 *
 *     | block  rest | next live block     a rest that the rules would have split off is free, else
 *                                         it is part of the block
 *     | block  ?        free       |      where the first request is served from the free bytes
 *              ?| first |          |      while the block is live, they begin: the lowest bytes
 *                                         of a free block always serve */
uint64_t tp_torch_block_bytes(const struct tp_torch_rules *rules, bool small,
                              const struct tp_heap_block *block, uint64_t end);

/* The bytes of a new segment for a rounded size. */
uint64_t tp_torch_segment_bytes(const struct tp_torch_rules *rules, uint64_t size);

#endif
