/* jointflow superres: a small image made large in steps, by a cascade of models. */
#include "given.h"
#include "outputs.h"
#include "tables.h"
#include <math.h>
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
    return jf_data_image(out, fine, row, of_training) == JF_OK ? CLI_OK : cli_fail_library(c);
}

/* ---- what the command line names ---- */

typedef struct request {
    char *files[JF_CASCADE_MOST]; /* of the models */
    jf_model *models[JF_CASCADE_MOST];
    int count;
    jf_cascade *cascade;
    const char *image; /* NULL: a row of the data, or all of them */
    char *output;
} request;

static void request_free(request *r) {
    jf_cascade_free(r->cascade);
    for (int i = 0; i < r->count; i++) {
        free(r->files[i]);
        jf_model_free(r->models[i]);
    }
    free(r->output);
}

/* The files of all models of one name, after those that are there. */
static int find_files(const call *c, const char *name, request *r) {
    for (int i = 0;; i++) {
        char *file = NULL;
        if (jf_model_find(&file, c->ctx, name, i) != JF_OK) return cli_fail_library(c);
        if (!file) return CLI_OK;
        if (r->count == JF_CASCADE_MOST) {
            jf_text_free(file);
            return cli_misuse(c->command, "%s: more than %d models", name, JF_CASCADE_MOST);
        }
        r->files[r->count++] = file;
    }
}

/* Models, several under one name or one each; the last may be the image. */
static int find_models(const call *c, request *r) {
    const arguments *a = c->arguments;
    int code = CLI_OK;
    for (int i = 0; i < a->count && code == CLI_OK; i++) {
        const char *word = argument(a, i);
        if (r->image)
            code = cli_misuse(c->command, "unexpected argument \"%s\"", word);
        else if (i > 0 && given_named_image(word))
            r->image = word;
        else
            code = find_files(c, word, r);
    }
    if (code != CLI_OK || !option_given(a, "input")) return code;
    if (r->image) return cli_misuse(c->command, "%s and --input: expected one of the two", r->image);
    r->image = option_text(a, "input");
    return CLI_OK;
}

/* shoe.png becomes shoe-large.png, in the working folder. */
static char *default_output(const char *image) {
    const char *slash = image ? strrchr(image, '/') : NULL, *name = slash ? slash + 1 : image;
    if (!image) return cli_join("large.png");
    const char *dot = strrchr(name, '.');
    return cli_join("%.*s-large.png", (int)(dot ? dot - name : (long)strlen(name)), name);
}

static int whole_set(const call *c) {
    return option_given(c->arguments, "all") || option_given(c->arguments, "test");
}

/* Where all images of a set are asked for nothing is drawn. */
static int check_set(const call *c, const request *r) {
    const arguments *a = c->arguments;
    static const char *const others[] = {"row", "data", "output", "full-range"};
    if (option_given(a, "all") && option_given(a, "test"))
        return cli_misuse(c->command, "--all and --test: expected one of the two");
    if (r->image) return cli_misuse(c->command, "%s, and --all or --test: expected one of the two", r->image);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (option_given(a, others[i]))
            return cli_misuse(c->command, "--%s is for one image, not for --all or --test", others[i]);
    return CLI_OK;
}

static int check_options(const call *c, request *r) {
    const arguments *a = c->arguments;
    const char *given = option_text(a, "output");
    int row = option_given(a, "row"), code = given ? tables_check_output(c, given, ".png .npy") : CLI_OK;
    if (code == CLI_OK) code = find_models(c, r);
    if (code != CLI_OK) return code;
    if (whole_set(c)) return check_set(c, r);
    if (option_given(a, "test-labels") || option_given(a, "most") || option_given(a, "json"))
        return cli_misuse(c->command, "--test-labels, --most and --json are for --all and --test");
    if ((r->image != NULL) == row)
        return cli_misuse(c->command, row ? "an image and --row: expected one of the two"
                                          : "the image to start from is missing (or --row, one of the data)");
    if (option_given(a, "data") && !row) return cli_misuse(c->command, "--data is for --row");
    r->output = given ? cli_join("%s", given) : default_output(r->image);
    if (!r->output) return cli_fail_memory();
    return given ? CLI_OK : output_check_default(c, r->output);
}

/* --coarse of the first step, --fine of each further one; `fallback` where they are not given. */
static jf_cascade_options cascade_options(const call *c, int fallback) {
    const arguments *a = c->arguments;
    jf_cascade_options o = {.size = sizeof(jf_cascade_options),
                            .seed = option_whole(a, "seed"),
                            .denoise = option_given(a, "denoise")};
    for (int k = 0; k < JF_CASCADE_MOST; k++) {
        const char *name = k == 0 ? "coarse" : "fine";
        o.counts[k] = option_given(a, name) ? option_int(a, name) : fallback;
    }
    return o;
}

