/* Figure 6: super-resolution of a sneaker and of a sandal; of the first two classes where the data have
 * neither. */
#include "base/number.h"
#include "figure/figure.h"
#include <string.h>

enum { SHOWN = 2 };

static int find(const figure_examples *e, const char *name, int fallback) {
    for (int c = 0; c < e->images.count; c++)
        if (strcmp(e->name[c], name) == 0) return c;
    return fallback;
}

static jf_status make(const figure_job *job) {
    model *models[2];
    figure_examples examples = {0};
    text table = {0};
    jf_status status;
    JF_TRY_DONE(figure_superres_models(job, models));
    JF_TRY_DONE(figure_examples_create(models[1], &examples));
    int chosen[SHOWN] = {find(&examples, "sneaker", 0), find(&examples, "sandal", 1)};
    text_add(&table, "%s", figure_superres_columns);
    for (int i = 0; i < SHOWN && chosen[i] < examples.images.count; i++) {
        char name[32];
        number_print(name, sizeof name, "figure-6-%d.png", i + 1);
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

const figure_kind figure_6 = {"6", "super-resolution in two steps, two examples", make};
