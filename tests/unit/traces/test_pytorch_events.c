/* Which stack frame is shown. */
#include "traces/formats/pytorch/pytorch_frame.h"

#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

TEST(test_frames)
{
    static const struct {
        const char *file, *function, *text;
        enum tp_pytorch_rank rank;
    } cases[] = {
        {"optimizer.py", "step", "optimizer.py:7 step", TP_PYTORCH_PROGRAM},
        {"optimizer.py", "wrapper", "optimizer.py:7 wrapper", TP_PYTORCH_LIBRARY},
        {"/home/u/train.py", "<module>", "train.py:7 <module>", TP_PYTORCH_PROGRAM},
        {"C:\\work\\model.py", "forward", "model.py:7 forward", TP_PYTORCH_PROGRAM},
        {"/usr/lib/python3.11/contextlib.py", "inner", "contextlib.py:7 inner", TP_PYTORCH_LIBRARY},
        {"/v/site-packages/torch/nn/modules/linear.py", "forward", "linear.py:7 forward",
         TP_PYTORCH_LIBRARY},
        {"/tmp/torchinductor_u/ab/cab.py", "call", "cab.py:7 call", TP_PYTORCH_LIBRARY},
        {"c3uxhj5q2ablsqp5lrlrkd2ig2tub4do54ysdazmtvawnjje2knd.py", "call",
         "c3uxhj5q2ablsqp5lrlrkd2ig2tub4do54ysdazmtvawnjje2knd.py:7 call", TP_PYTORCH_LIBRARY},
        {"<eval_with_key>.12", "forward", "<eval_with_key>.12:7 forward", TP_PYTORCH_LIBRARY},
        {"??", "torch::autograd::generated::BmmBackward0::apply(int)", "backward BmmBackward0",
         TP_PYTORCH_BACKWARD},
        {"", "torch::autograd::generated::MulBackward0::release_variables()",
         "backward MulBackward0", TP_PYTORCH_BACKWARD},
        {"engine.cpp", "torch::autograd::Engine::thread_main(int)", "backward pass",
         TP_PYTORCH_ENGINE},
        {"Module.cpp", "at::empty_cuda(long)", "", TP_PYTORCH_SILENT},
        {"??", "apply::apply(", "", TP_PYTORCH_SILENT},
        {"", "", "", TP_PYTORCH_SILENT},
        {"a\x1b[31m.py", "f\n", "a?[31m.py:7 f?", TP_PYTORCH_PROGRAM},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_pytorch_frame f = {.line = 7};
        char text[TP_PLACE_TEXT];
        snprintf(f.file, sizeof f.file, "%s", cases[i].file);
        snprintf(f.function, sizeof f.function, "%s", cases[i].function);
        assert_int_equal(tp_pytorch_rank(&f), cases[i].rank);
        tp_pytorch_frame_text(&f, text);
        assert_string_equal(text, cases[i].text);
    }
}
