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
               .help = "which CUDA device plays which device of the trace, such as {0=1,1=0}; one "
                       "that is not named is played by the device of its own number"),
    TP_CHOICE_AT("streams", offsetof(struct cuda_opts, streams), .def = "non-blocking",
                 .choices = cuda_stream_words, .arg = "KIND",
                 .help = "what a stream of the trace is played on\nnon-blocking: each on a stream "
                         "of its own that waits for no other\ndefault: stream 0 on the legacy "
                         "default stream, which waits for the others and they for it\nper-thread: "
                         "stream 0 on the default stream of the thread"),
    {.name = NULL}};

#endif
