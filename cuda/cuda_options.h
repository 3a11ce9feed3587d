/* The options of the source `cuda`, with and without the toolkit. */
#ifndef TP_CUDA_OPTIONS_H
#define TP_CUDA_OPTIONS_H

#include "alloc/base/opt.h"

enum cuda_streams { CUDA_STREAMS_NON_BLOCKING, CUDA_STREAMS_DEFAULT, CUDA_STREAMS_PER_THREAD };

struct cuda_opts {
    const char *map; /* "0=1,1=0", or NULL */
    uint32_t streams;
};

static const char *const cuda_stream_words[] = {"non-blocking", "default", "per-thread", NULL};

static const struct tp_opt cuda_rows[] = {
    TP_TEXT_AT("map", offsetof(struct cuda_opts, map), .arg = "LIST",
               .help = "CUDA device for each device of the trace, as {0=1,1=0}\n"
                       "A device that is not listed replays on the CUDA device of its own number."),
    TP_CHOICE_AT("streams", offsetof(struct cuda_opts, streams), .def = "non-blocking",
                 .choices = cuda_stream_words, .arg = "KIND",
                 .help =
                     "CUDA stream for each stream of the trace\n"
                     "non-blocking: one of its own, independent of the others\n"
                     "default: stream 0 is the legacy default stream, which syncs with the others\n"
                     "per-thread: stream 0 is the default stream of the thread"),
    {.name = NULL}};

#endif
