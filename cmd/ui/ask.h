/* Asking another program: started directly, never by a shell, and given up when it does not answer
 * in time. It gets no configuration (tp_environment_for_child): an answer is the same for all. */
#ifndef TP_ASK_H
#define TP_ASK_H

#include <stdbool.h>
#include <stddef.h>

/* The first executable of that name in PATH; folders that are not absolute are left out. */
bool tp_ask_find(const char *name, char *path, size_t size);

enum tp_ask_until {
    TP_ASK_LINE, /* its first line is all that is wanted */
    TP_ASK_END   /* all of it, until the program closes its output */
};

/* What the program argv[0] (a path) writes to its standard output within `wait_ms`: at most
 * size - 1 bytes, ended by a NUL, a line without its end; "" where there is nothing. It is ended
 * when enough was read. false: it could not be started, or closed its output by failing. */
bool tp_ask(const char *const *argv, unsigned wait_ms, enum tp_ask_until until, char *out,
            size_t size);

#endif
