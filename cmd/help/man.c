/* tapool.1: the commands, strategies, sources and profiles with their options, and the rest of
 * `tapool help`. Everything comes from the tables of the program. */
#include "cmd/help/man.h"

#include "alloc/base/str.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/help/completion.h"
#include "cmd/jobs/catalog.h"
#include "cmd/results/warnings.h"
#include "cmd/ui/environment.h"
#include "cmd/ui/exit.h"

#include <string.h>

#define NO_LIMIT (UINT64_C(1) << 60) /* larger maxima are not mentioned */

/* ---- options ---- */

static void add_limit(struct tp_str *s, const char *word, const struct tp_opt *row, uint64_t value)
{
    struct tp_opt bare = *row;
    char number[64];
    bare.offset = 0;
    bare.choices = NULL; /* formats the value as a number, not as a keyword */
    tp_opt_format(&bare, &value, number, sizeof number);
    tp_str_item(s, "; ", "%s %s", word, number);
}

static bool is_number(const struct tp_opt *row)
{
    return row->type == TP_OPT_UINT || row->type == TP_OPT_SIZE || row->type == TP_OPT_DURATION;
}

/* Writes the help of a row and, on a line of its own, its choices, default and range: "one of
 * never, always, auto; default auto; at least 1". */
static void print_row_text(FILE *out, const struct tp_opt *row)
{
    struct tp_str s = {0};
    /* Sets explain their choices themselves, and so do strategies in help of several lines. */
    bool explained = row->type == TP_OPT_SET || (!row->group && strchr(row->help, '\n'));
    if (row->choices && !explained) {
        tp_str_add(&s, is_number(row) ? "a number or " : "one of ");
        for (size_t i = 0; row->choices[i]; i++)
            tp_str_add(&s, "%s%s", i ? ", " : "", row->choices[i]);
    }
    if (row->def)
        tp_str_item(&s, "; ", "default %s", row->def);
    if (is_number(row) && row->min)
        add_limit(&s, "at least", row, row->min);
    if (is_number(row) && row->max && row->max < NO_LIMIT)
        add_limit(&s, "at most", row, row->max);
    tp_man_text(out, "%s%s%s", row->help, s.length ? "\n" : "", tp_str_text(&s));
    tp_str_drop(&s);
}

static void print_option(FILE *out, const struct tp_opt *row)
{
    char name[128];
    if (row->letter)
        snprintf(name, sizeof name, "-%c, --%s", row->letter, row->name);
    else
        snprintf(name, sizeof name, "--%s", row->name);
    tp_man_entry(out, name, row->arg);
    print_row_text(out, row);
}

/* Writes the options of a strategy or source, in the form NAME=VALUE. */
static void print_spec_options(FILE *out, const struct tp_opt *rows)
{
    char name[128];
    if (!rows || !rows->name)
        return;
    fputs(".RS\n", out);
    for (const struct tp_opt *row = rows; row->name; row++) {
        snprintf(name, sizeof name, "%s=", row->name);
        tp_man_entry(out, name, row->arg ? row->arg : "yes|no");
        print_row_text(out, row);
    }
    fputs(".RE\n", out);
}

/* ---- sections ---- */

static void print_synopsis(FILE *out)
{
    tp_man_section(out, "SYNOPSIS");
    for (size_t i = 0; tp_commands[i]; i++) {
        if (!tp_is_listed(tp_commands[i]))
            continue;
        fputs(i ? ".br\n" : "", out);
        tp_man_text(out, "tapool %s", tp_commands[i]->usage);
    }
    fputs(".br\n", out);
    tp_man_text(out, "tapool --version");
}

static void print_description(FILE *out)
{
    tp_man_section(out, "DESCRIPTION");
    tp_man_text(out, "tapool replays a trace through allocator strategies and reports time, memory "
                     "and fragmentation. Traces come from host programs (mtrace, valgrind, malloc "
                     "interposers) and from GPUs (PyTorch snapshots, RMM and Umpire logs); their "
                     "replay needs no GPU.");
    tp_man_paragraph(out);
    tp_man_text(out, "A trace is a file, '-' for standard input, or sample:NAME for a shipped one. "
                     "Its format is detected from its bytes; it can be compressed with gzip or "
                     "zstd.");
}

static void print_commands(FILE *out)
{
    tp_man_section(out, "COMMANDS");
    for (size_t i = 0; tp_commands[i]; i++) {
        const struct tp_command *cmd = tp_commands[i];
        if (!tp_is_listed(cmd))
            continue;
        tp_man_subsection(out, cmd->name);
        tp_man_text(out, "tapool %s", cmd->usage);
        tp_man_paragraph(out);
        tp_man_text(out, "%s", cmd->about[0] ? cmd->about : cmd->summary);
        for (const struct tp_opt *row = cmd->options; row && row->name; row++)
            print_option(out, row);
    }
}

static void print_strategies(FILE *out)
{
    tp_man_section(out, "STRATEGIES");
    tp_man_text(out, "A strategy is given as [LABEL=]NAME[:OPTION=VALUE,...], such as "
                     "small=arena:arena_size=16MiB.");
    for (size_t i = 0; tp_strategies[i]; i++) {
        const struct tp_strategy *s = tp_strategies[i];
        tp_man_entry(out, s->name, NULL);
        tp_man_text(out, "%s; resembles %s", s->summary, s->resembles);
        print_spec_options(out, s->options);
    }
}

