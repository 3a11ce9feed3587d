/* Traces of rocprofv3: the order of rows, agents and handles, both writers, and what is wrong with
 * rows. */
#include "tests/unit/importer_rig.h"

extern const struct tp_format tp_format_rocprof;

#define COLUMNS(before)                                                                            \
    before "\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\",\"Address\","                  \
           "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
#define HEADER COLUMNS("")
#define ROW(operation, agent, size, address, start, end)                                           \
    "\"MEMORY_ALLOCATION\",\"MEMORY_ALLOCATION_" operation "\",\"" agent "\"," #size ",\"" address \
    "\",1," #start "," #end "\n"
#define ALLOC(agent, size, address, start, end) ROW("ALLOCATE", agent, size, address, start, end)
#define FREE(address, start, end)               ROW("FREE", "", 0, address, start, end)

static const struct importer rocprof = {
    .format = &tp_format_rocprof, .kind = "device", .unknown = "threads, streams, alignment"};

static const struct importer_row real_files[] = {
    {.path = TAPOOL_ROOT "/tests/data/rocprof/memory_allocation_trace.csv",
     .strict = true,
     .program = "alloc 0 1024 a8 @1; alloc 1 1024 a8 +47091 @2; free 0 1024 a8 +146932 @3; "
                "free 1 1024 a8 +147804 @4; ",
     .capture = "rocprofv3 memory allocation trace (CSV)",
     .left_out = NOT_SAID,
     .remarks = NOT_SAID},
};

/* A block is there at the end of its allocation; its address is open at the beginning of its free.
 */
static const struct importer_row order[] = {
    /* a free that lasts longer than the allocation of another thread that has its address */
    REPLAYS(HEADER ALLOC("Agent 1", 8, "0x10", 1, 10) ALLOC("Agent 1", 4, "0x10", 12, 15)
                FREE("0x10", 11, 90),
            "alloc 0 8 a8 @1; free 0 8 a8 +1 @2; alloc 0 4 a8 +4 @3; ", .strict = true),
    /* the allocation begins before the free, and has its address */
    REPLAYS(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) ALLOC("Agent 1", 4, "0x10", 3, 9)
                FREE("0x10", 5, 6) FREE("0x10", 20, 21),
            "alloc 0 8 a8 @1; free 0 8 a8 +3 @2; alloc 0 4 a8 +4 @3; free 0 4 a8 +11 @4; ",
            .strict = true),
    /* at one time rows stay as they stand */
    REPLAYS(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) FREE("0x10", 2, 2)
                ALLOC("Agent 1", 4, "0x10", 2, 2),
            "alloc 0 8 a8 @1; free 0 8 a8 @2; alloc 0 4 a8 @3; ", .strict = true),
};

static const char agents[] = HEADER ALLOC("Agent 0", 8, "0x10", 1, 2)
    ALLOC("Agent 2", 16, "0x20", 3, 4) FREE("0x10", 5, 6) FREE("0x20", 7, 8);
static const struct importer_row spaces[] = {
    REPLAYS(agents, "alloc 0 16 a8 +2 @1; free 0 16 a8 +3 @2; ", .strict = true,
            .left_out = "Agent 0 (2 events, 8 B)"),
    REPLAYS(agents, "alloc 0 8 a8 @1; free 0 8 a8 +3 @2; ", .strict = true, .space = "agent 0"),
    REPLAYS(agents,
            "alloc 0 8 a8 @1; alloc 1 16 a8 s1 d1 +2 @2; free 0 8 a8 +1 @3; "
            "free 1 16 a8 s1 d1 +2 @4; ",
            .strict = true, .space = "all"),
    /* by type and number, as an option of rocprofv3 names them */
    REPLAYS(HEADER ALLOC("CPU 0", 8, "0x10", 1, 2), "alloc 0 8 a4 @1; ", .kind = "host"),
    REPLAYS(HEADER ALLOC("", 8, "0x10", 1, 2), "alloc 0 8 a8 @1; ", .space = "unnamed"),
    /* a handle is no address */
    REPLAYS(HEADER ROW("VMEM_ALLOCATE", "Agent 1", 4, "0x10", 1, 2)
                ALLOC("Agent 1", 8, "0x10", 3, 4) FREE("0x10", 5, 6)
                    ROW("VMEM_FREE", "", 0, "0x10", 7, 8),
            "alloc 0 4 a8 @1; alloc 1 8 a8 +2 @2; free 1 8 a8 +1 @3; free 0 4 a8 +2 @4; ",
            .strict = true),
    /* an address that another agent has: its block is not freed */
    REPLAYS(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) ALLOC("Agent 2", 16, "0x10", 3, 4)
                FREE("0x10", 5, 6),
            "alloc 0 8 a8 @1; alloc 1 16 a8 s1 d1 +2 @2; free 1 16 a8 s1 d1 +1 @3; ",
            .space = "all"),
};

