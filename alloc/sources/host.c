/* The source `host`: this machine's memory, by mmap and munmap.
 *
 * Accounts in 4 KiB pages on every machine, so that a report does not depend on the kernel's page
 * size. A larger alignment is met by mapping more and unmapping the surplus; where the kernel
 * refuses to unmap, the surplus stays mapped, but untouched, until the range goes. Mappings are
 * MAP_NORESERVE. A get that would exceed the memory available at the start, in this machine and in
 * the control groups of this process (memory_left.h), is refused as out of memory, because the
 * kernel would allocation it and kill the process later. Streams have no pending work, so every
 * fence has passed. A space is a mapping without access, and its mapped units are those that may be
 * used; an unmapped unit gives its memory back to the kernel. Memory that is mapped a second time
 * lies in an unlinked file in memory: its first mapping becomes one of that file then, and loses
 * its contents.
 *
 * Known weakness: the point at which memory runs out depends on what else runs on the machine. */
#include "alloc/source.h"
#include "alloc/sources/common/mappings.h"
#include "alloc/sources/memory_left.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define HOST_PAGE UINT64_C(4096)

struct host {
    struct tp_range_table ranges; /* tags hold the mapping of each range */
    struct tp_mappings spaces;
    struct tp_addr_map in_file; /* address of a unit -> its offset in the file */
    uint64_t file_size;         /* bytes; no offset is used twice */
    int file;                   /* -1: there is none yet */
    uint64_t held, available;   /* bytes */
    uint64_t kernel_page;       /* bytes */
    uint64_t serial;            /* serial of the last fence */
    const uint64_t *now_ns;
    struct tp_address_range last; /* range found by the last call of `host`; size 0: none */
};

static int host_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    struct host *s = state;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return tp_fail(err, TP_EIO, "the size of the physical memory is unknown");
    s->kernel_page = (uint64_t)page;
    s->available = memory_left("", (uint64_t)pages * (uint64_t)page);
    s->now_ns = cfg->now_ns;
    s->file = -1;
    tp_addr_map_init_plain(&s->in_file);
    tp_mappings_init(&s->spaces);
    return TP_OK;
}

static void host_fini(void *state)
{
    struct host *s = state;
    for (const struct tp_address_range *r; (r = tp_ranges_any(&s->ranges)) != NULL;) {
        munmap((void *)(uintptr_t)r->tag_addr, r->tag_size);
        tp_ranges_remove(&s->ranges, r);
    }
    tp_ranges_fini(&s->ranges);
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&s->spaces.spaces, &at));)
        munmap((void *)(uintptr_t)e->key, tp_mappings_find(&s->spaces, e->key)->size);
    tp_mappings_fini(&s->spaces);
    tp_addr_map_fini(&s->in_file);
    if (s->file >= 0)
        close(s->file);
}

static uint64_t host_page(void *state)
{
    (void)state;
    return HOST_PAGE;
}

/* Unmaps the surplus before and after the range where the kernel permits it. */
static void trim_mapping(const struct host *s, struct tp_address_range *r)
{
    uint64_t head = r->addr - r->tag_addr;
    if (head && !munmap((void *)(uintptr_t)r->tag_addr, head)) {
        r->tag_addr += head;
        r->tag_size -= head;
    }
    uint64_t end = (r->addr + r->size + s->kernel_page - 1) & ~(s->kernel_page - 1);
    uint64_t tail = r->tag_addr + r->tag_size - end;
    if (tail && !munmap((void *)(uintptr_t)end, tail))
        r->tag_size -= tail;
}

static int host_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    struct host *s = state;
    if (size > s->available || s->held > s->available - size)
        return TP_EOOM;
    if (align > UINT64_C(1) << 46)
        return TP_EUNSUP;
    if (tp_ranges_reserve(&s->ranges))
        return TP_ENOMEM;
    uint64_t extent = (size + s->kernel_page - 1) & ~(s->kernel_page - 1);
    if (align > s->kernel_page)
        extent += align - s->kernel_page;
    void *p = mmap(NULL, extent, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return TP_EOOM;
    struct tp_address_range r = {.size = size, .tag_addr = (uintptr_t)p, .tag_size = extent};
    r.addr = (r.tag_addr + align - 1) & ~(align - 1);
    trim_mapping(s, &r);
    tp_ranges_insert(&s->ranges, r);
    s->held += size;
    *out = r.addr;
    return TP_OK;
}

static int host_put(void *state, tp_addr addr, uint64_t size)
{
    struct host *s = state;
    const struct tp_address_range *r = tp_ranges_exact(&s->ranges, addr, size);
    if (!r)
        return TP_EINVAL;
    if (munmap((void *)(uintptr_t)r->tag_addr, r->tag_size))
        return TP_EIO;
    tp_ranges_remove(&s->ranges, r);
    s->held -= size;
    s->last.size = 0;
    return TP_OK;
}

/* ---- spaces ---- */

static uint64_t host_map_page(void *state)
{
    const struct host *s = state;
    return s->kernel_page > HOST_PAGE ? s->kernel_page : HOST_PAGE;
}

static int host_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct host *s = state;
    struct tp_mapping *room = NULL;
    if (!tp_mappings_fits(size, unit, host_map_page(s)))
        return TP_EINVAL;
    if (tp_mappings_room(&s->spaces, &room))
        return TP_ENOMEM;
    void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        free(room);
        return TP_EOOM;
    }
    *out = (uintptr_t)p;
    tp_mappings_add(&s->spaces, room, *out, size, unit);
    return TP_OK;
}

static int host_space_put(void *state, tp_addr base, uint64_t size)
{
    struct host *s = state;
    int rc = tp_mappings_empty(&s->spaces, base, size);
    if (rc)
        return rc;
    if (munmap((void *)(uintptr_t)base, size))
        return TP_EIO;
    tp_mappings_remove(&s->spaces, base);
    return TP_OK;
}

