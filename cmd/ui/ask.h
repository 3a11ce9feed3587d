/* Runs another program and reads its answer. The program is started directly, never by a shell, and
 * killed if it does not answer in time. It gets no configuration of tapool
 * (tp_environment_for_child), so that its answer does not depend on the user's options. */
#ifndef TP_ASK_H
#define TP_ASK_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the first executable with this name in PATH. Folders that are not absolute are skipped. */
bool tp_ask_find(const char *name, char *path, size_t size);

enum tp_ask_until {
    TP_ASK_LINE, /* read the first line only */
    TP_ASK_END   /* read until the program closes its output */
};

/* Starts the program argv[0] (a path) and reads its standard output for at most `wait_ms`. `out`
 * gets at most size - 1 bytes and a NUL, without the end of the line for TP_ASK_LINE; "" if nothing
 * was written. The program is killed when enough was read. Returns false if it could not be
 * started, or closed its output and then failed. */
bool tp_ask(const char *const *argv, unsigned wait_ms, enum tp_ask_until until, char *out,
            size_t size);

#endif
