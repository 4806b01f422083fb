/* Figures F.1 to F.8: super-resolution of one example of each class. */
#include "base/number.h"
#include "figure/figure.h"

static jf_status make(const figure_job *job) {
    model *models[2];
    figure_examples examples = {0};
    text table = {0};
    jf_status status;
    JF_TRY_DONE(figure_superres_models(job, models));
    JF_TRY_DONE(figure_examples_create(models[1], &examples));
    text_add(&table, "%s", figure_superres_columns);
    for (int i = 0; i < examples.images.count; i++) {
        char name[32];
        number_print(name, sizeof name, "figure-F-%d.png", i + 1);
        JF_TRY_DONE(figure_superres(job, models, &examples, i, name, &table));
    }
    JF_TRY_DONE(figure_write(job, "figure-F.csv", &table));
done:
    text_free(&table);
    jf_images_free(&examples.images);
    model_free(models[0]);
    model_free(models[1]);
    return status;
}

const figure_kind figure_f = {"F", "super-resolution in two steps, one example of each class", make};
