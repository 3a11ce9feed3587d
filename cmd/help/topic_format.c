/* tapool help format: the JSON trace format, in enough detail to write one by hand. */
#include "alloc/program/op.h"
#include "cmd/cli/commands.h"
#include "cmd/ui/text.h"

static const char example[] =
    "A trace is JSON, read one event at a time: a file can be larger than memory.\n"
    "\n"
    "  { \"format\": \"tapool-trace\", \"version\": 1,\n"
    "    \"meta\":    { \"name\": \"mine\", \"kind\": \"host\", \"program\": \"./server\" },\n"
    "    \"streams\": [ {\"id\": 0, \"device\": 0}, {\"id\": 1, \"device\": 0} ],\n"
    "    \"events\":  [\n"
    "      {\"op\": \"initial\", \"id\": 7, \"size\": 512},\n"
    "      {\"t\": 0,    \"op\": \"alloc\",   \"id\": 1, \"size\": 4096, \"align\": 64,\n"
    "                  \"thread\": 0, \"stream\": 0},\n"
    "      {\"t\": 120,  \"op\": \"realloc\", \"id\": 1, \"size\": 8192},\n"
    "      {\"t\": 180,  \"op\": \"retain\",  \"id\": 1},\n"
    "      {\"t\": 190,  \"op\": \"free\",    \"id\": 1},\n"
    "      {\"t\": 250,  \"op\": \"use\",     \"id\": 1, \"stream\": 1},\n"
    "      {\"t\": 300,  \"op\": \"sync\",    \"stream\": 1},\n"
    "      {\"t\": 400,  \"op\": \"mark\",    \"name\": \"step 2\"},\n"
    "      {\"t\": 900,  \"op\": \"free\",    \"id\": 1, \"thread\": 1},\n"
    "      {\"t\": 950,  \"op\": \"thread_end\", \"thread\": 1},\n"
    "      {\"t\": 960,  \"op\": \"note\",    \"name\": \"segment_alloc\", \"size\": 2097152},\n"
    "      {\"t\": 1000, \"op\": \"reset\"},\n"
    "      {\"t\": 1010, \"op\": \"trim\", \"size\": 0} ] }\n"
    "\n"
    "JSON Lines is the same with one object per line and no brackets around events:\n"
    "\n"
    "  {\"format\": \"tapool-trace\", \"version\": 1, \"meta\": {\"name\": \"mine\"}}\n"
    "  {\"op\": \"alloc\", \"id\": 1, \"size\": 64}\n"
    "  {\"op\": \"free\", \"id\": 1}\n"
    "\n"
    "An unknown key is ignored, an unknown op is an error. Malformed events (free of\n"
    "an unknown id, alloc of a live id, size 0) are errors unless --repair.\n";

static const char header_text[] =
    "  format, version, meta, streams, segments, recorded, repairs precede events.\n"
    "  The last five are optional; segments follow streams.\n"
    "\n"
    "  kind        host (default; blocks aligned to 16) or device (256)\n"
    "  loop        in meta, true: the trace is one period of a loop; the Pick uses it\n"
    "  meta        facts that reports repeat, as converted recordings have them:\n"
    "              texts    capture, settings, unknown, space, left_out, allocator,\n"
    "                       written, allocator_device (cuda, hip, xpu, npu, tf or\n"
    "                       jax), allocator_release (newest possible PyTorch: 2.9)\n"
    "              lists    remarks (texts), garbage_collections (devices on which\n"
    "                       PyTorch collected garbage)\n"
    "              numbers  not_recorded (calls missing from the trace), cpu_low_ns,\n"
    "                       cpu_high_ns, wall_ns, malloc_low_ns, malloc_high_ns (CPU\n"
    "                       time, duration, and time in malloc of the program)\n"
    "              flags    wrapped\n"
    "  sampled     in meta, {\"below\": 16384, \"one_in\": 100}: only one in so many\n"
    "              allocations below that size has its place; totals by place are\n"
    "              estimates\n"
    "  recorded    memory and segments of the recorded allocator, by device:\n"
    "                {\"by\": \"PyTorch\", \"devices\":\n"
    "                  [ {\"device\": 0, \"start_reserved_bytes\": 2097152} ]}\n"
    "              with has_end: true also at the end (end_reserved_bytes, ...), as\n"
    "              convert writes it\n"
    "  repairs     counts of repairs made by convert: {\"zero_size\": 2}\n";

