/* jointflow sample: x ~ p(x | y) as a table, a picture or a stack of images. */
#include "cascade_option.h"
#include "conditions.h"
#include "summaries.h"
#include "tables.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VECTOR_COUNT = 1000, IMAGE_COUNT = 25 }; /* samples of a condition where -n does not tell */

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
    size_t n = option_given(a, "count") ? option_whole(a, "count") : y->form.h ? IMAGE_COUNT : VECTOR_COUNT;
    size_t rows = n * y->count;
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

static int write_table(const call *c, const jf_model *m, const samples *s, const char *path) {
    columns parts[4] = {{.name = "x", .values = s->x, .count = s->dim_x, .named_by = m},
                        {.name = "y", .values = s->y, .count = s->dim_y, .named_by = m, .first = s->dim_x}};
    int count = 2;
    if (s->y_back)
        parts[count++] = (columns){.name = "y_back",
                                   .values = s->y_back,
                                   .count = s->dim_y,
                                   .named_by = m,
                                   .first = s->dim_x,
                                   .prefixed = 1};
    if (s->z) parts[count++] = (columns){.name = "z", .values = s->z, .count = s->dim_x};
    return tables_write(c, path, s->rows, parts, count);
}

/* ---- images ---- */

/* A row per condition: truth where one is known, input, samples. */
static int draw_beside_inputs(const call *c, const jf_images *images, const conditions *y, const char *path) {
    size_t known = 0, n = (size_t)images->count / y->count, size = (size_t)images->h * (size_t)images->w;
    for (size_t i = 0; i < y->count; i++) known |= y->images[i].truth.values != NULL;
    size_t width = known + 1 + n;
    jf_grid_cell *cells = calloc(y->count * width, sizeof *cells);
    const char **names = calloc(y->count, sizeof *names), **labels = calloc(width, sizeof *labels);
    int code = cells && names && labels ? CLI_OK : cli_fail_memory();
    for (size_t i = 0; code == CLI_OK && i < y->count; i++) {
        jf_grid_cell *row = cells + i * width;
        if (known) row[0] = y->images[i].truth;
        row[known] = y->images[i].input;
        for (size_t k = 0; k < n; k++)
            row[known + 1 + k] =
                (jf_grid_cell){.values = images->values + (i * n + k) * size * (size_t)images->channels,
                               .h = images->h,
                               .w = images->w,
                               .channels = images->channels};
        names[i] = y->images[i].name ? y->images[i].name : "";
    }
    for (size_t k = 0; code == CLI_OK && k < width; k++)
        labels[k] = k < known ? "truth" : k == known ? "input" : k == known + 1 ? "samples" : "";
    jf_grid grid = {.size = sizeof(jf_grid),
                    .rows = (int)y->count,
                    .columns = (int)width,
                    .cells = cells,
                    .row_labels = names,
                    .column_labels = labels,
                    .full_range = option_given(c->arguments, "full-range")};
    if (code == CLI_OK && jf_grid_draw(c->ctx, &grid, path) != JF_OK) code = cli_fail_library(c);
    free(cells);
    free(names);
    free(labels);
    return code;
}

/* As they were drawn, or made larger by other models. */
static int write_images(const call *c, const jf_model *m, const samples *s, const conditions *y,
                        const char *path) {
    int is_picture = cli_ends_with(path, ".png"), full_range = option_given(c->arguments, "full-range");
    jf_images images = {0};
    jf_cascade *cascade = NULL;
    int code = cascade_option_load(c, m, &cascade);
    if (code == CLI_OK && jf_restore(&images, m, s->rows, s->x, s->y) != JF_OK) code = cli_fail_library(c);
    if (code == CLI_OK) code = cascade_option_replace(c, cascade, 1, &images);
    jf_status status = JF_OK;
    if (code == CLI_OK && is_picture && y->images)
        code = draw_beside_inputs(c, &images, y, path);
    else if (code == CLI_OK && is_picture && cascade)
        status = jf_draw_images_of(m, &images, s->y, full_range, path);
    else if (code == CLI_OK && is_picture)
        status = jf_draw_image_samples(m, s->rows, s->x, s->y, full_range, path);
    else if (code == CLI_OK)
        status = jf_images_write(c->ctx, &images, 0, path);
    if (status != JF_OK) code = cli_fail_library(c);
    jf_images_free(&images);
    jf_cascade_free(cascade);
    return code;
}

