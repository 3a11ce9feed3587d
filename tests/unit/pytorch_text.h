/* PyTorch snapshots made by hand: pickles written as text (pickle_text.h), programs compared as
 * text. */
#ifndef TP_TEST_PYTORCH_TEXT_H
#define TP_TEST_PYTORCH_TEXT_H

#include "tests/unit/pickle_text.h"
#include "tests/unit/trace_fixture.h"

extern const struct tp_format tp_format_pytorch;

/* One event each; times are microseconds. */
#define EVENT(action, addr, size, time)                                                            \
    " } ( 'action' '" action "' 'addr' " #addr " 'size' " #size " 'stream' 0 'time_us' " #time     \
    " 'frames' ] u"
#define BLOCK(addr, size, asked, state)                                                            \
    " } ( 'address' " #addr " 'size' " #size " 'requested_size' " #asked " 'state' '" state        \
    "' 'frames' ] u"
#define SEGMENT(device, addr, size, type, blocks)                                                  \
    " } ( 'device' " #device " 'address' " #addr " 'total_size' " #size " 'stream' 0 "             \
    "'segment_type' '" type                                                                        \
    "' 'segment_pool_id' 0 0 %2 'is_expandable' F 'frames' ] 'blocks' ] (" blocks " e u"
#define TRACES(lists)      " 'device_traces' ] (" lists " e"
#define TRACE(events)      " ] (" events " e"
#define SEGMENTS(segments) " 'segments' ] (" segments " e"
#define MARK(stage, name, time)                                                                    \
    " } ( 'stage' '" stage "' 'name' '" name "' 'device' 0 'time_us' " #time " u"

static inline struct reading read_as(const char *pickle, const struct tp_read_opts *opts)
{
    static struct pickle_bytes bytes;
    struct reading r = {0};
    struct tp_input *in = NULL;
    make_pickle(&bytes, pickle);
    r.rc = tp_input_memory("x", bytes.data, bytes.size, 0, &in, &r.err);
    if (r.rc == TP_OK)
        r = read_input_as(&tp_format_pytorch, in, false, opts);
    tp_input_close(in);
    return r;
}

static inline struct reading read_pickle(const char *pickle)
{
    return read_as(pickle, &(struct tp_read_opts){.device = -1});
}

static inline void expect(const char *pickle, const char *expected)
{
    static char program[1 << 14];
    struct reading r = read_pickle(pickle);
    if (r.rc != TP_OK)
        fail_msg("%s\n  got: %s", pickle, r.err.text);
    write_program(r.program, program, sizeof program);
    if (strcmp(program, expected) != 0)
        fail_msg("%s\n  expected: %s\n  got:      %s", pickle, expected, program);
    forget(&r);
}

static inline void expect_error(const char *pickle, const char *expected)
{
    struct reading r = read_pickle(pickle);
    if (r.rc != TP_EINPUT || strcmp(r.err.text, expected) != 0)
        fail_msg("%s\n  expected: %s\n  got %d:    %s", pickle, expected, r.rc, r.err.text);
    forget(&r);
}

#endif
