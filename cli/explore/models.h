/* The models that are shown, and what the page has to know of each. */
#ifndef EXPLORE_MODELS_H
#define EXPLORE_MODELS_H

#include "jointflow/jointflow.h"
#include "verdict.h"

typedef struct shown_model {
    char *name; /* as it was asked for, or that of its file where one name stands for several */
    char *call; /* how commands call it from any directory: its path from the root, or the name of one that
                   came with the program */
    jf_model *m;
    jf_image_form form;
    jf_cascade *cascade;  /* makes its images larger; NULL: none */
    int large_h, large_w; /* of images that it makes; 0: none */
    char no_cascade[512]; /* why models that its recipe names are not there */
    int dim_x, dim_y, classes;
    int class_column; /* y of vectors has an element for each class: the page knows its label alone */
    int has_range;
    double *lo, *hi;         /* (dim_y) of the data, where has_range */
    size_t data_rows;        /* of vectors; 0: there are none */
    double *data_x, *data_y; /* (data_rows, dim_x), (data_rows, dim_y) */
    char no_data[512];       /* why */
    verdict *verdict;
} shown_model;

struct watch;
typedef struct explorer {
    /* Its own: one that nobody reads the log of, since every step of a slider would write to it. */
    jf_context *ctx;
    shown_model *models; /* (count) */
    int count;
    struct watch *watch; /* the training that is shown; NULL: none */
} explorer;

/* Without models yet. NULL: no memory. */
explorer *explorer_create(void);
/* All models of a name. Returns a status, whose message is at e->ctx. */
jf_status explorer_add(explorer *e, const char *name, const jf_load_options *device);
/* What a judgement under way still uses is left to the end of the process. */
void explorer_free(explorer *e);

/* Images of n rows of x and y, made larger where other models do so. together: rows of a line that follow
 * each other. */
jf_status shown_images(const shown_model *s, size_t n, const double *x, const double *y,
                       const jf_cascade_options *options, jf_images *out);
/* Numbers of a sample as it is sent: of x, or of the larger image. */
long shown_numbers(const shown_model *s);

/* Which models make a cascade of super-resolution, numbers of models; their count, 0: none do. */
int explorer_cascade(const explorer *e, int steps[JF_CASCADE_MOST]);

#endif
