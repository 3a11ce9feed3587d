/* tapool: replays recorded allocations against allocator strategies. See cmd/cli/cli.c. */
#include "cmd/cli/cli.h"

#include "cmd/jobs/child.h"
#include "cmd/ui/text.h"

#include <string.h>

/* A process that replays a real allocator begins at once: reading the command line would already
 * use the malloc that is measured. */
int main(int argc, char **argv)
{
    struct tp_err err;
    if (argc == 2 && !strcmp(argv[1], "__child") && tp_child_serve(&err) == TP_OK)
        return 0;
    tp_commit = tp_commit_built;
    return tp_cli_main(argc, argv);
}
