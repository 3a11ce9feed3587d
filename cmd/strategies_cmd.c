/* tapool strategies: what there is, where it runs, what it resembles; with a name, its options. */
#include "cmd/cli.h"
#include "cmd/registry.h"
#include "cmd/text.h"

#include <gnu/libc-version.h>
#include <string.h>

enum { NAME = 2, SUMMARY = 20, RUNS = 39, RESEMBLES = 54, DEFAULT = 24, HELP = 34 };

static const char *const group_names[] = {[TP_GROUP_POLICY] = "policies of tapool",
                                          [TP_GROUP_REAL] = "real allocators",
                                          [TP_GROUP_YARDSTICK] = "yardsticks"};

static void runs_on(const struct tp_strategy *s, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    if (s->caps & TP_CAP_FOREIGN) {
        snprintf(out, size, "host");
        return;
    }
    for (size_t i = 0; tp_sources[i] && used < size; i++)
        if (!(tp_sources[i]->flags & TP_SRC_DECORATOR) &&
            tp_strategy_fits(s, tp_sources[i], NULL) == TP_OK)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "",
                                     tp_sources[i]->name);
}

/* libc is whatever this machine has: its name says so. */
static void summary_of(const struct tp_strategy *s, char *out, size_t size)
{
    if (!strcmp(s->name, "system"))
        snprintf(out, size, "glibc %s", gnu_get_libc_version());
    else
        snprintf(out, size, "%s", s->summary);
}

static void print_group(struct tp_page *page, enum tp_group group)
{
    bool heads = group == TP_GROUP_POLICY;
    tp_page_at(page, 0, "%s", group_names[group]);
    if (heads)
        tp_page_at(page, RUNS, "runs here");
    if (heads)
        tp_page_at(page, RESEMBLES, "resembles");
    tp_page_line(page);
    for (size_t i = 0; tp_strategies[i]; i++) {
        const struct tp_strategy *s = tp_strategies[i];
        char where[64], summary[64];
        if (s->group != group)
            continue;
        runs_on(s, where, sizeof where);
        summary_of(s, summary, sizeof summary);
        tp_page_at(page, NAME, "%s", s->name);
        tp_page_at(page, SUMMARY, "%s", summary);
        tp_page_at(page, RUNS, "%s", where);
        tp_page_at(page, RESEMBLES, "%s", s->resembles);
        tp_page_line(page);
    }
}

static void print_all(struct tp_page *page)
{
    print_group(page, TP_GROUP_POLICY);
    print_group(page, TP_GROUP_REAL);
    print_group(page, TP_GROUP_YARDSTICK);
    tp_page_line(page);
    tp_page_at(page, 0, "Options and defaults: tapool strategies arena");
    tp_page_line(page);
}

static void print_lines(struct tp_page *page, int column, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        tp_page_at(page, column, "%.*s", (int)length, text);
        tp_page_line(page);
        text += length + (text[length] == '\n');
    }
}

/* Help of several lines explains its choices itself. */
static void print_option_row(struct tp_page *page, const struct tp_opt *row)
{
    char choices[256] = "";
    size_t used = 0;
    bool listed = strchr(row->help, '\n') != NULL;
    for (size_t i = 0; !listed && row->choices && row->choices[i] && used < sizeof choices; i++)
        used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%s", i ? " | " : ": ",
                                 row->choices[i]);
    tp_page_at(page, NAME, "%s", row->name);
    tp_page_at(page, DEFAULT, "%s", row->def ? row->def : "-");
    char help[1024];
    snprintf(help, sizeof help, "%s%s", row->help, choices);
    print_lines(page, HELP, help);
}

static void print_one(struct tp_page *page, const struct tp_strategy *s)
{
    char where[64], summary[64];
    runs_on(s, where, sizeof where);
    summary_of(s, summary, sizeof summary);
    tp_page_at(page, 0, "%s: %s", s->name, summary);
    tp_page_line(page);
    tp_page_at(page, NAME, "resembles");
    tp_page_at(page, DEFAULT, "%s", s->resembles);
    tp_page_line(page);
    tp_page_at(page, NAME, "runs here on");
    tp_page_at(page, DEFAULT, "%s", where);
    tp_page_line(page);
    tp_page_line(page);
    if (!s->options) {
        tp_page_at(page, 0, "It has no options.");
        tp_page_line(page);
    } else {
        tp_page_at(page, 0, "options");
        tp_page_at(page, DEFAULT, "default");
        tp_page_line(page);
        for (const struct tp_opt *row = s->options; row->name; row++)
            print_option_row(page, row);
        tp_page_line(page);
        tp_page_at(page, 0, "Set them as -s %s:%s=%s", s->name, s->options[0].name,
                   s->options[0].def ? s->options[0].def : "VALUE");
        tp_page_line(page);
    }
    tp_page_line(page);
    tp_page_at(page, 0, "To use it:");
    tp_page_line(page);
    print_lines(page, NAME, s->to_use);
}

static int run_strategies(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    struct tp_page page;
    tp_page_init(&page, out, 0);
    if (args->count > 1)
        return tp_fail(err, TP_EUSAGE, "strategies takes one name at most");
    if (!args->count) {
        print_all(&page);
        return TP_OK;
    }
    const struct tp_strategy *s = tp_find_strategy(args->words[0], err);
    if (!s)
        return TP_EUSAGE;
    print_one(&page, s);
    return TP_OK;
}

const struct tp_command tp_command_strategies = {
    .name = "strategies",
    .usage = "strategies [NAME]",
    .summary = "the policies, what each resembles, where each runs; with a name, its options",
    .about = "",
    .run = run_strategies,
};
