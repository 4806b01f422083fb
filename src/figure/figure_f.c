/* Figures F.1 to F.8: super-resolution of an example of each class that figure 6 leaves out. */
#include "base/number.h"
#include "figure/figure.h"

enum { CLASSES = 8 };
static const char *const names[CLASSES] = {"tshirt", "trouser", "pullover", "dress",
                                           "coat",   "shirt",   "bag",      "boot"};

static jf_status make(const figure_job *job) {
    int part = job->kind->part;
    model *models[2];
    figure_examples examples = {0};
    text table = {0};
    char picture[32], numbers[32];
    jf_status status;
    JF_TRY_DONE(figure_superres_models(job, models));
    JF_TRY_DONE(figure_examples_create(job, models[1], &examples));
    int chosen = figure_example_named(&examples, names[part]);
    if (chosen < 0) chosen = part; /* other data than the paper's */
    if ((size_t)chosen >= examples.images.count) {
        status =
            jf_fail(job->ctx, JF_ERROR_DATA, "figure %s: found %zu classes in the data, expected at least %d",
                    job->kind->name, examples.images.count, part + 1);
        goto done;
    }
    format_text(picture, sizeof picture, "figure-F%d.png", part + 1);
    format_text(numbers, sizeof numbers, "figure-F%d.csv", part + 1);
    text_add(&table, "%s", figure_superres_columns);
    JF_TRY_DONE(figure_superres(job, models, &examples, chosen, picture, &table));
    JF_TRY_DONE(figure_write(job, numbers, &table));
done:
    text_free(&table);
    jf_images_free(&examples.images);
    model_free(models[0]);
    model_free(models[1]);
    return status;
}

#define KIND(number, what)                                                                                   \
    const figure_kind figure_f##number = {"F." #number, "super-resolution in two steps: " what, make,        \
                                          number - 1}
KIND(1, "a t-shirt");
KIND(2, "trousers");
KIND(3, "a pullover");
KIND(4, "a dress");
KIND(5, "a coat");
KIND(6, "a shirt");
KIND(7, "a bag");
KIND(8, "an ankle boot");
