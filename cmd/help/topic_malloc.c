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
    "  tapool replay server.tpt          the malloc of this machine beside tapool's models\n"
    "\n"
    "Another library is played in its place by what would give it to the program:\n"
    "\n"
    "  LD_PRELOAD=libjemalloc.so.2 tapool replay server.tpt -s system\n"
    "\n"
    "  threads    neither recording knows them all: they are played as one, without contention\n"
    "  arena      a model of how such libraries work, nothing to link\n"
    "  to use it  start the program with the same LD_PRELOAD\n";

const struct tp_topic tp_topic_malloc = {
    "malloc", "recording a program on Linux, and choosing its malloc",
    "glibc libc jemalloc mimalloc tcmalloc tbbmalloc preload ld_preload host server",
    .texts = {text}};
