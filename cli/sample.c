/* jointflow sample: x ~ p(x | y) as a table or a picture. */
#include "conditions.h"
#include "tables.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Drawn samples; a row each. */
typedef struct samples {
    int rows, dim_x, dim_y;
    double *y, *x, *y_back, *z; /* the last two may be NULL */
} samples;

static void samples_free(samples *s) {
    free(s->y);
    free(s->x);
    free(s->y_back);
    free(s->z);
}

/* n rows for each condition, one condition after another. */
static int samples_create(const call *c, const jf_model *m, const conditions *y, samples *out) {
    const arguments *a = c->arguments;
    size_t n = option_whole(a, "count"), rows = n * y->count;
    size_t dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m);
    if (rows > INT_MAX) /* n and count are far below 2^32 */
        return cli_misuse(c->command, "%zu conditions and %zu samples of each, expected at most %d in all",
                          y->count, n, INT_MAX);
    *out = (samples){.rows = (int)rows, .dim_x = (int)dim_x, .dim_y = (int)dim_y};
    out->x = calloc(rows * dim_x + 1, sizeof(double));
    out->y = calloc(rows * dim_y + 1, sizeof(double));
    if (option_given(a, "with-y-back")) out->y_back = calloc(rows * dim_y + 1, sizeof(double));
    if (option_given(a, "with-z")) out->z = calloc(rows * dim_x + 1, sizeof(double));
    if (!out->x || !out->y || (option_given(a, "with-y-back") && !out->y_back) ||
        (option_given(a, "with-z") && !out->z))
        return cli_fail_memory();
    for (size_t row = 0; dim_y && row < rows; row++)
        memcpy(out->y + row * dim_y, y->values + row / n * dim_y, dim_y * sizeof(double));
    return CLI_OK;
}

static int write_samples(const call *c, const jf_model *m, const samples *s, const char *path) {
    if (path && cli_ends_with(path, ".png"))
        return jf_draw_samples(m, s->rows, s->x, s->y, path) == JF_OK ? CLI_OK : cli_fail_library(c);
    columns parts[4] = {{.name = "x", .values = s->x, .count = s->dim_x},
                        {.name = "y", .values = s->y, .count = s->dim_y}};
    int count = 2;
    if (s->y_back) parts[count++] = (columns){.name = "y_back", .values = s->y_back, .count = s->dim_y};
    if (s->z) parts[count++] = (columns){.name = "z", .values = s->z, .count = s->dim_x};
    return tables_write(c, path, s->rows, parts, count);
}

static int sample(const call *c) {
    const arguments *a = c->arguments;
    const char *path = option_text(a, "output");
    jf_use_options use = {.seed = option_whole(a, "seed"), .standardised = option_given(a, "standardised")};
    jf_model *m = NULL;
    conditions y = {0};
    samples s = {0};
    int code = tables_check_output(c, path, ".csv .npy .png");
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(a, 0));
    if (code == CLI_OK) code = conditions_read(c, m, &y);
    if (code == CLI_OK) code = samples_create(c, m, &y, &s);
    if (code == CLI_OK && jf_sample(m, s.rows, s.y, s.x, s.y_back, s.z, &use) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) code = write_samples(c, m, &s, path);
    samples_free(&s);
    conditions_free(&y);
    jf_model_free(m);
    return code;
}

static const option options[] = {
    {"y", 'y', OPTION_LIST, "VALUES", NULL, 0, 0,
     "the conditions: 0,1 or FROM:TO:STEP or names of classes; vectors are separated by ';'; @FILE takes "
     "the rows of a table"},
    {"count", 'n', OPTION_WHOLE, "N", "1000", 1, 100000000, "samples for each condition"},
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0,
     "a .csv, .npy or .png file; by default CSV to standard output"},
    OPTION_STANDARDISED,
    {"with-y-back", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "add columns y_back: the y of the sample, which should equal the one asked for"},
    {"with-z", 0, OPTION_FLAG, NULL, NULL, 0, 0, "add columns z: the latent point of the sample"},
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"A picture of both classes", "jointflow sample out/crescents -y 0,1 -o samples.png"},
    {"Ten answers for each of nine angles, as CSV", "jointflow sample out/sectors -y 0:6.28:0.785 -n 10"},
    {"Classes by name, a NumPy file", "jointflow sample out/mixed -y circle,grid -n 5000 -o samples.npy"},
    {0},
};

const command command_sample = {
    .name = "sample",
    .summary = "draw x ~ p(x | y) for given conditions y",
    .arguments = "MODEL",
    .about = "Draws samples of MODEL, a run folder or a model file, for each condition. The table has the "
             "columns x0, x1, ..., y0, ...; the rows of one condition follow each other. Conditions between "
             "and beyond those of the data are allowed. Models without a condition take no -y.",
    .options = options,
    .examples = examples,
    .run = sample,
};
