/* The machine that a report was made on. */
#ifndef TP_MACHINE_H
#define TP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_machine {
    char os[160];  /* "Linux 6.1.0" */
    char arch[80]; /* "x86_64" */
    char cpu[128]; /* model name; "" when unknown */
    char libc[64]; /* "glibc 2.36" */
    uint64_t cores;
    uint64_t memory_bytes;
    uint64_t page_bytes;
};

void tp_machine_read(struct tp_machine *out);

/* Those that this process may run on; 0: not known. And how many processes may work side by side:
 * that, or less where the group's share of the processors is less; at least 1. */
uint64_t tp_machine_cores_allowed(void);
uint64_t tp_machine_cores_to_use(void);

/* The first line of a file of /proc or /sys that begins with `key` ("" takes the first of all),
 * what follows the key and blanks, tabs and colons, without its end. false and "": there is none.
 */
bool tp_machine_line(const char *path, const char *key, char *out, size_t size);

#endif
