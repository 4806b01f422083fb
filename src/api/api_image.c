/* Public: images, and what a model's task makes of them. */
#include "api/api_image.h"
#include "inference/image_conditions.h"
#include <stdlib.h>

jf_status check_images(jf_context *ctx, const jf_images *images) {
    if (images->values || images->count == 0) return JF_OK;
    return jf_fail(ctx, JF_ERROR_ARGUMENT, "jf_images: values is NULL, expected %zu images", images->count);
}

/* ---- files ---- */

jf_status jf_images_read(jf_images *out, jf_context *ctx, const char *path) {
    JF_GIVES(ctx, out, ctx, path);
    image_array images;
    jf_status status = image_array_read(ctx, &images, path);
    *out = images_given(&images);
    return status;
}

jf_status jf_images_read_masked(jf_images *out, jf_context *ctx, const char *path) {
    JF_GIVES(ctx, out, ctx, path);
    image_array images;
    jf_status status = image_array_read_masked(ctx, &images, path);
    *out = images_given(&images);
    return status;
}

jf_status jf_images_write(jf_context *ctx, const jf_images *images, size_t columns, const char *path) {
    JF_NEEDS(ctx, ctx, images, path);
    JF_TRY(check_images(ctx, images));
    image_array taken = images_taken(images);
    return image_array_write(ctx, &taken, count_as_int(columns), path);
}

void jf_images_free(jf_images *images) {
    if (!images) return;
    free(images->values);
    *images = (jf_images){0};
}

/* ---- the task of a model ---- */

jf_status jf_model_image_form(jf_image_form *out, const jf_model *m) {
    JF_NEEDS(CONTEXT_OF(m), out, m);
    jf_image_form form = {.task = ""};
    task *t;
    JF_TRY(SIZED_BEGIN(m->ctx, jf_image_form, out));
    SIZED_GIVE(jf_image_form, out, &form);
    if (m->units.image.h == 0) return JF_OK;
    JF_TRY(model_task(m, &t));
    form = (jf_image_form){.task = t->kind->name,
                           .h = t->size.h,
                           .w = t->size.w,
                           .x_channels = t->size.x_channels,
                           .y_channels = t->size.y_channels,
                           .channels = t->image_channels,
                           .masked = t->masked,
                           .random = t->kind->random,
                           .data_h = t->h,
                           .data_w = t->w};
    if (t->kind->condition) {
        form.input_h = t->input_h;
        form.input_w = t->input_w;
        form.input_channels = t->input_channels;
    }
    task_free(t);
    SIZED_GIVE(jf_image_form, out, &form);
    return JF_OK;
}

jf_status jf_restore(jf_images *out, const jf_model *m, size_t n, const double *x, const double *y) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    task *t;
    image_array images = {0};
    JF_TRY(check_values(m, n, x, y));
    JF_TRY(model_task(m, &t));
    jf_status status = restore_images(t, (int)n, (row_view){x, (size_t)m->units.dim_x},
                                      (row_view){y, (size_t)m->units.dim_y}, &images);
    task_free(t);
    *out = images_given(&images);
    return status;
}

jf_status jf_image_answers(const jf_model *m, const jf_images *whole, const double *y, double *x) {
    JF_NEEDS(CONTEXT_OF(m), m, whole);
    JF_TRY(check_images(m->ctx, whole));
    if (whole->count) JF_NEEDS(m->ctx, x);
    image_array taken = images_taken(whole);
    JF_TRY(check_conditions(m, whole->count, y));
    return image_answers(m, &taken, y, x);
}

jf_status jf_degrade(jf_images *inputs, const jf_model *m, const jf_images *whole, uint64_t seed) {
    JF_GIVES(CONTEXT_OF(m), inputs, m, whole);
    JF_TRY(check_images(m->ctx, whole));
    task *t;
    image_array taken = images_taken(whole), made = {0};
    JF_TRY(model_task(m, &t));
    jf_status status = degrade_images(t, &taken, seed, &made);
    task_free(t);
    *inputs = images_given(&made);
    return status;
}

jf_status jf_data_image(jf_images *out, const jf_model *m, int64_t row, int of_training) {
    JF_GIVES(CONTEXT_OF(m), out, m);
    image_array image;
    jf_status status = data_image(m, (long)row, of_training, &image);
    *out = images_given(&image);
    return status;
}

/* ---- conditions ---- */

jf_status jf_image_conditions_create(jf_image_conditions *out, const jf_model *m, const jf_images *given,
                                     int degrade, uint64_t seed) {
    JF_NEEDS(CONTEXT_OF(m), out, m, given);
    JF_TRY(check_images(m->ctx, given));
    image_array taken = images_taken(given);
    image_conditions made;
    JF_TRY(SIZED_BEGIN(m->ctx, jf_image_conditions, out));
    jf_status status = image_conditions_create(m, &made, &taken, degrade, seed);
    SIZED_GIVE(jf_image_conditions, out,
               (&(jf_image_conditions){
                   .y = made.y, .inputs = images_given(&made.inputs), .whole = images_given(&made.whole)}));
    return status;
}

void jf_image_conditions_free(jf_image_conditions *c) {
    if (!c) return;
    free(c->y);
    c->y = NULL;
    jf_images_free(&c->inputs);
    jf_images_free(&c->whole);
}
