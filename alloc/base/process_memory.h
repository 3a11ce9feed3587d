/* What the kernel says about this process: its memory, and its threads. Nothing here allocates, so
 * that a reading does not change what it reads. */
#ifndef TP_PROCESS_MEMORY_H
#define TP_PROCESS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_WRITTEN_BUFFER = 4096 };

/* A reader of the memory that the process that opened it has written. A child opens its own. */
struct tp_written {
    int fd;
    bool unshared; /* leaves out memory that is mapped twice; set after opening */
    char buffer[TP_WRITTEN_BUFFER];
};

/* `folder` is /proc/self, or what a test puts in its place. false: the kernel does not say. */
bool tp_written_open(struct tp_written *w, const char *folder);
void tp_written_close(struct tp_written *w);

/* Bytes of private pages that this process has written, those included that the kernel has moved to
 * swap, because they are held just as well. What a forked process has inherited and not yet written
 * is not in it, nor are pages that were only read, that belong to files, or that were given back
 * lazily (MADV_FREE). Memory that the source `host` maps twice is in it unless w->unshared.
 * TP_NONE: the kernel did not say. */
uint64_t tp_written_read(struct tp_written *w);

/* The RSS of this process in bytes, pages of files included. TP_NONE: the kernel did not say. */
uint64_t tp_rss_read(struct tp_written *w);

/* Bytes of the private mappings of a process that can be written, as the kernel keeps them at any
 * time, written or not. `folder` is /proc/self, or that of another process. */
bool tp_mapped_open(int *fd, const char *folder);
void tp_mapped_close(int fd);    /* -1 is fine */
uint64_t tp_mapped_read(int fd); /* TP_NONE: the kernel did not say */

/* Threads of this process, those of libraries included; 0: the kernel does not say. */
uint64_t tp_process_threads(void);

/* Switches transparent huge pages off for this process (true), or on as the machine has them.
 * Returns what it was before: whether they were off. Without effect where the kernel refuses. */
bool tp_huge_pages_off(bool off);

/* Bytes of a transparent huge page: what one page of entries of the page table maps. */
uint64_t tp_huge_page_bytes(void);

#endif
