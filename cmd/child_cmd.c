/* tapool __child: the command by which tapool starts itself to replay in a new process. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/child.h"

static int run_child(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    (void)args;
    (void)out;
    return tp_child_serve(err);
}

const struct tp_command tp_command_child = {
    .name = "__child",
    .usage = "__child",
    .summary = "replay one strategy for another tapool",
    .about = "",
    .hidden = true,
    .run = run_child,
};
