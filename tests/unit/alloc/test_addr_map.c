/* The address map against a plain array of the same entries, over random operations. */
#include "tests/unit/counted_steps.h"

#include "alloc/base/addr_map.h"
#include "alloc/base/random.h"
#include "tests/unit/test.h"

struct memory {
    size_t live_bytes, live_blocks;
    unsigned calls, fail_at;
};

static void *get(void *ctx, size_t size)
{
    struct memory *m = ctx;
    if (++m->calls == m->fail_at)
        return NULL;
    m->live_bytes += size;
    m->live_blocks++;
    return calloc(1, size);
}

static void put(void *ctx, void *p, size_t size)
{
    struct memory *m = ctx;
    m->live_bytes -= size;
    m->live_blocks--;
    free(p);
}

enum { KEYS = 3000 };

/* Keys of one kind: multiples of a stride, or nothing in common. */
static uint64_t key_of(unsigned kind, uint64_t i)
{
    static const uint64_t strides[] = {1, 16, 512, 4096, UINT64_C(1) << 21, UINT64_C(1) << 40};
    if (kind < sizeof strides / sizeof *strides)
        return (i + 1) * strides[kind];
    uint64_t state = i + 1;
    tp_random_split(&state);
    return tp_random_split(&state) | 1;
}

static void compare(const struct tp_addr_map *map, unsigned kind, const uint64_t *model)
{
    uint64_t count = 0, sum = 0, at = 0, walked = 0, walked_sum = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t *value = tp_addr_map_find(map, key_of(kind, i));
        assert_int_equal(value != NULL, model[i] != 0);
        if (value)
            assert_true(*value == model[i]);
        count += model[i] != 0;
        sum += model[i];
    }
    assert_true(map->count == count);
    for (struct tp_addr_entry *e; (e = tp_addr_map_next(map, &at)); walked++)
        walked_sum += e->value;
    assert_true(walked == count && walked_sum == sum);
}

static void replay(unsigned kind, uint64_t seed)
{
    struct memory memory = {0};
    struct tp_addr_map map;
    uint64_t *model = calloc(KEYS, sizeof *model);
    uint64_t state = seed;
    tp_addr_map_init(&map, get, put, &memory);
    for (unsigned step = 0; step < 60000; step++) {
        uint64_t range = step / 20000 == 1 ? KEYS : KEYS / 8; /* grows, then empties again */
        uint64_t i = tp_random_split(&state) % range, value = 0;
        if (!model[i]) {
            assert_false(tp_addr_map_remove(&map, key_of(kind, i), &value));
            model[i] = tp_random_split(&state) | 1;
            assert_int_equal(tp_addr_map_insert(&map, key_of(kind, i), model[i]), TP_OK);
        } else {
            assert_true(tp_addr_map_remove(&map, key_of(kind, i), &value));
            assert_true(value == model[i]);
            model[i] = 0;
        }
        assert_true(!map.slots || map.count * 2 <= map.mask + 1);
        if (step % 1000 == 0)
            compare(&map, kind, model);
    }
    compare(&map, kind, model);
    tp_addr_map_fini(&map);
    assert_int_equal(memory.live_bytes, 0);
    assert_int_equal(memory.live_blocks, 0);
    free(model);
}

TEST(random_operations)
{
    for (unsigned kind = 0; kind < 7; kind++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            print_message("kind %u seed %u\n", kind, (unsigned)seed);
            replay(kind, seed);
        }
}

/* Removal from a run that wraps around the end of the table, in every order of three. */
TEST(wrapped_run)
{
    struct memory memory = {0};
    struct tp_addr_map map;
    uint64_t keys[4], found = 0;
    tp_addr_map_init(&map, get, put, &memory);
    assert_int_equal(tp_addr_map_reserve(&map, 8), TP_OK);
    for (uint64_t key = 1; found < 4; key++)
        if (tp_addr_map_home(&map, key) == map.mask)
            keys[found++] = key;
    for (unsigned first = 0; first < 4; first++)
        for (unsigned second = 0; second < 4; second++) {
            for (unsigned i = 0; i < 4; i++)
                assert_int_equal(tp_addr_map_insert(&map, keys[i], i), TP_OK);
            tp_addr_map_remove(&map, keys[first], NULL);
            tp_addr_map_remove(&map, keys[second], NULL);
            for (unsigned i = 0; i < 4; i++) {
                uint64_t *value = tp_addr_map_find(&map, keys[i]);
                assert_int_equal(value != NULL, i != first && i != second);
                if (value)
                    assert_true(*value == i);
            }
            tp_addr_map_clear(&map);
            assert_null(tp_addr_map_find(&map, keys[0]));
        }
    tp_addr_map_fini(&map);
}

TEST(empty_map)
{
    struct tp_addr_map map = {0};
    uint64_t at = 0;
    assert_null(tp_addr_map_find(&map, 1));
    assert_false(tp_addr_map_remove(&map, 1, NULL));
    assert_null(tp_addr_map_next(&map, &at));
    tp_addr_map_clear(&map);
    tp_addr_map_fini(&map);

    struct memory memory = {0};
    tp_addr_map_init(&map, get, put, &memory);
    assert_null(tp_addr_map_find(&map, 7));
    assert_int_equal(memory.calls, 0);
    assert_int_equal(tp_addr_map_insert(&map, 7, 1), TP_OK);
    assert_null(tp_addr_map_find(&map, 0));
    tp_addr_map_fini(&map);
}

