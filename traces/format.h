/* A trace format: a front end that turns bytes into events.
 *
 * To add a format: one file in traces/formats/ that exports one `const struct tp_format`, and one
 * line in cmd/registry.c. Nothing else knows that it exists. */
#ifndef TP_FORMAT_H
#define TP_FORMAT_H

#include "alloc/base/grow.h"
#include "alloc/base/touched.h"
#include "traces/input/input.h"
#include "traces/lower/lower.h"
#include "traces/lower/recorded.h"

#define TP_PROBE_BYTES ((size_t)64 << 10) /* first bytes of a file, shown to probe() */

/* What a trace says about itself. Texts are owned, cleaned by tp_meta_set, and NULL if not
 * given. */
struct tp_meta {
    char *name;    /* name of the trace */
    char *program; /* the recorded program */
    char *capture; /* kind of file, for people: "PyTorch memory snapshot (pickle 4)" */
    /* settings of the recorded allocator: "PYTORCH_CUDA_ALLOC_CONF is empty: defaults" */
    char *settings;
    char *unknown;  /* facts that the format does not have, with commas: "threads, alignment" */
    char *space;    /* the memory space that is replayed, if the format has several */
    char *left_out; /* memory spaces that are not replayed: "CPU (1,240 events, 34.1 MiB)" */
    char *remarks;  /* facts that readers of the results must know, one sentence per line */
    char *nothing;  /* why there are no events, as the end of a sentence: "PyTorch was not ..." */
    char *nothing_hint; /* advice when there are no events */
    /* What the program wrote of its large blocks: LOG2:BYTES:WRITTEN for each octave of sizes
     * (tp_meta_touched) */
    char *written;
    char *allocator; /* that served the recorded program: "glibc 2.36" */
    /* whose allocator of PyTorch it was: "cuda", "hip", "xpu" or "npu"; NULL: not known */
    char *allocator_device;
    /* the release of PyTorch whose rules it has, the newest that it can be of: "2.9"; NULL: not
     * known */
    char *allocator_release;
    /* Numbers up to TP_META_NUMBER_MAX; 0: none, or not known. */
    uint64_t not_recorded;            /* calls of the recorded program that are missing */
    uint64_t cpu_low_ns, cpu_high_ns; /* CPU time of the recorded program, without the recorder's */
    uint64_t wall_ns;                 /* time from its start to its end, with that */
    uint64_t malloc_low_ns, malloc_high_ns; /* of all its calls, 95% CI, by timed ones */
    uint64_t
        garbage_collections; /* devices of which PyTorch collected garbage, as far as it shows */
    uint32_t spaces;         /* memory spaces that have events; 0: the format has no spaces */
    enum tp_kind kind;
    bool loop;    /* the trace declares itself one period of a loop */
    bool wrapped; /* a ring buffer was full: the trace begins mid-run */
    bool lost;    /* out of memory: a text is missing */
};
void tp_meta_release(struct tp_meta *meta);

/* Names of the texts that tapool's own formats keep. JSON keeps the first TP_META_JSON_TEXTS, .tpt
 * keeps all. */
enum { TP_META_JSON_TEXTS = 11, TP_META_TEXTS = 13 };
extern const char *const tp_meta_text_names[TP_META_TEXTS];

/* The member of `meta` that tp_meta_text_names[i] names; i < TP_META_TEXTS. */
char **tp_meta_text(struct tp_meta *meta, size_t i);

/* Formats *field, a text of `meta`, and keeps only valid UTF-8 without control characters: traces
 * are hostile, and this text reaches terminals and JSON. At most 1,000 bytes are kept. */
