/* Fuzz target: the text of a .tapool.ini, and what it does to the options of a command. Whatever
 * the bytes are, the outcome is a configuration or one sentence that names the file and a line. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_error(int status, const struct tp_err *err)
{
    must(status == TP_EUSAGE && (int)err->status == status);
    must(strncmp(err->text, "fuzz.ini:", 9) == 0);
}

static void apply(const struct tp_config *config, const struct tp_command *cmd)
{
    struct tp_err err = {0};
    void *opts = calloc(1, cmd->opts_size);
    struct tp_origin *origins = calloc(tp_config_rows(cmd->options) + 1, sizeof *origins);
    must(opts && origins && tp_opts_defaults(cmd->options, opts, &err) == TP_OK);
    int status = tp_config_apply(config, cmd, opts, origins, &err);
    if (status)
        check_error(status, &err);
    tp_opts_release(cmd->options, opts);
    free(opts);
    free(origins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tp_config config;
    struct tp_err err = {0};
    if (size > TP_CONFIG_BYTES)
        return 0;
    bool named = size % 2 == 0;
    int status = tp_config_parse((const char *)data, size, "fuzz.ini", named, &config, &err);
    if (status) {
        check_error(status, &err);
        return 0;
    }
    for (size_t i = 0; tp_commands[i]; i++)
        if (tp_config_concerns(tp_commands[i]))
            apply(&config, tp_commands[i]);
    tp_config_release(&config);
    return 0;
}
