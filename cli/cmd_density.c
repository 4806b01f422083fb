/* jointflow density: log p(x | y) of each row, never without the error of y'. */
#include "map_rows.h"
#include <math.h>
#include <stdio.h>

static void print_summary(const mapped_rows *r, const char *mark) {
    const jf_model *m = r->model;
    const jf_density_summary *s = &r->summary;
    jf_image_form form = {.size = sizeof(jf_image_form)};
    if (*jf_model_then(m) && jf_model_image_form(&form, m) == JF_OK)
        printf("%sof images of %d x %d, before %s makes them larger\n", mark, form.h, form.w,
               jf_model_then(m));
    printf("%srows                          %d\n", mark, r->count);
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

static jf_status map(mapped_rows *r, const jf_use_options *use) {
    return jf_density(r->model, (size_t)r->count, r->in, r->y, r->out, &r->summary, use);
}

static const row_map rows_to_density = {
    .in = "x", .out = "log_p", .map = map, .print_summary = print_summary};

static int density(const call *c) {
    return map_rows(c, &rows_to_density);
}

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
    .options = map_rows_options,
    .examples = examples,
    .run = density,
};
