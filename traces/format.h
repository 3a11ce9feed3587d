/* A trace format: a front end that turns bytes into events.
 *
 * To add a format: one file in traces/formats/ that exports one `const struct tp_format`, and one
 * line in cmd/registry.c. Nothing else knows that it exists. */
#ifndef TP_FORMAT_H
#define TP_FORMAT_H

#include "alloc/base/grow.h"
#include "traces/input/input.h"
#include "traces/lower/lower.h"
#include "traces/lower/recorded.h"

#define TP_PROBE_BYTES ((size_t)64 << 10) /* that a format is told by */

/* What a trace says about itself. Texts are owned, clean (tp_meta_set), NULL where not given. */
struct tp_meta {
    char *name;     /* of the trace */
    char *program;  /* what was recorded */
    char *capture;  /* what the file is, for people: "PyTorch memory snapshot (pickle 4)" */
    char *settings; /* of the recorded allocator: "PYTORCH_CUDA_ALLOC_CONF is empty: defaults" */
    char *unknown;  /* what the format does not know, in words with commas: "threads, alignment" */
    char *space;    /* the memory space that is replayed, where the format has several */
    char *left_out; /* the others: "CPU (1,240 events, 34.1 MiB)" */
    char *remarks;  /* facts that a reader of figures must know, one sentence a line */
    char *nothing;  /* why there are no events, as the end of a sentence: "PyTorch was not ..." */
    char *nothing_hint; /* and what to do about it */
    uint32_t spaces;    /* memory spaces that have events; 0: the format knows none */
    enum tp_kind kind;
    bool loop;    /* one period of a loop, by its own word */
    bool wrapped; /* a ring buffer was full: the trace begins mid-run */
    bool lost;    /* there was no memory for a text */
};
void tp_meta_release(struct tp_meta *meta);

/* The texts that tapool's own formats keep, under these names: JSON the first TP_META_JSON_TEXTS,
 * .tpt all of them. */
enum { TP_META_JSON_TEXTS = 7, TP_META_TEXTS = 9 };
extern const char *const tp_meta_text_names[TP_META_TEXTS];

/* Where the i-th of them is kept. */
char **tp_meta_text(struct tp_meta *meta, size_t i);

/* Sets *field, a text of `meta`, to what is valid UTF-8 without control characters: traces are
 * hostile, and this text reaches terminals and JSON. At most 1,000 bytes are kept. */
void tp_meta_set(struct tp_meta *meta, char **field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a line to meta->remarks. */
void tp_meta_remark(struct tp_meta *meta, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Failed requests of more than TP_MAX_SIZE are no events: says how many, unless there are none. */
void tp_meta_too_large(struct tp_meta *meta, uint64_t count);

/* To be asked when all is said: TP_ENOMEM where a text is missing. */
int tp_meta_status(const struct tp_meta *meta, struct tp_err *err);

/* What the user chose among what a file holds. */
struct tp_read_opts {
    const char *space;   /* name of a memory space, or "all"; NULL: the one with most bytes */
    int64_t device;      /* of formats that number devices; -1: all that have events */
    uint64_t max_memory; /* bytes that reading may take; 0: TP_MAX_MEMORY */
    int (*stop)(struct tp_err *err); /* asked from time to time; its status ends the reading */
    bool strict;                     /* a file of which only a part can be read is an error */
};

static inline uint64_t tp_max_memory(const struct tp_read_opts *o)
{
    return o->max_memory ? o->max_memory : TP_MAX_MEMORY;
}

/* Finds where in the recorded program events happened: "optimizer.py:78 step". Filled in by formats
 * that record stacks; all NULL elsewhere. */
enum { TP_PLACE_TEXT = 120, TP_PLACES_MAX = 20 };
struct tp_places {
    /* Writes a clean text, or "", for each of some events (from 1, ascending). Reads the file
     * again: not for hot paths. */
    int (*find)(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                struct tp_err *err);
    void (*release)(void *ctx);
    void *ctx;
    uint64_t before; /* events that were cut off before event 1: tp_places_find counts them in */
};

/* Everything a reader works with; borrowed for the call. */
struct tp_reading {
    struct tp_input *in;
    struct tp_lower *lower;
    struct tp_meta *meta;
    struct tp_recorded *recorded; /* ground truth, empty at first */
    struct tp_places *places;     /* empty at first; what is set outlives the call */
    const struct tp_read_opts *opts;
    struct tp_budget *budget; /* NULL: nothing is counted */
};

/* For what a reader keeps: --max-memory bounds it, and sentences begin with the file. */
static inline struct tp_growth tp_reading_growth(const struct tp_reading *r, const char *what)
{
    return (struct tp_growth){.what = what, .of = tp_input_name(r->in), .budget = r->budget};
}

#define TP_READ_GROW(r, items, room, least, name, err)                                             \
    TP_GROW(items, room, least, err, .what = (name), .of = tp_input_name((r)->in),                 \
            .budget = (r)->budget)

struct tp_format {
    const char *name;    /* for --input-format */
    const char *summary; /* one line for `tapool help formats` */
    const char *record;  /* what makes such a file; NULL: people and scripts write it */
    const char *capture; /* what meta->capture begins with, in what is converted too; or NULL */
    const char *whole;   /* with `capture`: how to record what was live before as well */
    bool own;            /* tapool's own: strict by default */
    bool has_spaces;     /* its files may mix memory spaces: opts->space chooses */
    bool has_devices;    /* opts->device chooses */

    /* 0 = not this format, 100 = certain. Looks at the first bytes (up to TP_PROBE_BYTES).
     */
    int (*probe)(const unsigned char *data, size_t size);

    /* Reads to the end. Errors name file, line or byte, and event. A file that is well-formed but
     * records no events is TP_OK with meta->nothing set. */
    int (*read)(const struct tp_reading *r, struct tp_err *err);

    /* Instead of `read`, for files that are programs as they stand: r->lower is NULL. Fills in
     * `repairs`, TP_REPAIR_COUNT of them. */
    int (*open)(const struct tp_reading *r, struct tp_program **out, uint64_t *repairs,
                struct tp_err *err);
};

#endif
