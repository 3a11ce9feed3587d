/* The finder of commands.h; the table is in cmd/registry.c. */
#include "cmd/cli/commands.h"

#include "cmd/ui/text.h"

#include <string.h>

enum { NAMES_MAX = 64 };

const struct tp_command *tp_find_command(const char *name, struct tp_err *err)
{
    const char *names[NAMES_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; tp_commands[i] && count < NAMES_MAX - 1; i++) {
        if (!strcmp(name, tp_commands[i]->name))
            return tp_commands[i];
        if (!tp_commands[i]->hidden)
            names[count++] = tp_commands[i]->name;
    }
    tp_unknown_name(err, "command", name, names, "tapool");
    return NULL;
}
