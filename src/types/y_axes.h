/* The sizes of a condition of several axes: a series of 100 steps with two channels, an image of 28 x 28. */
#ifndef JF_TYPES_Y_AXES_H
#define JF_TYPES_Y_AXES_H

#define Y_AXES_MOST 3

typedef struct y_axes {
    int rank; /* 0: not said */
    int size[Y_AXES_MOST];
} y_axes;

/* As they are written, "100x2"; 0: they are not. */
int y_axes_parse(const char *words, y_axes *out);
#define Y_AXES_WORDS 48
const char *y_axes_words(const y_axes *a, char out[Y_AXES_WORDS]); /* "100x2" */
double y_axes_numbers(const y_axes *a);                            /* their product */
int y_axes_same(const y_axes *a, const y_axes *b);                 /* a last axis of 1 makes no difference */

#endif
