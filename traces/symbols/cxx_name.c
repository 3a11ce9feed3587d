/* See symbols.h. How many steps a name takes cannot be told without all of the grammar, but a
 * bound can:
 *
 * - What S_, S0_, .. stand for was complete before, so it holds but those of lower numbers. Writing
 *   out the k-th takes the bytes of the name and, for each mention of a lower one, that one: at
 * most the bytes times the product of (1 + mentions) over the lower ones.
 * - T_, T0_, .. stand for other things in other places: each mention is a factor of 2 of its own.
 * - Arguments of a template that T_ stands for may lie behind it, but are written out as of the
 *   function around: all of it may happen once for each function in the name (Z) and each operator
 *   that converts (cv).
 * - Packs (Dp, sp) are not put into words: for some texts with one that no compiler writes, the C++
 *   library of GCC 12 does not end.
 *
 * Bytes are looked for everywhere, in identifiers too, for where those are takes the grammar. */
#include "traces/symbols/symbols.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_MOST     ((size_t)4096)        /* bytes of a name that is looked at */
#define WORDS_MOST    ((size_t)64 << 10)    /* bytes of what is shown */
#define SPENT_MOST_NS ((int64_t)1000000000) /* for all names; usual ones take 1 us each */
#define DIFFERENT     32                    /* more mentioned ones are above any bound: 2^32 */

struct mention {
    const char *at;
    size_t length;
    uint64_t times;
};

/* Bytes of "S_", "S1A_", "T0_", "TL0__"; 0: it is none. */
static size_t mention_bytes(const char *at)
{
    if (*at != 'S' && *at != 'T')
        return 0;
    size_t letters = 1 + strspn(at + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return at[letters] == '_' ? letters + 1 : 0;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return b && a > TP_CXX_STEPS / b ? TP_CXX_STEPS + 1 : a * b;
}

static bool begins(const char *at, const char *code)
{
    return at[0] == code[0] && at[1] == code[1];
}

/* False: there are too many. */
static bool note_mention(struct mention *seen, size_t *count, const char *at, size_t length)
{
    size_t i = *at == 'T' ? *count : 0;
    while (i < *count && (seen[i].length != length || memcmp(seen[i].at, at, length) != 0))
        i++;
    if (i == DIFFERENT)
        return false;
    if (i == *count)
        seen[(*count)++] = (struct mention){at, length, 0};
    seen[i].times++;
    return true;
}

uint64_t tp_cxx_steps(const char *name)
{
    struct mention seen[DIFFERENT];
    size_t count = 0, length = strlen(name);
    uint64_t once = 1, steps = length;
    unsigned functions = 0;
    bool parameters = false;
    for (const char *at = name; *at; at++) {
        size_t bytes = mention_bytes(at);
        if (bytes && !note_mention(seen, &count, at, bytes))
            return TP_CXX_STEPS + 1;
        parameters = parameters || (bytes && *at == 'T');
        functions += *at == 'Z' || begins(at, "cv");
        if (begins(at, "Dp") || begins(at, "sp") || begins(at, "sP") || begins(at, "sZ"))
            return TP_CXX_STEPS + 1;
    }
    for (size_t i = 0; i < count; i++)
        once = times(once, 1 + seen[i].times);
    for (unsigned i = 0; i < (parameters ? functions : 1) && steps <= TP_CXX_STEPS; i++)
        steps = times(steps, once);
    return steps;
}

static void load(struct tp_cxx_names *n)
{
    n->asked = true;
    n->library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *function = n->library ? dlsym(n->library, "__cxa_demangle") : NULL;
    memcpy(&n->demangle, &function, sizeof n->demangle);
}

static int64_t processor_ns(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

const char *tp_cxx_words(struct tp_cxx_names *n, const char *name)
{
    int status = 0;
    size_t length = strnlen(name, NAME_MOST);
    if (strncmp(name, "_Z", 2) != 0 || length == NAME_MOST || n->spent_ns > SPENT_MOST_NS ||
        tp_cxx_steps(name) > TP_CXX_STEPS)
        return name;
    if (!n->asked)
        load(n);
    if (!n->demangle)
        return name;
    int64_t begun = processor_ns();
    free(n->words);
    n->words = n->demangle(name, NULL, NULL, &status);
    n->spent_ns += processor_ns() - begun;
    return n->words && strlen(n->words) <= WORDS_MOST ? n->words : name;
}

void tp_cxx_close(struct tp_cxx_names *n)
{
    if (n->library)
        dlclose(n->library);
    free(n->words);
}