static int host_map(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct host *s = state;
    int rc = tp_mappings_are(&s->spaces, base, from, size, false);
    if (rc)
        return rc;
    if (size > s->available || s->held > s->available - size)
        return TP_EOOM;
    if (tp_mappings_reserve(&s->spaces))
        return TP_ENOMEM;
    if (mprotect((void *)(uintptr_t)(base + from), size, PROT_READ | PROT_WRITE))
        return TP_EOOM;
    tp_mappings_map(&s->spaces, base, from, size);
    s->held += size;
    s->last.size = 0;
    return TP_OK;
}

/* A new mapping over the old one gives its memory back and takes the access away in one call, so
 * that a refusal has changed nothing. */
static bool close_units(tp_addr addr, uint64_t size)
{
    return mmap((void *)(uintptr_t)addr, size, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* Gives the file's memory of these units back to the kernel. */
static void leave_file(struct host *s, tp_addr addr, uint64_t size, uint64_t unit)
{
    for (uint64_t at = addr, offset; s->in_file.count && at < addr + size; at += unit)
        if (tp_addr_map_remove(&s->in_file, at, &offset))
            fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                      (off_t)unit);
}

static int host_unmap(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct host *s = state;
    int rc = tp_mappings_are(&s->spaces, base, from, size, true);
    if (rc)
        return rc;
    if (tp_mappings_reserve(&s->spaces))
        return TP_ENOMEM;
    if (!close_units(base + from, size))
        return TP_EIO;
    leave_file(s, base + from, size, tp_mappings_find(&s->spaces, base)->unit);
    tp_mappings_unmap(&s->spaces, base, from, size);
    s->held -= size;
    s->last.size = 0;
    return TP_OK;
}

/* ---- aliases ---- */

static bool map_file(const struct host *s, tp_addr addr, uint64_t offset, uint64_t size)
{
    return mmap((void *)(uintptr_t)addr, size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_NORESERVE, s->file, (off_t)offset) != MAP_FAILED;
}

/* The offset of a unit in the file, where it is put if it is not there yet. */
static int enter_file(struct host *s, tp_addr addr, uint64_t unit, uint64_t *offset)
{
    const uint64_t *found = tp_addr_map_find(&s->in_file, addr);
    if (found) {
        *offset = *found;
        return TP_OK;
    }
    if (tp_addr_map_reserve(&s->in_file, s->in_file.count + UINT64_C(1)))
        return TP_ENOMEM;
    if (s->file < 0)
        s->file = memfd_create("tapool", MFD_CLOEXEC);
    if (s->file < 0 || ftruncate(s->file, (off_t)(s->file_size + unit)) ||
        !map_file(s, addr, s->file_size, unit))
        return TP_EOOM;
    *offset = s->file_size;
    s->file_size += unit;
    tp_addr_map_insert(&s->in_file, addr, *offset);
    return TP_OK;
}

static int host_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    struct host *s = state;
    int rc = tp_mappings_can_alias(&s->spaces, base, from, size, of);
    uint64_t unit = rc ? 0 : tp_mappings_find(&s->spaces, base)->unit;
    uint64_t done = 0, offset = 0;
    for (; !rc && done < size; done += unit) {
        rc = enter_file(s, of + done, unit, &offset);
        if (!rc && !map_file(s, base + from + done, offset, unit))
            rc = TP_EOOM;
    }
    if (!rc)
        rc = tp_mappings_alias(&s->spaces, base, from, size, of);
    if (rc && done)
        close_units(base + from, done);
    return rc;
}

static int host_unalias(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct host *s = state;
    int rc = tp_mappings_are_aliases(&s->spaces, base, from, size);
    if (!rc && !close_units(base + from, size))
        rc = TP_EIO;
    if (!rc)
        tp_mappings_unalias(&s->spaces, base, from, size);
    s->last.size = 0;
    return rc;
}

/* ---- fences ---- */

static void host_record(void *state, uint16_t stream, struct tp_fence *out)
{
    struct host *s = state;
    *out = (struct tp_fence){++s->serial, s->now_ns ? *s->now_ns : 0, stream};
}

static bool host_done(void *state, const struct tp_fence *f)
{
    (void)state, (void)f;
    return true;
}

static int host_wait(void *state, const struct tp_fence *f)
{
    (void)state, (void)f;
    return TP_OK;
}

static void host_synced(void *state, uint16_t stream)
{
    (void)state, (void)stream;
}

static void *host_pointer(void *state, tp_addr addr)
{
    struct host *s = state;
    if (addr - s->last.addr >= s->last.size) {
        const struct tp_address_range *r = tp_ranges_find(&s->ranges, addr);
        if (!r)
            r = tp_ranges_find(&s->spaces.parts, addr);
        if (!r)
            r = tp_ranges_find(&s->spaces.aliases, addr);
        if (!r)
            return NULL;
        s->last = *r;
    }
    return (void *)(uintptr_t)addr;
}

const struct tp_source_ops tp_source_host = {
    .name = "host",
    .summary = "this machine's memory (mmap)",
    .flags = TP_SRC_HOST | TP_SRC_ORDERED,
    .state_size = sizeof(struct host),
    .init = host_init,
    .fini = host_fini,
    .page = host_page,
    .get = host_get,
    .put = host_put,
    .map_page = host_map_page,
    .space_get = host_space_get,
    .space_put = host_space_put,
    .map = host_map,
    .unmap = host_unmap,
    .alias = host_alias,
    .unalias = host_unalias,
    .record = host_record,
    .done = host_done,
    .wait = host_wait,
    .synced = host_synced,
    .host = host_pointer,
};
