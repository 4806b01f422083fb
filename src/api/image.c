/* Public: images, and what a model's task makes of them. */
#include "api/image.h"
#include "answer/conditions.h"
#include <stdlib.h>

image_array images_taken(const jf_images *images) {
    return (image_array){.values = images->values,
                         .count = images->count,
                         .h = images->h,
                         .w = images->w,
                         .channels = images->channels};
}

jf_images images_given(const image_array *images) {
    return (jf_images){.values = images->values,
                       .count = images->count,
                       .h = images->h,
                       .w = images->w,
                       .channels = images->channels};
}

/* ---- files ---- */

jf_status jf_images_read(jf_context *ctx, jf_images *out, const char *path) {
    image_array images;
    jf_status status = image_array_read(ctx, &images, path);
    *out = images_given(&images);
    return status;
}

jf_status jf_images_read_masked(jf_context *ctx, jf_images *out, const char *path) {
    image_array images;
    jf_status status = image_array_read_masked(ctx, &images, path);
    *out = images_given(&images);
    return status;
}

jf_status jf_images_write(jf_context *ctx, const jf_images *images, int columns, const char *path) {
    image_array taken = images_taken(images);
    return image_array_write(ctx, &taken, columns, path);
}

void jf_images_free(jf_images *images) {
    free(images->values);
    *images = (jf_images){0};
}

/* ---- the task of a model ---- */

jf_status jf_model_image_form(const jf_model *m, jf_image_form *out) {
    task *t;
    *out = (jf_image_form){.task = ""};
    if (m->units.image.h == 0) return JF_OK;
    JF_TRY(model_task(m, &t));
    *out = (jf_image_form){.task = t->kind->name,
                           .h = t->size.h,
                           .w = t->size.w,
                           .x_channels = t->size.x_channels,
                           .y_channels = t->size.y_channels,
                           .channels = t->image_channels,
                           .masked = t->masked,
                           .random = t->kind->random};
    if (t->kind->condition) {
        out->input_h = t->input_h;
        out->input_w = t->input_w;
        out->input_channels = t->input_channels;
    }
    task_free(t);
    return JF_OK;
}

jf_status jf_restore(const jf_model *m, jf_images *out, int n, const double *x, const double *y) {
    task *t;
    image_array images = {0};
    *out = (jf_images){0};
    JF_TRY(check_values(m, n, x, y));
    JF_TRY(model_task(m, &t));
    jf_status status = restore_images(t, n, (row_view){x, (size_t)m->units.dim_x},
                                      (row_view){y, (size_t)m->units.dim_y}, &images);
    task_free(t);
    *out = images_given(&images);
    return status;
}

jf_status jf_image_answers(const jf_model *m, const jf_images *whole, const double *y, double *x) {
    image_array taken = images_taken(whole);
    JF_TRY(check_conditions(m, whole->count, y));
    return image_answers(m, &taken, y, x);
}

jf_status jf_degrade(const jf_model *m, jf_images *inputs, const jf_images *whole, uint64_t seed) {
    task *t;
    image_array taken = images_taken(whole), made = {0};
    *inputs = (jf_images){0};
    JF_TRY(model_task(m, &t));
    jf_status status = degrade_images(t, &taken, seed, &made);
    task_free(t);
    *inputs = images_given(&made);
    return status;
}

jf_status jf_data_image(const jf_model *m, jf_images *out, long row, int of_training) {
    image_array image;
    jf_status status = data_image(m, row, of_training, &image);
    *out = images_given(&image);
    return status;
}

/* ---- conditions ---- */

jf_status jf_image_conditions_create(const jf_model *m, jf_image_conditions *out, const jf_images *given,
                                     int degrade, uint64_t seed) {
    image_array taken = images_taken(given);
    image_conditions made;
    jf_status status = image_conditions_create(m, &made, &taken, degrade, seed);
    *out = (jf_image_conditions){
        .y = made.y, .inputs = images_given(&made.inputs), .whole = images_given(&made.whole)};
    return status;
}

void jf_image_conditions_free(jf_image_conditions *c) {
    free(c->y);
    jf_images_free(&c->inputs);
    jf_images_free(&c->whole);
    *c = (jf_image_conditions){0};
}
