/* The machine that a report was made on. */
#ifndef TP_MACHINE_H
#define TP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_machine {
    char os[160];  /* "Linux 6.1.0" */
    char arch[80]; /* "x86_64" */
    char cpu[128]; /* model name; "": not known */
    char libc[64]; /* "glibc 2.36" */
    uint64_t cores;
    uint64_t memory_bytes;
    uint64_t page_bytes;
};

/* Describes this machine; what is not known is "" or 0. */
void tp_machine_read(struct tp_machine *out);

/* The number of cores that this process may run on; 0: not known. */
uint64_t tp_machine_cores_allowed(void);

/* How many processes may work side by side: as many as there are allowed cores, or fewer if the
 * control group has a smaller share of the processors; at least 1. */
uint64_t tp_machine_cores_to_use(void);

/* Finds the first line of a file of /proc or /sys that begins with `key` ("": the first line) and
 * writes what follows the key and the blanks, tabs and colons after it, without the line's end.
 * false and "": there is no such line. */
bool tp_machine_line(const char *path, const char *key, char *out, size_t size);

#endif