/* Pictures and stacks hold images and nothing else. */
static int check_images(const call *c, const conditions *y, const char *path) {
    static const char *const only_tables[] = {"with-z", "with-y-back", "standardised"};
    int wants_images = y->form.h && path && (cli_ends_with(path, ".png") || cli_ends_with(path, ".npy"));
    for (int i = 0; wants_images && i < 3; i++)
        if (option_given(c->arguments, only_tables[i]))
            return cli_misuse(c->command, "--%s: \"%s\" will hold images, expected a table (.csv)",
                              only_tables[i], path);
    if (!wants_images && option_given(c->arguments, "then")) return cli_misuse(c->command, THEN_WANTS_IMAGES);
    if (!y->form.h && option_given(c->arguments, "full-range"))
        return cli_misuse(c->command, "--full-range is for models of images, and this one is of vectors");
    static const char *const only_vectors[] = {"corner", "summary"};
    for (int i = 0; y->form.h && i < 2; i++)
        if (option_given(c->arguments, only_vectors[i]))
            return cli_misuse(c->command, "--%s is for models of vectors, and this one is of images",
                              only_vectors[i]);
    return CLI_OK;
}

static int write_samples(const call *c, const jf_model *m, const samples *s, const conditions *y,
                         const char *path) {
    int is_picture = path && cli_ends_with(path, ".png");
    if (y->form.h && (is_picture || (path && cli_ends_with(path, ".npy"))))
        return write_images(c, m, s, y, path);
    if (!is_picture) return write_table(c, m, s, path);
    if (option_given(c->arguments, "corner"))
        return jf_draw_corner(m, s->rows, s->x, s->y, path) == JF_OK ? CLI_OK : cli_fail_library(c);
    return jf_draw_samples(m, s->rows, s->x, s->y, path) == JF_OK ? CLI_OK : cli_fail_library(c);
}

/* ---- the command ---- */

static int sample(const call *c) {
    const arguments *a = c->arguments;
    const char *path = option_text(a, "output");
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .seed = option_whole(a, "seed"),
                          .standardised = option_given(a, "standardised"),
                          .temperature = option_real(a, "temperature")};
    use.zero_temperature = use.temperature == 0;
    conditions_request request = {.option = "y",
                                  .shown = "-y",
                                  .standardised = use.standardised,
                                  .degrade = option_given(a, "degrade"),
                                  .all_classes = 1,
                                  .rows = option_text(a, "row")};
    jf_model *m = NULL;
    conditions y = {0};
    samples s = {0};
    int code = tables_check_output(c, path, ".csv .npy .png");
    if (code == CLI_OK) code = summary_check(c);
    if (code == CLI_OK && option_given(a, "corner") && !(path && cli_ends_with(path, ".png")))
        code = cli_misuse(c->command, "--corner is a picture, expected -o FILE.png");
    if (code == CLI_OK) code = cli_join_ranks(c);
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(a, 0));
    if (code == CLI_OK) code = conditions_read(c, m, &request, &y);
    if (code == CLI_OK) code = check_images(c, &y, path);
    if (code == CLI_OK) code = samples_create(c, m, &y, &s);
    if (code == CLI_OK && jf_sample(m, s.rows, s.y, s.x, s.y_back, s.z, &use) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK && option_given(a, "denoise") && jf_denoise(m, s.rows, s.x, s.y, s.x, &use) != JF_OK)
        code = cli_fail_library(c);
    int summary = option_given(a, "summary");
    if (code == CLI_OK && summary)
        code = summary_give(c, m, y.count, (size_t)s.rows / y.count, s.x, y.values);
    if (code == CLI_OK && (path || !summary)) code = write_samples(c, m, &s, &y, path);
    samples_free(&s);
    conditions_free(&y);
    jf_model_free(m);
    return code;
}

