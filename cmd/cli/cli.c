/* The command line: finds the subcommand, parses options by the rows of the command, fills in the
 * values from the environment and .tapool.ini, runs the command, and turns its status into an exit
 * code and a sentence on stderr. */
#include "cmd/cli/cli.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/output.h"
#include "cmd/ui/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- screen first ---- */

/* The screen that `tapool` prints without arguments. */

static void tp_screen_first(FILE *out)
{
    fprintf(out, "tapool %s: replay recorded allocations against allocator policies (Linux)\n",
            TAPOOL_VERSION);
    fputs(
        "\n"
        "  tapool replay TRACE              the usual policies on your trace, one table\n"
        "  tapool replay TRACE -s arena     one policy in detail\n"
        "  tapool replay TRACE --capacity 8GiB\n"
        "                                   does it fit? who runs out of memory, and why\n"
        "  tapool info TRACE                what is in a trace, before you replay it\n"
        "  tapool compare TRACE -s A -s B   which is faster, measured in turn, with intervals\n"
        "  tapool check                     CI gate against tapool-baseline.json (tapool help ci)\n"
        "  tapool convert TRACE -o FILE     in another form: .tpt is small and quick to play\n"
        "  tapool strategies                the policies, what each resembles, where each runs\n"
        "  tapool doctor                    what this machine can measure\n"
        "\n"
        "No trace yet?\n"
        "  tapool replay sample:sqlite      a shipped one; also sample:jq, sample:python-threads\n"
        "  tapool replay sample:web         made on the spot: a server, 8 threads, 2 million "
        "events\n"
        "  tapool replay sample:llm-decode  of a device, no GPU needed; also sample:training-step\n"
        "  tapool gen web-server -o w.tpt   a synthetic one as a file; 'tapool gen' lists the "
        "kinds\n"
        "  tapool help formats              what is read: PyTorch snapshots, RMM logs, mtrace, "
        "...\n"
        "  tapool help snapshots            how to record one of PyTorch\n"
        "  tapool help format               how to write one yourself: JSON, one event a line\n"
        "\n"
        "More: tapool COMMAND --help, tapool help report (how to read the numbers), tapool help\n",
        out);
}

/* ---- options ---- */

struct parse {
    const struct tp_command *cmd;
    char **argv;
    int argc, next;
    void *opts;
    struct tp_origin *origins; /* one for each row */
    struct tp_config config;
    char **words;
    int count, flags;
    const struct tp_signals_found *signals;
    bool help;
};

static int fail_option(const struct parse *p, const char *option, struct tp_err *err)
{
    const char *names[64] = {"help"};
    for (size_t i = 0; p->cmd->options && p->cmd->options[i].name && i < 62; i++)
        names[i + 1] = p->cmd->options[i].name;
    const char *near = tp_nearest(option + strspn(option, "-"), names);
    int status = tp_fail(err, TP_EUSAGE, "unknown option '%s'", option);
    if (near)
        return tp_hint(err, status, "did you mean '--%s'? 'tapool %s --help' lists all", near,
                       p->cmd->name);
    return tp_hint(err, status, "'tapool %s --help' lists all", p->cmd->name);
}

/* Sets an option to `value`. If that is NULL a flag becomes "yes", any other option takes the next
 * word. */
static int set_option(struct parse *p, const struct tp_opt *row, const char *value,
                      struct tp_err *err)
{
    if (!value && row->type == TP_OPT_FLAG)
        value = "yes";
    if (!value && p->next >= p->argc)
        return tp_fail(err, TP_EUSAGE, "option '--%s' needs a value (%s)", row->name, row->arg);
    if (!value)
        value = p->argv[p->next++];
    p->flags++;
    tp_config_raise(row, p->opts, &p->origins[row - p->cmd->options], TP_LEVEL_FLAG);
    return tp_opt_set(row, p->opts, value, err);
}

static int parse_long(struct parse *p, char *word, struct tp_err *err)
{
    char name[64];
    char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
    if (length >= sizeof name)
        return fail_option(p, word, err);
    memcpy(name, word + 2, length);
    name[length] = '\0';
    if (!strcmp(name, "help")) {
        p->help = true;
        return TP_OK;
    }
    const struct tp_opt *row = tp_opt_find(p->cmd->options, name);
    if (!row) {
        if (equals)
            *equals = '\0';
        return fail_option(p, word, err);
    }
    return set_option(p, row, equals ? equals + 1 : NULL, err);
}

static int parse_short(struct parse *p, char *word, struct tp_err *err)
{
    for (char *letter = word + 1; *letter; letter++) {
        const struct tp_opt *row = p->cmd->options;
        while (row && row->name && row->letter != *letter)
            row++;
        if (*letter == 'h') {
            p->help = true;
            continue;
        }
        if (!row || !row->name)
            return fail_option(p, word, err);
        if (row->type != TP_OPT_FLAG)
            return set_option(p, row, letter[1] ? letter + 1 : NULL, err);
        int status = set_option(p, row, NULL, err);
        if (status)
            return status;
    }
    return TP_OK;
}

