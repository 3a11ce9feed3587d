/* The sections of the page of a replay, an article for each trace. */
#ifndef TP_REPLAY_PAGE_H
#define TP_REPLAY_PAGE_H

#include "alloc/base/err.h"

#include <stdio.h>

/* Writes the articles of a report (struct tp_report). */
int tp_replay_articles(const void *of, FILE *out, struct tp_err *err);

#endif
