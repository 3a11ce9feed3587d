/* Packed input: the same bytes as unpacked, and never others, whatever is cut, damaged, or blown
 * up. */
#include "tests/unit/input_rig.h"

#define SHORT                                                                                      \
    "{\"format\":\"tapool-trace\",\"version\":1}\n{\"op\":\"alloc\",\"id\":1,\"size\":64}\n"
#define MIB ((size_t)1 << 20)

/* What reading to the end gave. */
struct outcome {
    int rc;
    struct tp_err err;
    uint64_t size; /* bytes read */
    bool same;     /* as far as they go, the bytes of `expected` */
};

static struct outcome read_all(struct bytes packed, uint64_t max_memory, struct bytes expected)
{
    struct outcome o = {.same = true};
    struct tp_input *in = NULL;
    o.rc = tp_input_memory("m", packed.data, packed.size, max_memory, &in, &o.err);
    while (o.rc == TP_OK) {
        const unsigned char *data = NULL;
        size_t got = 0;
        o.rc = tp_input_block(in, &data, &got, &o.err);
        if (o.rc != TP_OK || got == 0)
            break;
        if (expected.data)
            o.same = o.same && o.size + got <= expected.size &&
                     memcmp(data, expected.data + o.size, got) == 0;
        o.size += got;
        tp_input_take(in, got);
    }
    tp_input_close(in);
    return o;
}

static void must_read(struct bytes packed, const void *data, size_t size)
{
    struct outcome o = read_all(packed, 0, (struct bytes){(unsigned char *)(uintptr_t)data, size});
    if (o.rc != TP_OK)
        fail_msg("%s", o.err.text);
    assert_true(o.same);
    assert_int_equal(o.size, size);
}

/* Frees `packed`. */
static void must_refuse(struct bytes packed, uint64_t max_memory, const char *text,
                        const char *hint)
{
    struct outcome o = read_all(packed, max_memory, (struct bytes){0});
    assert_int_equal(o.rc, TP_EINPUT);
    assert_string_equal(o.err.text, text);
    assert_string_equal(o.err.hint, hint);
    free(packed.data);
}

static const char *about(const char *format, const char *name)
{
    static char text[TP_ERR_TEXT]; /* of one assertion */
    snprintf(text, sizeof text, format, name);
    return text;
}

TEST(test_contents)
{
    struct bytes all = make_pattern(MANY);
    for (size_t i = 0; i < PACKERS; i++) {
        struct tp_input *in = NULL;
        struct bytes packed = packers[i].pack(all.data, all.size);
        char path[] = RIG_FILE;
        make_file(path, packed.data, packed.size);
        assert_int_equal(tp_input_memory("m", packed.data, packed.size, 0, &in, NULL), TP_OK);
        assert_string_equal(tp_input_packing(in), packers[i].name);
        read_pattern(in);
        tp_input_close(in);
        assert_int_equal(tp_input_open(path, 0, NULL, &in, NULL), TP_OK);
        read_pattern(in);
        tp_input_close(in);
        unlink(path);
        free(packed.data);
    }
    free(all.data);
}

/* One byte after the other can be cut off, and each is missed. */
TEST(test_every_cut)
{
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(SHORT, strlen(SHORT));
        for (size_t cut = packers[i].magic; cut < packed.size; cut++) {
            struct bytes part = make_bytes(cut);
            memcpy(part.data, packed.data, cut);
            must_refuse(part, 0,
                        about("m: the %s data ends too early: truncated?", packers[i].name), "");
        }
        must_read(packed, SHORT, strlen(SHORT));
        free(packed.data);
    }
}

/* The same over several buffers: what lies before the cut is read, and then it fails. */
TEST(test_long_cut)
{
    struct bytes all = make_bytes(3 * MIB);
    uint32_t x = 1;
    for (size_t i = 0; i < all.size; i++)
        all.data[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 28);
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(all.data, all.size);
        assert_true(packed.size > MIB);
        packed.size -= 1000;
        struct outcome o = read_all(packed, 0, all);
        assert_int_equal(o.rc, TP_EINPUT);
        assert_true(o.same);
        assert_true(o.size > all.size / 2 && o.size < all.size);
        free(packed.data);
    }
    free(all.data);
}

