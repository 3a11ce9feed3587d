/* The rules of `bfc`, one test each, with expectations derived by hand from what TensorFlow, JAX
 * and ONNX Runtime do. Where no size of the device and no limit is known, regions grow. */
#include "tests/unit/bfc_rig.h"
#include "tests/unit/scenario.h"

/* ---- chunks ---- */

REPLAYS(sizes_are_multiples_of_256, open_bfc(""), "a=1:256 b=257@a+256:512 1@a+768")

REPLAYS(a_chunk_is_split_from_twice_the_size_on, open_bfc("limit=2MiB"),
        "a=1M b=1M -a c=512K+1@a:1M -c 512K@a:512K 512K@a+512K")

REPLAYS(a_rest_of_128_mib_is_split_off, open_bfc("limit=428MiB"), "300M:300M")
REPLAYS(a_smaller_one_is_not, open_bfc("limit=448790272"), /* 256 bytes less */
        "300M:448790272")

REPLAYS(the_smallest_chunk_serves_and_of_equal_ones_the_lowest, open_bfc("limit=64KiB"),
        "a0=8K a1=256 a2=4K a3=256 a4=4K a5=256 -a4 -a0 -a2 "
        "2K@a2 2K@a2+2K 4K@a4 4K@a0 4K@a0+4K")

REPLAYS(a_freed_chunk_is_merged_with_both_neighbours, open_bfc("limit=1MiB"),
        "a=256K b=256K c=256K d=256K -a -c spans=2 -b spans=1 largest=768K 768K@a -d")

REPLAYS(regions_are_never_joined, open_bfc(""), "a=2M b=4M -a -b spans=2 reserved=6M")

/* The padding is a free chunk, which serves. */
REPLAYS(an_alignment_splits_off_the_bytes_before_it, open_bfc("limit=4MiB"),
        "a=256 b=300^4K@a+4K:512 spans=2 3840@a+256 spans=1 -b spans=1")

REPLAYS(a_chunk_must_have_room_for_the_padding, open_bfc("limit=4MiB"),
        "a=256 b=8K c=256 -b 512^8K@a+16K:512 256^8K@a+8K:256")

REPLAYS(a_region_is_got_for_a_larger_alignment, open_bfc(""), "256 1^4M reserved=6M gets=2")

/* ---- regions ---- */

REPLAYS(regions_double, open_bfc(""),
        "256 reserved=2M 2M reserved=6M " /* the next has 8 MiB */
        "20M:32M reserved=38M "           /* which are doubled until the request fits */
        "5M reserved=70M 33M:64M reserved=134M")

REPLAYS(regions_end_at_the_limit, open_bfc("allow_growth,limit=5MiB"),
        "2M reserved=2M 3M+1! refused_gets=0 gets=1 1M reserved=5M 2M 1!")

REPLAYS(the_first_region_is_not_above_the_limit, open_bfc("allow_growth,limit=1MiB"),
        "1 reserved=1M")

REPLAYS(all_is_taken_at_once_where_the_limit_is_known, open_bfc("limit=64MiB"),
        "1 reserved=64M 64M! refused_gets=0 gets=1")

REPLAYS(the_next_region_may_be_known, open_bfc("next_region=16MiB"),
        "1 reserved=16M 16M reserved=48M")

TEST(the_limit_is_a_share_of_the_device)
{
    replay(open_bfc_on("", "capacity=64MiB"), "1 reserved=64M");
    replay(open_bfc_on("flavour=jax", "capacity=64MiB"), "1 reserved=48M");
    replay(open_bfc_on("mem_fraction=0.5", "capacity=64MiB"), "1 reserved=32M");
    replay(open_bfc_on("flavour=jax,mem_fraction=25%", "capacity=64MiB"), "1 reserved=16M");
    replay(open_bfc_on("flavour=ort", "capacity=64MiB"), "1 reserved=1M");
    replay(open_bfc_on("allow_growth", "capacity=64MiB"), "1 reserved=2M");
    replay(open_bfc("flavour=jax"), "1 reserved=2M");
}

