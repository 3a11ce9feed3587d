/* See pytorch_frame.h. Known weakness: a program for one device may have files of another in
 * its frames; the device with the most texts is taken. */
#include "traces/formats/pytorch/pytorch_frame.h"

#include <ctype.h>
#include <string.h>

enum { SIGNS = 4 };

/* Parts of paths, of libraries and of C++ names. Python's torch/cuda is no sign: every device's
 * program has it. */
static const struct {
    const char *device;
    const char *signs[SIGNS];
} devices[] = {{"npu", {"torch_npu", "libtorch_npu", "c10_npu", "at_npu"}},
               {"xpu", {"c10::xpu", "c10/xpu", "torch/xpu", "libtorch_xpu"}},
               {"hip", {"c10::hip", "c10/hip", "torch/hip", "libtorch_hip"}},
               {"cuda", {"c10::cuda", "c10/cuda", "libc10_cuda", "libtorch_cuda"}}};

enum { ALLOCATOR_DEVICES = sizeof devices / sizeof *devices };

static bool goes_on(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* Whether a text names a sign as a whole word, and more than that. */
static bool has_sign(const char *text, const char *sign)
{
    size_t length = strlen(sign);
    for (const char *at = strstr(text, sign); at; at = strstr(at + 1, sign))
        if ((at == text || !goes_on(at[-1])) && !goes_on(at[length]) && (at > text || at[length]))
            return true;
    return false;
}

static void count_text(const char *text, uint64_t counts[ALLOCATOR_DEVICES])
{
    for (size_t d = 0; d < ALLOCATOR_DEVICES; d++)
        for (size_t i = 0; i < SIGNS; i++)
            if (has_sign(text, devices[d].signs[i])) {
                counts[d]++;
                break;
            }
}

const char *tp_pytorch_allocator(const struct tp_pytorch *s)
{
    uint64_t counts[ALLOCATOR_DEVICES] = {0};
    const char *text = NULL;
    size_t best = 0;
    for (uint32_t word = TP_MEMO_WORDS;
         s->framed && word <= UINT16_MAX && (text = tp_pickle_text(s->pickle, (uint16_t)word));
         word++)
        count_text(text, counts);
    for (size_t d = 1; d < ALLOCATOR_DEVICES; d++)
        best = counts[d] > counts[best] ? d : best;
    return counts[best] ? devices[best].device : NULL;
}

static bool is_of_gpus(const char *device)
{
    return !device || !strcmp(device, "cuda") || !strcmp(device, "hip");
}

/* user_metadata came with 2.10 (pull request 165490, October 2025), pool_id with 2.12 (177717,
 * March 2026), events of the host with 2.14. Other devices write snapshots of their own. */
const char *tp_pytorch_newest(const struct tp_pytorch *s, const char *device)
{
    bool events = false;
    for (uint32_t i = 0; i < TP_PYTORCH_DEVICES; i++)
        events |= tp_pytorch_has_events(&s->devices[i]);
    if (!events || !is_of_gpus(device))
        return NULL;
    if (tp_pytorch_has_events(&s->devices[TP_PYTORCH_HOST]))
        return "2.14";
    if (!s->noted)
        return "2.9";
    return s->numbered ? "2.14" : "2.11";
}
