/* The data of the page of `tapool why`, for devices that have a picture: the document of --json
 * (why_json.h) without blanks, where each device has a member more:
 *
 *     "page": { "devices": [ {"recorded": {...}} ],     what was reserved and live, as
 *                                                       cmd/page/curve_data.h says
 *               "marks": [],
 *               "frames": {..., "born": "AQDI...",      of one moment, as frames_json.h says
 *                          "marks": [[0, 4096], ...]} }
 *
 * The rows of the frame have numbers of blocks in place of events. `born` is base 64 of these
 * numbers, each less the one before it, and then the event that allocated the block, 0: it was live
 * before the first one. `marks` are blocks in the way, each the bytes of all segments before it and
 * its size. */
#ifndef TP_WHY_PAGE_DATA_H
#define TP_WHY_PAGE_DATA_H

#include "cmd/pytorch/why/why_answer.h"

#include <stdio.h>

/* TP_ENOMEM: a part is missing. */
int tp_why_page_data(const struct tp_why *list, size_t count, const char *file, FILE *out,
                     struct tp_err *err);

#endif
