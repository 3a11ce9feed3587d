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
#include "cmd/ui/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What `tapool` prints without arguments: the three stories that people come with. */
static void print_first_screen(FILE *out)
{
    fprintf(out,
            "tapool %s: replay allocation traces through memory allocators\n"
            "\n"
            "A GPU ran out of memory\n"
            "  tapool why SNAPSHOT              live memory at the OOM, by line of your code\n"
            "  tapool tune SNAPSHOT             PYTORCH_CUDA_ALLOC_CONF that needs less\n"
            "  tapool predict A@2 B@4 --fits 24GiB\n"
            "                                   largest batch that fits, from two small runs\n"
            "Which malloc is best for my program?\n"
            "  tapool record -o T.tpt -- CMD    record a program, unchanged\n"
            "  tapool replay T.tpt              compare the malloc libraries of this machine\n"
            "  tapool compare T.tpt -s A -s B   interleaved runs, with 95%% confidence intervals\n"
            "Guard it in CI\n"
            "  tapool check                     fail if memory, instructions or latency regress\n"
            "\n"
            "More\n"
            "  tapool info TRACE                contents of a trace\n"
            "  tapool strategies                allocator strategies and their options\n"
            "  tapool doctor                    measurements available on this machine\n"
            "  tapool replay sample:sqlite      a sample trace; of a GPU: sample:llm-decode\n"
            "\n"
            "tapool COMMAND -h: its options; tapool help: all commands; tapool help snapshots:\n"
            "record PyTorch; tapool help report: read the figures\n",
            TAPOOL_VERSION);
}

/* ---- options ---- */

enum { OPTIONS_MAX = 96 }; /* of a command */

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
    enum tp_help_page help;
    bool version;
};

/* Options of other tools that people try here, and what does the same. */
static const struct tp_fact habits[] = {
    {"runs", "--min-time TIME repeats the replay"},
    {"iterations", "--min-time TIME repeats the replay"},
    {"warmup", "every replay measures cold and steady times separately"},
    {"output", "--export-html FILE, --export-json FILE and others write a file"},
    {NULL, NULL}};

static int fail_option(const struct parse *p, const char *option, struct tp_err *err)
{
    const char *names[OPTIONS_MAX + 4] = {"help", "help-all", "version"};
    const char *name = option + strspn(option, "-");
    int status = tp_fail(err, TP_EUSAGE, "unknown option '%s'", option);
    for (const struct tp_fact *habit = habits; habit->name; habit++)
        if (!strcmp(habit->name, name))
            return tp_hint(err, status, "%s; 'tapool %s --help' lists all", habit->help,
                           p->cmd->name);
    for (size_t i = 0; p->cmd->options && p->cmd->options[i].name && i < OPTIONS_MAX; i++)
        names[i + 3] = p->cmd->options[i].name;
    const char *near = tp_nearest(name, names);
    if (near)
        return tp_hint(err, status, "did you mean '--%s'? 'tapool %s --help-all' lists all", near,
                       p->cmd->name);
    return tp_hint(err, status, "'tapool %s --help-all' lists all", p->cmd->name);
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
    if (!strcmp(name, "help") || !strcmp(name, "help-all")) {
        p->help = name[4] ? TP_HELP_ALL : TP_HELP_USUAL;
        return TP_OK;
    }
    if (!strcmp(name, "version")) {
        p->version = true;
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
            p->help = TP_HELP_SHORT;
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

static void print_version(void)
{
    fprintf(stdout, "tapool %s (%s, %s%s%s)\n", TAPOOL_VERSION, TAPOOL_BUILD, TAPOOL_COMPILER,
            *tp_commit ? ", " : "", tp_commit);
}

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
        tp_cli_help(p->cmd, p->help, stdout);
        return TP_OK;
    }
    if (!status && p->version) {
        print_version();
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
        print_first_screen(stdout);
        return TP_OK;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        print_version();
        return TP_OK;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (name[0] == '-' && name[1])
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "unknown option '%s'", name),
                       "options follow the command: tapool replay TRACE %s", name);
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
