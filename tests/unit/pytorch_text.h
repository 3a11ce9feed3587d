/* PyTorch snapshots made by hand: pickles written as text (pickle_text.h), programs compared as
 * text. */
#ifndef TP_TEST_PYTORCH_TEXT_H
#define TP_TEST_PYTORCH_TEXT_H

#include "tests/unit/importer_rig.h"
#include "tests/unit/pickle_text.h"

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

static inline struct importer_bytes as_pickle(const struct importer_row *row)
{
    static struct pickle_bytes bytes;
    make_pickle(&bytes, row->text);
    return (struct importer_bytes){bytes.data, bytes.size};
}

static const struct importer pytorch = {
    .format = &tp_format_pytorch, .input = "x", .encode = as_pickle};

static inline struct reading read_pickle(const char *pickle)
{
    return check_reading(&pytorch, &(struct importer_row){.text = pickle});
}

#endif
