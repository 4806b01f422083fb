/* Super-resolution by all steps of a cascade, and images of a model's own data to try it with. */
#include "conditions_asked.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IMAGES = 100 };

/* Mean and deviation of each pixel over the images, two images. */
static int mean_and_spread(const jf_images *of, jf_images *out) {
    size_t size = (size_t)of->h * (size_t)of->w * (size_t)of->channels;
    *out = (jf_images){.values = calloc(2 * size, sizeof *out->values),
                       .count = 2,
                       .h = of->h,
                       .w = of->w,
                       .channels = of->channels};
    if (!out->values) return 0;
    for (size_t i = 0; i < size; i++) {
        double sum = 0, squares = 0;
        for (size_t k = 0; k < (size_t)of->count; k++) sum += of->values[k * size + i] / of->count;
        for (size_t k = 0; k < (size_t)of->count; k++)
            squares += pow(of->values[k * size + i] - sum, 2) / of->count;
        out->values[i] = sum;
        out->values[size + i] = sqrt(squares);
    }
    return 1;
}

static void add_steps(const jf_cascade_result *r, buffer *out) {
    jf_images both;
    buffer_add(out, "{");
    answers_add_images(out, "input", &r->input);
    buffer_add(out, ",");
    answers_add_images(out, "truth", &r->truth);
    buffer_add(out, ",\"steps\":[");
    for (size_t i = 0; i < r->steps; i++) {
        buffer_add(out, "%s{\"psnr\":", i ? "," : "");
        buffer_add_number(out, r->psnr[i]);
        buffer_add(out, ",");
        answers_add_images(out, "images", &r->made[i]);
        buffer_add(out, "}");
    }
    buffer_add(out, "],");
    if (mean_and_spread(&r->made[r->steps - 1], &both))
        answers_add_images(out, "mean_and_spread", &both);
    else
        out->failed = 1;
    jf_images_free(&both);
    buffer_add(out, ",\"y_error\":");
    buffer_add_number(out, r->y_error);
    buffer_add(out, "}\n");
}

static jf_status give_superres(explorer *e, ask *asked, buffer *out) {
    int steps[JF_CASCADE_MOST], count = explorer_cascade(e, steps);
    const jf_model *models[JF_CASCADE_MOST];
    jf_cascade_options options = {.size = sizeof(jf_cascade_options),
                                  .seed = ask_seed(asked, "seed"),
                                  .denoise = ask_flag(asked, "denoise")};
    double counts[JF_CASCADE_MOST], all = 1;
    jf_images given = {0};
    if (count == 0) ask_refuse(asked, "the models here are no cascade of super-resolution");
    ask_numbers(asked, "counts", counts, (size_t)count);
    for (int i = 0; i < count; i++) {
        if (!(counts[i] >= 1 && counts[i] <= MOST_IMAGES) || (all *= counts[i]) > MOST_IMAGES)
            ask_refuse(asked, "counts: expected 1 or more of each step, %d in all", MOST_IMAGES);
        if (asked->refused) return JF_OK;
        options.counts[i] = (int)counts[i];
        models[i] = e->models[steps[i]].m;
    }
    if (asked->refused) return JF_OK;
    jf_status status = asked_image(asked, &given);
    if (asked->refused || status != JF_OK) return status;
    jf_cascade *cascade;
    jf_cascade_result result = {.size = sizeof(jf_cascade_result)};
    status = jf_cascade_create(&cascade, models, (size_t)count);
    if (status == JF_OK) status = jf_cascade_enlarge(&result, cascade, &given, &options);
    if (status == JF_OK) add_steps(&result, out);
    jf_cascade_result_free(&result);
    jf_cascade_free(cascade);
    jf_images_free(&given);
    return status;
}

const answer answer_superres = {"superres", give_superres};

/* A held-out image of the data, whole. */
static jf_status give_validation(explorer *e, ask *asked, buffer *out) {
    shown_model *s = answers_model(e, asked);
    jf_images image;
    if (asked->refused) return JF_OK;
    long row = ask_whole(asked, "row", 0, 1000000000, 0);
    if (s->form.h == 0) ask_refuse(asked, "this model is not one of images");
    if (asked->refused) return JF_OK;
    jf_status status = jf_data_image(&image, s->m, row, 0);
    if (status != JF_OK) return status;
    buffer_add(out, "{");
    answers_add_images(out, "image", &image);
    buffer_add(out, "}\n");
    jf_images_free(&image);
    return JF_OK;
}

const answer answer_validation = {"held_out", give_validation};
