/* Who holds the partly free pages: shares by group, what stands for blocks without a stack, and
 * lists that a replay has written. */
#include "cmd/pages/holders.h"
#include "tests/unit/test.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 8 };

/* A list by hand: pages from number 16 on, all of whose bytes have been part of a block. */
struct made_list {
    struct tp_page_list list;
    struct tp_page_block blocks[MOST];
    struct tp_held_slot slots[MOST];
    tp_listed_page pages[MOST];
};

static void add_page(struct made_list *m, uint64_t number, uint64_t covered)
{
    m->pages[m->list.head.pages++] = number << TP_LISTED_PAGE_SHIFT | covered / TP_LISTED_PAGE_STEP;
}

/* `group` + 1, as in struct tp_held_slot. */
static void add_block(struct made_list *m, uint64_t page, uint64_t offset, uint64_t bytes,
                      uint32_t group)
{
    uint64_t slot = m->list.head.blocks++;
    m->blocks[slot] = (struct tp_page_block){page * PAGE + offset, bytes, bytes, slot};
    m->slots[slot] = (struct tp_held_slot){.group = group, .age = 10 * (slot + 1)};
}

static struct made_list *new_list(void)
{
    static struct made_list m;
    m = (struct made_list){.list.head = {.magic = TP_PAGE_LIST_MAGIC, .page = PAGE, .every = 1}};
    m.list.blocks = m.blocks;
    m.list.pages = m.pages;
    return &m;
}

static struct tp_holders hold(const struct made_list *m, uint32_t groups)
{
    struct tp_holders h;
    struct tp_err err = {0};
    assert_int_equal(tp_holders_of(&m->list, m->slots, groups, &h, &err), TP_OK);
    return h;
}

TEST(free_bytes_of_a_page_are_shared_equally_by_its_groups)
{
    struct made_list *m = new_list();
    add_page(m, 16, PAGE);
    add_page(m, 17, PAGE);
    add_page(m, 18, PAGE); /* free */
    add_block(m, 16, 0, 96, 1);
    add_block(m, 16, 512, 1000, 1);
    add_block(m, 16, 2048, 1000, 2); /* 2,000 bytes are free: 1,000 each */
    add_block(m, 17, 8, 1096, 2);    /* 3,000 bytes are free */
    struct tp_holders h = hold(m, 2);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.partly_free, 5000);
    assert_int_equal(h.pages, 2);
    assert_false(h.estimated);
    assert_int_equal(h.rows[0].group, 1);
    assert_true(h.rows[0].partly_free == 4000 && h.rows[0].pages == 2 && h.rows[0].live == 2096);
    assert_int_equal(h.rows[0].oldest, 40);
    assert_int_equal(h.rows[1].group, 0);
    assert_true(h.rows[1].partly_free == 1000 && h.rows[1].pages == 1 && h.rows[1].blocks == 2);
    tp_holders_release(&h);
}

TEST(a_block_of_several_pages_holds_what_is_free_on_its_ends)
{
    struct made_list *m = new_list();
    for (uint64_t number = 16; number < 20; number++)
        add_page(m, number, PAGE);
    add_block(m, 16, 4000, 96 + PAGE + PAGE + 96, 1);
    struct tp_holders h = hold(m, 1);
    assert_int_equal(h.count, 1);
    assert_true(h.rows[0].partly_free == 8000 && h.rows[0].pages == 2 && h.rows[0].blocks == 1);
    tp_holders_release(&h);
}

TEST(bytes_that_were_never_part_of_a_block_are_held_by_nobody)
{
    struct made_list *m = new_list();
    add_page(m, 16, 1024);
    add_block(m, 16, 0, 1000, 0);
    struct tp_holders h = hold(m, 0);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.rows[0].group, TP_HOLDER_UNKNOWN);
    assert_true(h.rows[0].partly_free == 24);
    tp_holders_release(&h);
}

TEST(sampled_pages_stand_for_those_that_are_not_listed)
{
    struct made_list *m = new_list();
    add_page(m, 16, PAGE);
    add_block(m, 16, 0, 96, 1);
    m->list.head.every = 4;
    struct tp_holders h = hold(m, 1);
    assert_int_equal(h.count, 1);
    assert_true(h.rows[0].partly_free == 4 * 4000 && h.rows[0].pages == 4);
    assert_true(h.rows[0].live == 4 * 96 && h.rows[0].blocks == 4);
    assert_true(h.partly_free == 4 * 4000 && h.pages == 4);
    tp_holders_release(&h);
}

