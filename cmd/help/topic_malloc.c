/* tapool help malloc: from a program on Linux to the choice of its malloc. */
#include "cmd/cli/commands.h"

static const char text[] =
    "Record, without building the program anew; each call is kept, and the program runs much\n"
    "slower (valgrind: some 50 times):\n"
    "\n"
    "  valgrind --trace-malloc=yes ./server 2>server.txt\n"
    "\n"
    "or with calls of mtrace() and muntrace() in it, which see one thread at a time:\n"
    "\n"
    "  MALLOC_TRACE=server.txt LD_PRELOAD=libc_malloc_debug.so.0 ./server\n"
    "\n"
    "  tapool info server.txt            what it asked for: sizes, lifetimes, live memory\n"
    "  tapool convert server.txt -o server.tpt           small, and quick to play\n"
    "  tapool strategies                 the malloc libraries of this machine\n"
    "  tapool replay server.tpt          each of them beside the C library's and arena\n"
    "  tapool compare server.tpt --alloc glibc,jemalloc,mimalloc      which is faster, for sure\n"
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
    "gated against its old build, in time, resident and mapped memory:\n"
    "\n"
    "  tapool check TRACE -s my=lib:./libmy.so --base-lib main/libmy.so\n"
    "\n"
    "  threads    one plays all that a trace has; --threads recorded: as many, with contention\n"
    "  arena      a model of how such libraries work, nothing to link\n"
    "  to use it  LD_PRELOAD=libmimalloc.so.2 ./server, or link it: -lmimalloc\n";

const struct tp_topic tp_topic_malloc = {
    "malloc", "recording a program on Linux, and choosing its malloc",
    "glibc libc jemalloc mimalloc tcmalloc tbbmalloc preload ld_preload host server",
    .texts = {text}};
