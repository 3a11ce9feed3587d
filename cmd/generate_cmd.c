/* tapool __generate KIND [FILE]: writes the files that are installed beside the binary. The build
 * runs it after linking, so no copy in the tree can be out of date. */
#include "cmd/help/completion.h"
#include "cmd/help/man.h"
#include "cmd/ui/output.h"

#include <string.h>

struct kind {
    const char *name;
    void (*print)(FILE *out);
};

static const struct kind kinds[] = {{"bash", tp_completion_bash},
                                    {"zsh", tp_completion_zsh},
                                    {"man", tp_man_tapool},
                                    {"man-trace", tp_man_trace},
                                    {NULL, NULL}};

static int write_kind(void *ctx, FILE *out, struct tp_err *err)
{
    const struct kind *kind = ctx;
    (void)err;
    kind->print(out);
    return TP_OK;
}

static int run_generate(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct kind *kind = kinds;
    while (kind->name && (!args->count || strcmp(kind->name, args->words[0]) != 0))
        kind++;
    if (!kind->name || args->count > 2)
        return tp_fail(err, TP_EUSAGE, "__generate takes bash, zsh, man or man-trace, and a file");
    if (args->count == 2)
        return tp_output_write(args->words[1], true, write_kind, (void *)(uintptr_t)kind, err);
    kind->print(out);
    return TP_OK;
}

const struct tp_command tp_command_generate = {
    .name = "__generate",
    .usage = "__generate bash|zsh|man|man-trace [FILE]",
    .summary = "completions and man pages, for the build",
    .about = "",
    .hidden = true,
    .run = run_generate,
};
