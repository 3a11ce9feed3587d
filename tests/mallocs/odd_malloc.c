/* Malloc libraries for the tests of the strategy lib. Each is this file with one of the macros
 * below; it passes calls on to glibc's malloc and misbehaves at blocks of ODD_SIZE bytes, so that a
 * test chooses the event by a size in its trace.
 *
 *     COUNTS      misbehaves never; at its end it adds a line "allocs reallocs frees" to the file
 *                 that COUNTS_FILE names
 *     PADS        takes 64 bytes more for each block
 *     SILENT      has no malloc_usable_size, and a sized free
 *     HALF        has malloc, but no free
 *     NO_MALLOC   has none of it
 *     ABORTS      aborts in its constructor
 *     LINGERS     forks in its constructor, and the copy stays
 *     ESCAPES     the same, and the copy makes a session of its own
 *     STALLS      waits in its constructor for ever
 *     WEIGHS      writes 8 MiB in its constructor
 *     KEEPS       gives no memory back to the system, and maps no block by itself
 *     EXPIRES     holds 8 MiB from a block of EXPIRING bytes on, until a free 10 s later
 *     TURNS       goes around TURNS_LOOPS times in one of TURNS_EVERY mallocs: some instructions
 * more HELPED      has a thread of its own REFUSES     returns NULL always REJECTS     knows the
 * settings foo and bar as jemalloc does, and complains of each foo OVERLAPS, MISALIGNS, HANGS,
 * FORKS, EXITS, CRASHES   at blocks of ODD_SIZE bytes PRINTS      prints to standard output in its
 * constructor, in its destructor and at blocks of ODD_SIZE bytes WEARS_OUT   aborts at one of them:
 * when the file that WEAR_FILE names, to which each adds a byte, has as many bytes as WEAR says
 *     SCRIBBLES   writes over what tapool shares with its child, at blocks of ODD_SIZE bytes
 *     DOODLES     the same when the process ends, where the answer was given already
 *     FORBIDS     lets the process open no /proc/self/pagemap
 *     LOCKS       locks blocks of ODD_SIZE bytes */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define API      __attribute__((visibility("default")))
#define ODD_SIZE 7777u
#define EXPIRING 4321u

/* The C library's own, under the names that it keeps for those who replace malloc. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *p);

API void odd_malloc_is_here(void);
void odd_malloc_is_here(void) {}

#ifndef NO_MALLOC

#if defined COUNTS
static unsigned long allocs, reallocs, frees;
#define COUNT(what) ((void)what++)

__attribute__((destructor)) static void tell(void)
{
    char line[96];
    const char *path = getenv("COUNTS_FILE");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    int length = snprintf(line, sizeof line, "%lu %lu %lu\n", allocs, reallocs, frees);
    if (fd >= 0 && write(fd, line, (size_t)length) != length)
        _exit(1);
}
#else
#define COUNT(what) ((void)0)
#endif

#if defined ABORTS
__attribute__((constructor)) static void begin(void)
{
    abort();
}
#endif

#ifdef KEEPS
__attribute__((constructor)) static void keep(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}
#endif

#ifdef FORBIDS
API int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!strcmp(path, "/proc/self/pagemap")) {
        errno = EPERM;
        return -1;
    }
    return openat(AT_FDCWD, path, flags, mode);
}
#endif

#ifdef TURNS
#ifndef TURNS_LOOPS
#define TURNS_LOOPS 20
#define TURNS_EVERY 64
#endif
static void turn(void)
{
    static unsigned calls;
    for (volatile int i = 0; calls % TURNS_EVERY == 0 && i < TURNS_LOOPS; i++)
        ;
    calls++;
}
#endif

#ifdef EXPIRES
static char *held;
static time_t since;

static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void hold(size_t size)
{
    if (size != EXPIRING || held)
        return;
    since = seconds_now();
    held = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(held, 1, 8 << 20);
}

static void expire(void)
{
    if (held && seconds_now() - since >= 10)
        held = munmap(held, 8 << 20) ? held : NULL;
}
#endif

#ifdef REJECTS
/* The names, as jemalloc has them in its file. */
static const char *const volatile names[] = {"opt.foo", "opt.bar"};

__attribute__((constructor)) static void complain(void)
{
    const char *conf = getenv("MALLOC_CONF");
    if (conf && strstr(conf, names[0] + strlen("opt.")))
        dprintf(2, "<jemalloc>: Invalid conf value: %s\n", conf);
}
#endif

#ifdef WEIGHS
static char weight[8 << 20];

__attribute__((constructor)) static void begin(void)
{
    memset(weight, 1, sizeof weight);
}
#endif

#if defined LINGERS || defined ESCAPES || defined STALLS
/* Stays, and adds its number to the file that LINGERS_FILE names; without that it does not. */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("LINGERS_FILE");
    char line[32];
    if (!path)
        return;
#if defined LINGERS || defined ESCAPES
    if (fork())
        return;
#endif
#if defined ESCAPES
    setsid();
