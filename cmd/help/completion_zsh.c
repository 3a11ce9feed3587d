/* The completion script for zsh: one call of _arguments for each command. */
#include "cmd/cli/commands.h"
#include "cmd/help/completion.h"
#include "cmd/ui/escape.h"

enum { MENU_TEXT = 72 };

static void print_list(enum tp_list list, FILE *out)
{
    fprintf(out, "_tapool_%s() {\n", tp_list_names[list]);
    if (list == TP_LIST_SOURCE) {
        fputs("    compset -P '*+' && { _tapool_wrapper; return; }\n", out);
    } else if (list == TP_LIST_STRATEGY) {
        fputs("    compset -P '*:*' && return\n    compset -P '*='\n", out);
    }
    fputs("    compadd -- ", out);
    tp_list_print(list, out);
    fputs(list == TP_LIST_TRACE ? "\n    _files\n}\n" : "\n}\n", out);
}

/* Writes what completes the word after a topic: `help report ` is followed by a section. */
static void print_sections(FILE *out)
{
    fputs("_tapool_section() {\n    case $words[CURRENT-1] in\n", out);
    for (size_t i = 0; tp_topics[i]; i++) {
        if (!tp_topics[i]->sections)
            continue;
        fprintf(out, "    %s) compadd -- ", tp_topics[i]->name);
        tp_sections_print(tp_topics[i], out);
        fputs(" ;;\n", out);
    }
    fputs("    esac\n}\n", out);
}

/* Writes what completes the value of an option: "_tapool_strategy", "(text json)", "_files" or a
 * blank for nothing. */
static void print_action(const struct tp_opt *row, FILE *out)
{
    enum tp_list list = tp_list_of_option(row);
    if (list == TP_LIST_FILE)
        fputs("_files", out);
    else if (list)
        fprintf(out, "_tapool_%s", tp_list_names[list]);
    else if (row->choices) {
        fputc('(', out);
        for (size_t i = 0; row->choices[i]; i++)
            fprintf(out, "%s%s", i ? " " : "", row->choices[i]);
        fputc(')', out);
    } else
        fputc(' ', out);
}

static void print_option(const struct tp_opt *row, FILE *out)
{
    bool flag = row->type == TP_OPT_FLAG;
    char help[MENU_TEXT];
    tp_short_help(row->help, help, sizeof help);
    fputs("        ", out);
    if (row->type == TP_OPT_LIST)
        fputs("'*'", out);
    else if (row->letter)
        fprintf(out, "'(-%c --%s)'", row->letter, row->name);
    if (row->letter)
        fprintf(out, "{-%c%s,--%s%s}", row->letter, flag ? "" : "+", row->name, flag ? "" : "=");
    else
        fprintf(out, "--%s%s", row->name, flag ? "" : "=");
    tp_put(out, TP_TO_ZSH, "'[%s]", help);
    if (!flag) {
        tp_put(out, TP_TO_ZSH, ":%s:", row->arg ? row->arg : "VALUE");
        print_action(row, out);
    }
    fputs("' \\\n", out);
}

static void print_command(const struct tp_command *cmd, FILE *out)
{
    enum tp_list list = tp_list_of_words(cmd);
    fprintf(out, "    %s)\n        _arguments -s -S \\\n", cmd->name);
    for (const struct tp_opt *row = cmd->options; row && row->name; row++)
        print_option(row, out);
    fputs("        '(- *)'{-h,--help,--help-all}'[this page]'", out);
    if (list == TP_LIST_TOPIC)
        fputs(" \\\n        '1:topic:_tapool_topic' '2:section:_tapool_section'", out);
    else if (list)
        fprintf(out, " \\\n        '*:%s:_tapool_%s'", tp_list_names[list], tp_list_names[list]);
    fputs("\n        ;;\n", out);
}

static void print_menu(FILE *out)
{
    fputs("    local -a commands=(\n", out);
    for (size_t i = 0; tp_commands[i]; i++) {
        if (!tp_is_listed(tp_commands[i]))
            continue;
        tp_put(out, TP_TO_ZSH, "        '%s:%s'\n", tp_commands[i]->name, tp_commands[i]->summary);
    }
    fputs("    )\n", out);
}

void tp_completion_zsh(FILE *out)
{
    fprintf(out, "#compdef tapool\n# Completion of tapool %s for zsh.\n\n", TAPOOL_VERSION);
    for (int i = 0; i < TP_LIST_COUNT; i++)
        if (tp_list_has_words((enum tp_list)i))
            print_list((enum tp_list)i, out);
    print_sections(out);
    fputs("\n_tapool() {\n    local curcontext=$curcontext state line\n    typeset -A opt_args\n",
          out);
    print_menu(out);
    fputs("    _arguments -C '(- *)'{-h,--help}'[the commands]' '(- *)'{-V,--version}'[the "
          "version]' \\\n        '1:command:->command' '*::argument:->argument' && return\n"
          "    case $state in\n"
          "    command) _describe command commands && return ;;\n"
          "    esac\n"
          "    [[ $state = argument ]] || return\n"
          "    case $words[1] in\n",
          out);
    for (size_t i = 0; tp_commands[i]; i++)
        if (tp_is_listed(tp_commands[i]))
            print_command(tp_commands[i], out);
    fputs("    esac\n}\n\n[[ $funcstack[1] = _tapool ]] && _tapool \"$@\" || compdef _tapool "
          "tapool\n",
          out);
}
