/* A data set as it is offered to a device that would hold it: what its rows are made of, in host memory. The
 * data fill it in, devices read it; plain structs, so that neither sees the other. */
#ifndef JF_TYPES_RESIDENT_H
#define JF_TYPES_RESIDENT_H

#include "types/pixel_formulas.h"
#include <stddef.h>
#include <stdint.h>

/* What a row (x, y) is, given the values v that are held of it. Where there are classes, y is the label in
 * any case. */
typedef enum resident_task {
    RESIDENT_WHOLE, /* v is x, then y */
    RESIDENT_NOISE, /* y = v + noise N(0, 1), x = v - y */
    RESIDENT_HOLE,  /* y = v, but 0 in a hole somewhere in the image; x = v - y */
    RESIDENT_LEVELS /* v is a byte, x is made of v and a uniform number (types/pixel_formulas.h); of classes
                     */
} resident_task;

typedef struct resident_data {
    long rows, validation_rows; /* to train on, and, after them, held out */
    int dim_x, dim_y;
    int width; /* values that are held of a row */
    /* Either bytes (rows + validation_rows, width), each of which stands for value[byte], */
    const uint8_t *bytes;
    double value[256];
    /* or, where they are NULL, a function that fills in the values (width) of a row; scratch: so many
     * numbers. */
    void (*read)(const void *source, long row, double *scratch, double *values);
    size_t scratch;

    resident_task task;
    double noise;                       /* RESIDENT_NOISE: deviation */
    int h, w, channels, hole_h, hole_w; /* RESIDENT_HOLE: v is an image [h][w][channels] */
    pixel_spread spread;                /* RESIDENT_LEVELS */

    int classes;         /* 0: none */
    const double *label; /* (classes) */
    int planes;          /* of y, one for each class (types/label_formulas.h); 0: y is the label */
    int (*row_class)(const void *source, long row);
    const long *class_rows, *class_start; /* rows to train on by class, and where each begins (classes + 1) */

    const double *mean, *deviation; /* (dim_x + dim_y) standardisation */
    int model_y; /* elements of y that the model has: dim_y, or 0 where it leaves them out */
    const int32_t
        *order; /* (dim_x + model_y) element i of a state is order[i] of the row; NULL: they are the same */
    const void *source;
} resident_data;

#endif
