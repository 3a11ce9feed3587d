/* What a page consists of beside its data: styles and scripts, embedded when tapool is built. */
#ifndef TP_PAGE_ASSETS_H
#define TP_PAGE_ASSETS_H

#include <stddef.h>

struct tp_page_asset {
    const char *name;
    const char *begin, *end; /* its text, without a NUL */
};

/* In the order in which a page has them; ended by a row without a name. The first scripts are
 * the library of charts and what views share; each of the others is a view, which draws one part of
 * the page. Both are empty where the library was not found. */
extern const struct tp_page_asset tp_page_styles[], tp_page_scripts[];

/* Bytes of all of them. */
size_t tp_page_asset_bytes(void);

/* Why no page can be written: the library was not found. NULL: it was. */
extern const char *const tp_page_lacks;

#endif
