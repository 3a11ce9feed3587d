/* The allocators whose recordings have addresses: what such an allocator did is compared with what
 * a strategy does in its place.
 *
 *     file --> certifier of its format --> open: events in the file's own terms --> rules
 *                                     \--> device by device: struct tp_verified --> text, JSON
 *
 * To add an allocator, write a file that exports one `const struct tp_certifier`, and add a line to
 * cmd/registry.c. What differs between allocators is a function or a table of it: nothing else in
 * this room, nor the commands that use it, knows their names. */
#ifndef TP_CERTIFIER_H
#define TP_CERTIFIER_H

#include "alloc/base/mutation.h"
#include "alloc/base/numbers.h"
#include "traces/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct tp_args;
struct tp_fidelity;
struct tp_json;
struct tp_open_opts;
struct tp_opt;
struct tp_page;
struct tp_trace;
struct tp_verified;

/* By which rules a recording is replayed. Texts are borrowed until the file is closed; NULL: as the
 * file says, or as follows from it. */
struct tp_rules_ask {
    const char *conf;    /* settings of the recorded allocator */
    const char *device;  /* for which kind of device it was */
    const char *release; /* of the recorded library */
    const char *broken;  /* a rule that is broken on purpose; NULL: none */
    bool explain;        /* where addresses differ, look for settings that explain them */
};

struct tp_recorded_part {
    const char *name; /* by which the recording knows it, as "GPU_0_bfc"; clean; NULL: its number */
    bool events;      /* there are some */
    bool memory;      /* or it held memory at the end */
    const char *untold; /* why its events are not among them; NULL: it has none that are not */
};

/* The sentences of a difference: what is compared, what the file has, what the rules did. NULL: the
 * value of that side. */
struct tp_verify_sentence {
    const char *what, *expected, *got;
};

/* A line of the certificate: a figure of struct tp_verified in its sentence. Outside the head it is
 * left out where the figure is 0. */
enum tp_verify_place {
    TP_ROW_HEAD,   /* a part of the first line */
    TP_ROW_DRIVER, /* memory that was taken and given back */
    TP_ROW_START,  /* below the line of the initial heap */
    TP_ROW_END,    /* below that of the end */
};
struct tp_verify_row {
    enum tp_verify_place place;
    const char *label;
    const char *before, *after; /* the figure; `before` may be NULL */
    const char *noun;           /* that is counted: "time"; NULL: the sentence has it */
    size_t at;                  /* of a uint64_t, or of a struct tp_agreement */
    bool agreement;
    bool joins; /* the label is left out below a line with the same */
};

struct tp_certifier {
    const char *by;                   /* whose allocator, as in struct tp_recorded: "PyTorch" */
    const struct tp_format *format;   /* of its files */
    const char *segment;              /* what it takes from the driver: "segment" */
    const char *const *options;       /* that only its recordings take; NULL-terminated */
    const struct tp_verify_row *rows; /* the last has a label of NULL */
    /* of the kinds that are told otherwise than in verify_text.c; of those `what` is set */
    const struct tp_verify_sentence *sentences; /* [TP_DIFFERENCE_KINDS] */
    const char *no_change; /* said where no other settings explain the addresses; may be NULL */
    bool streams;          /* requests are of a stream */
    const struct tp_mutation *rules; /* that can be broken */

    /* Reads the whole file. *state is closed in every case where it is not NULL. `r` outlives it.
     * TP_EINPUT: it is not such a file. */
    int (*open)(const struct tp_reading *r, void **state, struct tp_err *err);
    void (*close)(void *state);
    uint32_t (*count)(const void *state); /* of devices */
    struct tp_recorded_part (*part)(const void *state, uint32_t device);
    int (*fail_silent)(const void *state, struct tp_err *err); /* TP_EINPUT: why no events are */

    /* Sets the rules for what follows. `ask` is copied. TP_EUSAGE names the rule or the setting
     * that there is not; TP_EINPUT: the recorded settings cannot be read. */
    int (*set_rules)(void *state, const struct tp_rules_ask *ask, struct tp_err *err);
    /* By whose rules, as "CUDA"; NULL: there is one kind. After set_rules. */
    const char *(*allocator)(const void *state);
    /* Replays a device and compares; `out` is zeroed. TP_EINPUT: it has what the rules do not
     * know. */
    int (*verify)(void *state, uint32_t device, struct tp_verified *out, struct tp_err *err);
};

extern const struct tp_certifier *const tp_certifiers[]; /* NULL-terminated, at least one */

/* TP_EUSAGE: an option on the command line is one of another allocator's recordings. */
int tp_certifier_refuses(const struct tp_certifier *by, const struct tp_args *args,
                         const struct tp_opt *rows, struct tp_err *err);

/* A recording that is read in the file's own terms, not as a trace. It must not move while it is
 * open. */
struct tp_recorded_file {
    struct tp_read_opts opts;
    struct tp_budget budget;
    struct tp_reading reading;
    const struct tp_certifier *by;
    void *state; /* of the certifier */
};

/* Opens a file, or "-" for standard input. It must be closed in every case. A file that is nobody's
 * is the first certifier's, which says what is wrong with it. */
int tp_recorded_open(struct tp_recorded_file *f, const char *path, uint64_t max_memory,
                     struct tp_err *err);
void tp_recorded_close(struct tp_recorded_file *f);

/* Verifies a device; `out` gets its number and name, too. */
int tp_recorded_verify(const struct tp_recorded_file *f, uint32_t device, struct tp_verified *out,
                       struct tp_err *err);

/* "device 0", or its name. */
struct tp_text tp_device_title(uint32_t device, const char *name);

/* What `tapool verify` prints. */

/* Prints the certificate of one device. `several`: the file has more than one. */
void tp_verify_text(const struct tp_recorded_file *f, const struct tp_verified *v, bool several,
                    struct tp_page *page);

/* With --json: the document, the list of its devices, to which tp_verify_json adds one. */
struct cJSON *tp_verify_tree(struct tp_json *j, const struct tp_recorded_file *f,
                             struct cJSON **devices);
void tp_verify_json(struct tp_json *j, struct cJSON *devices, const struct tp_certifier *by,
                    const struct tp_verified *v);

/* How far a strategy agrees with a recording: the figures of `tapool verify`, for reports. */

/* Adds up all devices with events, or the one that was selected, of a trace that was opened from
 * `path`. That reads the file again, so false of large ones unless `large`; and of what no
 * certifier reads, was not read whole, or holds what the rules do not know. */
bool tp_fidelity_of(const struct tp_trace *trace, const char *path, const struct tp_open_opts *o,
                    bool large, struct tp_fidelity *out);

#endif