REPLAYS(a_rest_may_be_split_off_from_a_share_of_the_limit_on,
        open_bfc("limit=100MiB,internal_fragmentation_fraction=0.1"), "60M:60M 31M:40M")

/* ---- memory is short ---- */

REPLAYS(what_the_source_refuses_is_asked_for_at_nine_tenths,
        open_bfc_on("limit=64MiB", "capacity=10MiB"), "1 refused_gets=18 reserved=10073600")

REPLAYS(down_to_the_request, open_bfc_on("limit=16MiB", "capacity=10MiB"),
        "11M! refused_gets=4 reserved=0 10M! refused_gets=9")

/* The region of 2 MiB fills the device; the next one would have 4 MiB, the same again. */
REPLAYS(a_region_that_was_refused_is_not_doubled,
        open_bfc_on("flavour=jax,allow_growth,limit=64MiB", "capacity=2MiB"),
        "2M 1M! refused_gets=14 1M! refused_gets=28 256! refused_gets=113")

REPLAYS(unused_regions_go_back_before_it_is_out_of_memory,
        open_bfc("flavour=tf,allow_growth,limit=8MiB"),
        "a=2M b=4M -a -b 5M:8M reserved=8M puts=2 retries=1")

REPLAYS(those_in_use_stay, open_bfc("allow_growth,limit=8MiB"),
        "a=2M b=4M -a 3M:4M reserved=8M puts=1 retries=1")

REPLAYS(none_goes_back_where_that_does_not_suffice, open_bfc("allow_growth,limit=8MiB"),
        "a=2M b=4M -a 5M! puts=0 retries=0")

REPLAYS(that_can_be_switched_off, open_bfc("allow_growth,limit=8MiB,garbage_collection=no"),
        "a=2M b=4M -a -b 5M! puts=0 retries=0")

REPLAYS(jax_gives_nothing_back, open_bfc("flavour=jax,allow_growth,limit=8MiB"),
        "a=2M b=4M -a -b 5M! puts=0 retries=0")

/* ---- streams ---- */

REPLAYS(chunks_serve_all_streams_which_wait, open_bfc("limit=1MiB"),
        "a=256K/1 b=256K/2 follows=none -a/1 256K/1@a -b/2 follows=none 256K/3@b follows=3>2")

REPLAYS(one_that_several_freed_waits_for_each, open_bfc("limit=1MiB"),
        "a=256K b=256K c=512K -a/1 -b/2 512K/3@a follows=3>1,3>2")

/* What is left of the chunk is ordered behind the stream that waited. */
REPLAYS(a_rest_is_ordered_too, open_bfc("limit=1MiB"),
        "a=1M -a/1 b=256K/2 follows=2>1 256K/3 follows=3>2")

/* ---- ONNX Runtime ---- */

REPLAYS(ort_begins_with_1_mib, open_bfc("flavour=ort"),
        "1 reserved=1M 1M reserved=3M 5M:8M reserved=11M 1M 9M:16M")

REPLAYS(ort_doubles_what_was_refused, open_bfc_on("flavour=ort", "capacity=4MiB"),
        "1 2M 1M! refused_gets=14 1M! refused_gets=34")

REPLAYS(ort_gives_up_below_8_kib, open_bfc_on("initial_chunk_size_bytes=2MiB", "capacity=2MiB"),
        "2M 256! refused_gets=61")

REPLAYS(ort_has_its_own_numbers,
        open_bfc("initial_chunk_size_bytes=10MiB,max_dead_bytes_per_chunk=1MiB"),
        "8M:8M reserved=10M 1M+256:2M")

REPLAYS(regions_may_have_the_size_of_the_request,
        open_bfc("arena_extend_strategy=kSameAsRequested"), "300:512 1M reserved=1049088 gets=2")

REPLAYS(what_no_stream_used_serves_every_one, open_bfc("flavour=ort"),
        "a=256K/1 256K/2@a+256K follows=none")

REPLAYS(a_chunk_of_a_stream_serves_no_other, open_bfc("flavour=ort"),
        "a=256K/1 -a/1 256K/2@a+256K 256K/1@a follows=none")

