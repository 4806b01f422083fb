/* The embedding of dense layers: y -> hidden layers of equal width, Leaky ReLU -> e. */
#include "net/embed.h"

static const recipe_key dense_keys[] = {
    EMBED_SIZE_KEY,
    {"model", "embed_shape", KEY_TEXT, "", 0, 0, NULL,
     "The axes of y, such as 100x2, so that arrays of these can be given as conditions; empty: one."},
    {"model", "embed_layers", KEY_INT, "2", 1, 12, NULL, "Hidden layers of the embedding."},
    {"model", "embed_width", KEY_INT, "128", 1, 4096, NULL, "Units of each of them."},
    {0},
};

static jf_status dense_lay_out(embed *e, const recipe *r, param_list *params, const char *prefix) {
    int hidden = recipe_int(r, "model.embed_layers"), width = recipe_int(r, "model.embed_width"),
        in = e->dim_y;
    JF_TRY(embed_read_axes(e, r, 1, Y_AXES_MOST, "sizes of up to 3 axes, such as 100x2"));
    if (e->axes.rank == 0) e->axes = (y_axes){1, {e->dim_y}};
    for (int i = 0; i < hidden; i++, in = width) JF_TRY(embed_add_layer(e, params, prefix, 1, in, width, 0));
    return embed_add_layer(e, params, prefix, 1, in, e->size, 1);
}

const embed_kind embed_dense = {
    .name = "dense",
    .keys = dense_keys,
    .lay_out = dense_lay_out,
};
