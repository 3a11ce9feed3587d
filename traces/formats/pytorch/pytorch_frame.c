/* See pytorch_frame.h. A frame of a library is recognised by its path or, if only file names are
 * left of paths, by a list of PyTorch's own files. Known weakness: such a list is never complete,
 * and a program may use the same names. */
#include "traces/formats/pytorch/pytorch_frame.h"

#include "alloc/base/clean.h"

#include <inttypes.h>
#include <string.h>

#define COMPILED_NAME 40 /* letters; torch.compile names its files by longer hashes */

static const char *const library_paths[] = {"site-packages",  "dist-packages",  "/lib/python",
                                            "\\Lib\\",        "torchinductor_", "<frozen",
                                            "<eval_with_key>"};

/* PyTorch's own files; with a function, only that function of the file. */
static const struct {
    const char *file, *function;
} plumbing[] = {
    {"module.py", "_call_impl"},
    {"module.py", "_wrapped_call_impl"},
    {"module.py", "_call_impl_inner"},
    {"optimizer.py", "wrapper"},
    {"optimizer.py", "profile_hook_step"},
    {"optimizer.py", "_use_grad"},
    {"optimizer.py", "zero_grad"},
    {"__init__.py", "backward"},
    {"__init__.py", "_make_grads"},
    {"_tensor.py", NULL},
    {"functional.py", NULL},
    {"eval_frame.py", NULL},
    {"_compile.py", NULL},
    {"contextlib.py", NULL},
    {"_contextlib.py", NULL},
    {"grad_mode.py", NULL},
    {"_ops.py", NULL},
    {"_backends.py", NULL},
    {"einops.py", NULL},
    {"runpy.py", NULL},
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
    const char *last = back && (!slash || back > slash) ? back : slash;
    return last ? last + 1 : path;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), length = strlen(end);
    return size >= length && strcmp(text + size - length, end) == 0;
}

static bool is_library(const struct tp_pytorch_frame *f)
{
    const char *name = base_name(f->file);
    for (size_t i = 0; i < sizeof library_paths / sizeof *library_paths; i++)
        if (strstr(f->file, library_paths[i]))
            return true;
    for (size_t i = 0; i < sizeof plumbing / sizeof *plumbing; i++)
        if (strcmp(name, plumbing[i].file) == 0 &&
            (!plumbing[i].function || strcmp(f->function, plumbing[i].function) == 0))
            return true;
    return strlen(name) > COMPILED_NAME && strcmp(f->function, "call") == 0;
}

/* Finds BmmBackward0 in "torch::autograd::generated::BmmBackward0::apply(...)", and in the text
 * "backward BmmBackward0" that a snapshot has which was made from places. Returns its length; 0:
 * none. */
static size_t backward_name(const char *function, const char **name)
{
    static const char space[] = "torch::autograd::", text[] = "backward ";
    const char *end = strstr(function, "::apply(");
    if (strncmp(function, text, sizeof text - 1) == 0) {
        *name = function + sizeof text - 1;
        return strlen(*name);
    }
    if (!end)
        end = strstr(function, "::release_variables(");
    if (!end || strncmp(function, space, sizeof space - 1) != 0)
        return 0;
    *name = end;
    while (*name > function && (*name)[-1] != ':')
        (*name)--;
    return (size_t)(end - *name);
}

enum tp_pytorch_rank tp_pytorch_rank(const struct tp_pytorch_frame *f)
{
    static const char engine[] = "torch::autograd::Engine::";
    const char *name = NULL;
    if (ends_with(f->file, ".py") || strstr(f->file, "<eval_with_key>"))
        return is_library(f) ? TP_PYTORCH_LIBRARY : TP_PYTORCH_PROGRAM;
    if (backward_name(f->function, &name))
        return TP_PYTORCH_BACKWARD;
    return strncmp(f->function, engine, sizeof engine - 1) == 0 ? TP_PYTORCH_ENGINE
                                                                : TP_PYTORCH_SILENT;
}

void tp_pytorch_frame_text(const struct tp_pytorch_frame *f, char out[TP_PLACE_TEXT])
{
    char text[2 * TP_PYTORCH_FRAME_TEXT + 32] = "";
    const char *name = NULL;
    enum tp_pytorch_rank rank = tp_pytorch_rank(f);
    if (rank >= TP_PYTORCH_LIBRARY) {
        snprintf(text, sizeof text, "%s:%" PRIu64 " %s", base_name(f->file), f->line, f->function);
    } else if (rank == TP_PYTORCH_BACKWARD) {
        int size = (int)backward_name(f->function, &name);
        snprintf(text, sizeof text, "backward %.*s", size, name);
    } else if (rank == TP_PYTORCH_ENGINE) {
        snprintf(text, sizeof text, "backward pass");
    }
    tp_clean_text(text, out, TP_PLACE_TEXT);
}