static const option options[] = {
    {"y", 'y', OPTION_LIST, "VALUES", NULL, 0, 0,
     "the conditions, by default all classes: 0,1 or FROM:TO:STEP or names of classes; vectors are separated "
     "by ';'; @FILE takes the rows of a table, or the images of a .png, .jpg or .npy file"},
    {"row", 0, OPTION_TEXT, "ROWS", NULL, 0, 0,
     "models that answer to images: these rows of the model's own held-out data, degraded; 3,8 or 0"},
    {"degrade", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "the images of -y are whole ones: degrade them first; needed where their size does not tell"},
    {"count", 'n', OPTION_WHOLE, "N", NULL, 1, 100000000,
     "samples for each condition (default 1000, of images 25)"},
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0,
     "a .csv, .npy or .png file; by default CSV to standard output"},
    {"corner", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "the picture is a corner plot: every column of x against every other, and each alone, a colour for each "
     "condition; bars below the histograms are the HPD intervals with 50% and 90%"},
    OPTIONS_SUMMARY,
    OPTION_TEMPERATURE,
    OPTION_DENOISE,
    OPTION_THEN,
    OPTION_FULL_RANGE,
    OPTION_STANDARDISED,
    {"with-y-back", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "add columns y_back: the y of the sample, which should equal the one asked for"},
    {"with-z", 0, OPTION_FLAG, NULL, NULL, 0, 0, "add columns z: the latent point of the sample"},
    OPTION_SEED,
    OPTION_RANKS,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"A model that came with the program, all of its classes", "jointflow sample crescents -o crescents.png"},
    {"A picture of both classes", "jointflow sample out/crescents -y 0,1 -o samples.png"},
    {"Every parameter against every other, for one measurement",
     "jointflow sample out/theta -y 0.4,1.3 -n 10000 --corner -o corner.png"},
    {"What can be said of each parameter, for each row of a file",
     "jointflow sample out/theta -y @observations.csv -n 10000 --summary summary.csv"},
    {"Ten answers for each of nine angles, as CSV", "jointflow sample out/sectors -y 0:6.28:0.785 -n 10"},
    {"Classes by name, a NumPy file", "jointflow sample out/mixed -y circle,grid -n 5000 -o samples.npy"},
    {"25 images of each of two classes",
     "jointflow sample out/fashion-class-small -y shirt,sneaker -n 25 -o grid.png"},
    {"The same without the noise that the model was trained with",
     "jointflow sample out/fashion-class-small -y shirt,sneaker --denoise -o clean.png"},
    {"Images of 7x7, made 28x28 by two models of super-resolution",
     "jointflow sample out/fashion-ten -y bag --then fashion -o bags.png"},
    {"What a degraded image may have been",
     "jointflow sample out/fashion-sr-14-28-small -y @boot-14x14.png -n 10 -o grid.png"},
    {0},
};

const command command_sample = {
    .name = "sample",
    .summary = "draw x ~ p(x | y) for given conditions y",
    .arguments = "MODEL",
    .about =
        "Draws samples of MODEL, a run folder, a model file or the name of one that came with the program, "
        "for each condition. The table has the "
        "columns x0, x1, ..., y0, ..., or the names of the table that the model was trained on; the rows of "
        "one "
        "condition follow each other. Of -y @FILE columns are found by those names, whatever their order. "
        "Conditions between "
        "and beyond those of the data are allowed. Models without a condition take no -y.\n"
        "Of image models a .png file shows the images and a .npy file holds them, (N, h, w) or (N, h, w, "
        "channels); a .csv file holds x and y as the model knows them. Where the condition is an image, "
        "each -y @FILE is one: the degraded image in its own size, or a whole one, which is then degraded "
        "first. Of models with a mask (data.mask) what is transparent in a .png file is missing, or the last "
        "channel "
        "of a .npy array tells it. The picture has a row for each: truth, if known, input, samples. A model "
        "of "
        "small images may name others that make what it draws larger (--then), one image of each; the "
        "temperature is that of the model itself, and a table holds what it has drawn.\n"
        "--summary has a row for each condition and column of x: mean, deviation, quantiles, mode, and the "
        "intervals of the smallest set that holds 50% and 90% of it (hpd50, hpd90: LO:HI, several where "
        "there are "
        "several modes). log_p_hpd90 is the threshold of the region in all columns together: an x belongs to "
        "it "
        "where jointflow density gives more. The mode is where the density of the model is highest on the "
        "way up "
        "from the likeliest sample; log_p_mode is its log p.\n"
        "A model that was trained with noise (train.noise) draws samples with that noise. With --denoise "
        "each is "
        "replaced by what is expected of it without, x + sigma^2 grad log p(x|y), which costs one backward "
        "pass. z and y_back stay those of the noisy sample.",
    .options = options,
    .examples = examples,
    .run = sample,
};