/* ---- one image ---- */

/* The last model knows the whole images. */
static int read_input(const call *c, const request *r, jf_images *out) {
    if (r->image) return jf_images_read(out, c->ctx, r->image) == JF_OK ? CLI_OK : cli_fail_library(c);
    return from_data(c, jf_cascade_model(r->cascade, (size_t)r->count - 1), out);
}

static void tell(const jf_cascade_result *r, const char *path) {
    const jf_images *input = &r->input;
    static const char *const pair[] = {"coarse", "fine"};
    if (r->truth.count)
        printf("input     %d x %d, degraded to %d x %d\n", r->truth.h, r->truth.w, input->h, input->w);
    else
        printf("input     %d x %d\n", input->h, input->w);
    for (size_t k = 0; k < r->steps; k++) {
        char name[32];
        snprintf(name, sizeof name, "step %zu", k + 1);
        printf("%-9s %zu of %d x %d; degraded again %.1f dB PSNR to the input\n",
               r->steps == 2 ? pair[k] : name, r->made[k].count, r->made[k].h, r->made[k].w, r->psnr[k]);
    }
    printf("y error   %.2e, mean |y_back - y|, model's units\n", r->y_error);
    printf("written   %s\n", path);
}

static int enlarge_one(const call *c, const request *r) {
    jf_cascade_options options = cascade_options(c, 10);
    jf_images given = {0};
    jf_cascade_result result = {.size = sizeof(jf_cascade_result)};
    int code = read_input(c, r, &given);
    if (code == CLI_OK && given.count != 1)
        code = cli_fail("%zu images to start from, expected one", given.count);
    if (code == CLI_OK && jf_cascade_enlarge(&result, r->cascade, &given, &options) != JF_OK)
        code = cli_fail_library(c);
    int full_range = option_given(c->arguments, "full-range");
    if (code == CLI_OK && jf_cascade_write(r->cascade, &result, NULL, full_range, r->output) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) tell(&result, r->output);
    jf_cascade_result_free(&result);
    jf_images_free(&given);
    return code;
}

/* ---- a whole set ---- */

static void print_number(double value) {
    char digits[CLI_NUMBER] = "null";
    if (isfinite(value)) cli_number(digits, value, 17);
    fputs(digits, stdout);
}

/* Folders, whose names those of classes are, may have any. */
static void print_name(const char *name) {
    printf("\"name\": \"");
    for (; *name; name++) {
        if ((unsigned char)*name < ' ')
            printf("\\u%04x", (unsigned)*name);
        else
            printf("%s%c", *name == '"' || *name == '\\' ? "\\" : "", *name);
    }
    printf("\", ");
}

static void print_json(const jf_cascade_scores *scores) {
    for (size_t i = 0; i < scores->count; i++) {
        const jf_cascade_class *s = &scores->of[i];
        printf("%s{", i == 0 ? "" : i == 1 ? ", \"classes\": [" : ", ");
        if (i) print_name(s->name);
        printf("\"images\": %lld, \"psnr\": [", (long long)s->images);
        for (size_t k = 0; k < scores->steps; k++) {
            printf("%s", k ? ", " : "");
            print_number(s->psnr[k]);
        }
        printf("]%s", i ? "}" : "");
    }
    printf("%s, \"y_error\": ", scores->count > 1 ? "]" : "");
    print_number(scores->y_error);
    printf("}\n");
}

static void print_table(const jf_cascade_scores *scores) {
    printf("%-16s %8s", "class", "images");
    for (size_t k = 0; k < scores->steps; k++) printf("   step %zu, dB", k + 1);
    printf("\n");
    for (size_t i = 0; i < scores->count; i++) {
        const jf_cascade_class *s = &scores->of[i];
        printf("%-16s %8lld", i ? s->name : "all", (long long)s->images);
        for (size_t k = 0; k < scores->steps; k++) printf("   %10.2f", s->psnr[k]);
        printf("\n");
    }
    printf("y error   %.2e, mean |y_back - y|, model's units\n", scores->y_error);
}

