/* tapool help snapshots: how to record PyTorch and what tapool reads from the recording. */
#include "cmd/cli/commands.h"

static const char start_text[] =
    "Record in the program:\n"
    "\n"
    "  torch.cuda.memory._record_memory_history(max_entries=1000000)\n"
    "                                        before the model is built\n"
    "  ...                                   some training steps\n"
    "  torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")\n"
    "\n"
    "or leave the program as it is and run it with tapool's scripts/record_torch.py\n"
    "(installed in share/tapool), which also writes a snapshot on OOM:\n"
    "\n"
    "  python3 record_torch.py -o snapshot.pickle train.py --its-options\n"
    "\n"
    "  tapool info snapshot.pickle       contents\n"
    "  tapool replay snapshot.pickle     all strategies, and the recorded memory\n"
    "  tapool verify snapshot.pickle     accuracy of the strategy torch\n"
    "  tapool why snapshot.pickle        live memory by site at the OOM or peak\n"
    "  tapool why rank*.pickle           several ranks, the outlier first\n"
    "  tapool info A.pickle B.pickle --by line   allocation sites that grew\n"
    "  tapool tune snapshot.pickle       PYTORCH_CUDA_ALLOC_CONF that needs less\n"
    "\n"
    "Predict memory at another size from two smaller ones:\n"
    "\n"
    "  python3 record_torch.py --sizes 2,4 -o 'b{size}.pickle' run.py --batch {size}\n"
    "  tapool predict b2.pickle@2 b4.pickle@4 --at 32\n"
    "\n"
    "A .tpt loads faster: tapool convert snapshot.pickle -o snapshot.tpt\n";

static const char events_text[] =
    "  initial heap   blocks that were live before recording began. They are placed\n"
    "                 first, by address, and no call count includes them;\n"
    "                 --initial-heap=drop leaves them out. The strategy torch starts\n"
    "                 with the recorded segments and blocks in place.\n"
    "  empty_cache()  found by stack frames. Without them, segments that were freed\n"
    "                 without a request that needed them count as empty_cache(): each\n"
    "                 strategy frees its cache there (trim).\n"
    "  full device    segments freed right before a new one: cudaMalloc had failed.\n"
    "                 This gives the program's memory limit, the default of\n"
    "                 --capacity.\n"
    "  ring buffer    beyond max_entries the oldest events are lost: the warning\n"
    "                 `wrapped`\n"
    "  frees          A block is free at free_completed; free_requested is a note.\n"
    "  OOM            An oom event gives the limit too. The failed request is\n"
    "                 replayed and counts as requested: a strategy that serves it\n"
    "                 would have kept the program running.\n"
    "  stacks         Reports show events with file, line and function.\n"
    "  metadata       labels of torch.cuda.memory._set_memory_metadata and\n"
    "                 _annotate_memory: shown by 'tapool info' and 'tapool why' with\n"
    "                 --by metadata; --export-snapshot keeps them\n";

static const char devices_text[] =
    "  several GPUs   Each has its own events; all with events are replayed,\n"
    "                 --device N selects one.\n"
    "  pinned memory  of the host, with record_pinned_host_memory=True (PyTorch\n"
    "                 2.14): the memory space 'host (pinned)', selected by --space.\n"
    "                 GPUs are replayed if they have events. Its strategy is\n"
    "                 torch-pinned, and 'tapool tune' tries its settings in\n"
    "                 PYTORCH_ALLOC_CONF.\n"
    "  settings       PYTORCH_CUDA_ALLOC_CONF of the recording, shown by 'tapool\n"
    "                 info', applies to torch unless -s torch:conf={...} overrides\n"
    "                 it. With expandable_segments mappings are counted, not\n"
    "                 segments. For a program that changes settings between phases:\n"
    "                 -s 'torch:conf={A;B@PHASE}'. 'tapool verify' finds the event\n"
    "                 from which other settings explain the addresses.\n"
    "  other devices  tapool recognizes snapshots of torch_npu (Ascend), HIP and XPU\n"
    "                 by their stack frames, and torch has the rules of each:\n"
    "                 -s torch:allocator=npu\n"
    "  release        inferred from events: no user_metadata before PyTorch 2.9, no\n"
    "                 pool_id before 2.11. torch replays the rules of that release:\n"
    "                 -s torch:version=2.9\n"
    "  safety         Loading a pickle in Python can run code. tapool's reader\n"
    "                 accepts data only and refuses every other opcode.\n"
    "  sizes          Reading a 2 GB snapshot takes at most 256 MB of memory; .gz and\n"
    "                 .zst work too.\n";

static const char ranks_text[] =
    "tapool why rank*.pickle shows each rank at its peak of reserved memory.\n"
    "\n"
    "  outlier        the rank whose peak reserved, or requested memory at that peak,\n"
    "                 is farthest from the median of all ranks. If no rank is more\n"
    "                 than 2% away, all agree.\n"
    "  difference     the allocation sites that differ between the median rank and\n"
    "                 the outlier\n"
    "  estimates      of a rank whose recording PyTorch's rules do not fully\n"
    "                 reproduce; below 99% of its addresses it is not compared\n";

static const char predict_text[] =
    "  compared       with measurements on an H200: training and inference of\n"
    "                 transformers, CUDA graphs. Several GPUs were not tried.\n"
    "  cross-check    of three or more recordings, each is predicted from the others\n"
    "  not detected   kernels that change above the largest recording; a program that\n"
    "                 behaves differently at the value; values that are all wrong by\n"
    "                 the same factor; memory in use before the recording\n"
    "  no prediction  if recordings share less than 99% of the requested bytes: the\n"
    "                 report shows the call stacks that differ\n";

static const char cuda_text[] =
    "If tapool was built with CUPTI, it records any other CUDA program as it is:\n"
    "\n"
    "  tapool record --cuda -o model.tpt -- ./model --its-options\n"
    "\n"
    "  recorded       cuMemAlloc, cuMemAllocAsync and related calls with their\n"
    "                 streams, as the driver serves them: for PyTorch these are\n"
    "                 segments, not tensors\n"
    "  left out       managed memory, arrays, cuMemCreate (expandable segments),\n"
    "                 allocations in graphs: counted in the report of the trace.\n"
    "                 Memory use by kernels is unknown.\n"
    "  libcupti.so    of the CUDA Toolkit, found when the program starts;\n"
    "                 TAPOOL_CUPTI=FILE names another\n";

static const struct tp_topic_section sections[] = {
    {"events", "meaning of recorded events", "stacks stack metadata empty_cache",
     .texts = {events_text}},
    {"devices", "several GPUs, pinned memory, settings, releases",
     "expandable_segments expandable-segments npu hip xpu", .texts = {devices_text}},
    {"ranks", "several ranks: the outlier", "rank outlier", .texts = {ranks_text}},
    {"predict", "limits of a prediction", NULL, .texts = {predict_text}},
    {"cuda", "record other CUDA programs", "cupti", .texts = {cuda_text}},
    {.name = NULL}};

const struct tp_topic tp_topic_snapshots = {"snapshots", "record and replay PyTorch",
                                            "pytorch torch snapshot pickle gpu memory_viz",
                                            .texts = {start_text}, .sections = sections};
