/* See html_parts.h. */
#include "cmd/page/html_parts.h"

#include "cmd/measure/machine.h"

int tp_html_table(struct tp_table *t, FILE *out, struct tp_err *err)
{
    fputs("<p>", out);
    int rc = tp_table_html(t, out, err);
    fputs("</p>\n", out);
    tp_table_drop(t);
    return rc;
}

void tp_html_facts(struct tp_table *t, const char *what, const char *value)
{
    const struct tp_column columns[] = {{.name = what, .left = true},
                                        {.name = value, .left = true}};
    tp_table_columns(t, columns, sizeof columns / sizeof *columns);
}

void tp_html_fact(struct tp_table *t, const char *name, const char *value)
{
    tp_table_add(t, "%s", name);
    tp_table_add(t, "%s", *value ? value : "not known");
}

void tp_html_machine(struct tp_table *t)
{
    struct tp_machine m;
    tp_machine_read(&m);
    tp_html_fact(t, "system", m.os);
    tp_html_fact(t, "machine", m.arch);
    tp_html_fact(t, "CPU", m.cpu);
    tp_html_fact(t, "cores", m.cores ? tp_count(m.cores).s : "");
    tp_html_fact(t, "memory", m.memory_bytes ? tp_bytes(m.memory_bytes, false).s : "");
    tp_html_fact(t, "C library", m.libc);
}
