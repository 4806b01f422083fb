/* Words on a canvas: checked UTF-8, measured and set so that they keep within a width. */
#ifndef JF_DRAW_LABEL_H
#define JF_DRAW_LABEL_H

#include "draw/draw.h"
#include <cairo.h>

#define LABEL_SIZE 192 /* bytes of a stored label */

/* Bytes of the printable character that starts at `chars`; 0 where there is none or it is not valid UTF-8. */
int label_length(const char *chars);
/* Copies until `end` (NULL: all); invalid bytes become '?', too long a text ends at a whole character. */
void label_copy(char out[LABEL_SIZE], const char *chars, const char *end);

typedef struct label_style {
    colour ink;
    double size;
    int bold;
    double anchor;    /* 0: (x, y) is the left end, 0.5: the centre, 1: the right end */
    double angle;     /* radians, clockwise */
    double max_width; /* 0: any; wider text is set smaller, then cut with "..." */
} label_style;

double label_width(cairo_t *cr, const char *words, double size, int bold);
/* y is at half the height of a capital letter. */
void label_draw(cairo_t *cr, const char *words, double x, double y, const label_style *style);

#endif
