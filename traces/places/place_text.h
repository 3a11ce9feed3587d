/* How a code place is written, and which functions are none that anybody looks for. */
#ifndef TP_PLACE_TEXT_H
#define TP_PLACE_TEXT_H

#include "alloc/base/str.h"

#include <stdint.h>

/* What is known of a place; NULL or "": not known. */
struct tp_place_parts {
    const char *function;
    const char *file; /* with the code, without its folders in the text */
    uint32_t line;
    const char *module; /* the library or program; folders as above */
    uint64_t offset;    /* in the module, where the function is not known; 0: not known either */
};

/* Appends "parse.c:7 grow", "grow (libparse.so)" or "libparse.so+0x1f3". */
void tp_place_text(const struct tp_place_parts *p, struct tp_str *out);

/* A text of a place, taken apart again: "parse.c:7 grow", "grow (libparse.so)",
 * "libparse.so+0x1f3". Of another text the whole is the function. */
struct tp_place_split {
    const char *file;  /* the file with the code, or else the module; points into the text */
    size_t file_bytes; /* 0: neither is known */
    uint32_t line;     /* 0: not known */
    const char *function;
    size_t function_bytes; /* 0: not known */
};
struct tp_place_split tp_place_split(const char *text);

/* Copies the text of a place without the shapes of tensors, which the reader of a profile adds and
 * which differ between two runs of the same code: "MatMul float32[32,128], output" becomes "MatMul
 * float32, output". Other brackets stay. */
void tp_place_without_shapes(const char *text, struct tp_str *out);

/* What a function does in the stack of an allocation. */
enum tp_place_role {
    TP_PLACE_ASKS,
    TP_PLACE_PASSES_ON, /* what its caller asks for: operator new, malloc and the functions around
                           it that libraries have */
    TP_PLACE_STARTS     /* a program or a thread */
};
enum tp_place_role tp_place_role(const char *function);

#endif
