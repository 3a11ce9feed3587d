/* tapool help tpt: the binary trace format, in enough detail to read a file by hand. What a reader
 * must check is described in traces/README.md only. */
#include "cmd/cli/commands.h"

static const char file_text[] =
    "A .tpt file holds a trace in the form that tapool replays, so reading it is only\n"
    "decoding. All numbers are little-endian and unaligned. traces/README.md has the\n"
    "complete format and everything a reader must refuse.\n"
    "\n"
    "  file    = header (32 bytes), block, block, ..., block\n"
    "  block   = block header (48 bytes), payload (stored_bytes)\n"
    "  usually : META  PROL*  (NAME | DATA)*  [META]  NAME*  PLAC* | STAK*  FACT  END\n"
    "\n"
    "A file whose last 80 bytes are a valid END is complete; damage is an error. A\n"
    "file without END was cut off and is read up to its last complete block.\n";

static const char blocks_text[] =
    "The header of the file\n"
    "  byte  type\n"
    "   0    8 bytes  89 54 50 54 0d 0a 1a 0a (\"\\x89TPT\\r\\n\\x1a\\n\")\n"
    "   8    u16      version, 1\n"
    "  10    u16      flags, 0\n"
    "  12    u8       kind: 0 host, 1 device\n"
    "  13    3 bytes  0\n"
    "  16    u64      events of the whole trace; 0: unknown when this was written\n"
    "  24    u32      0\n"
    "  28    u32      CRC-32C of bytes 0 to 27 (polynomial 0x1edc6f41, reflected)\n"
    "\n"
    "The header of a block\n"
    "   0    4 bytes  type: META NAME PROL DATA PLAC STAK FACT \"END \"\n"
    "   4    u32      flags: 1 zstd, 2 slots are stored, 4 optional block\n"
    "   8    u32      count: instructions (PROL, DATA: 1 to 65,536), names, numbers\n"
    "  12    u32      tick_ns, unit of time of PROL and DATA: 1 to 65,537\n"
    "  16    u64      DATA: number of the first event, from 1\n"
    "  24    u64      DATA: nanoseconds since the trace began, before the first gap\n"
    "  32    u32      stored_bytes of the payload in the file\n"
    "  36    u32      raw_bytes of the unpacked payload\n"
    "  40    u32      index of the block, from 0\n"
    "  44    u32      CRC-32C of this header, with 0 here, and the stored payload\n";

static const char payloads_text[] =
    "  META  JSON {\"meta\": {...}, \"recorded\": {...}}, at most 1 MiB; the last one\n"
    "        counts\n"
    "  NAME  names of marks, each ending with a NUL, numbered across all such blocks\n"
    "  PROL  the initial heap: only ALLOC, without gaps\n"
    "  DATA  the instructions\n"
    "  PLAC  code places: n new texts, each ending with a NUL, then a number for each\n"
    "        event from the first one: 0 as before, 1 none, k + 2 text k of all such\n"
    "        blocks\n"
    "  STAK  code places with callers: sampling (size, 1 in n), n new texts, n new\n"
    "        stacks (text, caller + 1), and for each event (gap, 2k text or 2k+1\n"
    "        stack)\n"
    "  FACT  numbers of 8 bytes: SHA-256 of the program (4), counts, the peak of each\n"
    "        device, the repairs\n"
    "  END   offset of FACT (u64), blocks (u64), instructions (u64), \"TPT-END\\n\"\n";

static const char records_text[] =
    "A number n has 1 to 9 bytes. The first byte ends in k zero bits, k < 8: the\n"
    "number has k + 1 bytes, which together are value << (k + 1) | 1 << k. If the\n"
    "first byte is 0, the value is in the next eight. 5 is 0b; 300 is b2 04.\n"
    "\n"
    "A record of PROL and DATA\n"
    "  op byte | gap: 0, 1, 2 or 4 bytes | context byte and its numbers | the rest\n"
    "\n"
    "  op byte   bits 0-3  0 ALLOC 1 FREE 2 REALLOC 3 RETAIN 4 RELEASE 5 ADOPT 6 USE\n"
    "                      7 SYNC 8 RESET 9 TRIM 10 THREAD_END 11 MARK 12 NOTE\n"
    "                      13 IDLE 14 POOL 15 a whole instruction of 24 bytes\n"
    "            bits 4-5  gap: 0 none, 1 one byte and 2 two bytes in units of\n"
    "                      tick_ns, 3 four bytes in ns\n"
    "            bit 6     a context byte follows\n"
    "            bit 7     special: size in full (ALLOC, ADOPT, REALLOC), slot as\n"
    "                      before (FREE, RETAIN, RELEASE, USE, NOTE), all streams\n"
    "                      (SYNC), a size follows (TRIM, POOL)\n"
    "  context   bits 0-4: thread, stream, device, align_log2, step of the event\n"
    "            number follow, each n. All but the step stay until they change. The\n"
    "            stream of FREE, REALLOC, RETAIN, RELEASE and USE, and the alignment\n"
    "            of REALLOC, hold for the record only. All are 0 at the start of\n"
    "            each block.\n"
    "  the rest  ALLOC, ADOPT  the slot (n), with flag 2 of the block; the size\n"
    "            REALLOC       the slot (n), the size\n"
    "            FREE, RETAIN, RELEASE, USE   the slot (n), unless it is the same\n"
    "            MARK          the number of its name (n)\n"
    "            TRIM          the size (n), if special\n"
    "            POOL          the pool number of the next ALLOC (n), always special\n"
    "            NOTE          a byte: bits 0-5 kind, bit 6 a slot, bit 7 a size\n";

static const char values_text[] =
    "  sizes     in full: n, and (size, alignment) takes the next place of a ring of\n"
    "            256; else one byte, the place in that ring\n"
    "  slots     without flag 2, a new object takes the slot that was freed last, or\n"
    "            else the lowest slot never used\n"
    "\n"
    "Two events, an allocation of 8 bytes and 100 ns later its free, with tick_ns 10:\n"
    "  c0 08 09 11   ALLOC, size in full, align_log2 (n = 4) follows; size (n = 8)\n"
    "  91 0a         FREE, same slot, gap of one byte: 10 ticks\n";

static const struct tp_topic_section sections[] = {
    {"blocks", "the header of the file and of each block", NULL, .texts = {blocks_text}},
    {"payloads", "contents of each type of block", NULL, .texts = {payloads_text}},
    {"records", "numbers and the records of events", NULL, .texts = {records_text}},
    {"values", "sizes, slots, an example", NULL, .texts = {values_text}},
    {.name = NULL}};

const struct tp_topic tp_topic_tpt = {"tpt", "the binary trace format", "binary",
                                      .texts = {file_text}, .sections = sections};
