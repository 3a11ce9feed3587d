/* The recording of this process: opens it, gives out its chunks, ends it. What the C library
 * allocates here is not recorded, and no signal handler comes in between. */
#include "cmd/preload/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENVIRONMENT "TAPOOL_RECORDING="

static const uint32_t never_alive;
static struct tp_recording_head nothing = {.state = TP_REC_ENDED};
struct tp_recorder tp_recorder = {.head = &nothing, .alive = &never_alive};

enum phase { UNKNOWN, BEGINNING, ON, OFF, PHASES };

/* The number of the process times PHASES, and its phase: in one word, for the threads of a copy may
 * begin at one time. */
static _Atomic uint64_t stage;
static _Atomic uint64_t late; /* calls that did not wait to the end of another thread's beginning */
static int file = -1;
static dev_t file_device;
static ino_t file_node;
static char path[TP_RECORDING_PATH + 64]; /* that of a trace, and what is added for a child's */
static uint32_t image;
static pthread_key_t at_end;
static bool has_key;
static _Atomic bool sealed;
static _Atomic uint32_t calling; /* threads that make calls of the system */

static bool is_of(uint64_t a_stage)
{
    return a_stage / PHASES == (uint64_t)getpid();
}

/* ---- calls of the system ---- */

/* What a call of the system, or of the C library, must leave as it was. */
struct kept_state {
    struct tp_hush hush;
    sigset_t signals;
    int code, cancel;
};

/* Handlers wait, for they may allocate, or never return. Not those of faults: a program may catch
 * the end of its stack. */
static void hold_signals(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&held, faults[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

bool tp_recorder_may_call(void)
{
    atomic_fetch_add(&calling, 1);
    if (!atomic_load(&sealed))
        return true;
    tp_recorder_called();
    return false;
}

void tp_recorder_called(void)
{
    atomic_fetch_sub(&calling, 1);
}

/* false: no call may be made any more. */
static bool enter_system(struct kept_state *s)
{
    if (!tp_recorder_may_call())
        return false;
    s->code = errno;
    hold_signals(&s->signals); /* first: what a handler calls is no work of the recorder */
    tp_writer_hush(&s->hush);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &s->cancel); /* malloc is no such point */
    return true;
}

static void leave_system(const struct kept_state *s)
{
    pthread_setcancelstate(s->cancel, NULL);
    tp_writer_unhush(&s->hush);
    pthread_sigmask(SIG_SETMASK, &s->signals, NULL);
    errno = s->code;
    tp_recorder_called();
}

/* Waits for the threads that make calls, and not without end: one may be taken away from there for
 * good. */
bool tp_recorder_seal(bool on)
{
    enum { TRIES = 10000 };
    bool here = is_of(atomic_load(&stage)), own = here && tp_recorder.head != &nothing;
    bool borrowed = !here && *tp_recorder.alive; /* after vfork: the memory is the parent's */
    if (!borrowed)
        atomic_store(&sealed, on);
    if (own)
        atomic_store(&tp_recorder.head->sealed, on);
    for (int i = 0; on && own && i < TRIES && atomic_load(&calling) > 0; i++)
        sched_yield();
    return own;
}

bool tp_recorder_is_sealed(void)
{
    return atomic_load(&sealed);
}

/* ---- the environment ---- */

/* The value in /proc/self/environ, for calls that come before the C library knows its own. */
static bool find_in_proc(char *out, size_t size)
{
    char block[4096];
    const char *name = ENVIRONMENT;
    size_t matched = 0, length = 0;
    bool skipping = false, found = false;
    ssize_t got = 0;
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !found && (got = read(fd, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < got && !found; i++) {
            char c = block[i];
            if (!c) {
                found = !name[matched];
                skipping = false;
                matched = found ? matched : 0;
            } else if (!name[matched] && !skipping) {
                if (length + 1 < size)
                    out[length++] = c;
            } else if (skipping || c != name[matched++])
                skipping = true;
        }
    if (fd >= 0)
        close(fd);
    out[length] = '\0';
    return found && length;
}

static bool find_path(char *out, size_t size)
{
    extern char **environ;
    const size_t name = sizeof ENVIRONMENT - 1;
    if (!environ)
        return find_in_proc(out, size);
    for (char **e = environ; *e; e++)
        if (!strncmp(*e, ENVIRONMENT, name))
            return (size_t)snprintf(out, size, "%s", *e + name) < size && out[0];
    return false;
}

/* ---- the file ---- */

/* Moves a descriptor away from those that programs count on. */
static int move_up(int fd)
{
    static const int places[] = {900, 200, 20};
    for (size_t i = 0; fd >= 0 && i < sizeof places / sizeof *places; i++) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, places[i]);
        if (high >= 0) {
            close(fd);
            return high;
        }
    }
    return fd;
}

