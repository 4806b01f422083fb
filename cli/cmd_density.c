/* jointflow density: log p(x | y) of each row, never without the error of y'. */
#include "tables.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `mark`: what the lines begin with, "# " where a table follows them. */
static void print_summary(const jf_model *m, const jf_density_summary *s, int rows, const char *mark) {
    jf_image_form form = {.size = sizeof(jf_image_form)};
    if (*jf_model_then(m) && jf_model_image_form(&form, m) == JF_OK)
        printf("%sof images of %d x %d, before %s makes them larger\n", mark, form.h, form.w,
               jf_model_then(m));
    printf("%srows                          %d\n", mark, rows);
    if (s->outside)
        printf("%s  x outside of its bounds     %lld (log p = -inf; left out of all that follows)\n", mark,
               (long long)s->outside);
    printf("%smean log p(x|y), nats         %.6g (%s)\n", mark, s->mean,
           s->exact ? "exact, from the Jacobian" : "the whole map's log-determinant stands in");
    if (!isnan(s->sampler_mean)) printf("%s  of the sampler's density    %.6g\n", mark, s->sampler_mean);
    if (s->lost) printf("%s    rows it leaves out        %ld\n", mark, s->lost);
    if (!isnan(s->whole_mean)) printf("%s  by the whole map            %.6g\n", mark, s->whole_mean);
    if (s->y_error == 0) return; /* y is not in the flow */
    printf("%smean |y' - y|, model's units  %.6g\n", mark, s->y_error);
    if (!isnan(s->log_dy)) printf("%smean log |det dy'/dy|         %.6g\n", mark, s->log_dy);
}

static int density_rows(const call *c, const jf_model *m, const pairs *data, const char *path) {
    double *log_p = calloc((size_t)data->rows, sizeof *log_p);
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .standardised = option_given(c->arguments, "standardised")};
    jf_density_summary summary = {.size = sizeof(jf_density_summary)};
    columns parts[] = {{.name = "log_p", .values = log_p, .count = 1, .unnumbered = 1}};
    int code = CLI_OK, to_file = path && strcmp(path, "-") != 0;
    if (!log_p)
        code = cli_fail_memory();
    else if (jf_density(m, data->rows, data->first, data->second, log_p, &summary, &use) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK && !to_file) print_summary(m, &summary, data->rows, "# ");
    if (code == CLI_OK) code = tables_write(c, path, data->rows, parts, 1);
    if (code == CLI_OK && to_file) print_summary(m, &summary, data->rows, "");
    free(log_p);
    return code;
}

static int density(const call *c) {
    return pairs_answer(c, "x", density_rows);
}

static const option options[] = {OPTION_OUTPUT_TABLE,
                                 OPTION_GIVEN_Y,
                                 OPTION_STANDARDISED,
                                 OPTION_RANKS,
                                 OPTION_THREADS,
                                 OPTION_DEVICE,
                                 {0}};

static const example examples[] = {
    {"How likely the points of a table are", "jointflow density out/crescents points.csv"},
    {"How likely an image is, given what half of its pixels show",
     "jointflow density out/fashion-sr-14-28-small boot.png"},
    {"The rows into a file, the means on the terminal",
     "jointflow density out/crescents points.csv -o log_p.npy"},
    {0},
};

const command command_density = {
    .name = "density",
    .summary = "log p(x | y) of each row of a table",
    .arguments = "MODEL DATA",
    .about =
        "Computes log p(x | y) in nats of each row of DATA, a .csv, .tsv, .txt or .npy file with the columns "
        "of x "
        "and then those of y, and their mean; columns are found by name where the model knows them, whatever "
        "their order. With -y, a table DATA holds x alone and FILE the conditions. Of image models DATA may "
        "be "
        "images, a .png, .jpg or .npy file: with "
        "-y their class or their degraded image, which otherwise the model's task makes of them; they are "
        "taken as they are, without the noise of training. Of a model of halved images of a class "
        "(data.down) "
        "it is the "
        "density of the small image, whatever makes those larger; images of the data's size are halved "
        "first. "
        "Of joint models the mean of |y' - y| stands beside it: a density "
        "is to "
        "be trusted as far as that is small. Where x is outside of its bounds log p is -inf; the means leave "
        "such rows out. A row whose density is not a finite number otherwise is refused by its "
        "number. Without -o the means come first, in lines that begin with #.",
    .options = options,
    .examples = examples,
    .run = density,
};
