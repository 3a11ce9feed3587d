/* The fake driver's entry and exit: one lock, the script's failures, violations, the books and the
 * report at exit. tests/fake_libcuda/fake_libcuda.h says what it is;
 * tests/fake_libcuda/fake_libcuda_state.h what lies where.
 *
 * Known weakness: its state is one per process, as a driver's is; who runs tests beside each other
 * in one process shares it. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

#include <pthread.h>
#include <stdarg.h>

enum { SAY_AT_MOST = 100 }; /* violations on stderr */

const int fake_cuda_simulated = 1;

struct fc_state fc;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUresult fc_violation(CUresult rc, const char *format, ...)
{
    va_list args;
    if (fc.quiet)
        return rc;
    fc.books.violations++;
    va_start(args, format);
    vsnprintf(fc.last_violation, sizeof fc.last_violation, format, args);
    va_end(args);
    if (fc.books.violations <= SAY_AT_MOST)
        fprintf(stderr, "fake_cuda: violation: %s\n", fc.last_violation);
    return rc;
}

/* --- the script ------------------------------------------------------------------------------- */

static void forget(void)
{
    struct fake_cuda_books held = fc.books;
    fc.books = (struct fake_cuda_books){.streams = held.streams,
                                        .events = held.events,
                                        .pools = held.pools,
                                        .contexts = held.contexts,
                                        .ranges = held.ranges,
                                        .blocks = held.blocks,
                                        .modules = held.modules,
                                        .connections = held.connections,
                                        .range_bytes = held.range_bytes,
                                        .block_bytes = held.block_bytes};
    fc.lost = (struct fake_cuda_books){0};
    memset(fc.calls_of, 0, sizeof fc.calls_of);
    fc.last_violation[0] = '\0';
    fc.broken = CUDA_SUCCESS;
    fc.fault_due = 0;
    fc.quiet = false;
}

static void apply(const char *text)
{
    free(fc.applied);
    fc.applied = text ? strdup(text) : NULL;
    fc_script_parse(&fc.script, text);
}

/* The environment's script, unless it is in force already or a call gave one. */
static void read_environment(void)
{
    const char *text = getenv("TAPOOL_FAKE_CUDA");
    if (fc.by_call || (fc.script.version && !text && !fc.applied))
        return;
    if (fc.script.version && text && fc.applied && strcmp(text, fc.applied) == 0)
        return;
    apply(text);
}

void fake_cuda_script(const char *script)
{
    pthread_mutex_lock(&lock);
    forget();
    apply(script);
    fc.by_call = script != NULL;
    pthread_mutex_unlock(&lock);
}

/* --- entry and exit --------------------------------------------------------------------------- */

/* Calls that answer whatever state the device is in. */
static bool is_plain(enum fc_call call)
{
    return call <= FC_cuDriverGetVersion;
}

static CUresult scripted_failure(enum fc_call call)
{
    for (uint32_t i = 0; i < fc.script.fail_count; i++) {
        const struct fc_fail *f = &fc.script.fails[i];
        if (f->call == call && (f->nth == 0 || f->nth == fc.calls_of[call]))
            return f->code;
    }
    return CUDA_SUCCESS;
}

static void look_for_fault(void)
{
    if (fc.fault_due > 0 && fc.fault_due <= fc.now) {
        fc.fault_due = 0;
        if (!fc.broken)
            fc.broken = fc.script.async_code;
    }
    fc.quiet = fc.broken != CUDA_SUCCESS;
}

/* The driver cannot be used in a fork of the process that called cuInit. What the parent holds is
 * its own: the child's books begin empty. */
static void be_a_fork(void)
{
    pthread_mutex_init(&lock, NULL); /* another thread may have held it */
    fc.forked = fc.initialised;
    if (fc.forked)
        fc.books = fc.lost = (struct fake_cuda_books){0};
}

__attribute__((constructor)) static void begin(void)
{
    if (pthread_atfork(NULL, NULL, be_a_fork))
        abort();
}