static bool is_the_file(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == file_device && st.st_ino == file_node;
}

static void keep_file(int fd)
{
    struct stat st;
    if (is_the_file(file)) /* that of the process that this one is a copy of */
        close(file);
    fd = move_up(fd);
    if (fstat(fd, &st) == 0) {
        file_device = st.st_dev;
        file_node = st.st_ino;
    }
    file = fd;
}

/* The descriptor, opened again where the program has closed it. */
static int file_now(void)
{
    if (is_the_file(file))
        return file;
    int fd = move_up(open(path, O_RDWR | O_CLOEXEC));
    if (is_the_file(fd)) {
        file = fd;
        return fd;
    }
    if (fd >= 0) {
        close(fd);
        errno = 0; /* it is another file */
    }
    return -1;
}

/* Gives the file the bytes: what is mapped must be there, or a full disk would be a signal. So
 * would be the attempt to go beyond what the shell's `ulimit -f` allows. */
static int make_room(int fd, uint64_t at, uint64_t bytes)
{
    enum { TRIES = 100 };
    static const unsigned char zeros[TP_RECORDING_PAGE];
    struct rlimit most;
    int error = EINTR;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && at + bytes > most.rlim_cur)
        return EFBIG;
    for (int i = 0; i < TRIES && error == EINTR; i++)
        error = fallocate(fd, 0, (off_t)at, (off_t)bytes) ? errno : 0;
    if (error != EINTR && error != EOPNOTSUPP && error != ENOSYS)
        return error;
    for (uint64_t done = 0; done < bytes; done += sizeof zeros)
        if (pwrite(fd, zeros, sizeof zeros, (off_t)(at + done)) != (ssize_t)sizeof zeros)
            return errno ? errno : ENOSPC;
    return 0;
}

static void *map_file(int fd, uint64_t at, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- begin ---- */

static void thread_ended(void *data);

static void unmap_head(struct tp_recording_head *head)
{
    if (head)
        munmap(head, TP_RECORDING_PAGE);
}

static bool is_recording(const struct tp_recording_head *head)
{
    return head && !memcmp(head->magic, TP_RECORDING_MAGIC, sizeof head->magic) &&
           head->version == TP_RECORDING_VERSION;
}

/* A new recording with the settings of the parent's. */
static struct tp_recording_head *make_for_child(int fd, const struct tp_recording_head *parent,
                                                const struct tp_recorded_process *self)
{
    struct tp_recording_head *head =
        make_room(fd, 0, TP_RECORDING_PAGE) == 0 ? map_file(fd, 0, TP_RECORDING_PAGE) : NULL;
    if (!head)
        return NULL;
    memcpy(head, parent, offsetof(struct tp_recording_head, program));
    head->process = *self;
    head->memory = parent->memory;
    atomic_store(&head->bytes, (uint64_t)TP_RECORDING_PAGE);
    return head;
}

/* The recording that another program of this process (exec) has begun; NULL: this file is none. */
static struct tp_recording_head *map_earlier(int fd, const struct tp_recording_head *parent,
                                             const struct tp_recorded_process *self)
{
    struct stat st;
    bool whole =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)TP_RECORDING_PAGE;
    struct tp_recording_head *head = whole ? map_file(fd, 0, TP_RECORDING_PAGE) : NULL;
    if (is_recording(head) && head->session == parent->session &&
        tp_recorded_same(&head->process, self))
        return head;
    unmap_head(head);
    return NULL;
}

/* A child's own recording, beside that of its parent. Where there is something else under its name,
 * of another process with the same number or of another run, it takes a further name. */
static struct tp_recording_head *open_for_child(const struct tp_recording_head *parent, int *fd)
{
    enum { NAMES = 1000, FLAGS = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC };
    const struct tp_recorded_process self = tp_recorded_self();
    struct tp_recording_head *head = NULL;
    char further[16] = "";
    for (int i = 2; i < NAMES && !head; i++) {
        if (snprintf(path, sizeof path, "%s.%ld%s" TP_RECORDING_SUFFIX, parent->path,
                     (long)self.pid, further) >= (int)sizeof path)
            return NULL;
        bool made = (*fd = open(path, FLAGS | O_CREAT | O_EXCL, 0600)) >= 0;
        if (!made && errno != EEXIST)
            return NULL;
        *fd = made ? *fd : open(path, FLAGS);
        if (made)
            head = make_for_child(*fd, parent, &self);
        else if (*fd >= 0)
            head = map_earlier(*fd, parent, &self);
        if (!head && *fd >= 0)
            close(*fd);
        if (!head && made) {
            unlink(path);
            return NULL;
        }
        snprintf(further, sizeof further, ".%d", i);
    }
    return head;
}

