/* tapool help format: the JSON trace format, enough to write one by hand. */
#include "alloc/program/op.h"
#include "cmd/cli/commands.h"

static const char example[] =
    "A trace is JSON, which is read one event at a time: a file may be larger than memory.\n"
    "\n"
    "  { \"format\": \"tapool-trace\", \"version\": 1,\n"
    "    \"meta\":    { \"name\": \"mine\", \"kind\": \"host\", \"program\": \"./server --load 3\" "
    "},\n"
    "    \"streams\": [ {\"id\": 0, \"device\": 0}, {\"id\": 1, \"device\": 0} ],\n"
    "    \"events\":  [\n"
    "      {\"op\": \"initial\", \"id\": 7, \"size\": 512},\n"
    "      {\"t\": 0,    \"op\": \"alloc\",   \"id\": 1, \"size\": 4096, \"align\": 64, "
    "\"thread\": 0, \"stream\": 0},\n"
    "      {\"t\": 120,  \"op\": \"realloc\", \"id\": 1, \"size\": 8192},\n"
    "      {\"t\": 180,  \"op\": \"retain\",  \"id\": 1},\n"
    "      {\"t\": 190,  \"op\": \"free\",    \"id\": 1},\n"
    "      {\"t\": 250,  \"op\": \"use\",     \"id\": 1, \"stream\": 1},\n"
    "      {\"t\": 300,  \"op\": \"sync\",    \"stream\": 1},\n"
    "      {\"t\": 400,  \"op\": \"mark\",    \"name\": \"step 2\"},\n"
    "      {\"t\": 900,  \"op\": \"free\",    \"id\": 1, \"thread\": 1},\n"
    "      {\"t\": 950,  \"op\": \"thread_end\", \"thread\": 1},\n"
    "      {\"t\": 960,  \"op\": \"note\",    \"name\": \"segment_alloc\", \"size\": "
    "2097152},\n"
    "      {\"t\": 1000, \"op\": \"reset\"},\n"
    "      {\"t\": 1010, \"op\": \"trim\", \"size\": 0} ] }\n"
    "\n";

static const char first_keys[] =
    "  format, version, meta, streams, recorded, repairs come before events; the last four may be\n"
    "  left out.\n"
    "  kind     host (the default; blocks aligned to 16) or device (256)\n"
    "  loop     in meta, true: the trace is one period of a loop, which Pick minds\n"
    "  meta     may also say capture, settings, unknown, space, left_out (texts), remarks (a list\n"
    "           of texts) and wrapped (true): reports repeat what a converted recording says\n"
    "  t        nanoseconds since the trace began, never falling; without it time is unknown\n";

#define OP_NAME(op, number, name, ...) " " name
static const char ops[] = "  op      " TP_RECORDED_OPS(OP_NAME) ",\n           initial\n";

static const char text[] =
    "  id       any integer, unique among live objects; may be used again after its free\n"
    "  size     bytes, 1 to 2^48; for trim: bytes that may stay cached, 0 where it is left out\n"
    "  align    a power of two, to 2^30; left out in a realloc: as before\n"
    "  thread   any number from 0, 0 where it is left out; threads and streams need not be dense\n"
    "  stream   one that is declared; left out: the object's, else the first; without streams\n"
    "           there is stream 0 on device 0\n"
    "  name     of a mark: the phase that begins, \"(none)\" where one only ends; of a note: its "
    "kind\n"
    "  place    where in the program: \"train.py:7 step\"; reports show it\n"
    "  event_number   where the count of events of a converted trace goes another way: the number\n"
    "           of the event before, which this one shares, or a higher one than the next\n"
    "\n"
    "  alloc, adopt, realloc and initial need id and size; free, release and retain an id; use id "
    "and\n"
    "  stream; mark and note a name. sync, reset and trim without a stream are of every device; "
    "with\n"
    "  one, sync waits for that stream, and reset and trim are of its device.\n"
    "  free drops one reference, release is the same; the object is gone with its last. adopt is "
    "an\n"
    "  alloc of a block that came from elsewhere; use is work on the object by another stream "
    "than\n"
    "  its own; thread_end ends a thread, whose number may then begin another; reset ends all "
    "objects.\n"
    "  initial is an object that was live before the first event: before all events, and in no "
    "count.\n"
    "  note is a recorded fact that no policy sees. Kinds, by name: oom (size; free: what the "
    "device\n"
    "  had left), segment_alloc, segment_free, segment_map, segment_unmap (size), free_requested "
    "(id),\n"
    "  device_free (size), snapshot; any other name is as \"other\". In a device trace the request "
    "that\n"
    "  an oom says is played too, and freed at once: it may fail again.\n"
    "  recorded says what the recorded allocator itself held, in bytes and segments of each "
    "device:\n"
    "    {\"by\": \"PyTorch\", \"devices\": [ {\"device\": 0, \"start_reserved_bytes\": 2097152} "
    "]}\n"
    "  and where has_end is true also how it ended (end_reserved_bytes, ...), as convert writes "
    "it.\n"
    "  repairs are counts of those that were made when the trace was converted: "
    "{\"zero_size\": 2}.\n"
    "  Integers beyond 2^53 must be quoted: JSON readers keep doubles. Keys that tapool does not\n"
    "  know are ignored; an op that it does not know is an error. Input is strict: a free of an\n"
    "  unknown id, an alloc of a live one, a size of 0 are errors, unless --repair.\n"
    "\n"
    "  JSON Lines is the same, with one object a line and no brackets around the events:\n"
    "    {\"format\": \"tapool-trace\", \"version\": 1, \"meta\": {\"name\": \"mine\"}}\n"
    "    {\"op\": \"alloc\", \"id\": 1, \"size\": 64}\n"
    "    {\"op\": \"free\", \"id\": 1}\n";

static void print_format_topic(FILE *out)
{
    fputs(example, out);
    fputs(first_keys, out);
    fputs(ops, out);
    fputs(text, out);
}

const struct tp_topic tp_topic_format = {"format", "the JSON trace format", print_format_topic,
                                         "json jsonl"};