static int score_set(const call *c, const request *r) {
    const arguments *a = c->arguments;
    jf_cascade_options options = cascade_options(c, 1);
    jf_cascade_test test = {.size = sizeof(jf_cascade_test),
                            .test = option_text(a, "test"),
                            .test_labels = option_text(a, "test-labels"),
                            .most = (size_t)option_whole(a, "most")};
    jf_cascade_scores scores = {.size = sizeof(jf_cascade_scores)};
    if (jf_cascade_score(&scores, r->cascade, &test, &options) != JF_OK) return cli_fail_library(c);
    (option_given(a, "json") ? print_json : print_table)(&scores);
    jf_cascade_scores_free(&scores);
    return CLI_OK;
}

/* ---- the command ---- */

static int superres(const call *c) {
    request r = {0};
    int code = check_options(c, &r);
    if (code == CLI_OK) code = cli_join_ranks(c);
    for (int i = 0; i < r.count && code == CLI_OK; i++) code = cli_load_model(c, &r.models[i], r.files[i]);
    if (code == CLI_OK &&
        jf_cascade_create(&r.cascade, (const jf_model *const *)r.models, (size_t)r.count) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) code = whole_set(c) ? score_set(c, &r) : enlarge_one(c, &r);
    request_free(&r);
    return code;
}

static const option options[] = {
    {"input", 'i', OPTION_TEXT, "IMAGE", NULL, 0, 0, "another way to name the image"},
    {"row", 0, OPTION_WHOLE, "N", NULL, 0, 1000000000,
     "instead of an image: row N, counted from 0, of the last model's own data"},
    {"data", 0, OPTION_TEXT, "WHICH", "held", 0, 0, "rows held out from training, or those of the training"},
    {"all", 0, OPTION_FLAG, NULL, NULL, 0, 0,
     "instead of an image: how well the answers fit, over all images that the last model's recipe holds out, "
     "and of each class"},
    {"test", 0, OPTION_TEXT, "DATA", NULL, 0, 0,
     "the same over other images, as data.images of a recipe names them"},
    {"test-labels", 0, OPTION_TEXT, "FILE", NULL, 0, 0, "the labels of images of --test in a .npy file"},
    {"most", 0, OPTION_WHOLE, "N", NULL, 1, 1000000000, "of --all and --test: N images, drawn at random"},
    {"json", 0, OPTION_FLAG, NULL, NULL, 0, 0, "of --all and --test: one JSON object instead of a table"},
    {"coarse", 0, OPTION_WHOLE, "N", NULL, 1, 10000,
     "images of the first step (default 10, of --all and --test 1)"},
    {"fine", 0, OPTION_WHOLE, "N", NULL, 1, 10000,
     "images of each further step for each of the one before it (default 10, of --all and --test 1)"},
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0,
     "a .png picture of all, or a .npy file of the images of the last step, (coarse, fine, h, w); by default "
     "IMAGE-large.png in the working folder"},
    OPTION_DENOISE,
    OPTION_FULL_RANGE,
    OPTION_SEED,
    OPTION_RANKS,
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
    {"By three models, 7x7 to 56x56",
     "jointflow superres F3 F2 F1 --input boot-7x7.png --fine 3 -o boot.png"},
    {"How well the answers fit all held-out images, class by class",
     "jointflow superres out/fashion-sr-7-14-small out/fashion-sr-14-28-small --all"},
    {"A thousand answers as a NumPy file",
     "jointflow superres F2 F1 -i boot-7x7.png --coarse 100 --fine 10 -o boots.npy"},
    {0},
};

const command command_superres = {
    .name = "superres",
    .summary = "make a small image large, in steps",
    .arguments = "MODELS [MODEL|IMAGE...]",
    .about =
        "Draws what a small image may be a reduction of: samples of a coarse model F2 (7x7 to 14x14, say), "
        "and "
        "for each of them samples of a fine model F1 (14x14 to 28x28), and so on along any cascade of models. "
        "MODELS is the name of several that came with the program (jointflow info lists them), a folder of "
        "model files, or one model, a run folder or a file, of the task superres; further ones may follow. "
        "They "
        "are told apart by their sizes, so their order does not matter. IMAGE, a .png, .jpg or .npy file, is "
        "the "
        "small image, or a whole one, which is degraded first and shown for comparison.\n"
        "The picture shows the truth, where a whole image was given, the input, the images of the "
        "first step, and beside each of them those of the further ones. How far all of them, degraded "
        "again, are from the input is told as PSNR: with dequantising noise of 0.02 a perfect pair "
        "of models reaches 38.9 dB. With --denoise that noise is taken off the images of each step before "
        "they go into the next, and the limit does not hold.\n"
        "With --all or --test every image of a set is degraded and enlarged again; PSNR of each step is from "
        "the "
        "mean square over all images, and over those of each class where they have labels.",
    .options = options,
    .examples = examples,
    .run = superres,
};
