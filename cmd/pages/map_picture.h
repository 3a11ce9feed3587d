/* A moment of the map of pages as an <svg> element, for those who have no JavaScript, and for
 * files. Each part of all cells is one path of upright strokes, as wide as a cell; what is free has
 * dashes. */
#ifndef TP_MAP_PICTURE_H
#define TP_MAP_PICTURE_H

#include "cmd/pages/page_map.h"

#include <stdio.h>

/* All is borrowed. */
struct tp_map_picture {
    const struct tp_page_map *map;
    size_t moment;
    struct tp_map_names names;
    const char *title, *about; /* lines at the top */
};

uint32_t tp_map_picture_height(const struct tp_map_picture *p); /* pixels */

/* Writes the element, TP_CHART_WIDTH wide. */
void tp_map_picture_write(const struct tp_map_picture *p, FILE *out);

#endif
