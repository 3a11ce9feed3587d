/* tapool: replays recorded allocations against allocator strategies. See cmd/cli/cli.c. */
#include "cmd/cli/cli.h"

int main(int argc, char **argv)
{
    return tp_cli_main(argc, argv);
}
