/* Stacks are taken by the unwinder that throws C++ exceptions (libgcc), which reads the tables that
 * every program has, and by _dl_find_object of the C library, which says in which file an address
 * lies. Neither takes a lock or memory, so a stack can be taken wherever malloc can be called:
 * while another thread is in dlopen, between fork and exec, inside a handler of a signal.
 *
 * The unwinder is a copy of this library's own (-static-libgcc): that of the program has a lock for
 * code that is registered at run time, and may be another one (libunwind) with more of them. Where
 * no file has tables for an address, the copy would look at the code there, which may be no code at
 * all: the stack ends there instead.
 *
 * A thread writes a module before the first stack that needs it, in its own part of the recording,
 * so that a file that is unloaded, and another that is loaded in its place, need no order among
 * threads.
 *
 * Which allocations have one is left to chance, each by itself: a program that repeats itself would
 * be seen at the same places again and again, were it each hundredth.
 *
 * Tables may be wrong, and stacks may end where no table says so: each step is looked at before it
 * is done (stacks.h).
 *
 * Known weakness: a function without unwind tables (code that was made at run time) ends its stack;
 * wrong tables lead to wrong callers; a thread with a stack of less than about 4 KiB to spare has
 * no room to be looked at. */
#include "cmd/preload/stacks.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

enum { MODULES = 32, PATH_KEPT = 1024, ID_MOST = 64 };

/* A file with code, as it lies in this process. */
struct module {
    uintptr_t start, end, bias;
    uint64_t file; /* which one: another may come to lie in the same place */
    uint64_t number;
};

struct sampler {
    struct module modules[MODULES]; /* the last that the thread wrote, number % MODULES */
    uint64_t count;                 /* all that it wrote */
    uint64_t random;
};
TP_PER_THREAD struct sampler sampler;

struct frames {
    uintptr_t at[TP_STACK_FRAMES]; /* addresses inside of the calls, not behind them */
    uint32_t count, most;
    uintptr_t own_start, own_end; /* of this library, whose frames are left out */
    struct tp_frame_pages pages;
};

/* ---- which ---- */