static void print_sources(FILE *out)
{
    tp_man_section(out, "SOURCES");
    tp_man_text(out, "Memory sources of strategies. Source wrappers follow a '+', such as "
                     "virtual+limit:capacity=1GiB.");
    for (size_t i = 0; tp_sources[i]; i++) {
        const struct tp_source_ops *s = tp_sources[i];
        char name[64];
        snprintf(name, sizeof name, "%s%s", s->flags & TP_SRC_WRAPPER ? "+" : "", s->name);
        tp_man_entry(out, name, NULL);
        tp_man_text(out, "%s", s->summary);
        print_spec_options(out, s->options);
    }
}

static void print_profiles(FILE *out)
{
    tp_man_section(out, "PROFILES");
    tp_man_text(out, "Synthetic programs of 'tapool gen'. 'tapool gen NAME' describes one.");
    for (size_t i = 0; tp_profiles[i]; i++) {
        struct tp_str options = {0};
        for (const struct tp_opt *row = tp_profiles[i]->options; row && row->name; row++)
            tp_str_item(&options, ", ", "--%s", row->name);
        tp_man_entry(out, tp_profiles[i]->name, NULL);
        tp_man_text(out, options.length ? "%s (%s)" : "%s%s", tp_profiles[i]->summary,
                    tp_str_text(&options));
        tp_str_drop(&options);
    }
}

static void print_formats(FILE *out)
{
    tp_man_section(out, "FORMATS");
    tp_man_text(out, "Formats of traces. .tpt, .json and .jsonl are tapool's own and described in "
                     "tapool-trace(5).");
    for (size_t i = 0; tp_formats[i]; i++) {
        tp_man_entry(out, tp_formats[i]->name, NULL);
        tp_man_text(out, "%s", tp_formats[i]->summary);
    }
}

static void print_topics(FILE *out)
{
    tp_man_section(out, "HELP TOPICS");
    tp_man_text(out, "Pages of 'tapool help TOPIC [SECTION]'; the ids of warnings are topics too.");
    for (size_t i = 0; tp_topics[i]; i++) {
        const struct tp_topic_section *section = tp_topics[i]->sections;
        tp_man_entry(out, tp_topics[i]->name, NULL);
        tp_man_text(out, "%s%s", tp_topics[i]->summary, section ? "; sections:" : "");
        for (; section && section->name; section++)
            tp_man_text(out, "%s%s", section->name, section[1].name ? "," : ".");
    }
    tp_man_subsection(out, "Warnings");
    for (size_t i = 0; tp_warnings[i]; i++) {
        tp_man_entry(out, tp_warnings[i]->id, NULL);
        tp_man_text(out, "%s", tp_warnings[i]->summary);
    }
}

static void print_facts(FILE *out, const char *title, const struct tp_fact *facts)
{
    tp_man_section(out, title);
    for (; facts->name; facts++) {
        tp_man_entry(out, facts->name, NULL);
        tp_man_text(out, "%s", facts->help);
    }
}

static void print_files(FILE *out)
{
    static const struct tp_fact files[] = {
        {TP_CONFIG_NAME, "defaults of options, in the current folder or the nearest one above it"},
        {"tapool-baseline.json", "baseline of 'tapool check', found in the same way"},
        {"PREFIX/share/tapool/samples", "the shipped traces, sample:NAME"},
        {"PREFIX/share/tapool/*.schema.json", "JSON Schemas of the output of --json"},
        {"libcuda.so.1", "CUDA driver, loaded for the source cuda"},
        {NULL, NULL}};
    print_facts(out, "FILES", files);
}

static void print_configuration(FILE *out)
{
    tp_man_section(out, "CONFIGURATION");
    tp_man_topic(out, "config");
}

static void print_examples(FILE *out)
{
    static const struct tp_fact rows[] = {
        {"tapool replay sample:sqlite", "compare the default strategies on a shipped trace"},
        {"tapool replay my.json -s arena -v", "show all details of one strategy"},
        {"tapool replay snapshot.pickle --capacity 8GiB", "show which strategies fit 8 GiB"},
        {"tapool info snapshot.pickle", "describe a trace"},
        {"tapool convert rmm.csv -o rmm.tpt", "convert to a small file that loads fast"},
        {"tapool gen web-server --threads 4 -o web.tpt", "generate a trace"},
        {"tapool compare sample:web -s system -s arena", "compare in interleaved runs"},
        {"tapool check", "compare with tapool-baseline.json"},
        {"tapool doctor --config", "show the origin of each option's value"},
        {NULL, NULL}};
    print_facts(out, "EXAMPLES", rows);
}

void tp_man_tapool(FILE *out)
{
    tp_man_begin(out, "tapool", "1", "replay allocation traces through allocator strategies");
    print_synopsis(out);
    print_description(out);
    print_commands(out);
    print_strategies(out);
    print_sources(out);
    print_profiles(out);
    print_formats(out);
    print_topics(out);
    print_configuration(out);
    print_facts(out, "ENVIRONMENT", tp_environment);
    print_files(out);
    print_facts(out, "EXIT STATUS", tp_exit_codes);
    print_examples(out);
    tp_man_section(out, "SEE ALSO");
    fputs(".BR tapool\\-trace (5),\n.BR mtrace (3),\n.BR valgrind (1)\n", out);
}