REPLAYS(a_chunk_stays_that_of_its_first_stream, open_bfc("flavour=ort"),
        "a=256K/1 -a/2 256K/2@a+256K follows=none 256K/1@a follows=1>2")

REPLAYS(chunks_of_different_streams_are_not_merged, open_bfc("flavour=ort"),
        "a=256K/1 -a/1 spans=2 largest=768K 512K/1@a+256K:768K")

REPLAYS(chunks_of_one_stream_are_merged, open_bfc("flavour=ort"),
        "a=256K/1 b=256K/1 -a/1 -b/1 spans=2 512K/1@a")

/* The chunk of no stream is smaller; then of two equal ones the lower serves. */
REPLAYS(own_chunks_and_those_of_no_stream_are_in_one_order, open_bfc("flavour=ort"),
        "a=512K/1 b=256K/1 -a/1 c=256K/1@a+768K -b/1 768K/1@a")

REPLAYS(ort_shrinks_to_its_first_region, open_bfc("flavour=ort"),
        "a=1M b=2M c=4M -b trim reserved=5M -a -c trim reserved=1M puts=2 "
        "1M 2M reserved=3M") /* the next one has 2 MiB again */

REPLAYS(without_powers_of_two_the_first_goes_too,
        open_bfc("arena_extend_strategy=kSameAsRequested"),
        "a=1M b=3M -a -b trim reserved=0 puts=2")

REPLAYS(the_next_region_after_a_shrink_may_be_set, open_bfc("initial_growth_chunk_size_bytes=8MiB"),
        "a=1M b=2M -b trim 2M:2M reserved=9M")

REPLAYS(doubling_ends_at_one_gib, open_bfc("initial_chunk_size_bytes=512MiB"),
        "512M 1024M 1024M reserved=2560M")

REPLAYS(where_doubling_ends_may_be_set, open_bfc("max_power_of_two_extend_bytes=4MiB"),
        "1M 2M 4M 4M reserved=11M 8M 8M reserved=27M") /* a larger one stays as large */

/* The other two have nothing like that. */
TEST_OPENED(a_trim_of_tensorflow_does_nothing, open_bfc(""))
{
    put(r, 0, get(r, 0, MIB), MIB);
    assert_int_equal(r->s->trim(r->st, 0), TP_EUNSUP);
    assert_int_equal(reserved(r), 2 * MIB);
}

/* ---- options ---- */

static void refuses_to_open(const char *options, const char *why)
{
    struct rig r;
    const struct rig_cfg cfg = device_cfg(&tp_strategy_bfc, options, NULL);
    assert_int_equal(rig_open(&r, &cfg), TP_EUSAGE);
    if (!strstr(r.err.text, why))
        fail_msg("%s: %s", options, r.err.text);
}

TEST(options_of_another_flavour_are_refused)
{
    refuses_to_open("flavour=jax,garbage_collection=no", "'jax' has no option 'garbage_coll");
    refuses_to_open("flavour=tf,initial_chunk_size_bytes=2MiB", "'tf' has no option 'initial_c");
    refuses_to_open("flavour=ort,allow_growth", "'ort' has no option 'allow_growth'");
    refuses_to_open("max_dead_bytes_per_chunk=2MiB,allow_growth",
                    "'tf' has no option 'max_dead_bytes_per_chunk'");
    refuses_to_open("arena_extend_strategy=kSameAsRequested,flavour=jax", "'jax' has no option");
}

TEST(values_that_make_no_sense_are_refused)
{
    refuses_to_open("mem_fraction=0.5", "needs the device's size");
    refuses_to_open("mem_fraction=0", "not a share");
    refuses_to_open("mem_fraction=1.5", "not a share");
    refuses_to_open("mem_fraction=x", "not a share");
    refuses_to_open("mem_fraction=50%%", "not a share");
    refuses_to_open("internal_fragmentation_fraction=0.5", "needs a limit");
    refuses_to_open("limit=1MiB,mem_fraction=0.5", "exclude each other");
}