static void clear_alive(void)
{
    *(uint32_t *)(uintptr_t)tp_recorder.alive = 0;
}

/* A page that a forked child finds cleared: by the kernel, whoever forks, and by the C library's
 * fork, where the kernel is one that cannot, or an emulated one that only says so. */
static bool make_alive(void)
{
    static bool by_fork;
    static uint32_t lives;
    uint32_t *page =
        mmap(NULL, TP_RECORDING_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    by_fork = by_fork || pthread_atfork(NULL, NULL, clear_alive) == 0;
    if (madvise(page, TP_RECORDING_PAGE, MADV_WIPEONFORK) != 0 && !by_fork) {
        munmap(page, TP_RECORDING_PAGE);
        return false;
    }
    *page = ++lives;
    tp_recorder.alive = page;
    return true;
}

static void use_head(struct tp_recording_head *head)
{
    tp_recorder.head = head;
    tp_recorder.shift = head->shift;
    tp_recorder.counter = head->clock == TP_REC_COUNTER;
}

/* The command line, with blanks between its words; or its first word. */
static void note_program(struct tp_recording_head *head)
{
    ssize_t got = 0;
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    got = read(fd, head->program, sizeof head->program - 1);
    close(fd);
    if (got > 0 && head->no_command)
        got = (ssize_t)strnlen(head->program, (size_t)got);
    for (ssize_t i = 0; i < got; i++)
        if (!head->program[i])
            head->program[i] = i + 1 < got ? ' ' : '\0';
    head->program[got > 0 ? got : 0] = '\0';
}

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts)
               ? 0
               : (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static void note_time(_Atomic uint64_t *cpu, _Atomic uint64_t *ticks)
{
    atomic_store(cpu, cpu_ns());
    atomic_store(ticks, tp_recorder_stamp());
}

static void note_now(struct tp_recording_head *head)
{
    note_time(&head->cpu_to, &head->ticks_to);
}

/* The last that the recorder sees of a program that ends by itself. */
__attribute__((destructor)) static void note_end(void)
{
    struct kept_state s;
    if (!is_of(atomic_load(&stage)) || !*tp_recorder.alive || !enter_system(&s))
        return;
    if (atomic_load(&tp_recorder.head->state) != TP_REC_ENDED)
        note_now(tp_recorder.head);
    tp_large_end();
    leave_system(&s);
}

static void use_recording(int fd, struct tp_recording_head *head)
{
    use_head(head);
    keep_file(fd);
    note_program(head);
    note_time(&head->cpu_from, &head->ticks_from);
    note_now(head);
    image = atomic_fetch_add(&head->images, 1);
    atomic_store(&head->threads, 0); /* those of earlier images are no more */
    atomic_store(&head->dropped, 0);
    for (unsigned i = 0; i < TP_TOUCHED_OCTAVES; i++) {
        atomic_store(&head->large[i], 0);
        atomic_store(&head->written[i], 0);
    }
    tp_large_forget();
}

static void end(struct tp_recording_head *head, enum tp_record_why why, int error)
{
    uint32_t none = TP_REC_NO_REASON;
    if (atomic_compare_exchange_strong(&head->why, &none, (uint32_t)why))
        atomic_store(&head->error, error);
    atomic_store(&head->state, (uint32_t)TP_REC_ENDED);
}

void tp_recorder_end(enum tp_record_why why, int error)
{
    end(tp_recorder.head, why, error);
}

static bool is_followed(const struct tp_recording_head *parent, bool forked)
{
    return parent->follow >= (forked ? TP_FOLLOW_FORK : TP_FOLLOW_ALL);
}

/* A program that follows in a process which forbade itself calls of the system is not recorded: the
 * recorder's own could end it. */
static bool is_free(struct tp_recording_head *own)
{
    if (!atomic_load(&own->sealed))
        return true;
    end(own, TP_REC_SANDBOX, 0);
    return false;
}

/* Counts a child that is not to be followed: once, whatever programs it becomes. */
static void leave_alone(struct tp_recording_head *parent)
{
    int32_t self = (int32_t)getpid();
    for (size_t i = 0; i < TP_REC_CHILDREN; i++)
        if (atomic_load(&parent->alone[i]) == self)
            return;
    uint32_t nth = atomic_fetch_add(&parent->left_alone, 1);
    atomic_store(&parent->alone[nth % TP_REC_CHILDREN], self);
}

/* In a child: its own recording, if it is to be followed. */
static bool follow(struct tp_recording_head *parent, bool forked)
{
    int fd = -1;
    if (!is_followed(parent, forked)) {
        leave_alone(parent);
        return false;
    }
    struct tp_recording_head *own = open_for_child(parent, &fd);
    if (own && is_free(own)) {
        use_recording(fd, own);
        return true;
    }
    if (own)
        close(fd);
    else
        atomic_fetch_add(&parent->unfollowed, 1);
    unmap_head(own);
    return false;
}

/* Opens the recording that the environment names: that of this process, or of one before it. */
static bool open_recording(void)
{
    const struct tp_recorded_process self = tp_recorded_self();
    int fd = find_path(path, sizeof path) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct tp_recording_head *head = fd >= 0 ? map_file(fd, 0, TP_RECORDING_PAGE) : NULL;
    bool good = is_recording(head);
    if (good && tp_recorded_same(&head->process, &self)) {
        good = is_free(head);
        if (good)
            use_recording(fd, head);
    } else
        good = good && follow(head, false);
    if (head != tp_recorder.head) {
        unmap_head(head);
        if (fd >= 0)
            close(fd);
    }
    return good;
}

/* A copy of a process that is recorded has the head of that one. Where it is not followed it has
 * nothing to do with it any more. */
static bool open_again(void)
{
    struct tp_recording_head *parent = tp_recorder.head;
    bool followed = follow(parent, true);
    if (!followed)
        tp_recorder.head = &nothing;
    unmap_head(parent);
    return followed;
}

static bool begin(bool forked)
{
    bool again = forked && tp_recorder.head != &nothing;
    if (again ? !open_again() : !open_recording())
        return false;
    if (!make_alive()) {
        tp_recorder_end(TP_REC_NO_MAPPING, errno);
        return false;
    }
    has_key = has_key || pthread_key_create(&at_end, thread_ended) == 0;
    return true;
}

static uint64_t stage_of(enum phase phase)
{
    return (uint64_t)getpid() * PHASES + phase;
}

static void count_late(void)
{
    if (atomic_load(&stage) == stage_of(ON))
        atomic_fetch_add(&tp_recorder.head->dropped, atomic_exchange(&late, 0));
}

/* One thread begins, and others wait for it: not without end, for it may wait for what they hold.
 */
static bool begin_once(void)
{
    enum { TRIES = 10000 };
    for (int i = 0; i < TRIES; i++) {
        uint64_t was = atomic_load(&stage);
        bool here = is_of(was);
        if (was % PHASES == OFF) /* in its children too */
            return false;
        if (here && was % PHASES == ON && *tp_recorder.alive)
            return true;
        if (here && was % PHASES == BEGINNING)
            sched_yield();
        else if (atomic_compare_exchange_strong(&stage, &was, stage_of(BEGINNING))) {
            bool forked = was % PHASES != UNKNOWN;
            if (forked)
                atomic_store(&calling, 1); /* the parent's other threads are not here */
            bool on = begin(forked);
            atomic_store(&stage, stage_of(on ? ON : OFF));
            count_late();
            return on;
        }
    }
    atomic_fetch_add(&late, 1);
    count_late();
    return false;
}

/* A copy of a process that may make no calls makes no recording; it may not even ask for its
 * number.
 */
static void leave_out(void)
{
    struct tp_recording_head *parent = tp_recorder.head;
    uint64_t was = atomic_load(&stage);
    bool forked = was % PHASES == ON && !*tp_recorder.alive;
    if (!forked || !atomic_compare_exchange_strong(&stage, &was, was - ON + OFF))
        return;
    if (is_followed(parent, true))
        atomic_fetch_add(&parent->unfollowed, 1);
    else
        leave_alone(parent);
    tp_recorder.head = &nothing;
}

bool tp_recorder_begin(void)
{
    struct kept_state s;
    if (atomic_load(&stage) % PHASES == OFF)
        return false;
    if (!enter_system(&s)) {
        leave_out();
        return false;
    }
    bool on = begin_once();
    leave_system(&s);
    return on;
}

/* ---- chunks ---- */

static void set_chunk(struct tp_writer *w, struct tp_recording_chunk *c)
{
    w->chunk = c;
    w->at = tp_chunk_events(c) + atomic_load(&c->used);
    w->limit = (unsigned char *)c + c->bytes - TP_RECORDING_EVENT;
}

static void unmap_chunk(struct tp_writer *w)
{
    if (w->chunk)
        munmap(w->chunk, w->nth <= 1 ? TP_CHUNK_FIRST : TP_CHUNK_BYTES);
    w->chunk = NULL;
    w->at = w->limit = NULL;
}

void tp_chunk_unmap(struct tp_writer *w)
{
    struct kept_state s;
    if (!w->chunk || !enter_system(&s))
        return;
    unmap_chunk(w);
    leave_system(&s);
}

void tp_chunk_map(struct tp_writer *w)
{
    struct kept_state s;
    if (!enter_system(&s))
        return;
    int fd = file_now();
    size_t bytes = w->nth == 1 ? TP_CHUNK_FIRST : TP_CHUNK_BYTES;
    struct tp_recording_chunk *c = fd >= 0 && w->nth ? map_file(fd, w->offset, bytes) : NULL;
    if (c)
        set_chunk(w, c);
    leave_system(&s);
}

void tp_chunk_forget(struct tp_writer *w)
{
    tp_chunk_unmap(w);
    *w = (struct tp_writer){.call = w->call};
}

static void fill_head(struct tp_writer *w, struct tp_recording_chunk *c, uint32_t bytes)
{
    if (!w->nth)
        w->thread = atomic_fetch_add(&tp_recorder.head->threads, 1);
    c->bytes = bytes;
    c->thread = w->thread;
    c->image = image;
    c->nth = w->nth++;
    c->time = w->time;
    w->address = 0;
    w->events = 0;
    atomic_store_explicit(&c->magic, TP_CHUNK_MAGIC, memory_order_release);
}

/* Whether the recording may grow to `end` bytes; it ends where it may not. */
static bool within_limits(uint64_t end, uint64_t events)
{
    const struct tp_recording_head *head = tp_recorder.head;
    if (head->max_bytes && end > head->max_bytes)
        tp_recorder_end(TP_REC_MAX_SIZE, 0);
    else if (head->max_events && events >= head->max_events)
        tp_recorder_end(TP_REC_MAX_EVENTS, 0);
    else
        return true;
    return false;
}

static bool take_chunk(struct tp_writer *w)
{
    struct tp_recording_head *head = tp_recorder.head;
    uint64_t began = tp_recorder_stamp();
    uint32_t bytes = w->nth ? TP_CHUNK_BYTES : TP_CHUNK_FIRST;
    uint64_t events = atomic_fetch_add(&head->events, w->events) + w->events;
    uint64_t at = atomic_fetch_add(&head->bytes, bytes);
    int fd = file_now(), error = fd < 0 ? errno : 0;
    unmap_chunk(w);
    if (!within_limits(at + bytes, events))
        return false;
    if (fd < 0) {
        tp_recorder_end(TP_REC_FILE_GONE, error);
        return false;
    }
    error = make_room(fd, at, bytes);
    if (error) {
        tp_recorder_end(TP_REC_DISK_FULL, error);
        return false;
    }
    struct tp_recording_chunk *c = map_file(fd, at, bytes);
    if (!c) {
        tp_recorder_end(TP_REC_NO_MAPPING, errno);
        return false;
    }
    w->offset = at;
    note_now(head);
    fill_head(w, c, bytes);
    set_chunk(w, c);
    c->taking = tp_recorder_stamp() - began;
    return true;
}

bool tp_chunk_next(struct tp_writer *w)
{
    struct kept_state s;
    if (!enter_system(&s)) {
        tp_recorder_end(TP_REC_SANDBOX, 0);
        return false;
    }
    bool first = !w->nth, taken = take_chunk(w);
    if (first && taken && has_key)
        pthread_setspecific(at_end, w);
    leave_system(&s);
    return taken;
}

/* Runs among the destructors of the thread's own data. Others may still free, so it asks to be
 * called once more; and not more often, because a thread whose first event is in a destructor has
 * few rounds left, and its mapping must go. */
static void thread_ended(void *data)
{
    struct tp_writer *w = data;
    struct tp_hush hush;
    if (w->life != *tp_recorder.alive)
        return; /* it is a copy of the parent's */
    tp_writer_hush(&hush);
    if (w->rounds++ < 1)
        pthread_setspecific(at_end, w);
    else if (w->chunk) {
        atomic_store(&w->chunk->ended, 1);
        w->finished = true;
        tp_chunk_unmap(w);
    }
    tp_writer_unhush(&hush);
}
