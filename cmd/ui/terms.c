/* See terms.h. */
#include "cmd/ui/terms.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { WORD = 2, MEANING = 26 };

const char *const tp_term_group_names[TP_TERM_GROUPS] = {[TP_TERMS_MEMORY] = "Memory",
                                                         [TP_TERMS_TIME] = "Time and calls",
                                                         [TP_TERMS_REPLAY] = "Traces and replays",
                                                         [TP_TERMS_CHECK] = "Regression checks"};

#define TERM(in, name, ...)                                                                        \
    {                                                                                              \
        .group = TP_TERMS_##in, .word = (name), .meaning = __VA_ARGS__                             \
    }
#define SAID_BY(name)      .origin = (name)
#define FOUND_BY(patterns) .forms = (patterns)
/* clang-format off */
const struct tp_term tp_terms[] = {
    TERM(MEMORY, "requested", "bytes the program allocated and did not free", SAID_BY("PyTorch")),
    TERM(MEMORY, "allocated", "requested bytes plus rounding", SAID_BY("PyTorch, jemalloc")),
    TERM(MEMORY, "reserved", "bytes held from the system or the driver", SAID_BY("PyTorch")),
    TERM(MEMORY, "free", "reserved but not allocated", SAID_BY("PyTorch, jemalloc"),
         FOUND_BY("free at peak|free block|free blocks|free memory")),
    TERM(MEMORY, "largest free block", "largest contiguous free range", SAID_BY("jemalloc"),
         FOUND_BY("largest free block|largest block")),
    TERM(MEMORY, "cached", "free, but only for one size class, key or bin", SAID_BY("tcmalloc")),
    TERM(MEMORY, "trace peak", "event with the most requested bytes", FOUND_BY("trace peak|at peak")),
    TERM(MEMORY, "overhead", "reserved / requested, each at its peak: 1.10x",
         FOUND_BY("overhead")),
    TERM(MEMORY, "min capacity", "smallest device without OOM"),
    TERM(MEMORY, "lower bound", "no placement of the blocks needs less", SAID_BY("minimalloc")),
    TERM(MEMORY, "best packing", "smallest layout found offline in one range", SAID_BY("minimalloc")),
    TERM(MEMORY, "regret", "peak reserved / best packing"),
    TERM(MEMORY, "OOM", "out of memory: an allocation failed", SAID_BY("PyTorch"),
         FOUND_BY("OOM|out of memory")),
    TERM(MEMORY, "resident", "pages in RAM, counted by the kernel", SAID_BY("RSS in ps"),
         FOUND_BY("resident|RSS")),

    TERM(TIME, "hit rate", "share of allocations without a driver call", SAID_BY("caches")),
    TERM(TIME, "driver calls", "calls to the GPU driver; on the host: system calls",
         FOUND_BY("driver calls|system calls")),
    TERM(TIME, "warm driver calls", "driver calls of a second replay, same instance"),
    TERM(TIME, "ns/op", "time of one operation, steady state", SAID_BY("benchstat")),
    TERM(TIME, "cold ns/op", "ns/op of the first replay on a fresh instance"),
    TERM(TIME, "replay overhead", "time tapool itself adds; subtracted from ns/op"),
    TERM(TIME, "95% CI", "confidence interval of a time", SAID_BY("hyperfine, benchstat")),

    TERM(REPLAY, "cell", "a trace under a setting, in a sweep", FOUND_BY("sweep")),
    TERM(REPLAY, "replay", "run a trace through a strategy"),
    TERM(REPLAY, "strategy", "allocator that places the blocks: -s arena",
         FOUND_BY("strategy|strategies")),
    TERM(REPLAY, "memory source", "provider of memory: host, virtual, cuda",
         FOUND_BY("memory source|memory sources|--source")),
    TERM(REPLAY, "source wrapper", "changes a memory source: +limit, +fault, +shuffle",
         FOUND_BY("source wrapper|source wrappers|+limit|+fault|+shuffle")),
    TERM(REPLAY, "allocation site", "code that allocates", SAID_BY("heaptrack"),
         FOUND_BY("allocation site|allocation sites")),
    TERM(REPLAY, "live memory by site", "requested bytes by allocation site", SAID_BY("memray")),
    TERM(REPLAY, "initial heap", "blocks that were live before the recording began"),
    TERM(REPLAY, "malformed event", "event that breaks the rules of its format",
         FOUND_BY("malformed event|malformed events")),

    TERM(CHECK, "result", "PASS, FAIL, INCONCLUSIVE or ABORTED",
         FOUND_BY("PASS|FAIL|INCONCLUSIVE|ABORTED")),
    TERM(CHECK, "false positive", "regression reported where nothing changed",
         FOUND_BY("false positive|false positives")),
    TERM(CHECK, "minimum detectable slowdown", "smallest slowdown found with 90% power",
         FOUND_BY("min detectable slowdown|minimum detectable slowdown")),
};
/* clang-format on */
#undef TERM
#undef SAID_BY
#undef FOUND_BY

const size_t tp_term_count = sizeof tp_terms / sizeof *tp_terms;

const struct tp_term *tp_find_term(const char *word)
{
    for (size_t i = 0; i < tp_term_count; i++)
        if (!strcasecmp(tp_terms[i].word, word))
            return &tp_terms[i];
    return NULL;
}

void tp_term_put(struct tp_page *page, const struct tp_term *term)
{
    tp_page_row(page, WORD, term->word, MEANING, "%s%s%s%s", term->meaning,
                term->origin ? " (" : "", term->origin ? term->origin : "",
                term->origin ? ")" : "");
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the text holds the form as whole words, in any case. */
static bool holds(const char *text, const char *form, size_t length)
{
    for (const char *at = text; *at; at++) {
        bool begins = at == text || !is_letter(at[-1]);
        if (begins && !strncasecmp(at, form, length) && !is_letter(at[length]))
            return true;
    }
    return false;
}

bool tp_term_is_in(const struct tp_term *term, const char *text)
{
    const char *form = term->forms ? term->forms : term->word;
    for (size_t length; *form; form += length + (form[length] == '|')) {
        length = strcspn(form, "|");
        if (holds(text, form, length))
            return true;
    }
    return false;
}

void tp_terms_put_used(struct tp_page *page, const char *text)
{
    for (size_t i = 0; i < tp_term_count; i++)
        if (tp_term_is_in(&tp_terms[i], text))
            tp_term_put(page, &tp_terms[i]);
}