/* Entries that a look-up of each key passes, on average, for keys in even steps. */
static double average_distance(uint64_t step, uint64_t entries)
{
    struct memory memory = {0};
    struct tp_addr_map map;
    uint64_t at = 0, sum = 0;
    tp_addr_map_init(&map, get, put, &memory);
    for (uint64_t i = 1; i <= entries; i++)
        assert_int_equal(tp_addr_map_insert(&map, i * step, i), TP_OK);
    for (struct tp_addr_entry *e; (e = tp_addr_map_next(&map, &at));)
        sum += (at - 1 - tp_addr_map_home(&map, e->key)) & map.mask;
    tp_addr_map_fini(&map);
    return (double)sum / (double)entries;
}

/* No step of addresses piles its keys up. */
TEST(even_steps)
{
    for (uint64_t i = 1; i <= 140; i++)
        for (uint64_t entries = 700; entries < 20000; entries = entries * 17 / 10) {
            double small = average_distance(16 * i, entries);
            double large = average_distance(4096 * i, entries);
            if (small > 2 || large > 2)
                fail_msg("%u entries in steps of 16 or 4096 times %u: %f, %f", (unsigned)entries,
                         (unsigned)i, small, large);
        }
}

/* The key whose mixed form, without a secret, is `mixed`: what an attacker computes. */
static uint64_t key_mixed_to(uint64_t mixed)
{
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t inverse =
        golden; /* of an odd number, by Newton's method: 3 bits, then twice as many */
    for (unsigned i = 0; i < 5; i++)
        inverse *= 2 - golden * inverse;
    mixed *= inverse;
    mixed ^= mixed >> 32;
    return mixed * inverse;
}

/* Keys that were chosen to share a home, and keys whose homes follow one another, so that a run of
 * taken slots holds them all: the work stays linear, whatever is done with them. */
TEST(chosen_keys)
{
    enum { CHOSEN = 20000, STEPS_A_KEY = 40 };
    for (unsigned kind = 0; kind < 2; kind++) {
        struct memory memory = {0};
        struct tp_addr_map map;
        tp_addr_map_init(&map, get, put, &memory);
        steps = 0;
        for (uint64_t i = 1; i <= CHOSEN; i++) {
            uint64_t key = key_mixed_to(kind ? i << 48 | i : i);
            assert_int_equal(tp_addr_map_insert(&map, key, i), TP_OK);
        }
        for (uint64_t i = 1; i <= CHOSEN; i++) {
            uint64_t key = key_mixed_to(kind ? i << 48 | i : i), value = 0;
            assert_true(*tp_addr_map_find(&map, key) == i);
            assert_true(tp_addr_map_remove(&map, key, &value) && value == i);
            assert_int_equal(tp_addr_map_insert(&map, key, value), TP_OK);
        }
        print_message("kind %u: %llu steps\n", kind, steps);
        assert_true(steps < STEPS_A_KEY * (unsigned long long)CHOSEN);
        tp_addr_map_fini(&map);
        assert_int_equal(memory.live_bytes, 0);
    }
}

/* Where there is no memory to mix anew, chosen keys are slow and nothing else. */
TEST(chosen_keys_without_memory)
{
    enum { CHOSEN = 3000 };
    struct memory memory = {0};
    struct tp_addr_map map;
    tp_addr_map_init(&map, get, put, &memory);
    assert_int_equal(tp_addr_map_reserve(&map, CHOSEN), TP_OK);
    for (uint64_t i = 1; i <= CHOSEN; i++) {
        memory.fail_at = memory.calls + 1;
        assert_int_equal(tp_addr_map_insert(&map, key_mixed_to(i), i), TP_OK);
    }
    for (uint64_t i = 1; i <= CHOSEN; i++) {
        assert_true(*tp_addr_map_find(&map, key_mixed_to(i)) == i);
        if (i % 3 == 0)
            assert_true(tp_addr_map_remove(&map, key_mixed_to(i), NULL));
    }
    for (uint64_t i = 1; i <= CHOSEN; i++)
        assert_int_equal(tp_addr_map_find(&map, key_mixed_to(i)) != NULL, i % 3 != 0);
    tp_addr_map_fini(&map);
    assert_int_equal(memory.live_bytes, 0);
}

/* Every failed call for memory leaves the map as it was. */
TEST(out_of_memory)
{
    for (unsigned n = 1; n < 6; n++) {
        struct memory memory = {.fail_at = n};
        struct tp_addr_map map;
        uint64_t failed = 0;
        tp_addr_map_init(&map, get, put, &memory);
        for (uint64_t key = 1; key <= 1000; key++) {
            int rc = tp_addr_map_insert(&map, key, key);
            failed += rc == TP_ENOMEM;
            if (rc == TP_ENOMEM) {
                assert_null(tp_addr_map_find(&map, key));
                assert_true(map.count == key - 1);
                assert_int_equal(tp_addr_map_insert(&map, key, key), TP_OK);
            }
        }
        assert_true(failed == 1);
        for (uint64_t key = 1; key <= 1000; key++)
            assert_true(*tp_addr_map_find(&map, key) == key);
        tp_addr_map_fini(&map);
        assert_int_equal(memory.live_bytes, 0);
    }
    struct memory memory = {0};
    struct tp_addr_map map;
    tp_addr_map_init(&map, get, put, &memory);
    assert_int_equal(tp_addr_map_reserve(&map, UINT64_MAX), TP_ENOMEM);
    assert_null(map.slots);
}