/* Rows that change nothing, or are repaired. */
static const struct importer_row dirty[] = {
    REPLAYS(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) ALLOC("Agent 1", 4, "0x10", 3, 4)
                FREE("0x10", 5, 6) FREE("0x10", 7, 8),
            "alloc 0 8 a8 @1; free 0 8 a8 +2 @2; alloc 0 4 a8 @2; free 0 4 a8 +1 @3; "
            "unknown_free=1 double_alloc=1 "),
    /* a block from before the trace: its agent is not known */
    READS(HEADER FREE("0x50", 1, 2) ALLOC("Agent 1", 8, "0x10", 3, 4),
          .left_out = "unknown agent (1 event, 0 B)", .facts = "events=1 repairs=0 "),
    REPLAYS(HEADER FREE("0x50", 1, 2), "unknown_free=1 ", .space = "unknown agent"),
    /* no address: a failed request, and a free of nothing */
    REPLAYS(HEADER ALLOC("Agent 1", 4096, "0x0", 1, 2) FREE("0x0", 3, 4),
            "note 0 4096 a1 @1; alloc 0 4096 a8 @1; free 0 4096 a8 @1; ", .strict = true),
    READS(HEADER ALLOC("Agent 1", 999999999999999, "0x0", 1, 2),
          .remarks = "Failed requests of more than 2^48 bytes are left out: 1."),
    READS(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) ROW("NONE", "", 0, "0x0", 3, 4)
              ROW("\033LATER", "", 0, "0x0", 3, 4),
          .remarks = "Rows of other operations are left out: 2, the first "
                     "'MEMORY_ALLOCATION_NONE'."),
    READS(HEADER "\n", .kind = "host", .nothing = "no row of an allocation or a free"),
};

/* 'rocpd convert' has the process first, capitals in addresses, and a quote where there is none. */
static const struct importer_row writers[] = {
    REPLAYS(COLUMNS("\xef\xbb\xbf\"Guid\",") "\"a-1\"," ROW(
                "ALLOC", "GPU 0", 512, "0x00007F000000A000", 1,
                10) "\"a-1\"," ROW("FREE", "\"\"", 0, "0x00007f000000a000", 30, 40),
            "alloc 0 512 a8 @1; free 0 512 a8 +20 @2; ", .strict = true, .space = "GPU 0"),
    /* other columns, in another order, without quotes, with the ends of lines of Windows */
    REPLAYS("End_Timestamp,Start_Timestamp,Thread_Id,Address,Allocation_Size,Agent_Id,Operation\r\n"
            "20,10,7,0xa0,64,\"GPU, \"\"big\"\"\",MEMORY_ALLOCATION_ALLOCATE\r\n",
            "alloc 0 64 a8 @1; ", .strict = true, .space = "GPU, \"\"big\"\""),
};

#define WRONG(row, sentence)                                                                       \
    REFUSED(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) row "\n", "x.json:3: event 2: " sentence)
static const struct importer_row refusals[] = {
    WRONG("\"M\",\"O\",\"A\",-8,\"0x1\",1,2,3", "'-8' is not a valid Allocation_Size"),
    WRONG("\"M\",\"O\",\"A\",8,\"0xg\",1,2,3", "'0xg' is not a valid Address"),
    WRONG("\"M\",\"O\",\"A\",8,\"\",1,2,3", "'' is not a valid Address"),
    WRONG("\"M\",\"O\",\"A\",8,\"0x1\",1,99999999999999999999,3",
          "'99999999999999999999' is not a valid Start_Timestamp"),
    WRONG("\"M\",\"O\",\"A\",8,\"0x1\",1,2", "'' is not a valid End_Timestamp"),
    WRONG("\"M\",\"O\",\"A\",8,\"0x1\",1,2,1", "'1' is not a valid End_Timestamp"),
    WRONG("\"M", "'' is not a valid Allocation_Size"),
    REFUSED("hello\n", "x.json:1: not the header of rocprofv3's memory_allocation_trace.csv"),
    REFUSED(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) "\"MEM",
            "x.json:3: event 1: the file ends in the middle of this line", .strict = true),
    REFUSED(HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) FREE("0x10", 5, 6) FREE("0x10", 7, 8),
            "x.json:4: event 3 frees id 3, which is not live", .strict = true),
};

/* Every cut of a file is read to where it is whole, or refused in its header. */
static const char whole[] = HEADER ALLOC("Agent 1", 8, "0x10", 1, 2) FREE("0x10", 5, 6);

static const struct importer_score scores[] = {
    SCORE(HEADER, 97),
    SCORE(COLUMNS("\"Guid\","), 97),
    SCORE("Kind,Operation,Agent_Id,Queue_Id,Thread_Id,Alloc_Flags,Start_Timestamp,End_Timestamp\n",
          0),
    SCORE("Thread,Time,Action,Pointer,Size,Stream\n", 0),
    SCORE("id,lower,upper,size\n", 0),
};

TESTS(ROWS(rocprof, real_files), ROWS(rocprof, order), ROWS(rocprof, spaces), ROWS(rocprof, dirty),
      ROWS(rocprof, writers), ROWS(rocprof, refusals),
      CUTS(rocprof, whole, sizeof HEADER - 3, sizeof HEADER - 3), SCORES(rocprof, scores))
