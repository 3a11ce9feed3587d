/* tapool help malloc: from a program on Linux to the choice of its malloc. */
#include "cmd/cli/commands.h"

static const char text[] =
    "Record a program without rebuilding it; every call of every thread is kept:\n"
    "\n"
    "  tapool record -o server.tpt -- ./server --its-options\n"
    "\n"
    "  tapool info server.tpt            sizes, lifetimes, live memory\n"
    "  tapool info old.tpt server.tpt --fail-on 'allocations>+1%'   a CI check\n"
    "  tapool strategies                 malloc libraries of this machine\n"
    "  tapool replay server.tpt          each library, the C library's, and arena\n"
    "  tapool compare server.tpt --alloc glibc,jemalloc,mimalloc    with 95% CI\n"
    "  tapool tune server.tpt            10 to 30 settings of each library\n"
    "  tapool why server.tpt             resident memory that stays: section pages\n"
    "\n"
    "Each library is preloaded in a process of its own, and tapool's own memory is\n"
    "outside its heap:\n"
    "\n"
    "  -s lib:jemalloc                   by name, found as the dynamic linker does\n"
    "  -s lib:./libmy.so                 by path: a file with malloc, realloc, free\n"
    "  -s lib:jemalloc,env=MALLOC_CONF=narenas:1    settings; also -s system:env=...\n"
    "  -s lib:jemalloc,sized             frees pass the size, if the library has that\n"
    "\n"
    "If a library crashes, hangs (--timeout) or does not load, the report names the\n"
    "event and the others are still measured. To use the best one:\n"
    "LD_PRELOAD=libmimalloc.so.2 ./server, or link with -lmimalloc.\n";

static const char static_text[] =
    "valgrind records a statically linked program, about 50 times slower and without\n"
    "threads. tapool reads the text that valgrind and mtrace() write:\n"
    "\n"
    "  valgrind --trace-malloc=yes --soname-synonyms=somalloc=NONE ./server 2>s.txt\n"
    "  MALLOC_TRACE=server.txt LD_PRELOAD=libc_malloc_debug.so.0 ./server\n";

static const char library_text[] =
    "Compare a library under development with its old build in instructions, time,\n"
    "resident and mapped memory:\n"
    "\n"
    "  tapool check TRACE -s my=lib:./libmy.so --base-lib main/libmy.so\n"
    "\n"
    "  tapool tune server.tpt --grid 'jemalloc:narenas=1|2,dirty_decay_ms=0|1000'\n"
    "                    settings of your own\n"
    "\n"
    "  --verify          detects blocks that overlap or are misaligned\n"
    "  --threads 1       replays all threads as one, without contention; by default\n"
    "                    the recorded number of threads replays\n"
    "  arena             a model of such libraries that needs nothing installed\n";

static const char pages_text[] =
    "A program needs 30 MiB and holds 200: why keeps them apart. It replays the trace\n"
    "with the recorded malloc (or --malloc NAME) and splits resident memory into live\n"
    "blocks, rounding, partly free pages (freed bytes on pages with live blocks), free\n"
    "pages and the allocator's own data. The kernel counts the pages, so that the\n"
    "parts add up to resident memory.\n"
    "\n"
    "  tapool record --stacks 8 --stack-every 1 -o server.tpt -- ./server\n"
    "  tapool why server.tpt                  the moment with the most free memory\n"
    "  tapool why server.tpt --at end --malloc jemalloc\n"
    "\n"
    "The free bytes of a page are shared equally by the allocation sites with a live\n"
    "block on it. A few long-lived blocks among short-lived ones hold many pages: the\n"
    "table has the median lifetime of each site beside its oldest block. 'Only grows'\n"
    "names sites whose live bytes never fall: leaks, or data that is collected.\n"
    "Alternatives are replays up to the same event: free memory given back (as by\n"
    "malloc_trim), settings, other libraries, and the blocks of a site in a size-class\n"
    "arena of their own. With a share of stacks (--stack-every) sites are estimated,\n"
    "and are not moved.\n";

static const struct tp_topic_section sections[] = {
    {"pages", "find what keeps resident memory", "fragmentation rss leak trim",
     .texts = {pages_text}},
    {"static", "record statically linked programs", "mtrace valgrind", .texts = {static_text}},
    {"library", "develop a malloc library", NULL, .texts = {library_text}},
    {.name = NULL}};

const struct tp_topic tp_topic_malloc = {
    "malloc", "record a program on Linux and choose its malloc",
    "recorder glibc libc jemalloc mimalloc tcmalloc tbbmalloc preload ld_preload host server",
    .texts = {text}, .sections = sections};
