/* Samples x ~ p(x | y), as jointflow sample draws them with the same seed, and how far to trust these. */
#include "conditions_asked.h"
#include <stdlib.h>
#include <string.h>

enum {
    MOST_NUMBERS = 400000
}; /* of x in one answer: 20,000 points of 20 coordinates, 500 images of 28 x 28 */

typedef struct drawn {
    int n;
    double *y, *x, *y_back, *z;
    jf_cascade_options larger; /* how images are made larger */
} drawn;

static void drawn_free(drawn *d) {
    free(d->y);
    free(d->x);
    free(d->y_back);
    free(d->z);
}

static int drawn_create(const shown_model *s, ask *asked, const double *y, drawn *out) {
    long most = MOST_NUMBERS / shown_numbers(s), usual = s->form.h > 0 ? 25 : 2000;
    if (most < 1) most = 1;
    size_t n = (size_t)ask_whole(asked, "n", 1, most, usual < most ? usual : most);
    *out = (drawn){.n = (int)n};
    if (asked->refused) return 0;
    out->y = repeat_condition(asked, s, y, (int)n);
    out->x = answers_array(asked, n * (size_t)s->dim_x);
    out->z = answers_array(asked, n * (size_t)s->dim_x);
    out->y_back = answers_array(asked, n * (size_t)s->dim_y);
    return !asked->refused;
}

static jf_status draw(const shown_model *s, ask *asked, drawn *d) {
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .seed = ask_seed(asked, "seed"),
                          .temperature = ask_real(asked, "temperature", 0, 100, 1)};
    use.zero_temperature = use.temperature == 0;
    d->larger = (jf_cascade_options){.size = sizeof(jf_cascade_options),
                                     .seed = use.seed,
                                     .denoise = ask_flag(asked, "denoise"),
                                     .of_samples = 1};
    if (asked->refused) return JF_OK;
    jf_status status = jf_sample(s->m, d->n, d->y, d->x, d->y_back, d->z, &use);
    if (status == JF_OK && d->larger.denoise) status = jf_denoise(s->m, d->n, d->x, d->y, d->x, &use);
    return status;
}

static jf_status add_trust(const shown_model *s, const drawn *d, buffer *out) {
    double error = 0;
    char *words = NULL;
    jf_status status = jf_y_error(s->m, d->n, d->y, d->y_back, &error);
    if (status == JF_OK && s->dim_y > 0 && s->form.input_h == 0) status = jf_y_beyond(&words, s->m, d->y);
    buffer_add(out, ",\"y_error\":");
    buffer_add_number(out, s->dim_y > 0 ? error : 0);
    buffer_add(out, ",\"beyond\":");
    buffer_add_text(out, words ? words : "");
    jf_text_free(words);
    return status;
}

static jf_status add_samples(const shown_model *s, const drawn *d, const jf_images *inputs, buffer *out) {
    size_t count = (size_t)d->n * (size_t)s->dim_x;
    buffer_add(out, "{\"n\":%d", d->n);
    if (s->form.h == 0) {
        buffer_add(out, ",\"x\":");
        buffer_add_numbers(out, d->x, count);
        buffer_add(out, ",\"z\":");
        buffer_add_numbers(out, d->z, count);
        return JF_OK;
    }
    jf_images images;
    jf_status status = shown_images(s, (size_t)d->n, d->x, d->y, &d->larger, &images);
    if (status != JF_OK) return status;
    buffer_add(out, ",");
    answers_add_images(out, "images", &images);
    jf_images_free(&images);
    /* z as images, from -3 to 3 deviations: one value per element of x */
    jf_images latent = {
        .values = d->z, .count = d->n, .h = s->form.h, .w = s->form.w, .channels = s->form.x_channels};
    buffer_add(out, ",\"latent\":{\"count\":%zu,\"h\":%d,\"w\":%d,\"channels\":%d,\"bytes\":", latent.count,
               latent.h, latent.w, latent.channels);
    answers_add_bytes(out, d->z, count, -3, 3);
    buffer_add(out, "}");
    if (inputs->count > 0) {
        buffer_add(out, ",");
        answers_add_images(out, "input", inputs);
    }
    return JF_OK;
}

static jf_status give_sample(explorer *e, ask *asked, buffer *out) {
    shown_model *s = answers_model(e, asked);
    double *y = NULL;
    jf_images inputs = {0};
    drawn d = {0};
    if (asked->refused) return JF_OK;
    jf_status status = asked_condition(s, asked, "y", &y, &inputs);
    if (status == JF_OK && y && drawn_create(s, asked, y, &d)) {
        status = draw(s, asked, &d);
        if (status == JF_OK && !asked->refused) status = add_samples(s, &d, &inputs, out);
        if (status == JF_OK && !asked->refused) status = add_trust(s, &d, out);
        buffer_add(out, "}\n");
    }
    drawn_free(&d);
    jf_images_free(&inputs);
    free(y);
    return status;
}

const answer answer_sample = {"sample", give_sample};