/* Every bit once: either it does not matter, or it is noticed. */
TEST(test_every_bit)
{
    const struct bytes expected = {(unsigned char *)(uintptr_t)SHORT, strlen(SHORT)};
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(SHORT, strlen(SHORT));
        size_t harmless = 0, found = 0;
        for (size_t bit = packers[i].magic * 8; bit < packed.size * 8; bit++) {
            packed.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            struct outcome o = read_all(packed, 16 * MIB, expected);
            packed.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            if (o.rc == TP_OK)
                assert_true(o.same && o.size == expected.size);
            else
                assert_int_equal(o.rc, TP_EINPUT);
            harmless += o.rc == TP_OK;
            found += o.rc != TP_OK && strstr(o.err.text, "data is damaged at byte ") != NULL;
        }
        print_message("%s: %zu bits do not matter, %zu are damage\n", packers[i].name, harmless,
                      found);
        assert_true(found > packed.size * 4);
        assert_true(harmless < 120); /* gzip's time, system and text flag */
        free(packed.data);
    }
}

/* What lies before the damage is shown, all of it. */
TEST(test_before_damage)
{
    const struct bytes expected = {(unsigned char *)(uintptr_t)SHORT, strlen(SHORT)};
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(SHORT, strlen(SHORT));
        packed.data[packed.size - (i ? 1 : 8)] ^= 1; /* the checksum */
        struct outcome o = read_all(packed, 0, expected);
        assert_int_equal(o.rc, TP_EINPUT);
        assert_true(o.same);
        assert_int_equal(o.size, expected.size);
        free(packed.data);
    }
}

TEST(test_damage_is_placed)
{
    struct bytes all = make_pattern(MANY);
    struct bytes packed = pack_gzip(all.data, all.size);
    uint64_t at = 0;
    packed.data[packed.size - 8] ^= 1; /* the checksum */
    struct outcome o = read_all(packed, 0, all);
    assert_int_equal(o.rc, TP_EINPUT);
    assert_int_equal(sscanf(o.err.text, "m: the gzip data is damaged at byte %" SCNu64, &at), 1);
    assert_in_range(at, packed.size - 8, packed.size - 4);
    free(packed.data);
    packed = pack_zstd(all.data, all.size);
    packed.data[packed.size - 1] ^= 1;
    o = read_all(packed, 0, all);
    assert_int_equal(o.rc, TP_EINPUT);
    assert_int_equal(sscanf(o.err.text, "m: the zstd data is damaged at byte %" SCNu64, &at), 1);
    assert_in_range(at, packed.size - 4, packed.size);
    free(packed.data);
    free(all.data);
}

static struct bytes copy_of(const void *data, size_t size)
{
    struct bytes b = make_bytes(size);
    memcpy(b.data, data, size);
    return b;
}

/* 12 members of every length, empty ones between them; with zstd frames to be skipped as well. */
TEST(test_members)
{
    static const unsigned char skipped[] = {0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3};
    struct bytes all = make_pattern(MANY);
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = {0};
        size_t at = 0;
        for (size_t n = 0; n < 12; n++) {
            size_t size = n == 11 ? MANY - at : n * n * n * 150;
            if (packers[i].magic == 4)
                append(&packed, copy_of(skipped, sizeof skipped));
            append(&packed, packers[i].pack(all.data + at, size));
            at += size;
        }
        must_read(packed, all.data, all.size);
        free(packed.data);
    }
    free(all.data);
}

/* Very many small ones, whose ends fall on every place of a buffer. */
TEST(test_many_members)
{
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes one = packers[i].pack("ab\n", 3);
        size_t count = MIB / one.size;
        struct bytes packed = make_bytes(count * one.size), all = make_bytes(count * 3);
        for (size_t n = 0; n < count; n++) {
            memcpy(packed.data + n * one.size, one.data, one.size);
            memcpy(all.data + n * 3, "ab\n", 3);
        }
        must_read(packed, all.data, all.size);
        free(one.data);
        free(packed.data);
        free(all.data);
    }
}

/* A member of `size` bytes with nothing in it: gzip with a long name, a zstd frame to be skipped.
 */
