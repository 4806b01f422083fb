/* A recipe for a table that comes without one: sizes, law, epochs and regularisation follow from its
 * dimensions and the number of its rows. */
#ifndef JF_TRAIN_TABLE_RECIPE_H
#define JF_TRAIN_TABLE_RECIPE_H

#include "io/recipe.h"
#include "jointflow/jointflow.h"

/* What the defaults are chosen by. */
typedef struct table_size {
    long rows; /* held-out ones among them */
    int dim_x, dim_y;
    int discrete; /* y is a class */
} table_size;

/* A recipe with all keys declared, that can be changed and trained like any other. */
jf_status table_recipe_create(jf_context *ctx, recipe **out, const jf_table_request *request);

/* table_defaults.c: sets the values that are best for tables of this size. */
jf_status table_defaults_apply(recipe *r, const table_size *size);

#endif
