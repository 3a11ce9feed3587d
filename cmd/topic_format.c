/* tapool help format: the JSON trace format, enough to write one by hand. */
#include "cmd/registry.h"

static const char text[] =
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
    "      {\"t\": 1000, \"op\": \"reset\"},\n"
    "      {\"t\": 1010, \"op\": \"trim\", \"size\": 0} ] }\n"
    "\n"
    "  format, version, meta, streams, recorded come before events; the last three may be left "
    "out.\n"
    "  kind     host (the default; blocks aligned to 16) or device (256)\n"
    "  loop     in meta, true: the trace is one period of a loop, which Pick minds\n"
    "  t        nanoseconds since the trace began, never falling; without it time is unknown\n"
    "  op       alloc free realloc retain release adopt use sync mark thread_end reset trim,\n"
    "           initial note\n"
    "  id       any integer, unique among live objects; may be used again after its free\n"
    "  size     bytes, 1 to 2^48; for trim: bytes that may stay cached\n"
    "  align    a power of two\n"
    "  thread   any number from 0; threads and streams need not be dense\n"
    "  stream   one that is declared; without streams there is stream 0 on device 0\n"
    "\n"
    "  free drops one reference, release is the same; the object is gone with its last. adopt is "
    "an\n"
    "  alloc of a block that came from elsewhere. sync without a stream is the whole device.\n"
    "  initial is an object that was live before the first event, and is not counted. note is a\n"
    "  recorded fact that no policy sees: oom (size; free: what the device had left),\n"
    "  segment_alloc segment_free segment_map segment_unmap snapshot free_requested (id), other.\n"
    "  recorded says what the recorded allocator itself held, in bytes and segments of each "
    "device:\n"
    "    {\"by\": \"PyTorch\", \"devices\": [ {\"device\": 0, \"start_reserved_bytes\": 2097152} "
    "]}\n"
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
    fputs(text, out);
}

const struct tp_topic tp_topic_format = {"format", "the JSON trace format", print_format_topic,
                                         "json jsonl"};
