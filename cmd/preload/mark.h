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

/* NULL where the program is not recorded. In a program at a fixed address a linker takes a weak
 * name that nobody defines for NULL, unless the name is read where the loader writes. */
static __inline__ void (*tapool_mark_now(void))(const char *text)
{
    void (*mark)(const char *text);
#if defined(__x86_64__) && defined(__ELF__)
    __asm__(".weak tapool_mark\n\tmovq tapool_mark@GOTPCREL(%%rip), %0" : "=r"(mark));
#else
    mark = tapool_mark;
#endif
    return mark;
}

#ifdef __cplusplus
}
#endif

#define TAPOOL_MARK(text) ((void)(tapool_mark_now() ? (tapool_mark_now()(text), 0) : 0))

#endif
