/* What figures of image models share. */
#include "base/file.h"
#include "figure/figure.h"
#include "io/shipped.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATENT_POINTS 10000
#define EACH          10 /* images of each step for each of the one before it */

const figure_subject figure_fashion_class = {
    .recipe = "fashion-class-small", .shipped = "fashion-class", .task = "class"};
const figure_subject figure_mnist_class = {
    .recipe = "mnist-class-small", .shipped = "mnist-class", .task = "class"};

/* ---- super-resolution ---- */

const char figure_superres_columns[] = "example,coarse_psnr,psnr,y_error\n";

jf_status figure_superres_models(const figure_job *job, model *out[2]) {
    static const figure_subject subjects[2] = {
        {.recipe = "fashion-sr-7-14-small", .shipped = "fashion/7-14", .task = "superres"},
        {.recipe = "fashion-sr-14-28-small", .shipped = "fashion/14-28", .task = "superres"}};
    out[0] = out[1] = NULL;
    jf_status status = figure_model(job, 0, &subjects[0], &out[0]);
    if (status == JF_OK) status = figure_model(job, 1, &subjects[1], &out[1]);
    if (status == JF_OK && out[0]->units.image.h > out[1]->units.image.h) {
        model *fine = out[0]; /* given in the other order */
        out[0] = out[1];
        out[1] = fine;
    }
    return status;
}

static jf_status choose_examples(jf_context *ctx, const image_set *set, figure_examples *out) {
    int count = set->labels ? set->classes : 1;
    size_t size = image_set_dim(set);
    *out = (figure_examples){.images = {.count = count, .h = set->h, .w = set->w, .channels = set->channels}};
    JF_TRY(mem_alloc(ctx, &out->images.values, (size_t)count, size * sizeof(double)));
    for (int c = 0; c < count; c++) {
        long row = set->validation_rows ? set->rows : 0, end = set->rows + set->validation_rows;
        while (set->labels && row < end && set->labels[row] != c) row++;
        if (row == end)
            return jf_fail(ctx, JF_ERROR_DATA, "no image of the class \"%s\" to show", set->class_name[c]);
        image_set_at(set, row, out->images.values + (size_t)c * size);
        if (set->labels) memcpy(out->name[c], set->class_name[c], MAX_CLASS_NAME);
    }
    return JF_OK;
}

static jf_status examples_of_data(const model *fine, figure_examples *out) {
    image_set set;
    JF_TRY(image_set_load(fine->ctx, &set, fine->recipe));
    jf_status status = choose_examples(fine->ctx, &set, out);
    image_set_free(&set);
    return status;
}

/* The folder of examples of a model's data, yours to free; NULL: none came along. */
static jf_status find_examples(const figure_job *job, const model *fine, char **out) {
    const char *images = recipe_get(fine->recipe, "data.images"),
               *slash = images ? strrchr(images, '/') : NULL;
    char name[160];
    *out = NULL;
    if (!images) return JF_OK;
    snprintf(name, sizeof name, "examples/%s", slash ? slash + 1 : images);
    if (!job->options->model_folder) return shipped_find_folder(job->ctx, out, &shipped_models, name);
    JF_TRY(file_join(job->ctx, out, job->options->model_folder, name));
    if (!file_is_folder(*out)) {
        free(*out);
        *out = NULL;
    }
    return JF_OK;
}

/* One file: CLASS.png. */
static jf_status take_example(jf_context *ctx, const char *path, figure_examples *out) {
    jf_images one, *all = &out->images;
    JF_TRY(jf_images_read(&one, ctx, path));
    size_t size = (size_t)one.h * (size_t)one.w * (size_t)one.channels;
    int fits = all->count == 0 || (one.h == all->h && one.w == all->w && one.channels == all->channels);
    jf_status status = fits ? JF_OK
                            : jf_fail(ctx, JF_ERROR_SHAPE, "%s: %d x %d, expected %d x %d as the others",
                                      path, one.h, one.w, all->h, all->w);
    if (status == JF_OK && !all->values)
        status = mem_alloc(ctx, &all->values, MAX_CLASSES, size * sizeof(double));
    if (status == JF_OK) {
        const char *name = strrchr(path, '/') + 1;
        memcpy(all->values + (size_t)all->count * size, one.values, size * sizeof(double));
        snprintf(out->name[all->count], MAX_CLASS_NAME, "%.*s", (int)strcspn(name, "."), name);
        *all = (jf_images){all->values, all->count + 1, one.h, one.w, one.channels};
    }
    jf_images_free(&one);
    return status;
}

