/* jointflow decode: (z, y) -> (x, y*). */
#include "map_rows.h"

static jf_status map(mapped_rows *r, const jf_use_options *use) {
    return jf_decode(r->model, (size_t)r->count, r->in, r->y, r->out, r->y_out, use);
}

static const row_map rows_to_data = {.in = "z", .out = "x", .y_out = "y_back", .map = map};

static int decode(const call *c) {
    return map_rows(c, &rows_to_data);
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
