/* The completion script for bash.
 *
 * The tables of the script are shell functions that set `words`; they are made from the option
 * rows. The rest of the script is fixed text. bash cuts words at ':' and '=' (COMP_WORDBREAKS), so
 * `sample:sq` and `--format=js` arrive in three pieces. The script joins the pieces, and cuts its
 * replies in the same way.
 *
 * Known weakness: an option and its value in one word, such as `-sarena`, are not completed. */
#include "cmd/cli/commands.h"
#include "cmd/help/completion.h"
#include "cmd/jobs/catalog.h"

static void print_lists(FILE *out)
{
    fputs("# LIST: its words.\n_tapool_list() {\n    case $1 in\n", out);
    for (int i = 0; i < TP_LIST_COUNT; i++) {
        if (!tp_list_has_words((enum tp_list)i))
            continue;
        fprintf(out, "    %s) words='", tp_list_names[i]);
        tp_list_print((enum tp_list)i, out);
        fputs("' ;;\n", out);
    }
    fputs("    *) words= ;;\n    esac\n}\n\n", out);
}

static void print_options(FILE *out)
{
    fputs("# COMMAND: its options.\n_tapool_options() {\n    case $1 in\n", out);
    for (size_t i = 0; tp_commands[i]; i++) {
        const struct tp_opt *row = tp_commands[i]->options;
        if (!tp_is_listed(tp_commands[i]))
            continue;
        fprintf(out, "    %s) words='", tp_commands[i]->name);
        for (; row && row->name; row++) {
            if (row->letter)
                fprintf(out, "-%c ", row->letter);
            fprintf(out, "--%s ", row->name);
        }
        fputs("-h --help --help-all' ;;\n", out);
    }
    fputs("    *) words='--help --version' ;;\n    esac\n}\n\n", out);
}

/* Writes one case of the table of options: 'replay --format' | 'replay -f') kind='= text json' ;;
 */
static void print_value(const struct tp_command *cmd, const struct tp_opt *row, FILE *out)
{
    enum tp_list list = tp_list_of_option(row);
    fprintf(out, "    '%s --%s'", cmd->name, row->name);
    if (row->letter)
        fprintf(out, " | '%s -%c'", cmd->name, row->letter);
    fputs(") kind='", out);
    if (row->choices && !list) {
        fputc('=', out);
        for (size_t i = 0; row->choices[i]; i++)
            fprintf(out, " %s", row->choices[i]);
    } else {
        fputs(tp_list_names[list], out);
    }
    fputs("' ;;\n", out);
}

static void print_values(FILE *out)
{
    fputs("# COMMAND OPTION: a list, or '= WORD...'; empty: it takes no value.\n"
          "_tapool_value() {\n    case \"$1 $2\" in\n",
          out);
    for (size_t i = 0; tp_commands[i]; i++) {
        const struct tp_opt *row = tp_commands[i]->options;
        for (; tp_is_listed(tp_commands[i]) && row && row->name; row++)
            if (row->type != TP_OPT_FLAG)
                print_value(tp_commands[i], row, out);
    }
    fputs("    *) kind= ;;\n    esac\n}\n\n", out);
}

static void print_arguments(FILE *out)
{
    fputs("# COMMAND: the list of its words.\n_tapool_argument() {\n    case $1 in\n", out);
    for (size_t i = 0; tp_commands[i]; i++)
        if (tp_is_listed(tp_commands[i]))
            fprintf(out, "    %s) kind='%s' ;;\n", tp_commands[i]->name,
                    tp_list_names[tp_list_of_words(tp_commands[i])]);
    fputs("    *) kind=none ;;\n    esac\n}\n\n", out);
}

/* Writes the table of the options of each strategy, which complete "-s arena:". */
static void print_strategy_options(FILE *out)
{
    fputs("# STRATEGY: its options.\n_tapool_strategy() {\n    case $1 in\n", out);
    for (size_t i = 0; tp_strategies[i]; i++) {
        const struct tp_opt *row = tp_strategies[i]->options;
        fprintf(out, "    %s) words='", tp_strategies[i]->name);
        for (; row && row->name; row++)
            fprintf(out, "%s=%s", row->name, row[1].name ? " " : "");
        fputs("' ;;\n", out);
    }
    fputs("    *) words= ;;\n    esac\n}\n\n", out);
}

/* Writes the table of the sections of each topic, which complete "help report ". */
static void print_sections(FILE *out)
{
    fputs("# TOPIC: its sections.\n_tapool_sections() {\n    case $1 in\n", out);
    for (size_t i = 0; tp_topics[i]; i++) {
        if (!tp_topics[i]->sections)
            continue;
        fprintf(out, "    %s) words='", tp_topics[i]->name);
        tp_sections_print(tp_topics[i], out);
        fputs("' ;;\n", out);
    }
    fputs("    *) words= ;;\n    esac\n}\n\n", out);
}