static jf_status examples_of_folder(jf_context *ctx, const char *folder, figure_examples *out) {
    static const shipped_kind pictures = {.ending = ".png"};
    jf_status status = JF_OK;
    for (int i = 0; status == JF_OK && i < MAX_CLASSES; i++) {
        char *path = NULL;
        status = shipped_file_at(ctx, &path, &pictures, folder, i);
        if (!path) break;
        status = take_example(ctx, path, out);
        free(path);
    }
    return status;
}

jf_status figure_examples_create(const figure_job *job, const model *fine, figure_examples *out) {
    const image_size *size = &fine->units.image;
    char *folder = NULL;
    *out = (figure_examples){0};
    JF_TRY(find_examples(job, fine, &folder));
    jf_status status = folder ? examples_of_folder(job->ctx, folder, out) : examples_of_data(fine, out);
    free(folder);
    if (status == JF_OK && (out->images.h != size->h || out->images.w != size->w))
        status =
            jf_fail(fine->ctx, JF_ERROR_SHAPE,
                    "images of the data are %d x %d, but the finer model makes %d x %d: expected the same",
                    out->images.h, out->images.w, size->h, size->w);
    if (status != JF_OK) jf_images_free(&out->images);
    return status;
}

int figure_example_named(const figure_examples *e, const char *name) {
    for (int c = 0; (size_t)c < e->images.count; c++)
        if (strcmp(e->name[c], name) == 0) return c;
    return -1;
}

jf_status figure_superres(const figure_job *job, model *const models[2], const figure_examples *examples,
                          int index, const char *name, text *table) {
    const jf_images *all = &examples->images;
    jf_images one = *all;
    jf_cascade *steps = NULL;
    jf_cascade_result result = {.size = sizeof(jf_cascade_result)};
    char *path = NULL;
    jf_status status;
    one.count = 1;
    one.values += (size_t)index * (size_t)all->h * (size_t)all->w * (size_t)all->channels;
    JF_TRY_DONE(jf_cascade_create(&steps, (const jf_model *const *)models, 2));
    JF_TRY_DONE(jf_cascade_enlarge(
        &result, steps, &one,
        &(jf_cascade_options){.size = sizeof(jf_cascade_options), .counts = {EACH, EACH}, .seed = 1}));
    JF_TRY_DONE(figure_path(job, &path, name));
    JF_TRY_DONE(
        jf_cascade_write(steps, &result, examples->name[index][0] ? examples->name[index] : NULL, 0, path));
    text_add(table, "%s,%.2f,%.2f,%.3g\n", examples->name[index], result.psnr[0], result.psnr[1],
             result.y_error);
done:
    free(path);
    jf_cascade_result_free(&result);
    jf_cascade_free(steps);
    return status;
}

/* ---- images of a class ---- */

jf_status figure_cascade(const figure_job *job, const model *m, jf_cascade **out) {
    return jf_cascade_load(out, m->ctx, NULL, m,
                           &(jf_load_options){.size = sizeof(jf_load_options),
                                              .device = job->options->device,
                                              .threads = job->options->threads});
}

jf_status figure_images(const model *m, const jf_cascade *cascade, size_t n, const double *x, const double *y,
                        size_t together, jf_images *out) {
    jf_images own;
    jf_cascade_result made = {.size = sizeof(jf_cascade_result)};
    *out = (jf_images){0};
    JF_TRY(jf_restore(&own, m, n, x, y));
    if (!cascade) {
        *out = own;
        return JF_OK;
    }
    jf_status status = jf_cascade_enlarge(
        &made, cascade, &own,
        &(jf_cascade_options){
            .size = sizeof(jf_cascade_options), .seed = 1, .of_samples = 1, .together = together});
    jf_images_free(&own);
    if (status == JF_OK) {
        *out = made.made[made.steps - 1];
        made.made[made.steps - 1] = (jf_images){0};
    }
    jf_cascade_result_free(&made);
    return status;
}

/* ---- latent histograms ---- */

const char figure_latent_columns[] =
    "model,points,ks_median,ks_p95,ks_max,chance_median,chance_max,envelope,chance_envelope\n";

jf_status figure_latent(const figure_job *job, const model *m, panel *p, const char *title, text *table) {
    judgement *j = NULL;
    (void)job;
    JF_TRY(judge_latent(m, &j, LATENT_POINTS, 1));
    jf_status status = paint_latent(p, m, j, title);
    const latent_fit *fit = &j->latent;
    text_add(table, "%s,%ld,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n", recipe_short_name(m->recipe), fit->points,
             fit->median, fit->p95, fit->max, fit->chance_median, fit->chance_max, fit->envelope,
             fit->chance_envelope);
    judge_free(j);
    return status;
}
