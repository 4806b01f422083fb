/* What figures of image models share. */
#include "base/file.h"
#include "figure/figure.h"
#include <stdlib.h>
#include <string.h>

#define LATENT_POINTS 10000

/* ---- super-resolution ---- */

const char figure_superres_columns[] = "example,coarse_psnr,psnr,y_error\n";

jf_status figure_superres_models(const figure_job *job, model *out[2]) {
    static const figure_subject subjects[2] = {{.recipe = "fashion-sr-7-14-small", .task = "superres"},
                                               {.recipe = "fashion-sr-14-28-small", .task = "superres"}};
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
        long row = set->held ? set->rows : 0, end = set->rows + set->held;
        while (set->labels && row < end && set->labels[row] != c) row++;
        if (row == end)
            return jf_fail(ctx, JF_ERROR_DATA, "no image of the class \"%s\" to show", set->class_name[c]);
        image_set_at(set, row, out->images.values + (size_t)c * size);
        if (set->labels) memcpy(out->name[c], set->class_name[c], MAX_CLASS_NAME);
    }
    return JF_OK;
}

jf_status figure_examples_create(const model *fine, figure_examples *out) {
    image_set set;
    *out = (figure_examples){0};
    JF_TRY(image_set_load(fine->ctx, &set, fine->recipe));
    jf_status status;
    if (set.h != fine->units.image.h || set.w != fine->units.image.w)
        status =
            jf_fail(fine->ctx, JF_ERROR_SHAPE,
                    "images of the data are %d x %d, but the finer model makes %d x %d: expected the same",
                    set.h, set.w, fine->units.image.h, fine->units.image.w);
    else
        status = choose_examples(fine->ctx, &set, out);
    if (status != JF_OK) jf_images_free(&out->images);
    image_set_free(&set);
    return status;
}

jf_status figure_superres(const figure_job *job, model *const models[2], const figure_examples *examples,
                          int index, const char *name, text *table) {
    const jf_images *all = &examples->images;
    jf_images one = *all;
    jf_superres_result result = {0};
    char *path = NULL;
    jf_status status;
    one.count = 1;
    one.values += (size_t)index * (size_t)all->h * (size_t)all->w * (size_t)all->channels;
    JF_TRY_DONE(jf_superres(models[0], models[1], &one, &(jf_superres_options){.seed = 1}, &result));
    JF_TRY_DONE(figure_path(job, &path, name));
    JF_TRY_DONE(jf_superres_write(job->ctx, &result, examples->name[index][0] ? examples->name[index] : NULL,
                                  0, path));
    text_add(table, "%s,%.2f,%.2f,%.3g\n", examples->name[index], result.coarse_psnr, result.psnr,
             result.y_error);
done:
    free(path);
    jf_superres_result_free(&result);
    return status;
}

/* ---- latent histograms ---- */

const char figure_latent_columns[] = "model,points,ks_median,ks_p95,ks_max,chance_median,chance_max\n";

jf_status figure_latent(const figure_job *job, const model *m, const char *name, text *table) {
    judgement *j = NULL;
    char *path = NULL;
    jf_status status;
    JF_TRY_DONE(judge_run(m, &j, LATENT_POINTS, 1));
    JF_TRY_DONE(figure_path(job, &path, name));
    JF_TRY_DONE(picture_latent(m, j, path));
    const latent_fit *fit = &j->latent;
    text_add(table, "%s,%ld,%.4f,%.4f,%.4f,%.4f,%.4f\n", recipe_short_name(m->recipe), fit->points,
             fit->median, fit->p95, fit->max, fit->chance_median, fit->chance_max);
done:
    free(path);
    judge_free(j);
    return status;
}