#endif
    alarm(30); /* should it be left after all */
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int length = snprintf(line, sizeof line, "%d\n", (int)getpid());
    for (ssize_t put = write(fd, line, (size_t)length); put == length;)
        pause();
    _exit(1);
}
#endif

#if defined HELPED
static void *help(void *unused)
{
    for (;;)
        pause();
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, help, NULL))
        abort();
}
#endif

/* Blocks that lie in here belong to nobody, and are never freed. */
static _Alignas(16) char odd_bytes[2 * ODD_SIZE];
#if defined OVERLAPS
static int odd_turn;
#endif

static int is_odd(const void *p)
{
    return (uintptr_t)p - (uintptr_t)odd_bytes < sizeof odd_bytes;
}

#if defined PRINTS
__attribute__((constructor, destructor)) static void print(void)
{
    if (write(1, "hello\n", 6) != 6)
        abort();
}
#endif

#if defined WEARS_OUT
static void wear(void)
{
    const char *path = getenv("WEAR_FILE"), *most = getenv("WEAR");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (fd < 0 || write(fd, "x", 1) != 1 ||
        (most && lseek(fd, 0, SEEK_END) >= strtol(most, NULL, 10)))
        abort();
    close(fd);
}
#endif

#if defined SCRIBBLES
/* Finds the shared memory in the list of mappings, "FROM-TO rw-s ... /memfd:tapool-job", and fills
 * it. What is called here must not allocate. */
static void scribble(void)
{
    static char maps[1 << 16];
    size_t used = 0;
    int fd = open("/proc/self/maps", O_RDONLY);
    for (ssize_t got = 1; fd >= 0 && got > 0; used += (size_t)got)
        got = read(fd, maps + used, sizeof maps - 1 - used);
    close(fd);
    char *name = strstr(maps, "tapool-job"), *line = name;
    while (line && line > maps && line[-1] != '\n')
        line--;
    char *from = line ? (char *)strtoul(line, &line, 16) : NULL;
    char *to = from ? (char *)strtoul(line + 1, NULL, 16) : NULL;
    if (from < to)
        memset(from, 0xff, (size_t)(to - from));
}
#endif

#if defined DOODLES
/* The memory is no longer mapped then, but its descriptor is still there. */
__attribute__((destructor)) static void doodle(void)
{
    struct stat st;
    static const char bytes[64] = {1, 2, 3};
    if (!fstat(4, &st) && pwrite(4, bytes, sizeof bytes, st.st_size / 2) < 0)
        abort();
}
#endif

/* What happens instead of a block of ODD_SIZE bytes. */
static void *odd_block(void)
{
#if defined OVERLAPS
    odd_turn = !odd_turn;
    return odd_bytes + 16 * odd_turn;
#elif defined MISALIGNS
    return odd_bytes + 4;
#elif defined HANGS
    for (;;)
        pause();
#elif defined FORKS
    if (fork() < 0)
        abort();
#elif defined EXITS
    _exit(23);
#elif defined CRASHES
    abort();
#elif defined SCRIBBLES
    scribble();
#elif defined PRINTS
    print();
#elif defined WEARS_OUT
    wear();
#elif defined LOCKS
    void *locked = __libc_malloc(ODD_SIZE);
    if (!locked || mlock(locked, ODD_SIZE))
        abort();
    return locked;
#endif
    return __libc_malloc(ODD_SIZE);
}

API void *malloc(size_t size)
{
    COUNT(allocs);
#if defined REFUSES
    return NULL;
#elif defined PADS
    return __libc_malloc(size + 64);
#elif defined EXPIRES
    hold(size);
#elif defined TURNS
    turn();
#endif
    return size == ODD_SIZE ? odd_block() : __libc_malloc(size);
}

#ifndef HALF
API void free(void *p)
{
    if (p)
        COUNT(frees);
#ifdef EXPIRES
    expire();
#endif
    if (!is_odd(p))
        __libc_free(p);
}

API void *calloc(size_t count, size_t size)
{
    COUNT(allocs);
#if defined REFUSES
    return NULL;
#endif
    return __libc_calloc(count, size);
}

API void *realloc(void *p, size_t size)
{
    COUNT(reallocs);
    if (is_odd(p))
        return NULL;
    return __libc_realloc(p, size);
}

API int posix_memalign(void **out, size_t align, size_t size)
{
    COUNT(allocs);
    *out = __libc_memalign(align, size);
    return *out ? 0 : 12;
}

#if defined SILENT
API void free_sized(void *p, size_t size);
void free_sized(void *p, size_t size)
{
    (void)size;
    __libc_free(p);
}
#else
/* glibc's serves its own blocks; this library must have one of its own to be asked. */
API size_t malloc_usable_size(void *p)
{
    return p && !is_odd(p) ? (((size_t *)p)[-1] & ~(size_t)7) - sizeof(size_t) : 0;
}
#endif
#endif /* HALF */
#endif /* NO_MALLOC */
