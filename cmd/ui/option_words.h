/* Words and rows of options that several commands have alike. */
#ifndef TP_OPTION_WORDS_H
#define TP_OPTION_WORDS_H

#include "alloc/base/opt.h"
#include "alloc/base/str.h"

extern const char *const tp_touch_words[];    /* auto, then as enum tp_touch */
extern const char *const tp_color_words[];    /* as tp_page_init takes it */
extern const char *const tp_capacity_words[]; /* keyword 0: as recorded */

/* The option `color`, a uint32_t at `at`. */
#define TP_COLOR_ROW(at)                                                                           \
    TP_CHOICE_AT("color", at, .def = "auto", .choices = tp_color_words, .arg = "WHEN",             \
                 .help = "colour")

/* Adds ": never | always | auto"; nothing where a value is free. */
void tp_str_choices(struct tp_str *s, const struct tp_opt *row);

#endif
