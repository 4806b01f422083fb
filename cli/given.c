#include "given.h"
#include "conditions.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- files ---- */

static int is_picture(const char *path) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < 3; i++)
        if (strcasecmp(dot, endings[i]) == 0) return 1;
    return 0;
}

int given_named_image(const char *path) {
    return is_picture(path) || cli_ends_with(path, ".npy");
}

int given_is_image(const call *c, const jf_image_form *form, const char *path) {
    jf_images images;
    if (form->h == 0) return 0;
    if (is_picture(path)) return 1;
    if (!cli_ends_with(path, ".npy") || jf_images_read(&images, c->ctx, path) != JF_OK) return 0;
    int fits = (images.h == form->h && images.w == form->w) ||
               (form->input_h == 0 && images.h == form->data_h && images.w == form->data_w);
    jf_images_free(&images);
    return fits;
}

/* Adds the images of a file to those of the files before it, which have its size. */
static int add_file(const call *c, const char *path, jf_images *all) {
    jf_images next;
    if (jf_images_read(&next, c->ctx, path) != JF_OK) return cli_fail_library(c);
    if (all->count == 0) {
        *all = next;
        return CLI_OK;
    }
    int code = CLI_OK;
    size_t size = (size_t)all->h * (size_t)all->w * (size_t)all->channels, before = (size_t)all->count * size;
    double *values = NULL;
    if (next.h != all->h || next.w != all->w || next.channels != all->channels)
        code = cli_fail("%s: %d x %d and %d channel(s), expected %d x %d and %d as the images before it",
                        path, next.h, next.w, next.channels, all->h, all->w, all->channels);
    else if (next.count > INT_MAX - all->count ||
             !(values = realloc(all->values, (before + (size_t)next.count * size) * sizeof *values)))
        code = cli_fail_memory();
    if (code == CLI_OK) {
        memcpy(values + before, next.values, (size_t)next.count * size * sizeof *values);
        all->values = values;
        all->count += next.count;
    }
    jf_images_free(&next);
    return code;
}

/* ---- conditions ---- */

static int told_conditions(const call *c, const jf_model *m, const char *name, const char *shown,
                           given_rows *out) {
    conditions y;
    size_t dim = (size_t)jf_model_dim_y(m), count = (size_t)out->count;
    int code = conditions_read(c, m, &(conditions_request){.option = name, .shown = shown}, &y);
    if (code != CLI_OK) return code;
    if (y.count != 1 && y.count != count)
        code =
            cli_misuse(c->command, "%s: %zu conditions for %d image%s, expected one for all, or one for each",
                       shown, y.count, out->count, out->count == 1 ? "" : "s");
    for (size_t i = 0; code == CLI_OK && dim && i < count; i++)
        memcpy(out->y + i * dim, y.values + (y.count == 1 ? 0 : i) * dim, dim * sizeof(double));
    conditions_free(&y);
    return code;
}

static int own_conditions(const call *c, const jf_model *m, const jf_images *images, given_rows *out) {
    jf_image_conditions made = {.size = sizeof(jf_image_conditions)};
    if (jf_image_conditions_create(&made, m, images, 1, 0) != JF_OK) return cli_fail_library(c);
    memcpy(out->y, made.y, (size_t)out->count * (size_t)jf_model_dim_y(m) * sizeof(double));
    jf_image_conditions_free(&made);
    return CLI_OK;
}

static int make_rows(const call *c, const jf_model *m, const char *name, const char *shown,
                     const jf_images *images, given_rows *out) {
    jf_image_form form = {.size = sizeof(jf_image_form)};
    size_t count = (size_t)images->count;
    out->count = images->count;
    out->x = calloc(count * (size_t)jf_model_dim_x(m) + 1, sizeof(double));
    out->y = calloc(count * (size_t)jf_model_dim_y(m) + 1, sizeof(double));
    if (!out->x || !out->y) return cli_fail_memory();
    if (jf_model_image_form(&form, m) != JF_OK) return cli_fail_library(c);
    int code = form.input_h > 0 && !option_given(c->arguments, name)
                   ? own_conditions(c, m, images, out)
                   : told_conditions(c, m, name, shown, out);
    if (code == CLI_OK && jf_image_answers(m, images, out->y, out->x) != JF_OK) code = cli_fail_library(c);
    return code;
}

/* ---- all of them ---- */

int given_read(const call *c, const jf_model *m, const char *name, const char *shown, int files,
               const char *const *paths, given_rows *out) {
    jf_images images = {0};
    int code = CLI_OK;
    *out = (given_rows){0};
    for (int i = 0; i < files && code == CLI_OK; i++) code = add_file(c, paths[i], &images);
    if (code == CLI_OK) code = make_rows(c, m, name, shown, &images, out);
    jf_images_free(&images);
    if (code != CLI_OK) given_free(out);
    return code;
}

void given_free(given_rows *rows) {
    free(rows->x);
    free(rows->y);
    *rows = (given_rows){0};
}
