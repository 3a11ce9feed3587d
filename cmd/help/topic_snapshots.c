/* tapool help snapshots: how to get a recording out of PyTorch and what tapool makes of it. */
#include "cmd/cli/commands.h"

static const char text[] =
    "Record, in the program that is to be looked at:\n"
    "\n"
    "  torch.cuda.memory._record_memory_history(max_entries=1000000)   before the model is built\n"
    "  ...                                                              some steps of training\n"
    "  torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")\n"
    "\n"
    "or leave the program as it is, and run it by tapool's scripts/record_torch.py, which also\n"
    "writes what memory looked like when it ran out (installed in share/tapool):\n"
    "\n"
    "  python3 record_torch.py -o snapshot.pickle train.py --its-options\n"
    "\n"
    "  tapool info snapshot.pickle       what is in it\n"
    "  tapool replay snapshot.pickle     every policy on it, beside what PyTorch really reserved\n"
    "\n"
    "  initial heap   what was live before recording began. Its order is unknown: it is placed\n"
    "                 first, by address, and in no count of calls; --initial-heap=drop leaves it\n"
    "                 out. Record from the first step to have none of it.\n"
    "  ring buffer    beyond max_entries the oldest events are lost: the warning `wrapped`\n"
    "  several GPUs   each has a list of its own; those with events are played, --device N is one\n"
    "  frees          a block is free when PyTorch says free_completed; free_requested is a note\n"
    "  out of memory  an oom in the file tells how large the GPU was: the default of --capacity.\n"
    "                 The request that failed is played too and counts in what the program\n"
    "                 needs: a policy that serves it would have kept the program alive\n"
    "  stacks         events that a report names are shown with file, line and function\n"
    "  settings       of PYTORCH_CUDA_ALLOC_CONF, as 'tapool info' shows them. With\n"
    "                 expandable_segments memory is mapped into a few large segments, so that\n"
    "                 mappings are counted where else segments are\n"
    "  safety         a pickle can run code when Python loads it. tapool's reader knows data\n"
    "                 only and refuses every other opcode.\n"
    "  sizes          a 2 GB snapshot is read in at most 256 MB of memory; .gz and .zst are fine\n"
    "\n"
    "A snapshot is faster to play often as .tpt: tapool convert snapshot.pickle -o snapshot.tpt\n";

const struct tp_topic tp_topic_snapshots = {
    "snapshots", "recording and playing PyTorch snapshots",
    "pytorch torch snapshot pickle stacks stack expandable_segments expandable-segments memory_viz",
    .texts = {text}};