static bool is_chosen(struct sampler *s, size_t size)
{
    struct tp_recording_head *head = tp_recorder.head;
    if (size >= head->stack_size)
        return true;
    if (!s->random) /* by the threads that came before */
        s->random = (atomic_load(&head->threads) + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    s->random ^= s->random << 13; /* xorshift64 */
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (s->random >> 32) * head->stack_every >> 32 == 0;
}

/* ---- modules ---- */

static uint64_t hash_name(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

/* The build id in the notes of a file that is mapped from `start` on; its length, 0 if it has none.
 * Nothing is read that is not within the file's mapping, and in its first page the headers. */
static size_t find_build_id(const struct dl_find_object *o, const unsigned char **id)
{
    const unsigned char *start = o->dlfo_map_start;
    const ElfW(Ehdr) *e = (const void *)start;
    uintptr_t from = (uintptr_t)start, end = (uintptr_t)o->dlfo_map_end;
    if (end - from < TP_RECORDING_PAGE || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
        e->e_phoff > TP_RECORDING_PAGE ||
        e->e_phnum * sizeof(ElfW(Phdr)) > TP_RECORDING_PAGE - e->e_phoff)
        return 0;
    const ElfW(Phdr) *p = (const void *)(start + e->e_phoff);
    for (unsigned i = 0; i < e->e_phnum; i++, p++) {
        uintptr_t at = o->dlfo_link_map->l_addr + p->p_vaddr, size = p->p_memsz;
        if (p->p_type != PT_NOTE || at < from || at > end || size > end - at)
            continue;
        for (const ElfW(Nhdr) * n; size >= sizeof *n;) {
            n = (const void *)at;
            size_t name = (n->n_namesz + 3u) & ~(size_t)3, desc = (n->n_descsz + 3u) & ~(size_t)3;
            size_t whole = sizeof *n + name + desc;
            if (whole > size)
                break;
            if (n->n_type == NT_GNU_BUILD_ID && name == 4 && n->n_descsz <= ID_MOST) {
                *id = (const unsigned char *)(n + 1) + name;
                return n->n_descsz;
            }
            at += whole;
            size -= whole;
        }
    }
    return 0;
}

/* The file of the program, looked for at the start: later, a sandbox may forbid it. */
static char program[PATH_KEPT];
static size_t program_length;

/* A link with another name is what people know it by: redis-server, not redis-check-rdb. */
static void take_link(void)
{
    const char *called = (const char *)getauxval(AT_EXECFN);
    const char *name = called ? strrchr(called, '/') : NULL, *own = strrchr(program, '/');
    struct stat link, file;
    char folder[PATH_KEPT] = "", path[PATH_KEPT];
    if (!name || !own || !strcmp(name, own) || stat(called, &link) ||
        stat("/proc/self/exe", &file) || link.st_dev != file.st_dev || link.st_ino != file.st_ino ||
        (called[0] != '/' && !getcwd(folder, sizeof folder)))
        return;
    int length = snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", called);
    if (length < 1 || (size_t)length >= sizeof path)
        return;
    memcpy(program, path, (size_t)length);
    program_length = (size_t)length;
}

__attribute__((constructor)) static void find_program(void)
{
    int code = errno;
    ssize_t got = program_length ? 0 : readlink("/proc/self/exe", program, sizeof program - 1);
    program_length += got > 0 ? (size_t)got : 0;
    if (got > 0)
        take_link();
    errno = code;
}

/* What tells a file from another that has come to lie in its place: its name, and where it was
 * built anew under that, its build id, or, without one, where its tables lie. */
static uint64_t tell_file(const struct dl_find_object *o)
{
    const unsigned char *id = NULL;
    uint64_t first = 0;
    if (find_build_id(o, &id) >= sizeof first)
        memcpy(&first, id, sizeof first);
    first ^= (uintptr_t)o->dlfo_eh_frame ^ (uint64_t)(uintptr_t)o->dlfo_link_map->l_ld << 16;
    return hash_name(o->dlfo_link_map->l_name) ^ first;
}

/* Writes a module that this thread has not written, or no longer knows. */
static const struct module *add_module(struct tp_writer *w, struct sampler *s,
                                       const struct dl_find_object *o, uint64_t file)
{
    unsigned char body[10 + 1 + ID_MOST + PATH_KEPT], *at = body;
    const unsigned char *id = NULL;
    const char *path = o->dlfo_link_map->l_name;
    size_t id_bytes = find_build_id(o, &id), length = 0;
    at = tp_rec_put(at, s->count);
    *at++ = (unsigned char)id_bytes;
    at = id_bytes ? (unsigned char *)memcpy(at, id, id_bytes) + id_bytes : at;
    if (path[0]) {
        length = strnlen(path, PATH_KEPT);
        memcpy(at, path, length);
    } else { /* the program itself */
        find_program();
        length = program_length;
        memcpy(at, program, length);
    }
    struct module *m = &s->modules[s->count % MODULES];
    *m = (struct module){(uintptr_t)o->dlfo_map_start, (uintptr_t)o->dlfo_map_end,
                         o->dlfo_link_map->l_addr, file, s->count++};
    tp_write_more(w, TP_MORE_MODULE, body, (size_t)(at - body) + length);
    return m;
}

/* The module of an address; NULL: it is in none. */
static const struct module *find_module(struct tp_writer *w, struct sampler *s, uintptr_t at)
{
    struct dl_find_object o;
    if (_dl_find_object((void *)at, &o) != 0)
        return NULL;
    uint64_t file = tell_file(&o);
    for (unsigned i = 0; i < MODULES && i < s->count; i++) {
        const struct module *m = &s->modules[i];
        if (m->start == (uintptr_t)o.dlfo_map_start && m->end == (uintptr_t)o.dlfo_map_end &&
            m->file == file && m->bias == o.dlfo_link_map->l_addr)
            return m;
    }
    return add_module(w, s, &o, file);
}

/* ---- stacks ---- */

TP_PER_THREAD jmp_buf *way_out;         /* of the stack that is just taken */
TP_PER_THREAD const void *tables_found; /* of the frame that is just looked at */

/* The linker puts the first in front of the second, which the unwinder calls. */
void *__wrap__Unwind_Find_FDE(void *pc, void *bases);
void *__real__Unwind_Find_FDE(void *pc, void *bases);

void *__wrap__Unwind_Find_FDE(void *pc, void *bases)
{
    void *tables = __real__Unwind_Find_FDE(pc, bases);
    if (!tables && way_out)
        longjmp(*way_out, 1);
    tables_found = tables;
    return tables;
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *ctx)
{
    struct frames *f = ctx;
    int exact = 0; /* the address is that of an instruction a signal came before */
    uintptr_t at = _Unwind_GetIPInfo(context, &exact);
    if (!at)
        return _URC_END_OF_STACK;
    at -= !exact;
    if (at >= f->own_start && at < f->own_end) {
        tp_frame_pages_grow(&f->pages, context);
        return _URC_NO_REASON;
    }
    f->at[f->count++] = at;
    return f->count < f->most && tp_frame_can_step(&f->pages, context, at, tables_found)
               ? _URC_NO_REASON
               : _URC_END_OF_STACK;
}

static void find_own(struct frames *f)
{
    struct dl_find_object o;
    if (_dl_find_object((void *)(uintptr_t)&tp_stack_sample, &o) == 0) {
        f->own_start = (uintptr_t)o.dlfo_map_start;
        f->own_end = (uintptr_t)o.dlfo_map_end;
    }
}

static void take_frames(struct frames *f)
{
    jmp_buf here;
    jmp_buf *before = way_out; /* of a stack that a signal came into */
    way_out = &here;
    tp_frame_pages_begin(&f->pages);
    if (!_setjmp(here))
        (void)_Unwind_Backtrace(take_frame, f);
    tp_frame_pages_end(&f->pages);
    way_out = before;
}

/* The first time the unwinder makes itself ready: it wakes who may wait for that, by a call of the
 * system, and binds the functions that it needs, on the stack of who calls. */
__attribute__((constructor)) static void ready_unwinder(void)
{
    struct frames f = {.most = TP_STACK_FRAMES};
    take_frames(&f);
}

static void write_stack(struct tp_writer *w, struct sampler *s, const struct frames *f)
{
    unsigned char body[TP_STACK_FRAMES * 20], *at = body;
    struct module now = {.start = 1, .end = 0}; /* a copy: its place may be taken */
    uintptr_t before = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        uintptr_t address = f->at[i];
        if (address < now.start || address >= now.end) {
            const struct module *m = find_module(w, s, address);
            now = m ? *m : (struct module){.start = 1, .end = 0};
        }
        bool known = now.end != 0;
        at = tp_rec_put(at, known ? now.number + 1 : 0);
        at = tp_rec_put(at, tp_rec_zigzag(address - now.bias - before));
        before = address - now.bias;
    }
    tp_write_more(w, TP_MORE_STACK, body, (size_t)(at - body));
}

void tp_stack_sample(struct tp_writer *w, size_t size)
{
    struct sampler *s = &sampler;
    struct frames f;
    if (TP_LIKELY(!is_chosen(s, size)))
        return;
    if (!w->sampled)
        s->count = 0; /* a child of fork writes its own recording, which has no module yet */
    w->sampled = true;
    uint64_t began = tp_recorder_stamp();
    f.count = 0;
    f.own_start = f.own_end = 0;
    f.most = tp_recorder.head->stacks;
    f.most = f.most && f.most <= TP_STACK_FRAMES ? f.most : TP_STACK_FRAMES;
    find_own(&f);
    take_frames(&f);
    write_stack(w, s, &f);
    if (w->chunk)
        w->chunk->taking += tp_recorder_stamp() - began;
}
