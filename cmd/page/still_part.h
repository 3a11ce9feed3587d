/* Memory over time as pictures, for readers without JavaScript. */
#ifndef TP_STILL_PART_H
#define TP_STILL_PART_H

#include "alloc/base/err.h"

#include <stdint.h>
#include <stdio.h>

struct tp_chart;

/* Makes the chart of a device with so many columns, and writes it by tp_still_html. */
typedef int tp_write_still(const void *of, uint16_t device, uint32_t columns, FILE *out,
                           struct tp_err *err);
void tp_still_html(const struct tp_chart *chart, FILE *out);

/* Writes the charts of the first devices. */
int tp_stills_html(tp_write_still *write, const void *of, uint32_t devices, FILE *out,
                   struct tp_err *err);

#endif
