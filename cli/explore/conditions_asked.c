#include "conditions_asked.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 512 };

jf_status asked_image(ask *asked, jf_images *out) {
    ask image = {.object = json_object_get(asked->object, "image")}; /* borrowed */
    *out = (jf_images){0};
    if (!json_is_object(image.object)) {
        ask_refuse(asked, "image: expected an object with h, w, channels and values");
        return JF_OK;
    }
    int h = (int)ask_whole(&image, "h", 1, MOST_SIDE, 1), w = (int)ask_whole(&image, "w", 1, MOST_SIDE, 1);
    int channels = (int)ask_whole(&image, "channels", 1, 4, 1);
    size_t count = (size_t)h * (size_t)w * (size_t)channels;
    if (!image.refused && ask_length(&image, "values") != count)
        ask_refuse(&image, "values: found %zu numbers, expected %d x %d x %d", ask_length(&image, "values"),
                   h, w, channels);
    if (!image.refused) {
        *out = (jf_images){
            .values = answers_array(asked, count), .count = 1, .h = h, .w = w, .channels = channels};
        if (out->values) ask_numbers(&image, "values", out->values, count);
    }
    for (size_t i = 0; !image.refused && out->values && i < count; i++)
        if (out->values[i] < 0 || out->values[i] > 1)
            ask_refuse(&image, "values: item %zu is %g, expected 0 to 1", i, out->values[i]);
    if (image.refused) ask_refuse(asked, "image: %s", image.why);
    if (asked->refused) jf_images_free(out);
    return JF_OK;
}

static jf_status condition_of_image(const shown_model *s, ask *asked, double *y, jf_images *inputs) {
    jf_images given;
    jf_image_conditions made = {.size = sizeof(jf_image_conditions)};
    jf_status status = asked_image(asked, &given);
    if (asked->refused || status != JF_OK) return status;
    status =
        jf_image_conditions_create(&made, s->m, &given, ask_flag(asked, "degrade"), ask_seed(asked, "seed"));
    if (status == JF_OK) {
        memcpy(y, made.y, (size_t)s->dim_y * sizeof *y);
        if (inputs) {
            *inputs = made.inputs;
            made.inputs = (jf_images){0};
        }
        jf_image_conditions_free(&made);
    }
    jf_images_free(&given);
    return status;
}

jf_status asked_condition(const shown_model *s, ask *asked, const char *name, double **y, jf_images *inputs) {
    int is_label = s->class_column || (s->form.h > 0 && s->form.input_h == 0);
    jf_status status = JF_OK;
    if (inputs) *inputs = (jf_images){0};
    *y = answers_array(asked, (size_t)s->dim_y);
    if (!*y) return JF_OK;
    if (s->form.input_h > 0)
        status = condition_of_image(s, asked, *y, inputs);
    else
        ask_numbers(asked, name, *y, is_label && s->dim_y > 0 ? 1 : (size_t)s->dim_y);
    if (is_label && s->classes > 0 && !asked->refused) status = jf_model_y_of_label(s->m, (*y)[0], *y);
    if (status != JF_OK || asked->refused) {
        free(*y);
        *y = NULL;
    }
    return status;
}

double *repeat_condition(ask *asked, const shown_model *s, const double *y, int n) {
    size_t dim_y = (size_t)s->dim_y;
    double *rows = answers_array(asked, (size_t)n * dim_y);
    for (size_t i = 0; rows && i < (size_t)n; i++) memcpy(rows + i * dim_y, y, dim_y * sizeof *y);
    return rows;
}