void tp_meta_set(struct tp_meta *meta, char **field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a line to meta->remarks. */
void tp_meta_remark(struct tp_meta *meta, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Names of the numbers that tapool's own formats keep, and their values. What is set is at most
 * TP_META_NUMBER_MAX, and 0 where `value` is not above it. */
#define TP_META_NUMBER_MAX 9007199254740991.0 /* numbers of JSON are exact up to it */
enum tp_meta_numbers {
    TP_META_NOT_RECORDED,
    TP_META_CPU_LOW_NS,
    TP_META_CPU_HIGH_NS,
    TP_META_WALL_NS,
    TP_META_MALLOC_LOW_NS,
    TP_META_MALLOC_HIGH_NS,
    TP_META_GARBAGE_COLLECTIONS,
    TP_META_NUMBERS
};
extern const char *const tp_meta_number_names[TP_META_NUMBERS];
uint64_t tp_meta_number(const struct tp_meta *meta, size_t i);
void tp_meta_set_number(struct tp_meta *meta, size_t i, double value);

/* Sets meta->written. */
void tp_meta_set_written(struct tp_meta *meta, const uint64_t large[TP_TOUCHED_OCTAVES],
                         const uint64_t written[TP_TOUCHED_OCTAVES]);

/* Reads meta->written, as far as it can be read; all octaves are written wholly where it says
 * nothing. Returns the share of the bytes that were written, 1 where that is not known. */
double tp_meta_touched(const struct tp_meta *meta, struct tp_touched *out);

/* The share of the program's CPU time that its calls of malloc took, 95% CI. false: it is not
 * known, or only within more than a factor of 2. */
bool tp_meta_malloc_share(const struct tp_meta *meta, double *low, double *high);

/* Adds a remark with the number of failed requests above TP_MAX_SIZE, which are left out of the
 * events. Does nothing when `count` is 0. */
void tp_meta_too_large(struct tp_meta *meta, uint64_t count);

/* TP_ENOMEM when any text was lost. Check once, after the last text is set. */
int tp_meta_status(const struct tp_meta *meta, struct tp_err *err);

/* Options of the user that select a part of a file. */
struct tp_read_opts {
    /* name of a memory space, or "all"; NULL: the space with the most allocated bytes */
    const char *space;
    int64_t device;      /* device to read, in formats that number devices; -1: all with events */
    uint64_t max_memory; /* bytes that reading may take; 0: TP_MAX_MEMORY */
    /* called from time to time; a status other than TP_OK ends reading */
    int (*stop)(struct tp_err *err);
    bool strict; /* a file that can be read only in part is an error */
};

static inline uint64_t tp_max_memory(const struct tp_read_opts *o)
{
    return o->max_memory ? o->max_memory : TP_MAX_MEMORY;
}

/* Finds where in the recorded program events happened: "optimizer.py:78 step". Filled in by formats
 * that record stacks; all NULL elsewhere. */
enum { TP_PLACE_TEXT = 120, TP_PLACES_MAX = 20 };
struct tp_place_table;

/* The number by which the place of the first block of the initial heap is asked for; the others
 * follow, in the order of the program. Numbers below it are those of events. */
#define TP_PLACE_INITIAL (UINT64_C(1) << 62)

struct tp_places {
    /* Writes a clean text, or "" if there is none, for each of `count` event numbers (from 1,
     * ascending). Reads the file again, so it is slow. */
    int (*find)(void *ctx, const uint64_t *events, size_t count, char (*out)[TP_PLACE_TEXT],
                struct tp_err *err);
    /* Sets the places of these events in a table with where they were called from. NULL: that is
     * not known, or the table behind `find` has it. */
    int (*find_stacks)(void *ctx, const uint64_t *events, size_t count, struct tp_place_table *to,
                       struct tp_err *err);
    /* The number of what the trace says of an event's allocation (metadata of the program), 0 for
     * nothing, and its text, which is clean. Both NULL: the trace has none. */
    int (*label)(void *ctx, uint64_t event, uint32_t *label, struct tp_err *err);
    const char *(*label_text)(const void *ctx, uint32_t label);
    void (*release)(void *ctx);
    void *ctx;
    uint64_t before;  /* events that were cut off before event 1; tp_places_find adds them */
    uint64_t initial; /* blocks of the initial heap with a number; 0: their places are not known */
};

/* Which allocations have a place, where not all that were recorded with one do: each of at least
 * `size` bytes, and of the smaller ones one in `every`, by chance. */
struct tp_place_sampling {
    uint64_t size;
    uint64_t every; /* 0: all have one */
};

/* Whether an allocation has its place by chance, or would have: it stands for others of its size.
 */
static inline bool tp_place_sampled(const struct tp_place_sampling *s, uint64_t size)
{
    return s->every > 1 && size < s->size;
}

/* Everything a reader needs; borrowed for the call. */
struct tp_reading {
    struct tp_input *in;
    struct tp_lower *lower;
    struct tp_meta *meta;
    struct tp_recorded *recorded; /* state of the recorded allocator; empty at first */
    struct tp_places *places;     /* empty at first; what the reader sets outlives the call */
    const struct tp_read_opts *opts;
    struct tp_budget *budget; /* NULL: nothing is counted */
};

/* Growth of the arrays that a reader keeps: bounded by --max-memory, with messages that begin with
 * the file name. */
static inline struct tp_growth tp_reading_growth(const struct tp_reading *r, const char *what)
{
    return (struct tp_growth){.what = what, .of = tp_input_name(r->in), .budget = r->budget};
}

#define TP_READ_GROW(r, items, room, least, name, err)                                             \
    TP_GROW(items, room, least, err, .what = (name), .of = tp_input_name((r)->in),                 \
            .budget = (r)->budget)

struct tp_format {
    const char *name;    /* value of --input-format */
    const char *summary; /* one line for `tapool help formats` */
    const char *record;  /* how to record such a file; NULL: people and scripts write it */
    const char *capture; /* prefix of meta->capture, also in converted traces; or NULL */
    /* with `capture`: how to record also what was live at the start; or NULL */
    const char *whole;
    bool own;         /* a format of tapool: strict by default */
    bool has_spaces;  /* files may mix memory spaces; opts->space chooses one */
    bool has_devices; /* files number their devices; opts->device chooses one */

    /* Scores the first bytes of a file (at most TP_PROBE_BYTES): 0 = not this format, 100 =
     * certain. */
    int (*probe)(const unsigned char *data, size_t size);

    /* Reads the input to its end. Errors name file, line or byte, and event. A file that is
     * well-formed but records no events is TP_OK with meta->nothing set. */
    int (*read)(const struct tp_reading *r, struct tp_err *err);

    /* Replaces `read` for files that are stored programs; r->lower is NULL then. Fills in
     * `repairs`, an array of TP_REPAIR_COUNT counts. */
    int (*open)(const struct tp_reading *r, struct tp_program **out, uint64_t *repairs,
                struct tp_err *err);
};

#endif
