/* Memory profiles of TensorBoard: how numbers and activities may be written, which list has the
 * events, and what is wrong with files. tests/cli/memory_profile.bats compares with captures. */
#include "tests/unit/importer_rig.h"

extern const struct tp_format tp_format_memory_profile;

static const struct importer profile = {.format = &tp_format_memory_profile,
                                        .kind = "device",
                                        .unknown = "threads, streams, alignment"};

#define MAP(allocators) "{\"memoryProfilePerAllocator\": {" allocators "}, \"numHosts\": 1}"
#define LIST(snapshots) "\"memoryProfileSnapshots\": [" snapshots "]"
#define ONE(snapshots)  MAP("\"GPU_0_bfc\": {" LIST(snapshots) "}")
#define EVENT(time, in_use, activity, size)                                                        \
    "{\"timeOffsetPs\": \"" #time "\", \"aggregationStats\": {\"heapAllocatedBytes\": \"" #in_use  \
    "\", \"freeMemoryBytes\": \"4096\"}, \"activityMetadata\": {\"memoryActivity\": " activity     \
    ", \"requestedBytes\": \"" #size "\", \"allocationBytes\": \"256\", \"address\": \"65536\", "  \
    "\"tfOpName\": \"a/MatMul\", \"dataType\": \"float\"}}"
#define ALLOC EVENT(1000, 256, "\"ALLOCATION\"", 4)
#define FREE  EVENT(3000, 0, "\"DEALLOCATION\"", 4)
/* behind notes of the region that the allocator took first: its bytes, and its address / 512 */
#define BOTH "note 0 4352 a3 @1; note 0 128 a9 @1; alloc 0 4 a8 @1; free 0 4 a8 +2 @2; "

static const struct importer_row forms[] = {
    REPLAYS(ONE(ALLOC ", " FREE), BOTH, .strict = true,
            .capture = "TensorFlow memory profile (JSON)"),
    /* by time */
    REPLAYS(ONE(FREE "," ALLOC), BOTH, .strict = true),
    REPLAYS("\xef\xbb\xbf\r\n " ONE(EVENT(1000, 256, "1", 4) "\n,\n" EVENT(3000, 0, "2", 4)), BOTH),
    REPLAYS(ONE(EVENT(1000, 256, "\"1\"", 4) "," FREE), BOTH),
    /* bare numbers; what is absent is 0: the time, the bytes in use behind the free */
    REPLAYS(ONE("{\"aggregationStats\": {\"heapAllocatedBytes\": 256, \"freeMemoryBytes\": 4096}, "
                "\"activityMetadata\": {\"memoryActivity\": \"ALLOCATION\", \"requestedBytes\": 4, "
                "\"address\": 65536, \"tfOpName\": \"f\"}}, "
                "{\"timeOffsetPs\": 2000, \"aggregationStats\": {\"freeMemoryBytes\": 4352}, "
                "\"activityMetadata\": {\"memoryActivity\": \"DEALLOCATION\", "
                "\"requestedBytes\": 4, \"address\": 65536}}"),
            BOTH, .strict = true),
    /* other activities, sizes that are none */
    READS(ONE(EVENT(1, 256, "\"RESERVATION\"", 4) "," ALLOC "," EVENT(2, 256, "7", 4)),
          .facts = "events=1 ",
          .remarks_part = "Snapshots that neither allocate nor free are left out: 2."),
    READS(ONE(ALLOC "," EVENT(2, 256, "1", none)), .facts = "events=1 ",
          .remarks_part = "a size, an address or the bytes in use are missing, 0 or no number."),
};

/* The list of a timeline has the events, wherever it stands; the other one those of the peak. */
static const struct importer_row lists[] = {
    REPLAYS(
        MAP("\"GPU_0_bfc\": {" LIST(ALLOC) ", \"sampledTimelineSnapshots\": [" ALLOC "," FREE "]}"),
        BOTH, .strict = true),
    REPLAYS(
        MAP("\"GPU_0_bfc\": {\"sampledTimelineSnapshots\": [" ALLOC "," FREE "], " LIST(ALLOC) "}"),
        BOTH, .strict = true),
    REPLAYS(MAP("\"GPU_0_bfc\": {" LIST(ALLOC "," FREE) ", \"sampledTimelineSnapshots\": []}"),
            BOTH, .strict = true),
    /* the lists of another allocator are its own */
    READS(MAP("\"a\": {" LIST(ALLOC "," FREE) "}, \"b\": {\"sampledTimelineSnapshots\": [" ALLOC
                                              "]}"),
          .taken = "a", .left_out = "b (1 event, 4 B)"),
    /* a TPU by its number; its limit is not that of a region */
    REPLAYS(MAP("\"3\": {" LIST(ALLOC "," FREE) "}"), "alloc 0 4 a8 @1; free 0 4 a8 +2 @2; ",
            .space = "TPU 3", .capture = "TPU memory profile (JSON)"),
    READS(MAP("\"GPU_0_bfc\": {\"profileSummary\": {}}"), .kind = "host", .unknown = NOT_SAID,
          .nothing = "the memory profile has no snapshot of an allocation"),
    READS("{}", .kind = "host", .unknown = NOT_SAID,
          .nothing = "the memory profile has no snapshot of an allocation"),
    /* sampled */
    READS(ONE(ALLOC "," EVENT(3000, 4096, "1", 5)),
          .remarks_part = "The profiler samples captures of more than 1,000 memory events: the "
                          "*.xplane.pb of the capture has all of them."),
};

static const struct importer_row refusals[] = {
    REFUSED("[]", "x.json:1: the memory profile: '{' is missing: not valid JSON"),
    REFUSED(MAP("\"a\": 7"), "x.json:1: the memory profile: '{' is missing: not valid JSON"),
    REFUSED(MAP("\"a\": {\"memoryProfileSnapshots\": {}}"),
            "x.json:1: the memory profile is not a list"),
    REFUSED(
        MAP("\"a\": {" LIST(ALLOC " " FREE) "}"),
        "x.json:1: the memory profile: ',' or ']' is missing behind a snapshot: not valid JSON"),
    REFUSED(ONE("7"), "x.json: byte 72: a snapshot is not valid JSON"),
    REFUSED(ONE("{\"aggregationStats\": 7}"), "x.json: byte 72: a snapshot is not valid JSON"),
    REFUSED(ONE(EVENT(soon, 0, "1", 4)),
            "x.json: byte 72: a snapshot has a 'timeOffsetPs' that is not a whole number"),
    REFUSED("{\"memoryProfilePerAllocator\": {a: {}}}",
            "x.json: byte 31: a key is missing: not valid JSON"),
    REFUSED("{\"a\": 1,}", "x.json: byte 8: a key is missing: not valid JSON"),
    REFUSED("{\"a\" 1}",
            "x.json:1: the memory profile: ':' is missing behind a key: not valid JSON"),
    REFUSED("{\"memoryProfilePerAllocator\": {\"a\": {\"memoryProfileSnapshots\": [",
            "x.json:1: the file ends inside the memory profile: truncated?"),
};

static const struct importer_score scores[] = {
    SCORE(ONE(ALLOC), 95),
    SCORE("\xef\xbb\xbf\n{\"memoryProfilePerAllocator\"", 95),
    SCORE("[\"memoryProfilePerAllocator\"]", 0),
    SCORE("{\"traceEvents\": []}", 0),
};

TESTS(ROWS(profile, forms), ROWS(profile, lists), ROWS(profile, refusals), SCORES(profile, scores))
