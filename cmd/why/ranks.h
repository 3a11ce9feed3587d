/* The snapshots of several ranks of a job beside each other: each at its peak of reserved memory,
 * and the odd one out.
 *
 *     rank0.pickle --> replayed to its peak (why.h) --> a row and its largest sites --\
 *     rank1.pickle -->                                                              +--> judged
 *     ...
 *
 * One file is read at a time and released before the next one, so that memory is that of the
 * largest snapshot. A file that cannot be used is a row that says why.
 *
 * The odd one out is the rank whose peak reserved, or whose requested bytes at that peak, is
 * farthest from the median of all ranks, as a share of the median. The median is the value of a
 * rank: with an even number of them the lower one of the two in the middle. Where none is farther
 * than TP_RANKS_AGREE, all agree. */
#ifndef TP_RANKS_H
#define TP_RANKS_H

#include "alloc/base/err.h"
#include "cmd/info/named_sites.h"
#include "cmd/ui/exporter.h"
#include "cmd/ui/text.h"
#include "cmd/verify/verified.h"
#include "cmd/why/why_layout.h"

#include <stdio.h>

#define TP_RANKS_AGREE 0.02 /* of the median */

enum { TP_RANK_SITES = 256, TP_RANK_NAME = 24, TP_RANKS_MAX = 4096 };

/* A device of a file; or a file that cannot be used. */
struct tp_rank {
    const char *file;              /* as it was given, clean */
    const char *path;              /* as it was given */
    char name[TP_RANK_NAME];       /* what tells it from the others, for tables; clean */
    int status;                    /* TP_OK; else the rest is not set but `why` */
    char why[TP_ERR_TEXT];         /* the error's sentence */
    uint32_t device;               /* its number in the file */
    uint64_t events, peak;         /* of the device, and the event of most reserved memory */
    struct tp_why_sum sum;         /* at that event */
    uint64_t largest;              /* free block, in bytes; 0: none */
    struct tp_agreement addresses; /* of requests up to there: those that are as in the file */
    /* event from which the rules part from the file, 0: its start; TP_NONE: they do not */
    uint64_t differs_at;
    bool judged;                 /* the rules reproduce enough of it (TP_FAITHFUL) */
    struct tp_named_sites sites; /* owned */
};

static inline uint64_t tp_rank_free(const struct tp_rank *r)
{
    return r->sum.hole_bytes + r->sum.free_bytes;
}

/* The figures by which ranks are judged. */
enum tp_rank_figure { TP_RANK_RESERVED, TP_RANK_REQUESTED, TP_RANK_FIGURES };

struct tp_ranks {
    struct tp_rank *list; /* owned; in the order of the files, the odd one out first */
    size_t count, room;
    size_t good;          /* that are judged; the members below are set where two are */
    bool in_folders;      /* two files have the same name, in different folders */
    bool several_devices; /* some file has more than one */
    bool agree;
    size_t odd, median; /* the rank that is farthest from the median, and the median by `figure` */
    enum tp_rank_figure figure;
    uint64_t medians[TP_RANK_FIGURES]; /* bytes */
    double apart[TP_RANK_FIGURES];     /* the most that a rank is from it, as a share */
    size_t beyond;                     /* ranks farther than TP_RANKS_AGREE */
    struct tp_site_rows sites; /* owned; from the median to the odd one; unset if they agree */
    char **files;              /* owned: the clean names */
    size_t file_count;
};

struct tp_ranks_cfg {
    char *const *paths;
    size_t count;     /* up to TP_RANKS_MAX */
    const char *conf; /* of all recordings; NULL: as the files say */
    bool all_devices; /* those with memory; false: `device` */
    uint32_t device;
    uint64_t max_memory; /* bytes, for reading one snapshot */
    int (*stop)(struct tp_err *err);
};

/* Reads all files and judges them. `out` must be released in every case. Errors of one file are its
 * row, unless no file can be used: the first such error then. TP_EUSAGE, TP_ESTOP, TP_ENOMEM. */
int tp_ranks_read(const struct tp_ranks_cfg *cfg, struct tp_ranks *out, struct tp_err *err);
void tp_ranks_release(struct tp_ranks *r);

/* TP_OK, or the status of the first row that is not, with a sentence. */
int tp_ranks_status(const struct tp_ranks *r, struct tp_err *err);

/* Sets the names of rows, the odd one and the median. TP_ENOMEM. */
int tp_ranks_judge(struct tp_ranks *r, struct tp_err *err);

/* How far a rank is from the median, as a share of it: 0.12 is 12% above. */
double tp_rank_apart(const struct tp_ranks *r, const struct tp_rank *rank,
                     enum tp_rank_figure figure);
uint64_t tp_rank_value(const struct tp_rank *rank, enum tp_rank_figure figure);

/* The ranks of a job on a screen and as a document, and the whole way from files to there. */

/* Options of both that go with several. */
#define TP_RANKS_OPTIONS                                                                           \
    TP_EXPORTS_OF_ALL(TP_EXPORT_OPTION, , )                                                        \
    "device", "max-memory", "format", "json", "force", "bytes", NULL

void tp_ranks_text(const struct tp_ranks *r, struct tp_page *page);

struct tp_ranks_ask {
    struct tp_ranks_cfg cfg;
    const struct tp_exports *exports; /* of TP_WHY_EXPORTS */
};

/* Reads the files and writes what was asked for, JSON as tapool.ranks/2 (ranks.schema.json). Where
 * one cannot be used, the others are shown, and the status is that of the first such file. */
int tp_ranks_run(const struct tp_ranks_ask *ask, FILE *out, struct tp_err *err);

#endif
