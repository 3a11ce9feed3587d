/* Libraries that are looked into without being loaded: cut anywhere, and with any byte changed. */
#include "alloc/strategy.h"
#include "cmd/jobs/elf_file.h"
#include "tests/unit/test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A plug-in that the build makes, and a copy of it that is damaged. */
static unsigned char whole[1 << 20];
static size_t whole_size;
static char damaged[64];

static int setup(void **state)
{
    (void)state;
    FILE *f = fopen(TAPOOL_MISFIT_PATH, "rb");
    assert_non_null(f);
    whole_size = fread(whole, 1, sizeof whole, f);
    fclose(f);
    assert_true(whole_size > sizeof(Elf64_Ehdr) && whole_size < sizeof whole);
    snprintf(damaged, sizeof damaged, "/tmp/tapool-elf-XXXXXX");
    int fd = mkstemp(damaged);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(damaged);
}

static void write_damaged(const void *bytes, size_t size)
{
    int fd = open(damaged, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static int look(const char *path, const char *symbol, struct tp_plugin *head,
                struct tp_elf_symbol *found, struct tp_err *err)
{
    *head = (struct tp_plugin){0};
    return tp_elf_look(path, "it", symbol, head, sizeof *head, found, err);
}

TEST(a_symbol_is_found_with_its_bytes)
{
    struct tp_plugin head;
    struct tp_elf_symbol found;
    assert_int_equal(look(TAPOOL_MISFIT_PATH, TP_PLUGIN_SYMBOL, &head, &found, NULL), TP_OK);
    assert_true(found.known && found.there);
    assert_int_equal(found.size, sizeof head);
    assert_true(head.magic == TP_PLUGIN_MAGIC);
    assert_int_equal(head.abi, TP_ABI);
    assert_int_equal(look(TAPOOL_MISFIT_PATH, "tapool_plugins", &head, &found, NULL), TP_OK);
    assert_true(found.known && !found.there);
    /* what the library asks for is not what it has */
    assert_int_equal(look(TAPOOL_MISFIT_PATH, "tp_src_get", &head, &found, NULL), TP_OK);
    assert_true(found.known && !found.there);
}

TEST(a_file_that_is_cut_is_no_crash)
{
    struct tp_plugin head;
    struct tp_elf_symbol found;
    struct tp_err err;
    unsigned lost = 0, refused = 0;
    for (size_t size = 0; size < whole_size; size += size < 200 ? 1 : 97) {
        write_damaged(whole, size);
        int rc = look(damaged, TP_PLUGIN_SYMBOL, &head, &found, &err);
        assert_true(rc == TP_OK || rc == TP_EINPUT);
        assert_true(size >= sizeof(Elf64_Ehdr) || rc == TP_EINPUT);
        refused += rc != TP_OK;
        lost += rc == TP_OK && !found.known;
        if (rc && size >= sizeof(Elf64_Ehdr))
            assert_non_null(strstr(err.text, "it is cut off: it has "));
    }
    assert_true(refused > 200 && lost > 0); /* the table of sections lies at the end */
}

/* Every byte of the header, of the sections and of the symbols, to values that are far off. */
TEST(a_file_with_a_wrong_byte_is_no_crash)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    const Elf64_Ehdr *h = (const void *)whole;
    unsigned refused = 0, missed = 0;
    size_t from = (size_t)h->e_shoff;
    assert_true(from < whole_size);
    write_damaged(whole, whole_size);
    int fd = open(damaged, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t at = 0; at < whole_size; at = at + 1 == sizeof *h ? from : at + 1) {
        for (size_t v = 0; v < sizeof values; v++) {
            struct tp_plugin head;
            struct tp_elf_symbol found;
            assert_int_equal(pwrite(fd, &values[v], 1, (off_t)at), 1);
            int rc = look(damaged, TP_PLUGIN_SYMBOL, &head, &found, NULL);
            assert_true(rc == TP_OK || rc == TP_EINPUT);
            refused += rc != TP_OK;
            missed += rc == TP_OK && (!found.there || found.size != sizeof head);
        }
        assert_int_equal(pwrite(fd, &whole[at], 1, (off_t)at), 1);
    }
    close(fd);
    assert_true(refused > 10 && missed > 10);
}

/* A header of another class, with the machine of this one. */
TEST(the_class_of_a_file_is_named)
{
    static const struct {
        unsigned char file_class;
        const char *says;
    } rows[] = {{ELFCLASS32, "it is for programs of 32 bits on "},
                {7, "it is of a class that ELF does not have"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tp_plugin head;
        struct tp_elf_symbol found;
        struct tp_err err;
        write_damaged(whole, whole_size);
        int fd = open(damaged, O_WRONLY);
        assert_int_equal(pwrite(fd, &rows[i].file_class, 1, EI_CLASS), 1);
        close(fd);
        assert_int_equal(look(damaged, TP_PLUGIN_SYMBOL, &head, &found, &err), TP_EINPUT);
        assert_int_equal(strncmp(err.text, rows[i].says, strlen(rows[i].says)), 0);
    }
}

GROUP(setup, teardown)
