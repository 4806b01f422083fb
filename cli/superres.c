/* jointflow superres: a small image made large in two steps, by two models. */
#include "tables.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the image to start from ---- */

static int from_data(const call *c, const jf_model *fine, jf_images *out) {
    const char *which = option_text(c->arguments, "data");
    int of_training = strcmp(which, "training") == 0;
    if (!of_training && strcmp(which, "held") != 0)
        return cli_misuse(c->command, "--data: found \"%s\", expected held or training", which);
    long row = (long)option_whole(c->arguments, "row");
    return jf_data_image(fine, out, row, of_training) == JF_OK ? CLI_OK : cli_fail_library(c);
}

/* The model with the larger images knows the whole ones. */
static int fine_one(const call *c, const jf_model *one, const jf_model *other, const jf_model **out) {
    jf_image_form a, b;
    if (jf_model_image_form(one, &a) != JF_OK || jf_model_image_form(other, &b) != JF_OK)
        return cli_fail_library(c);
    *out = a.h > b.h ? one : other;
    return CLI_OK;
}

static int read_input(const call *c, const jf_model *one, const jf_model *other, const char *path,
                      jf_images *out) {
    const jf_model *fine = NULL;
    if (path) return jf_images_read(c->ctx, out, path) == JF_OK ? CLI_OK : cli_fail_library(c);
    int code = fine_one(c, one, other, &fine);
    return code == CLI_OK ? from_data(c, fine, out) : code;
}

/* ---- what the command line names ---- */

typedef struct request {
    char *models[2];   /* files */
    const char *image; /* NULL: a row of the data */
    char *output;
} request;

static void request_free(request *r) {
    free(r->models[0]);
    free(r->models[1]);
    free(r->output);
}

/* Both models under one name, or one each; then the image may follow. */
static int find_models(const call *c, request *r) {
    const arguments *a = c->arguments;
    int used = 1;
    for (int i = 0; i < 2; i++)
        if (jf_model_find(c->ctx, &r->models[i], argument(a, 0), i) != JF_OK) return cli_fail_library(c);
    if (!r->models[1]) {
        if (a->count < 2)
            return cli_misuse(c->command, "%s is one model, expected two: name the other one, too",
                              argument(a, 0));
        if (jf_model_find(c->ctx, &r->models[1], argument(a, 1), 0) != JF_OK) return cli_fail_library(c);
        used = 2;
    }
    if (a->count > used + 1)
        return cli_misuse(c->command, "unexpected argument \"%s\"", argument(a, used + 1));
    r->image = argument(a, used);
    if (r->image && option_given(a, "input"))
        return cli_misuse(c->command, "%s and --input: expected one of the two", r->image);
    if (option_given(a, "input")) r->image = option_text(a, "input");
    return CLI_OK;
}

/* shoe.png becomes shoe-large.png, in the working folder. */
static char *default_output(const char *image) {
    const char *slash = image ? strrchr(image, '/') : NULL, *name = slash ? slash + 1 : image;
    if (!image) return cli_join("large.png");
    const char *dot = strrchr(name, '.');
    return cli_join("%.*s-large.png", (int)(dot ? dot - name : (long)strlen(name)), name);
}

static int check_options(const call *c, request *r) {
    const arguments *a = c->arguments;
    const char *given = option_text(a, "output");
    int row = option_given(a, "row"), code = given ? tables_check_output(c, given, ".png .npy") : CLI_OK;
    if (code == CLI_OK) code = find_models(c, r);
    if (code != CLI_OK) return code;
    if ((r->image != NULL) == row)
        return cli_misuse(c->command, row ? "an image and --row: expected one of the two"
                                          : "the image to start from is missing (or --row, one of the data)");
    if (option_given(a, "data") && !row) return cli_misuse(c->command, "--data is for --row");
    r->output = given ? cli_join("%s", given) : default_output(r->image);
    if (!r->output) return cli_fail_memory();
    return given ? CLI_OK : tables_check_output(c, r->output, ".png");
}

/* ---- the command ---- */

