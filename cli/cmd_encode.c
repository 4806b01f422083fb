/* jointflow encode: (x, y) -> (z, y'). */
#include "map_rows.h"

static jf_status map(mapped_rows *r, const jf_use_options *use) {
    return jf_encode(r->model, (size_t)r->count, r->in, r->y, r->out, r->y_out, use);
}

static const row_map rows_to_latent = {.in = "x", .out = "z", .y_out = "y_out", .map = map};

static int encode(const call *c) {
    return map_rows(c, &rows_to_latent);
}

static const example examples[] = {
    {"Where the points of a table lie in latent space",
     "jointflow encode out/crescents points.csv -o latent.csv"},
    {"The latent point of an image of a class",
     "jointflow encode out/fashion-class-small shirt.png -y shirt -o z.npy"},
    {"There and back", "jointflow encode RUN a.csv -o z.csv && jointflow decode RUN z.csv -o b.csv"},
    {0},
};

const command command_encode = {
    .name = "encode",
    .summary = "data to latent: (x, y) -> (z, y')",
    .arguments = "MODEL DATA",
    .about =
        "Takes each row of DATA, a .csv, .tsv, .txt or .npy file with the columns of x and then those of y, "
        "through the model. Columns are found by name where the model knows them, whatever their order; "
        "with -y, a table DATA holds x alone and FILE the conditions. Of image models DATA may be images, a "
        ".png, .jpg or .npy file: with -y "
        "their class or "
        "their degraded image, which otherwise the model's task makes of them; a model of halved images of a "
        "class halves those of the data's size. The columns of the "
        "result are z0, z1, ..., which are normally distributed "
        "where the model is good, and y_out0, ..., which should equal y.",
    .options = map_rows_options,
    .examples = examples,
    .run = encode,
};