static int parse_words(struct parse *p, struct tp_err *err)
{
    bool only_words = false;
    while (p->next < p->argc) {
        char *word = p->argv[p->next++];
        int status = TP_OK;
        if (only_words || word[0] != '-' || !word[1]) {
            p->words[p->count++] = word;
            only_words |= p->cmd->runs_program;
        } else if (!strcmp(word, "--"))
            only_words = true;
        else
            status = word[1] == '-' ? parse_long(p, word, err) : parse_short(p, word, err);
        if (status)
            return status;
    }
    return TP_OK;
}

/* ---- running ---- */

/* Adds a hint if options were set outside the command line: the wrong value may come from a file or
 * a variable that the user does not think of. */
static int point_to_config(const struct parse *p, int status, struct tp_err *err)
{
    bool configured = false;
    for (size_t i = 0; i < tp_config_rows(p->cmd->options); i++)
        configured = configured || (p->origins[i].level != TP_LEVEL_FLAG &&
                                    p->origins[i].level != TP_LEVEL_DEFAULT);
    if (status != TP_EUSAGE || !configured || err->hint[0])
        return status;
    return tp_hint(err, status, "some options are set elsewhere: 'tapool doctor --config %s'",
                   p->cmd->name);
}

/* Fills in the options that are not on the command line; hidden commands take none from there. */
static int configure(struct parse *p, struct tp_err *err)
{
    if (!tp_config_concerns(p->cmd))
        return TP_OK;
    int status = tp_config_load(&p->config, err);
    if (!status)
        status = tp_config_apply(&p->config, p->cmd, p->opts, p->origins, err);
    if (status)
        return status;
    status = tp_config_refuse(&p->config, p->cmd, p->origins, err);
    if (!status)
        status = tp_config_agree(p->cmd->options, p->opts, p->origins, err);
    return point_to_config(p, status, err);
}

static int run_parsed(struct parse *p, struct tp_err *err)
{
    int status = tp_opts_defaults(p->cmd->options, p->opts, err);
    if (!status)
        status = parse_words(p, err);
    if (!status && p->help) { /* before configure(), so that a broken file does not hide the help */
        tp_cli_help(p->cmd, stdout);
        return TP_OK;
    }
    if (!status)
        status = configure(p, err);
    if (status && p->cmd->refused)
        p->cmd->refused(p->opts, err, stdout);
    if (status)
        return status;
    const struct tp_args args = {p->opts, p->words, p->count, p->flags, p->origins, p->signals};
    status = p->cmd->run(&args, stdout, err);
    return point_to_config(p, status, err);
}

static int run_command(struct parse *p, struct tp_err *err)
{
    const struct tp_command *cmd = p->cmd;
    p->opts = calloc(1, cmd->opts_size ? cmd->opts_size : 1);
    p->origins = calloc(tp_config_rows(cmd->options) + 1, sizeof *p->origins);
    p->words = calloc((size_t)p->argc + 1, sizeof *p->words);
    int status =
        p->opts && p->origins && p->words ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status)
        status = run_parsed(p, err);
    if (p->opts)
        tp_opts_release(cmd->options, p->opts);
    tp_config_release(&p->config);
    free(p->opts);
    free(p->origins);
    free(p->words);
    return status;
}

static int dispatch(int argc, char **argv, const struct tp_signals_found *signals,
                    struct tp_err *err)
{
    if (argc < 2) {
        tp_screen_first(stdout);
        return TP_OK;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        fprintf(stdout, "tapool %s (%s, %s)\n", TAPOOL_VERSION, TAPOOL_BUILD, TAPOOL_COMPILER);
        return TP_OK;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (name[0] == '-' && name[1])
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "unknown option '%s'", name),
                       "options stand after the command: tapool replay TRACE %s", name);
    const struct tp_command *cmd = tp_find_command(name, err);
    struct parse p = {.cmd = cmd, .argv = argv + 2, .argc = argc - 2, .signals = signals};
    return cmd ? run_command(&p, err) : TP_EUSAGE;
}

/* Opens /dev/null for reading in place of closed standard descriptors. Otherwise the next file that
 * tapool opens could become its stdout and be written to. */
static void hold_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        int filled = open("/dev/null", O_RDONLY);
        if (filled != fd && filled >= 0)
            close(filled);
    }
}

int tp_cli_main(int argc, char **argv)
{
    struct tp_err err = {0};
    hold_standard_descriptors();
    struct tp_signals_found signals;
    tp_signals_set(&signals);
    int status = dispatch(argc, argv, &signals, &err);
    struct tp_err lost = {0};
    if (tp_finish_output(stdout, "standard output", &lost) &&
        (!status || status == TP_EFOUND || status == TP_EUNSURE)) {
        err = lost;
        status = (int)lost.status;
    }
    if (status)
        tp_error_print(&err);
    tp_stop_end(); /* after an interrupt: ends by the signal that was caught */
    return tp_exit_code(status);
}