static void tell(const jf_superres_result *r, const char *path) {
    const jf_images *input = &r->input;
    if (r->truth.count)
        printf("input     %d x %d, degraded to %d x %d\n", r->truth.h, r->truth.w, input->h, input->w);
    else
        printf("input     %d x %d\n", input->h, input->w);
    printf("coarse    %d of %d x %d; degraded again %.1f dB PSNR to the input\n", r->coarse.count,
           r->coarse.h, r->coarse.w, r->coarse_psnr);
    printf("fine      %d of %d x %d; degraded again %.1f dB PSNR to the input\n", r->fine.count, r->fine.h,
           r->fine.w, r->psnr);
    printf("y error   %.2e, mean |y_back - y|, model's units\n", r->y_error);
    printf("written   %s\n", path);
}

static int superres(const call *c) {
    const arguments *a = c->arguments;
    jf_superres_options options = {.coarse_count = option_int(a, "coarse"),
                                   .fine_count = option_int(a, "fine"),
                                   .seed = option_whole(a, "seed"),
                                   .denoise = option_given(a, "denoise")};
    jf_model *one = NULL, *other = NULL;
    jf_images given = {0};
    jf_superres_result result = {0};
    request r = {0};
    int code = check_options(c, &r);
    if (code == CLI_OK) code = cli_load_model(c, &one, r.models[0]);
    if (code == CLI_OK) code = cli_load_model(c, &other, r.models[1]);
    if (code == CLI_OK) code = read_input(c, one, other, r.image, &given);
    if (code == CLI_OK && jf_superres(one, other, &given, &options, &result) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK &&
        jf_superres_write(c->ctx, &result, NULL, option_given(a, "full-range"), r.output) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) tell(&result, r.output);
    request_free(&r);
    jf_superres_result_free(&result);
    jf_images_free(&given);
    jf_model_free(one);
    jf_model_free(other);
    return code;
}

static const option options[] = {
    {"input", 'i', OPTION_TEXT, "IMAGE", NULL, 0, 0, "another way to name the image"},
    {"row", 0, OPTION_WHOLE, "N", NULL, 0, 1000000000,
     "instead of an image: row N, counted from 0, of the fine model's own data"},
    {"data", 0, OPTION_TEXT, "WHICH", "held", 0, 0, "rows held out from training, or those of the training"},
    {"coarse", 0, OPTION_WHOLE, "N", "10", 1, 10000, "images of the first step"},
    {"fine", 0, OPTION_WHOLE, "N", "10", 1, 10000, "images of the second step for each of the first"},
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0,
     "a .png picture of all, or a .npy file of the fine images, (coarse, fine, h, w); by default "
     "IMAGE-large.png in "
     "the working folder"},
    OPTION_DENOISE,
    OPTION_FULL_RANGE,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"With the models that came with the program", "jointflow superres fashion shoe.png"},
    {"Ten answers of the first step, ten of the second to each",
     "jointflow superres out/fashion-sr-7-14-small out/fashion-sr-14-28-small --input boot-7x7.png -o "
     "boot.png"},
    {"From a held-out image, which is degraded and shown as the truth",
     "jointflow superres out/fashion-sr-7-14-small out/fashion-sr-14-28-small --row 12 -o boot.png"},
    {"Without the noise that the models were trained with",
     "jointflow superres out/fashion-sr-7-14-small out/fashion-sr-14-28-small --row 12 --denoise -o "
     "boot.png"},
    {"A thousand answers as a NumPy file",
     "jointflow superres F2 F1 -i boot-7x7.png --coarse 100 --fine 10 -o boots.npy"},
    {0},
};

const command command_superres = {
    .name = "superres",
    .summary = "make a small image large, in two steps",
    .arguments = "MODELS [MODEL] [IMAGE]",
    .about =
        "Draws what a small image may be a reduction of: samples of a coarse model F2 (7x7 to "
        "14x14, say), and for each of them samples of a fine model F1 (14x14 to 28x28). MODELS is the name "
        "of "
        "a pair that came with the program (jointflow info lists them), a folder of two model files, or one "
        "model, a run folder or a file, of the task superres, and MODEL then the other; they are told apart "
        "by their sizes, so their order does not matter. IMAGE, a .png, .jpg or .npy file, is the small "
        "image, or "
        "a "
        "whole one, which is degraded first and shown for comparison.\n"
        "The picture shows the truth, where a whole image was given, the input, the images of the "
        "first step, and beside each of them those of the second. How far all of them, degraded "
        "again, are from the input is told as PSNR: with dequantising noise of 0.02 a perfect pair "
        "of models reaches 38.9 dB. With --denoise that noise is taken off the images of each step before "
        "they go into the next, and the limit does not hold.",
    .options = options,
    .examples = examples,
    .run = superres,
};
