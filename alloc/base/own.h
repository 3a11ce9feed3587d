/* Memory of tapool's own that comes straight from the kernel, for everything that lives while a
 * strategy is replayed.
 *
 * A strategy may be this process's malloc (system, lib). Then a call of malloc by tapool would be
 * part of what is measured: it would take blocks of the heap, move later ones, and be counted. So
 * between the opening of the first replay and the last metric the engine calls no malloc, calloc,
 * realloc, strdup, qsort (it may allocate) or function of stdio that may allocate; it uses these.
 * The program, its cursors and the bookkeeping of a real allocator's instance do the same.
 *
 * A block takes whole pages, and each call is one of the kernel, so this is for few and large
 * blocks that are made between replays. Safe to call from several threads. In a build with a
 * sanitizer the blocks come from malloc after all, so that it sees errors and leaks. */
#ifndef TP_OWN_H
#define TP_OWN_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this build's malloc is a sanitizer's, which no library can replace. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TP_SANITIZED 1
#endif
#endif
#ifndef TP_SANITIZED
#define TP_SANITIZED 0
#endif

/* Zeroed memory for `count` items of `size` bytes, aligned to 64; NULL: there is none. */
void *tp_own_zeroed(size_t count, size_t size);

/* Gives a block another size and keeps its contents, up to the smaller of both sizes; bytes beyond
 * the old size are undefined. `p` may be NULL. NULL: there is no memory, and nothing has changed.
 */
void *tp_own_resized(void *p, size_t bytes);

void tp_own_free(void *p); /* NULL is fine */

#endif