static const char fixed[] =
    "# KIND VALUE: `replies`. `head` is what stands before the part that is completed.\n"
    "_tapool_reply() {\n"
    "    local kind=$1 value=$2 head='' words='' name\n"
    "    case $kind/$value in\n"
    "    strategy/*:*) # NAME:OPTION=VALUE,OPTION\n"
    "        name=${value%%:*}\n"
    "        head=${value%\"${value##*[:,]}\"}\n"
    "        _tapool_strategy \"${name#*=}\"\n"
    "        compopt -o nospace 2>/dev/null\n"
    "        ;;\n"
    "    strategy/*=*) # LABEL=NAME\n"
    "        head=${value%%=*}=\n"
    "        _tapool_list strategy\n"
    "        ;;\n"
    "    source/*+*)\n"
    "        head=${value%+*}+\n"
    "        _tapool_list wrapper\n"
    "        ;;\n"
    "    =*) words=${kind#=} ;;\n"
    "    *) _tapool_list \"$kind\" ;;\n"
    "    esac\n"
    "    mapfile -t replies < <(compgen -W \"$words\" -- \"${value#\"$head\"}\")\n"
    "    replies=(\"${replies[@]/#/$head}\")\n"
    "    case $kind in\n"
    "    file | trace)\n"
    "        mapfile -t -O \"${#replies[@]}\" replies < <(compgen -f -- \"$value\")\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_tapool() {\n"
    "    local i glued='' last raw kind='' words='' before='' cur prev joined=() replies=()\n"
    "    COMPREPLY=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do # what bash has cut at ':' and '='\n"
    "        last=$((${#joined[@]} - 1))\n"
    "        if [[ $last -gt 0 && ${COMP_WORDS[i]} =~ ^[:=]+$ ]]; then\n"
    "            joined[last]+=${COMP_WORDS[i]}\n"
    "            glued=yes\n"
    "        elif [[ $glued ]]; then\n"
    "            joined[last]+=${COMP_WORDS[i]}\n"
    "            glued=\n"
    "        else\n"
    "            joined+=(\"${COMP_WORDS[i]}\")\n"
    "        fi\n"
    "    done\n"
    "    last=$((${#joined[@]} - 1))\n"
    "    cur=${joined[last]}\n"
    "    prev=${joined[last - 1]}\n"
    "    raw=${COMP_WORDS[COMP_CWORD]}\n"
    "    [[ $raw =~ ^[:=]+$ ]] && raw=\n"
    "    if ((last == 1)); then\n"
    "        _tapool_list command\n"
    "        _tapool_reply \"= $words --help --version\" \"$cur\"\n"
    "    elif [[ $cur == --*=* ]]; then\n"
    "        _tapool_value \"${joined[1]}\" \"${cur%%=*}\"\n"
    "        before=${cur%%=*}=\n"
    "        _tapool_reply \"${kind:-none}\" \"${cur#*=}\"\n"
    "    else\n"
    "        [[ $prev == -* && $prev != *=* ]] && _tapool_value \"${joined[1]}\" \"$prev\"\n"
    "        if [[ ! $kind && $cur == -* ]]; then\n"
    "            _tapool_options \"${joined[1]}\"\n"
    "            kind=\"= $words\"\n"
    "        fi\n"
    "        if [[ ! $kind && ${joined[1]} == help ]] && ((last > 2)); then\n"
    "            ((last == 3)) && _tapool_sections \"${joined[2]}\"\n"
    "            kind=\"= $words\"\n"
    "        fi\n"
    "        [[ $kind ]] || _tapool_argument \"${joined[1]}\"\n"
    "        _tapool_reply \"$kind\" \"$cur\"\n"
    "    fi\n"
    "    for i in \"${replies[@]}\"; do\n"
    "        i=$before$i\n"
    "        COMPREPLY+=(\"${i:$((${#cur} - ${#raw}))}\")\n"
    "    done\n"
    "}\n"
    "\n"
    "complete -F _tapool tapool\n";

void tp_completion_bash(FILE *out)
{
    fprintf(out, "# shellcheck shell=bash\n# Completion of tapool %s for bash.\n\n",
            TAPOOL_VERSION);
    print_lists(out);
    print_options(out);
    print_values(out);
    print_arguments(out);
    print_strategy_options(out);
    print_sections(out);
    fputs(fixed, out);
}
