/* The option -y and its like: which conditions to answer for. */
#ifndef CLI_CONDITIONS_H
#define CLI_CONDITIONS_H

#include "cli.h"

/* Of a condition that was made of an image: what to show beside the answers. */
typedef struct condition_image {
    jf_grid_cell input, truth; /* without values: not known */
    char *name;                /* "boot.png" */
} condition_image;

typedef struct conditions {
    double *values; /* (count, dim) */
    size_t count, room;
    int dim;
    jf_image_form form;           /* of the model */
    condition_image *images;      /* (count) where the model's conditions are images; NULL otherwise */
    jf_image_conditions *sources; /* (source_count): what they point into */
    size_t source_count;
} conditions;

/* Where to look for them. */
typedef struct conditions_request {
    const char *option, *shown; /* "y", "-y" */
    int standardised;           /* values are in the model's units */
    int degrade;                /* images are whole ones, whatever their size says */
    int all_classes;            /* without the option: all classes of a model that has some */
    const char *rows;           /* "3,8": rows of the model's own held-out data; NULL: none */
} conditions_request;

/* Reads all values of the option for a model; without a condition there is one empty row. Returns an exit
 * status. */
int conditions_read(const call *c, const jf_model *m, const conditions_request *request, conditions *out);
void conditions_free(conditions *y);

#endif