CUresult fc_enter(enum fc_call call)
{
    pthread_mutex_lock(&lock);
    fc.call = call;
    if (!fc.script.version || call == FC_cuInit)
        read_environment();
    if (fc.forked && !is_plain(call))
        return CUDA_ERROR_NOT_INITIALIZED;
    fc.books.calls++;
    fc.calls_of[call]++;
    fc_tick();
    if (fc.script.lost_at > 0 && fc.books.calls >= fc.script.lost_at)
        fc.broken = CUDA_ERROR_DEVICE_UNAVAILABLE;
    look_for_fault();
    if (fc.broken && !is_plain(call))
        return fc.broken;
    CUresult rc = scripted_failure(call);
    if (!rc && !fc.initialised && !is_plain(call) && call != FC_cuInit)
        rc = fc_violation(CUDA_ERROR_NOT_INITIALIZED, "%s before cuInit", fc_call_names[call]);
    return rc;
}

bool fc_enter_release(enum fc_call call, CUresult *rc)
{
    *rc = fc_enter(call);
    return *rc == CUDA_SUCCESS || fc.broken;
}

CUresult fc_leave(CUresult rc)
{
    look_for_fault(); /* a synchronisation may have moved the time there */
    if (fc.broken && !is_plain(fc.call))
        rc = fc.broken;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* --- the books -------------------------------------------------------------------------------- */

static struct fake_cuda_books with_lost(void)
{
    struct fake_cuda_books b = fc.books;
    b.streams += fc.lost.streams;
    b.events += fc.lost.events;
    b.pools += fc.lost.pools;
    b.ranges += fc.lost.ranges;
    b.blocks += fc.lost.blocks;
    b.modules += fc.lost.modules;
    b.range_bytes += fc.lost.range_bytes;
    b.block_bytes += fc.lost.block_bytes;
    return b;
}

void fake_cuda_books(struct fake_cuda_books *out)
{
    pthread_mutex_lock(&lock);
    *out = with_lost();
    out->works_pending = fc_pending();
    pthread_mutex_unlock(&lock);
}

const char *fake_cuda_last_violation(void)
{
    pthread_mutex_lock(
        &lock); /* what others wrote is there; the text itself stays until the next */
    pthread_mutex_unlock(&lock);
    return fc.last_violation;
}

void fake_cuda_advance(uint64_t ns)
{
    pthread_mutex_lock(&lock);
    fc.now += ns;
    fc.asked = 0;
    pthread_mutex_unlock(&lock);
}

static uint64_t report_leak(FILE *to, uint64_t count, const char *what, uint64_t bytes)
{
    if (count == 0)
        return 0;
    fprintf(to, "fake_cuda: leak: %llu %s%s", (unsigned long long)count, what,
            count > 1 ? "s" : "");
    if (bytes > 0)
        fprintf(to, ", %llu bytes", (unsigned long long)bytes);
    fputc('\n', to);
    return count;
}

static void write_report(FILE *to)
{
    struct fake_cuda_books b = with_lost();
    uint64_t leaks = report_leak(to, b.streams, "stream", 0);
    leaks += report_leak(to, b.events, "event", 0);
    leaks += report_leak(to, b.pools, "pool", 0);
    leaks += report_leak(to, b.contexts, "retained context", 0);
    leaks += report_leak(to, b.ranges, "range", b.range_bytes);
    leaks += report_leak(to, b.blocks, "block", b.block_bytes);
    leaks += report_leak(to, b.modules, "module", 0);
    if (b.violations == 0 && leaks == 0)
        fputs("fake_cuda: books balance\n", to);
    else
        fprintf(to, "fake_cuda: %llu violations, %llu leaks\n", (unsigned long long)b.violations,
                (unsigned long long)leaks);
}

/* What the library itself holds, so that a leak checker sees none after dlclose. */
static void give_all_back(void)
{
    for (int i = 0; i < FC_DEVICES; i++) {
        fc_context_clear(&fc.devices[i]);
        fc.devices[i].retained = 0;
        free(fc.devices[i].small);
        fc.devices[i].small = NULL;
    }
    fc_clock_clear(&fc.host);
    free(fc.free_slots);
    free(fc.applied);
    fc.free_slots = NULL;
    fc.applied = NULL;
}

__attribute__((destructor)) static void finish(void)
{
    const char *path = getenv("TAPOOL_FAKE_CUDA_REPORT");
    FILE *file = path && fc.books.calls > 0 ? fopen(path, "a") : NULL;
    pthread_mutex_lock(&lock);
    if (fc.books.calls > 0)
        write_report(file ? file : stderr);
    if (file)
        fclose(file);
    give_all_back();
    pthread_mutex_unlock(&lock);
}
