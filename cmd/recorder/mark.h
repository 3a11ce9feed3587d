/* Marks for `tapool record`. A program that includes this header links nothing: the function is
 * there when it is recorded, and the call is left out when it is not. This header is installed.
 *
 *     #include <tapool/mark.h>
 *     TAPOOL_MARK("step 3");     a phase of the trace begins here */
#ifndef TAPOOL_MARK_H
#define TAPOOL_MARK_H

#ifdef __cplusplus
extern "C" {
#endif

/* The first 256 bytes of the text are kept. */
__attribute__((weak)) void tapool_mark(const char *text);

#ifdef __cplusplus
}
#endif

#define TAPOOL_MARK(text) ((void)(tapool_mark ? (tapool_mark(text), 0) : 0))

#endif