static struct bytes make_empty(bool gzip, size_t size)
{
    struct bytes b = make_bytes(size);
    if (gzip) {
        memset(b.data, 'n', size);
        memcpy(b.data, "\x1f\x8b\x08\x08\0\0\0\0\0\xff", 10);
        memcpy(b.data + size - 11, "\0\x03\0\0\0\0\0\0\0\0\0", 11);
        return b;
    }
    memcpy(b.data, "\x50\x2a\x4d\x18", 4);
    for (size_t i = 0; i < 4; i++)
        b.data[4 + i] = (unsigned char)((size - 8) >> 8 * i);
    return b;
}

/* Members that begin with the last bytes of a buffer. */
TEST(test_split_magic)
{
    for (size_t i = 0; i < PACKERS; i++) {
        for (size_t there = 0; there <= 5; there++) {
            struct bytes packed = make_empty(i == 0, ((size_t)256 << 10) - there);
            append(&packed, packers[i].pack(SHORT, strlen(SHORT)));
            must_read(packed, SHORT, strlen(SHORT));
            free(packed.data);
        }
    }
}

static struct bytes joined(struct bytes first, const void *more, size_t size)
{
    append(&first, copy_of(more, size));
    return first;
}

TEST(test_trailing)
{
    static const unsigned char zeros[600000];
    char text[100];
    struct bytes gz = pack_gzip(SHORT, strlen(SHORT)), zst = pack_zstd(SHORT, strlen(SHORT));
    struct bytes padded = joined(copy_of(gz.data, gz.size), zeros, sizeof zeros);
    must_read(padded, SHORT, strlen(SHORT));
    snprintf(text, sizeof text, "m: something else follows the end of the gzip data at byte %zu",
             gz.size);
    must_refuse(joined(copy_of(gz.data, gz.size), "x", 1), 0, text, "");
    must_refuse(joined(copy_of(gz.data, gz.size), "\x1f", 1), 0, text, "");
    must_refuse(joined(copy_of(gz.data, gz.size), zst.data, zst.size), 0, text, "");
    snprintf(text, sizeof text, "m: something else follows the end of the gzip data at byte %zu",
             padded.size);
    must_refuse(joined(padded, gz.data, gz.size), 0, text, ""); /* padding is the end */
    snprintf(text, sizeof text, "m: something else follows the end of the zstd data at byte %zu",
             zst.size);
    must_refuse(joined(copy_of(zst.data, zst.size), zeros, 8), 0, text, "");
    must_refuse(joined(copy_of(zst.data, zst.size), gz.data, gz.size), 0, text, "");
    free(gz.data);
    free(zst.data);
}

TEST(test_twice)
{
    for (size_t i = 0; i < PACKERS; i++) {
        for (size_t k = 0; k < PACKERS; k++) {
            struct bytes inner = packers[k].pack(SHORT, strlen(SHORT));
            char text[64], hint[64];
            snprintf(text, sizeof text, "m: packed twice: %s inside %s", packers[k].name,
                     packers[i].name);
            snprintf(hint, sizeof hint, "unpack it once with '%s -d'", packers[i].name);
            must_refuse(packers[i].pack(inner.data, inner.size), 0, text, hint);
            free(inner.data);
        }
    }
}

TEST(test_nothing)
{
    must_refuse(pack_gzip("", 0), 0, "m: unpacks to nothing: no trace in it", "");
    must_refuse(pack_zstd("", 0), 0, "m: unpacks to nothing: no trace in it", "");
    must_refuse(make_bytes(0), 0, "m: empty: no trace in it", "");
    must_read((struct bytes){(unsigned char[]){0x1f}, 1}, "\x1f", 1); /* no magic: a byte */
}

/* `count` times 16 MiB of zeros, packed once. */
static struct bytes make_bomb(pack_fn *pack, size_t count)
{
    struct bytes zeros = make_bytes(16 * MIB);
    struct bytes one = pack(zeros.data, zeros.size), bomb = {0};
    for (size_t i = 0; i < count; i++)
        append(&bomb, copy_of(one.data, one.size));
    free(one.data);
    free(zeros.data);
    return bomb;
}

