/* Writes a pickle of protocol 4 that holds only data: dicts, lists, texts, whole numbers, truths.
 * It goes straight to a stream, without frames, which the protocol leaves free.
 *
 *     tp_pickler_begin_dict, { tp_pickler_word, a value }..., tp_pickler_end_dict
 *     tp_pickler_begin_list, values..., tp_pickler_end_list
 *
 * A word that was written before is referred to by its number among the texts of the file. */
#ifndef TP_PICKLER_H
#define TP_PICKLER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TP_PICKLER_WORDS = 64, TP_PICKLER_DEEP = 8 };

struct tp_pickler {
    FILE *out;
    const char *const *words; /* the texts that tp_pickler_word knows, NULL-terminated */
    uint32_t
        numbers[TP_PICKLER_WORDS];   /* by word: its number in the file + 1; 0: not written yet */
    uint32_t texts;                  /* remembered so far */
    uint32_t batch[TP_PICKLER_DEEP]; /* items of each open list since its last mark */
    uint32_t depth;                  /* open lists */
};

void tp_pickler_begin(struct tp_pickler *w, FILE *out, const char *const *words);
void tp_pickler_end(struct tp_pickler *w);

void tp_pickler_begin_dict(struct tp_pickler *w);
void tp_pickler_end_dict(struct tp_pickler *w);

/* To be called before each item of the list, too. */
void tp_pickler_item(struct tp_pickler *w);
void tp_pickler_begin_list(struct tp_pickler *w);
void tp_pickler_end_list(struct tp_pickler *w);

void tp_pickler_word(struct tp_pickler *w, unsigned word); /* an index of `words` */

/* Writes a text and returns its number, for tp_pickler_again. */
uint32_t tp_pickler_text(struct tp_pickler *w, const char *text);
void tp_pickler_int(struct tp_pickler *w, uint64_t n);
void tp_pickler_bool(struct tp_pickler *w, bool truth);

/* Remembers the value that was just written, a text or a container, and returns its number. */
uint32_t tp_pickler_remember(struct tp_pickler *w);
void tp_pickler_again(struct tp_pickler *w, uint32_t number);

/* Makes a pair of the two numbers that were written last. */
void tp_pickler_pair(struct tp_pickler *w);

#endif
