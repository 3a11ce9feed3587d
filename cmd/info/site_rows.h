/* How the live memory of two moments differs by allocation site, on screens and in documents. */
#ifndef TP_SITE_ROWS_H
#define TP_SITE_ROWS_H

#include "cmd/info/named_sites.h"
#include "cmd/ui/json_out.h"
#include "cmd/ui/text.h"

struct tp_site_screen {
    const char *heads[2]; /* of the two moments */
    enum tp_sites_by by;  /* what a row is */
    size_t shown;         /* rows, at most; what they leave out is one row more */
};

/* Prints the table: rows that grew from the top, rows that shrank towards the end, and the total,
 * to which all columns add up. Where nothing differs it is a sentence. */
void tp_site_rows_print(const struct tp_site_rows *r, const struct tp_site_screen *screen,
                        struct tp_page *page);

/* "+12 MiB", "-3 blocks" without the noun, "=": from the first to the second. */
struct tp_text tp_grown_bytes(const uint64_t value[2], bool exact);
struct tp_text tp_grown_count(const uint64_t value[2]);

/* Writes a member of this name, in which every row that differs stands. */
void tp_json_site_rows(struct tp_json *j, cJSON *in, const char *name, const struct tp_site_rows *r,
                       enum tp_sites_by by);

/* Writes an array of two numbers. */
void tp_json_two(struct tp_json *j, cJSON *in, const char *name, const uint64_t value[2]);

#endif
