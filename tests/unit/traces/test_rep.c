/* malloclab traces: both headers, the operations, and what is wrong with them. */
#include "tests/unit/importer_rig.h"

extern const struct tp_format tp_format_rep;

#define CLASSIC "20000\n3\n8\n1\n"
#define BODY    "a 0 512\na 1 128\nr 0 640\na 2 128\nf 1\nr 0 768\nf 0\nf 2\n"
#define PROGRAM                                                                                    \
    "alloc 0 512 a4 @1; alloc 1 128 a4 @2; realloc 0 640 a4 @3; alloc 2 128 a4 @4; "               \
    "free 1 128 a4 @5; realloc 0 768 a4 @6; free 0 768 a4 @7; free 2 128 a4 @8; "

static const struct importer rep = {
    .format = &tp_format_rep, .kind = "host", .unknown = "times, threads, alignment"};

static const struct importer_row programs[] = {
    REPLAYS(CLASSIC BODY, PROGRAM),
    REPLAYS("1\r\n3\r\n8\r\n1408\r\n" BODY, PROGRAM),
    REPLAYS("\xef\xbb\xbf"
            "20000 3\n\n8\t1 \n" BODY "\n \n",
            PROGRAM),
    REPLAYS(CLASSIC " a  0\t512\r\nf 0", "alloc 0 512 a4 @1; free 0 512 a4 @2; "),
    REPLAYS(CLASSIC "r 6 10\nr 6 20\nf 6\n",
            "alloc 0 10 a4 @1; realloc 0 20 a4 @2; free 0 20 a4 @3; "),
    REPLAYS(CLASSIC "f -1\na 7 1\nf 7\nf -1\na 7 2\n",
            "alloc 0 1 a4 @2; free 0 1 a4 @3; alloc 0 2 a4 @5; "),
};

/* Which header it is, and what it says. */
#define OLDER "CS:APP malloclab trace (.rep, classic header)"
#define NEWER "CS:APP malloclab trace (.rep, header since 2016)"
#define HEADER(text, program, form)                                                                \
    READS(text, .name = "malloclab trace of weight " program, .capture = form, .remarks = NOT_SAID)
static const struct importer_row headers[] = {
    HEADER(CLASSIC BODY, "1", OLDER),
    HEADER("1\n3\n8\n1408\n" BODY, "1 (utilisation and throughput)", NEWER),
    HEADER("0\n3\n8\n4\n" BODY, "0 (not counted)", NEWER),
    HEADER("2\n3\n8\n1408\n" BODY, "2 (only utilisation)", NEWER),
    HEADER("3\n3\n8\n1408\n" BODY, "3 (only throughput)", NEWER),
    HEADER("4\n3\n8\n1\n" BODY, "1", OLDER),
    HEADER("0\n3\n8\n1\n" BODY, "1", OLDER), /* no heap of 1 byte at most */
    HEADER("1\n3\n8\n1\n" BODY, "1", OLDER), /* one that goes round has this */
    HEADER("0\n1\n1\n1\na 0 1\n", "0 (not counted)", NEWER),
};

static const struct importer_row counts[] = {
    READS("20000\n3\n1000\n1\n" BODY "f -1\n", .facts = "events=9 time_known=0 ",
          .remarks = "The header says 1,000 operations on 3 ids; there are 9 operations on ids "
                     "below 3."),
    READS("20000\n4\n8\n1\n" BODY, .remarks_part = "The header says"),
    /* the last line is cut: what is whole is read */
    REPLAYS(CLASSIC "a 0 512\na 1", "alloc 0 512 a4 @1; truncated=1 "),
};

#define NONE " is none of 'a ID BYTES', 'r ID BYTES', 'f ID'"
static const struct importer_row refusals[] = {
    REFUSED("20000\n3\nx\n", "x.json:3: 'x' is not in the header of a .rep trace"),
    REFUSED("1 2 3 4 5\n", "x.json:1: '1 2 3 4 5' is not in the header of a .rep trace"),
    REFUSED("1\n2\n3\n", "x.json:3: the file ends in the header of a .rep trace"),
    REFUSED("18446744073709551616\n",
            "x.json:1: '18446744073709551616' is not in the header of a .rep trace"),
    REFUSED(CLASSIC "a 0 1\nq 1 2\n", "x.json:6: event 2: 'q 1 2'" NONE),
    REFUSED(CLASSIC "a 0\n", "x.json:5: event 1: 'a 0'" NONE),
    REFUSED(CLASSIC "a 0 1 2\n", "x.json:5: event 1: 'a 0 1 2'" NONE),
    REFUSED(CLASSIC "f -2\n", "x.json:5: event 1: 'f -2'" NONE),
    REFUSED(CLASSIC "a -1 8\n", "x.json:5: event 1: 'a -1 8'" NONE),
    REFUSED(CLASSIC "f 0 9\n", "x.json:5: event 1: 'f 0 9'" NONE),
    REFUSED(CLASSIC "a 9223372036854775808 1\n",
            "x.json:5: event 1: 'a 9223372036854775808 1'" NONE),
    REFUSED(CLASSIC "a 1 281474976710657\n",
            "x.json:5: event 1 allocates 281,474,976,710,657 bytes; the limit is 2^48"),
    REFUSED(CLASSIC "f 1\n", "x.json:5: event 1 frees id 1, which is not live", .strict = true),
    REFUSED(CLASSIC "f -1\na", "x.json:6: event 2: the file ends in the middle of this line",
            .strict = true),
};

/* Every cut of a file can be read. */
static const char whole[] = CLASSIC BODY;

static const struct importer_score scores[] = {
    SCORE(CLASSIC BODY, 80),
    SCORE("1\n3\n8\n1408\n" BODY, 80),
    SCORE(CLASSIC "f 1\n", 60),
    SCORE(CLASSIC, 0),
    SCORE("1\n2\n3\n4\n5\n", 0),
    SCORE("id,lower,upper,size\n", 0),
    SCORE("a 0 512\n", 0),
    SCORE(CLASSIC "a 0 512\nb 1\n" BODY, 0),
    SCORE(CLASSIC "a 0 512\nr 0", 60),
    SCORE(CLASSIC "a 0\na 1\nf 0\n", 60), /* sizes are missing: read as one, and said */
    SCORE(CLASSIC "a 0\na 1\n", 40),
    SCORE(CLASSIC "a 0\nr 0\nb 1\n" BODY, 0),
    SCORE(CLASSIC "a x\n", 0),
};

TESTS(ROWS(rep, programs), ROWS(rep, headers), ROWS(rep, counts), ROWS(rep, refusals),
      CUTS(rep, whole, sizeof CLASSIC - 2, sizeof CLASSIC - 2), SCORES(rep, scores))
