/* Figure 6: super-resolution of a sneaker and of a sandal; of the first two classes where the data have
 * neither. */
#include "base/number.h"
#include "figure/figure.h"

enum { SHOWN = 2 };

static jf_status make(const figure_job *job) {
    model *models[2];
    figure_examples examples = {0};
    text table = {0};
    jf_status status;
    JF_TRY_DONE(figure_superres_models(job, models));
    JF_TRY_DONE(figure_examples_create(job, models[1], &examples));
    int chosen[SHOWN] = {figure_example_named(&examples, "sneaker"),
                         figure_example_named(&examples, "sandal")};
    for (int i = 0; i < SHOWN; i++)
        if (chosen[i] < 0) chosen[i] = i; /* other data than the paper's */
    text_add(&table, "%s", figure_superres_columns);
    for (int i = 0; i < SHOWN && (size_t)chosen[i] < examples.images.count; i++) {
        char name[32];
        format_text(name, sizeof name, "figure-6-%d.png", i + 1);
        JF_TRY_DONE(figure_superres(job, models, &examples, chosen[i], name, &table));
    }
    JF_TRY_DONE(figure_write(job, "figure-6.csv", &table));
done:
    text_free(&table);
    jf_images_free(&examples.images);
    model_free(models[0]);
    model_free(models[1]);
    return status;
}

const figure_kind figure_6 = {
    .name = "6", .summary = "super-resolution in two steps, two examples", .make = make};
