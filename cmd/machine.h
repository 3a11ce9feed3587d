/* The machine that a report was made on. */
#ifndef TP_MACHINE_H
#define TP_MACHINE_H

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

#endif
