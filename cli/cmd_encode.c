/* jointflow encode: (x, y) -> (z, y'). */
#include "tables.h"
#include <stdlib.h>

static int encode_rows(const call *c, const jf_model *m, const pairs *data, const char *path) {
    size_t rows = (size_t)data->rows;
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m), code;
    double *z = calloc(rows * (size_t)dim_x + 1, sizeof *z),
           *y_out = calloc(rows * (size_t)dim_y + 1, sizeof *y_out);
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .standardised = option_given(c->arguments, "standardised")};
    columns parts[] = {
        {.name = "z", .values = z, .count = dim_x},
        {.name = "y_out", .values = y_out, .count = dim_y, .named_by = m, .first = dim_x, .prefixed = 1}};
    if (!z || !y_out)
        code = cli_fail_memory();
    else if (jf_encode(m, data->rows, data->first, data->second, z, y_out, &use) != JF_OK)
        code = cli_fail_library(c);
    else
        code = tables_write(c, path, data->rows, parts, 2);
    free(z);
    free(y_out);
    return code;
}

static int encode(const call *c) {
    return pairs_answer(c, "x", encode_rows);
}

static const option options[] = {OPTION_OUTPUT_TABLE,
                                 OPTION_GIVEN_Y,
                                 OPTION_STANDARDISED,
                                 OPTION_RANKS,
                                 OPTION_THREADS,
                                 OPTION_DEVICE,
                                 {0}};

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
    .options = options,
    .examples = examples,
    .run = encode,
};
