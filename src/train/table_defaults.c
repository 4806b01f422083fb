/* The defaults for tables, all in one place: a line per key and the sizes of tables it is for. Of several
 * lines that apply to a key the last one counts. To tune them, change the numbers or add lines; any key of a
 * recipe can be here. */
#include "train/phases.h"
#include "train/table_recipe.h"
#include <limits.h>

#define ANY LONG_MAX

typedef struct table_default {
    const char *key, *value;
    long rows_from, rows_to;   /* inclusive, held-out rows among them */
    long dim_x_from, dim_x_to; /* inclusive */
    long dim_y_from, dim_y_to;
} table_default;

/* clang-format off */
static const table_default defaults[] = {
    /* key                 value        rows             dim x     dim y */
    {"loss.objective",     "joint",     0,      ANY,     1, ANY,   1, ANY},
    {"loss.objective",     "plain",     0,      ANY,     1, ANY,   0, 0},
    {"data.validation",    "0.1",       0,      ANY,     1, ANY,   0, ANY},
    {"data.validation",    "0.05",      200000, ANY,     1, ANY,   0, ANY},

    {"model.condition",    "fixed",     0,      ANY,     1, ANY,   1, ANY},
    {"model.law",          "spline",    0,      ANY,     1, ANY,   0, ANY},
    {"model.blocks",       "2",         0,      ANY,     1, ANY,   0, ANY},
    {"model.blocks",       "3",         5000,   ANY,     3, 64,    0, ANY},
    {"model.transforms",   "coupling mixing", 0, ANY,    3, 64,    0, ANY},
    {"model.depth",        "2",         0,      ANY,     1, ANY,   0, ANY},
    {"model.width",        "32",        0,      1999,    1, ANY,   0, ANY},
    {"model.width",        "64",        2000,   ANY,     1, ANY,   0, ANY},
    {"model.width",        "128",       5000,   ANY,     1, ANY,   0, ANY},
    {"model.embed_size",   "32",        0,      ANY,     9, ANY,   1, ANY},

    {"train.precondition", "0",         0,      ANY,     1, ANY,   0, ANY},
    {"train.anneal",       "0",         0,      ANY,     1, ANY,   0, ANY},
    {"train.decay",        "cosine",    0,      ANY,     1, ANY,   0, ANY},
    {"train.clip",         "5",         0,      ANY,     1, ANY,   0, ANY},
    {"train.rate",         "1e-3",      0,      ANY,     1, ANY,   0, ANY},
    {"train.patience",     "20",        0,      ANY,     1, ANY,   0, ANY},
    {"train.average",      "0.99",      0,      1999,    1, ANY,   0, ANY},
    {"train.average",      "0.998",     2000,   ANY,     1, ANY,   0, ANY},
    {"train.weight_decay", "1",         0,      49999,   3, ANY,   0, ANY},
    {"train.weight_decay", "0.1",       50000,  ANY,     3, ANY,   0, ANY},
    {"train.epochs",       "200",       0,      9999,    1, ANY,   0, ANY},
    {"train.epochs",       "100",       10000,  99999,   1, ANY,   0, ANY},
    {"train.epochs",       "150",       10000,  99999,   1, 2,     0, ANY},
    {"train.epochs",       "60",        100000, 199999,  1, 2,     0, ANY},
    {"train.epochs",       "40",        100000, 199999,  3, 5,     0, ANY},
    {"train.epochs",       "15",        100000, 199999,  6, ANY,   0, ANY},
    {"train.epochs",       "50",        200000, 999999,  1, ANY,   0, ANY},
    {"train.epochs",       "20",        1000000,ANY,     1, ANY,   0, ANY},
    {"train.rows",         "1000000",   1000000,ANY,     1, ANY,   0, ANY},
    {"train.batch",        "16",        0,      999,     1, ANY,   0, ANY},
    {"train.batch",        "1",         0,      19,      1, ANY,   0, ANY},
    {"train.batch",        "100",       1000,   49999,   1, ANY,   0, ANY},
    {"train.batch",        "200",       50000,  999999,  1, ANY,   0, ANY},
    {"train.batch",        "1000",      1000000,ANY,     1, ANY,   0, ANY},
};
/* clang-format on */

static int within(long value, long from, long to) {
    return value >= from && value <= to;
}

static int applies(const table_default *d, const table_size *size) {
    return within(size->rows, d->rows_from, d->rows_to) && within(size->dim_x, d->dim_x_from, d->dim_x_to) &&
           within(size->dim_y, d->dim_y_from, d->dim_y_to);
}

jf_status table_defaults_apply(recipe *r, const table_size *size) {
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (applies(&defaults[i], size)) JF_TRY(recipe_suggest(r, defaults[i].key, defaults[i].value));
    return JF_OK;
}
