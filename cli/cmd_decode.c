/* jointflow decode: (z, y) -> (x, y*). */
#include "tables.h"
#include <stdlib.h>

static int decode_rows(const call *c, const jf_model *m, const pairs *data, const char *path) {
    size_t rows = (size_t)data->rows;
    int dim_x = jf_model_dim_x(m), dim_y = jf_model_dim_y(m), code;
    double *x = calloc(rows * (size_t)dim_x + 1, sizeof *x),
           *y_back = calloc(rows * (size_t)dim_y + 1, sizeof *y_back);
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .standardised = option_given(c->arguments, "standardised")};
    columns parts[] = {
        {.name = "x", .values = x, .count = dim_x, .named_by = m},
        {.name = "y_back", .values = y_back, .count = dim_y, .named_by = m, .first = dim_x, .prefixed = 1}};
    if (!x || !y_back)
        code = cli_fail_memory();
    else if (jf_decode(m, data->rows, data->first, data->second, x, y_back, &use) != JF_OK)
        code = cli_fail_library(c);
    else
        code = tables_write(c, path, data->rows, parts, 2);
    free(x);
    free(y_back);
    return code;
}

static int decode(const call *c) {
    return pairs_answer(c, "z", decode_rows);
}

static const option options[] = {OPTION_CONDITIONS,
                                 OPTION_OUTPUT_TABLE,
                                 OPTION_STANDARDISED,
                                 OPTION_RANKS,
                                 OPTION_THREADS,
                                 OPTION_DEVICE,
                                 {0}};

static const example examples[] = {
    {"The answers that belong to chosen latent points",
     "jointflow decode out/crescents latent.csv -o points.csv"},
    {"A line in latent space, as CSV", "jointflow decode out/sectors line.npy"},
    {0},
};

const command command_decode = {
    .name = "decode",
    .summary = "latent to data: (z, y) -> (x, y*)",
    .arguments = "MODEL DATA",
    .about = "Takes each row of DATA, a .csv, .tsv, .txt or .npy file with as many columns of z as x has "
             "dimensions and "
             "then the columns of y, back through the model. The columns of the result are x0, x1, ... and "
             "y_back0, ..., which should equal y.",
    .options = options,
    .examples = examples,
    .run = decode,
};
