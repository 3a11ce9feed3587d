/* Names of C++ in words, by the C++ library where the machine has one; it is loaded for the first
 * such name. A part of such a name that came before is a few bytes in it, and all of its words in
 * what becomes of it: a short name can stand for gigabytes. Names that could are left alone. */
#ifndef TP_CXX_NAME_H
#define TP_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TP_CXX_STEPS ((uint64_t)1 << 26) /* the most that a name may take */

#define TP_CXX_BYTES 40 /* the most that a step writes: "Ss" is std::basic_string<char, .. */

/* No fewer steps than it takes to write the name out; above TP_CXX_STEPS: some number above. */
uint64_t tp_cxx_steps(const char *name);

/* All zero to begin with. */
struct tp_cxx_names {
    bool asked;
    void *library;
    char *(*demangle)(const char *name, char *room, size_t *size, int *status);
    char *words;
    int64_t spent_ns; /* of processor time */
};

/* The name in words, valid until the next call; the name itself where there are none. */
const char *tp_cxx_words(struct tp_cxx_names *n, const char *name);
void tp_cxx_close(struct tp_cxx_names *n);

#endif