#define OP_NAME(op, number, name, ...) name " "
static const char op_names[] = TP_RECORDED_OPS(OP_NAME) "initial";

static const char op_end[] =
    "  t            nanoseconds since the trace began, never decreasing; optional\n"
    "  id           any integer, unique among live objects; reusable after its free\n"
    "  size         bytes, 1 to 2^48; for trim: bytes that may stay cached (0)\n"
    "  align        a power of two up to 2^30; default of a realloc: unchanged\n"
    "  thread       any number from 0 (default 0); numbers may have gaps\n"
    "  stream       a declared stream; default: the object's, else the first. Without\n"
    "               streams there is stream 0 on device 0.\n"
    "  name         of a mark: the phase that begins, \"(none)\" if one only ends; of a\n"
    "               note: its kind\n"
    "  place        where in the program: \"train.py:7 step\"; reports show it\n"
    "  event_number where a converted trace counts events differently: the number of\n"
    "               the event before, which this one shares, or a higher one than the\n"
    "               next\n"
    "\n"
    "  Integers above 2^53 must be quoted: JSON readers use doubles.\n";

static const char ops_text[] =
    "  alloc, adopt, realloc, initial   need id and size. adopt is an alloc of a\n"
    "               block that came from elsewhere.\n"
    "  free, release, retain   need an id. free and release drop one reference; the\n"
    "               last one ends the object.\n"
    "  use          needs id and stream: another stream works on the object\n"
    "  mark, note   need a name\n"
    "  sync         waits for its stream. sync, reset and trim without a stream apply\n"
    "               to every device; reset and trim with one apply to its device.\n"
    "  reset        ends all objects\n"
    "  thread_end   ends a thread; its number can then start another\n"
    "  initial      an object of the initial heap: it precedes all events and no\n"
    "               count includes it\n"
    "  note         a recorded fact that strategies do not see. Kinds, by name:\n"
    "               oom (size; free: free bytes of the device), segment_alloc,\n"
    "               segment_free, segment_map, segment_unmap (size; at: its address),\n"
    "               free_requested (id), device_free (size), segment_at (the new\n"
    "               'at'), snapshot; any other name is as \"other\".\n"
    "               In a device trace the request of an oom is replayed too and freed\n"
    "               at once: it can fail again.\n";

static const char segments_text[] =
    "segments lists what the recorded allocator had reserved before the first event,\n"
    "by device and address:\n"
    "\n"
    "  [ {\"stream\": 0, \"base\": 139833534054400, \"size\": 2097152, \"small\": true} ]\n"
    "\n"
    "  small        segment of the pool for small blocks\n"
    "  expandable   segment that can grow\n"
    "  pool, pool_2 the two numbers of a private pool, as of a CUDA graph. An alloc\n"
    "               from a private pool has the same keys.\n"
    "\n"
    "Each initial object then has its address in one of the segments:\n"
    "\n"
    "  at           its address\n"
    "  bytes        bytes of its block; optional\n"
    "  behind       address of the first block made between it and the next one while\n"
    "               it was live; optional\n"
    "\n"
    "Strategies that can start with such a heap do so (torch). All others place the\n"
    "initial objects one by one.\n";

static void print_keys(const struct tp_topic_section *section, FILE *out)
{
    struct tp_page page;
    (void)section;
    tp_page_init(&page, out, 0);
    page.width = 80;
    tp_page_row(&page, 2, "op", 15, "%s", op_names);
    fputs(op_end, out);
}

static const struct tp_topic_section sections[] = {
    {"header", "keys before the events", "meta", .texts = {header_text}},
    {"keys", "keys of an event", NULL, .print = print_keys},
    {"ops", "keys and meaning of each op", "op note", .texts = {ops_text}},
    {"segments", "a recorded heap at the start", NULL, .texts = {segments_text}},
    {.name = NULL}};

const struct tp_topic tp_topic_format = {"format", "the JSON trace format", "json jsonl",
                                         .texts = {example}, .sections = sections};
