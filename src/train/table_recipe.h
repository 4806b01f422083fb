/* A recipe for a table that comes without one: sizes, law, epochs and regularisation follow from its
 * dimensions and the number of its rows. */
#ifndef JF_TRAIN_TABLE_RECIPE_H
#define JF_TRAIN_TABLE_RECIPE_H

#include "io/recipe.h"

/* What the defaults are chosen by. */
typedef struct table_size {
    long rows; /* held-out ones among them */
    int dim_x, dim_y;
    int discrete; /* y is a class */
} table_size;

typedef struct table_request {
    const char *x, *y;                 /* files; y NULL: columns of the same file, or no y at all */
    memory_rows *rows;                 /* or rows in memory; NULL: there are files */
    const char *x_columns, *y_columns; /* names or numbers, "a,b"; NULL: all */
    int discrete;                      /* y is a class */
    int ordered;                       /* y stays one number, whatever its values look like */
    const char *bounds;                /* data.bounds; NULL, or with the word "auto": what is found, too */
} table_request;

/* A recipe with all keys declared, that can be changed and trained like any other. */
jf_status table_recipe_create(jf_context *ctx, recipe **out, const table_request *request);

/* table_defaults.c: sets the values that are best for tables of this size. */
jf_status table_defaults_apply(recipe *r, const table_size *size);

#endif
