/* tapool help malloc: from a program on Linux to the choice of its malloc. */
#include "cmd/cli/commands.h"

static const char text[] =
    "Record, without building the program anew; every call of every thread is kept:\n"
    "\n"
    "  tapool record -o server.tpt -- ./server --its-options\n"
    "\n"
    "A program that is linked statically is recorded by valgrind, some 50 times slower and "
    "without\n"
    "its threads; valgrind and mtrace() leave texts, which are read as they are:\n"
    "\n"
    "  valgrind --trace-malloc=yes --soname-synonyms=somalloc=NONE ./server 2>server.txt\n"
    "  MALLOC_TRACE=server.txt LD_PRELOAD=libc_malloc_debug.so.0 ./server\n"
    "\n"
    "  tapool info server.tpt            what it asked for: sizes, lifetimes, live memory\n"
    "  tapool info old.tpt server.tpt --fail-on 'allocations>+1%'   does it allocate more?\n"
    "  tapool strategies                 the malloc libraries of this machine\n"
    "  tapool replay server.tpt          each of them beside the C library's and arena\n"
    "  tapool compare server.tpt --alloc glibc,jemalloc,mimalloc      which is faster, for sure\n"
    "  tapool tune server.tpt            10 to 30 settings of each, with the line to paste\n"
    "  tapool tune server.tpt --grid 'jemalloc:narenas=1|2,dirty_decay_ms=0|1000'   your own\n"
    "\n"
    "Each is preloaded in a process of its own, as people use it, and what tapool itself needs is "
    "not\n"
    "in its heap:\n"
    "\n"
    "  -s lib:jemalloc                   by name: looked up as the dynamic linker would\n"
    "  -s lib:./libmy.so                 by path: any file with malloc, realloc and free\n"
    "  -s lib:jemalloc,env=MALLOC_CONF=narenas:1    its own knobs; -s system:env=... likewise\n"
    "  -s lib:jemalloc,sized             blocks are freed with their size, where it has that\n"
    "\n"
    "One that dies, hangs (--timeout) or does not load is named with the event; the others are\n"
    "measured. --verify finds blocks that overlap or are not aligned. A library under work is\n"
    "gated against its old build, in instructions, time, resident and mapped memory:\n"
    "\n"
    "  tapool check TRACE -s my=lib:./libmy.so --base-lib main/libmy.so\n"
    "\n"
    "  threads    as many as were recorded play; --threads 1: one plays all, without contention\n"
    "  arena      a model of how such libraries work, nothing to link\n"
    "  to use it  LD_PRELOAD=libmimalloc.so.2 ./server, or link it: -lmimalloc\n";

const struct tp_topic tp_topic_malloc = {"malloc",
                                         "recording a program on Linux, and choosing its malloc",
                                         "record recording recorder glibc libc jemalloc mimalloc "
                                         "tcmalloc tbbmalloc preload ld_preload host server",
                                         .texts = {text}};
