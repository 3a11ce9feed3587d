/* The screen that `tapool` prints without arguments. */
#ifndef TP_SCREEN_FIRST_H
#define TP_SCREEN_FIRST_H

#include <stdio.h>

void tp_screen_first(FILE *out);

#endif
