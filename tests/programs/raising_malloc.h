/* When raising_malloc.c raises SIGUSR1. */
#ifndef TP_RAISING_MALLOC_H
#define TP_RAISING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

struct raising {
    size_t size;           /* in calls of malloc for so many bytes */
    unsigned every, calls; /* in each so-many-th of them; 0: never */
    bool late;             /* when the block is there; else before */
};
extern struct raising raising;

#endif