TEST(test_bomb)
{
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes bomb = make_bomb(packers[i].pack, 65); /* 1,040 MiB */
        struct outcome o = read_all(bomb, 3 * MIB, (struct bytes){0});
        assert_int_equal(o.rc, TP_EINPUT);
        assert_non_null(strstr(o.err.text, "m: unpacks to more than 3 MiB from "));
        assert_non_null(strstr(o.err.text, ": a decompression bomb?"));
        assert_string_equal(o.err.hint, "--max-memory=SIZE reads on");
        assert_in_range(o.size, 2 * MIB, 3 * MIB);
        free(bomb.data);
        bomb = make_bomb(packers[i].pack, 4);
        o = read_all(bomb, 64 * MIB, (struct bytes){0}); /* no more than that */
        assert_int_equal(o.rc, TP_OK);
        assert_int_equal(o.size, 64 * MIB);
        o = read_all(bomb, 64 * MIB - 1, (struct bytes){0});
        assert_int_equal(o.rc, TP_EINPUT);
        free(bomb.data);
    }
}

/* Large and well packed is no bomb. */
TEST(test_large)
{
    struct bytes all = make_bytes(16 * MIB);
    uint32_t x = 1;
    for (size_t i = 0; i < all.size; i += 256)
        for (size_t k = 0; k < 4; k++)
            all.data[i + k] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(all.data, all.size);
        print_message("%s: %zu to 1\n", packers[i].name, all.size / packed.size);
        assert_in_range(all.size / packed.size, 20, 100);
        struct outcome o = read_all(packed, MIB << 1, all);
        assert_int_equal(o.rc, TP_OK);
        assert_true(o.same);
        assert_int_equal(o.size, all.size);
        free(packed.data);
    }
    free(all.data);
}

TEST(test_window)
{
    struct bytes all = make_pattern(MANY);
    struct bytes packed = pack_zstd_window(all.data, all.size, 24);
    assert_int_equal(read_all(packed, 16 * MIB, all).rc, TP_OK);
    must_refuse(copy_of(packed.data, packed.size), 12000 << 10, /* rounded as reports round */
                "m: to unpack the zstd data takes more than 11.72 MiB",
                "--max-memory=SIZE reads on");
    must_refuse(packed, 16 * MIB - 1, "m: to unpack the zstd data takes more than 16 MiB",
                "--max-memory=SIZE reads on");
    free(all.data);
    /* magic, a head with dictionary 7 and content size 1, a block of one byte */
    must_refuse(copy_of("\x28\xb5\x2f\xfd\x21\x07\x01\x09\x00\x00x", 11), 0,
                "m: the zstd data was packed with a dictionary",
                "unpack it with its dictionary and read what comes out");
}

TEST(test_pipes)
{
    struct bytes all = make_pattern(MANY);
    for (size_t i = 0; i < PACKERS; i++) {
        struct bytes packed = packers[i].pack(all.data, all.size);
        struct tp_input *in = NULL;
        struct tp_err err = {0};
        struct feeder f;
        feed(&f, packed.data, packed.size);
        assert_int_equal(tp_input_open("-", 0, NULL, &in, NULL), TP_OK);
        read_pattern(in);
        tp_input_close(in);
        feed_end(&f);
        feed(&f, packed.data, packed.size - 1);
        assert_int_equal(tp_input_open("-", 0, NULL, &in, NULL), TP_OK);
        assert_int_equal(tp_input_finish(in, &err), TP_EINPUT);
        assert_string_equal(
            err.text, about("stdin: the %s data ends too early: truncated?", packers[i].name));
        tp_input_close(in);
        feed_end(&f);
        free(packed.data);
    }
    free(all.data);
}

/* A failure stays: byte by byte, and to the end. */
TEST(test_failure_stays)
{
    struct bytes all = make_pattern(MANY), packed = pack_gzip(all.data, all.size);
    struct tp_input *in = NULL;
    struct tp_err first = {0}, again = {0};
    int byte = 0;
    size_t count = 0;
    packed.data[packed.size - 8] ^= 1;
    assert_int_equal(tp_input_memory("m", packed.data, packed.size, 0, &in, NULL), TP_OK);
    while ((byte = tp_input_byte(in)) >= 0)
        count++;
    assert_int_equal(byte, -2);
    assert_true(count <= MANY);
    assert_int_equal(tp_input_error(in, &first), TP_EINPUT);
    assert_non_null(strstr(first.text, "m: the gzip data is damaged at byte "));
    assert_int_equal(tp_input_byte(in), -2);
    assert_int_equal(tp_input_finish(in, &again), TP_EINPUT);
    assert_string_equal(again.text, first.text);
    tp_input_close(in);
    free(packed.data);
    free(all.data);
}