TEST(blocks_with_a_stack_stand_for_those_of_their_size_class)
{
    struct made_list *m = new_list();
    for (uint64_t i = 0; i < 4; i++) {
        add_page(m, 16 + i, PAGE);
        add_block(m, 16 + i, 0, 96, i == 3); /* one of four has a stack */
        m->slots[i].sampled = true;
    }
    add_page(m, 20, PAGE);
    add_block(m, 20, 0, 2096, 0); /* of a class without any */
    m->slots[4].sampled = true;
    struct tp_holders h = hold(m, 1);
    assert_int_equal(h.count, 2);
    assert_true(h.estimated);
    assert_true(h.rows[0].group == 0 && h.rows[0].partly_free == 16000);
    assert_true(h.rows[0].live == 384 && h.rows[0].blocks == 4 && h.rows[0].pages == 4);
    assert_true(h.rows[1].group == TP_HOLDER_UNKNOWN && h.rows[1].partly_free == 2000);
    tp_holders_release(&h);
}

TEST(a_site_is_on_no_more_pages_than_there_are)
{
    struct made_list *m = new_list();
    for (uint64_t i = 0; i < 2; i++) {
        add_page(m, 16 + i, PAGE);
        add_block(m, 16 + i, 0, 96, 1);
        add_block(m, 16 + i, 1024, 96, 0); /* it may be of the same site */
        m->slots[2 * i].sampled = m->slots[2 * i + 1].sampled = true;
    }
    struct tp_holders h = hold(m, 1);
    assert_int_equal(h.count, 1);
    assert_true(h.estimated && h.rows[0].blocks == 4 && h.rows[0].pages == 2);
    tp_holders_release(&h);
}

/* ---- lists of a file ---- */

static int file_of(const struct made_list *m)
{
    int fd = memfd_create("lists", MFD_CLOEXEC);
    size_t blocks = m->list.head.blocks * sizeof *m->blocks;
    size_t pages = m->list.head.pages * sizeof *m->pages;
    assert_int_equal(write(fd, &m->list.head, sizeof m->list.head), sizeof m->list.head);
    assert_int_equal(write(fd, m->blocks, blocks), blocks);
    assert_int_equal(write(fd, m->pages, pages), pages);
    return fd;
}

static size_t lists_in(int fd, uint64_t slots)
{
    struct tp_page_lists l;
    struct tp_err err = {0};
    assert_int_equal(tp_page_lists_open(fd, slots, &l, &err), TP_OK);
    size_t count = l.count;
    tp_page_lists_close(&l);
    close(fd);
    return count;
}

static struct made_list *two_of_each(void)
{
    struct made_list *m = new_list();
    add_page(m, 16, PAGE);
    add_page(m, 17, PAGE);
    add_block(m, 16, 0, 100, 1);
    add_block(m, 17, 0, 100, 1);
    return m;
}

TEST(a_list_is_read_as_it_was_written)
{
    assert_int_equal(lists_in(file_of(two_of_each()), 2), 1);
    assert_int_equal(lists_in(memfd_create("none", MFD_CLOEXEC), 2), 0);
}

/* A library that is replayed may write anywhere. */
TEST(a_list_that_contradicts_itself_is_none)
{
    struct made_list *m = two_of_each();
    assert_int_equal(lists_in(file_of(m), 1), 0); /* a slot that the program has not */
    m = two_of_each();
    m->blocks[1].addr = m->blocks[0].addr + 50;
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->blocks[0].requested = 101;
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->blocks[1].allocated = UINT64_MAX;
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->pages[1] = m->pages[0];
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->pages[1] |= 0xffff;
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->list.head.page = 0;
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->list.head.every = 0;
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->list.head.every = UINT64_MAX / PAGE; /* of two pages: more bytes than there can be */
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->list.head.parts.resident = 1; /* and 0 of each part */
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    memset(&m->list.head.parts, 0xff, sizeof m->list.head.parts); /* not known */
    assert_int_equal(lists_in(file_of(m), 2), 0);
    m = two_of_each();
    m->list.head.magic = 1;
    assert_int_equal(lists_in(file_of(m), 2), 0);
}

TEST(a_list_that_is_cut_off_is_none)
{
    const size_t whole = sizeof(struct tp_page_list_head) + 2 * sizeof(struct tp_page_block) + 16;
    for (size_t size = 0; size < whole; size += 8) {
        int fd = file_of(two_of_each());
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        assert_int_equal(lists_in(fd, 2), 0);
    }
    struct made_list *m = two_of_each();
    m->list.head.blocks = UINT64_MAX / 2;
    int fd = memfd_create("head", MFD_CLOEXEC);
    assert_int_equal(write(fd, &m->list.head, sizeof m->list.head), sizeof m->list.head);
    assert_int_equal(lists_in(fd, 2), 0);
}
