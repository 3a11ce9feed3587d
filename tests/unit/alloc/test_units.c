/* Quantities: what reads, to what, and what must not read. */
#include "alloc/base/units.h"
#include "tests/unit/test.h"

#include <stdlib.h>

/* Texts between bars: TEXT=VALUE reads as that, a TEXT alone does not read. */
static void reads(bool (*parse)(const char *, uint64_t *), const char *texts)
{
    char text[200];
    while (next_text(&texts, text)) {
        uint64_t value = 77, wanted = 77;
        char *equals = strchr(text, '=');
        if (equals) {
            *equals = '\0';
            wanted = strtoull(equals + 1, NULL, 10);
        }
        if (parse(text, &value) != (equals != NULL) || value != wanted)
            fail_msg("'%s' reads as %llu", text, (unsigned long long)value);
    }
}

TEST(read_sizes)
{
    reads(tp_parse_size,
          "0=0|1=1|1536=1536|0017=17|12B=12|12b=12|4K=4096|4k=4096|4KiB=4096|4kib=4096|4KB=4000|"
          "4kB=4000|64MiB=67108864|64M=67108864|3MB=3000000|80G=85899345920|80GiB=85899345920|"
          "80GB=80000000000|2T=2199023255552|2TiB=2199023255552|2TB=2000000000000|"
          "64 MiB=67108864|1.5K=1536|0.1GB=100000000|0.3KB=300|.5K=512|0.0009765625K=1|"
          "1.0000000000000000000000000000000=1|2.50KiB=2560|"
          "18446744073709551615=18446744073709551615|3.65GiB=3919157657|8.1G=8697308774|0.001K=1|"
          "16777215.99609375T=18446744069414584320");
    reads(tp_parse_size,
          "| |-1|+1|1.5|1.5B|K|.|5.|.K|1..5K|1,5K|0x10|1e3|1 2|1KK|1Ki|1PiB|1K | 1K|0.0001K|1/2K|"
          "nan|infK|1\n|1KBi|--|1.K|18446744073709551616|16777216T|16777216TiB|"
          "18446744.073709551616TB|99999999999999999999999999999|0.3333333333333333333333333K");
}

TEST(read_durations)
{
    reads(tp_parse_duration,
          "0=0|0s=0|50us=50000|50US=50000|1ns=1|1.5us=1500|1.0007us=1000|0.5s=500000000|"
          "2ms=2000000|3s=3000000000|2min=120000000000|1.5h=5400000000000");
    reads(tp_parse_duration, "|1|50|-1s|0.5ns|1m|s|1sec|00|0 |5124096h|1d");
}

TEST(read_integers)
{
    reads(tp_parse_uint, "0=0|18446744073709551615=18446744073709551615|007=7");
    reads(tp_parse_uint, "|-1|+1| 1|1 |1.0|0x1|1k|18446744073709551616|28446744073709551615");
}
