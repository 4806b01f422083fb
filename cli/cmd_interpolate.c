/* jointflow interpolate: answers along lines in z or in y. */
#include "cascade_option.h"
#include "conditions.h"
#include "given.h"
#include "tables.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 9, MOST_IMAGES = 1000 };

/* ---- lines ---- */

static int steps_of(const call *c, int fallback) {
    return option_given(c->arguments, "steps") ? option_int(c->arguments, "steps") : fallback;
}

static int along_z(const call *c, const jf_model *m, const jf_use_options *use, jf_lines *out) {
    conditions y;
    int code = conditions_read(c, m, &(conditions_request){.option = "y", .shown = "-y"}, &y);
    if (code != CLI_OK) return code;
    if (y.count > 10000)
        code = cli_misuse(c->command, "-y: %zu conditions, expected at most 10000", y.count);
    else if (jf_lines_along_z(out, m, option_int(c->arguments, "lines"), steps_of(c, STEPS), (int)y.count,
                              y.values, use) != JF_OK)
        code = cli_fail_library(c);
    conditions_free(&y);
    return code;
}

/* Half a step of the labels before the first class and beyond the last. */
static int ends_of_classes(const call *c, const jf_model *m, double ends[2]) {
    int classes = jf_model_classes(m);
    if (classes == 0)
        return cli_misuse(c->command,
                          "--from and --to are needed: the condition of this model is not a class");
    ends[0] = ends[1] = jf_model_label(m, 0);
    for (int i = 1; i < classes; i++) {
        ends[0] = fmin(ends[0], jf_model_label(m, i));
        ends[1] = fmax(ends[1], jf_model_label(m, i));
    }
    double step = classes > 1 ? (ends[1] - ends[0]) / (classes - 1) : 1;
    ends[0] -= step / 2;
    ends[1] += step / 2;
    return CLI_OK;
}

/* From half a step before the first class to half a step beyond the last, a line meets all of them if each
 * step between two is cut into an even number of parts. */
static int steps_through(int classes) {
    int parts = classes < STEPS / 2 ? (STEPS - 1) / (2 * classes) : 1;
    return 2 * classes * parts + 1;
}

/* One end of a line in y (dim_y): what the option says, or y of the label `fallback`. */
static int read_end(const call *c, const jf_model *m, const char *name, const char *shown, double fallback,
                    double *out) {
    conditions y;
    int dim = jf_model_dim_y(m);
    if (!option_given(c->arguments, name))
        return jf_model_y_of_label(m, fallback, out) == JF_OK ? CLI_OK : cli_fail_library(c);
    int code = conditions_read(c, m, &(conditions_request){.option = name, .shown = shown}, &y);
    if (code != CLI_OK) return code;
    if (y.count != 1)
        code = cli_misuse(c->command, "%s: %zu conditions, expected one", shown, y.count);
    else
        memcpy(out, y.values, (size_t)dim * sizeof *out);
    conditions_free(&y);
    return code;
}

/* From half a step before the first class to half a step beyond the last: one number for all of y, or from
 * the plane of one class to that of the next. */
static int through_classes(const call *c, const jf_model *m, const jf_use_options *use, jf_lines *out) {
    size_t dim = (size_t)jf_model_dim_y(m);
    double ends[2];
    int code = ends_of_classes(c, m, ends);
    if (code != CLI_OK) return code;
    int steps = steps_of(c, steps_through(jf_model_classes(m)));
    double *y = calloc((size_t)steps * dim, sizeof *y);
    if (!y) return cli_fail_memory();
    for (int i = 0; code == CLI_OK && i < steps; i++) {
        double t = (double)i / (steps - 1), label = (1 - t) * ends[0] + t * ends[1];
        if (jf_model_y_of_label(m, label, y + (size_t)i * dim) != JF_OK) code = cli_fail_library(c);
    }
    if (code == CLI_OK &&
        jf_lines_through(out, m, option_int(c->arguments, "lines"), (size_t)steps, y, use) != JF_OK)
        code = cli_fail_library(c);
    free(y);
    return code;
}

static int along_y(const call *c, const jf_model *m, const jf_use_options *use, jf_lines *out) {
    int dim = jf_model_dim_y(m), classes = jf_model_classes(m), code = CLI_OK;
    int both = option_given(c->arguments, "from") && option_given(c->arguments, "to");
    double ends[2] = {0, 0};
    if (dim == 0) return cli_misuse(c->command, "--along y: this model has no condition");
    if (!option_given(c->arguments, "from") && !option_given(c->arguments, "to"))
        return through_classes(c, m, use, out);
    if (!both) code = ends_of_classes(c, m, ends);
    if (code != CLI_OK) return code;
    double *from = calloc((size_t)dim, sizeof *from), *to = calloc((size_t)dim, sizeof *to);
    if (code == CLI_OK && !(from && to)) code = cli_fail_memory();
    if (code == CLI_OK) code = read_end(c, m, "from", "--from", ends[0], from);
    if (code == CLI_OK) code = read_end(c, m, "to", "--to", ends[1], to);
    int steps = steps_of(c, both ? STEPS : steps_through(classes));
    if (code == CLI_OK &&
        jf_lines_along_y(out, m, option_int(c->arguments, "lines"), steps, from, to, use) != JF_OK)
        code = cli_fail_library(c);
    free(from);
    free(to);
    return code;
}

/* ---- lines of given images ---- */

/* Images of --image with their latent points. */
typedef struct ends {
    given_rows rows;
    double *z; /* (rows.count, dim_x) */
} ends;

static void ends_free(ends *e) {
    given_free(&e->rows);
    free(e->z);
}

static int encode_images(const call *c, const jf_model *m, ends *out) {
    const char *paths[MOST_IMAGES], *path;
    int files = 0;
    while ((path = option_item(c->arguments, "image", files)) != NULL) {
        if (files == MOST_IMAGES) return cli_misuse(c->command, "--image: more than %d files", MOST_IMAGES);
        paths[files++] = path;
    }
    int code = given_read(c, m, "image-y", "--image-y", files, paths, &out->rows);
    if (code != CLI_OK) return code;
    out->z = calloc((size_t)out->rows.count * (size_t)jf_model_dim_x(m) + 1, sizeof *out->z);
    if (!out->z) return cli_fail_memory();
    return jf_encode(m, out->rows.count, out->rows.x, out->rows.y, out->z, NULL, NULL) == JF_OK
               ? CLI_OK
               : cli_fail_library(c);
}

/* Both ends of each line, to be filled in. */
typedef struct between {
    int lines, group; /* of lines that belong together */
    double *z, *y;    /* (lines, 2, dim_x), (lines, 2, dim_y) */
} between;

static int between_create(between *b, const jf_model *m, size_t lines, int group) {
    *b = (between){.lines = (int)lines, .group = group};
    b->z = calloc(2 * lines * (size_t)jf_model_dim_x(m) + 1, sizeof *b->z);
    b->y = calloc(2 * lines * (size_t)jf_model_dim_y(m) + 1, sizeof *b->y);
    return b->z && b->y ? CLI_OK : cli_fail_memory();
}

static int draw_between(const call *c, const jf_model *m, between *b, int code, int steps, jf_lines *out) {
    jf_use_options use = {.size = sizeof(jf_use_options), .straight = option_given(c->arguments, "straight")};
    if (code == CLI_OK && jf_lines_between(out, m, b->lines, steps, b->group, b->z, b->y, &use) != JF_OK)
        code = cli_fail_library(c);
    free(b->z);
    free(b->y);
    return code;
}

/* From the first image to the second, from the third to the fourth: at the conditions of -y, or, without, on
 * the way from the condition of the one to that of the other, so that the ends are the images. */
static int images_along_z(const call *c, const jf_model *m, const ends *e, jf_lines *out) {
    size_t dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m),
           lines = (size_t)e->rows.count / 2;
    conditions y = {.count = 1};
    between b = {0};
    if (e->rows.count % 2)
        return cli_misuse(c->command, "--image: %d image%s along z, expected two for each line",
                          e->rows.count, e->rows.count == 1 ? "" : "s");
    int at_y = option_given(c->arguments, "y"), code = CLI_OK;
    if (at_y) code = conditions_read(c, m, &(conditions_request){.option = "y", .shown = "-y"}, &y);
    if (code == CLI_OK && y.count > 10000)
        code = cli_misuse(c->command, "-y: %zu conditions, expected at most 10000", y.count);
    if (code == CLI_OK) code = between_create(&b, m, lines * y.count, (int)y.count);
    for (size_t i = 0; code == CLI_OK && i < 2 * lines * y.count; i++) {
        size_t line = i / 2, image = 2 * (line / y.count) + i % 2;
        const double *from = at_y ? y.values + line % y.count * dim_y : e->rows.y + image * dim_y;
        memcpy(b.z + i * dim_x, e->z + image * dim_x, dim_x * sizeof *b.z);
        if (dim_y) memcpy(b.y + i * dim_y, from, dim_y * sizeof *b.y);
    }
    conditions_free(&y);
    return draw_between(c, m, &b, code, steps_of(c, STEPS), out);
}

/* The latent point of each image stays while y goes from --from to --to, by default from the image's own. */
static int images_along_y(const call *c, const jf_model *m, const ends *e, jf_lines *out) {
    size_t dim_x = (size_t)jf_model_dim_x(m), dim_y = (size_t)jf_model_dim_y(m);
    between b = {0};
    int code = dim_y == 0 ? cli_misuse(c->command, "--along y: this model has no condition")
               : !option_given(c->arguments, "to")
                   ? cli_misuse(c->command, "--to is missing: the condition that the images go to")
                   : between_create(&b, m, (size_t)e->rows.count, 1);
    for (size_t i = 0; code == CLI_OK && i < (size_t)e->rows.count; i++) {
        double *y = b.y + 2 * i * dim_y;
        for (size_t k = 0; k < 2; k++)
            memcpy(b.z + (2 * i + k) * dim_x, e->z + i * dim_x, dim_x * sizeof *b.z);
        memcpy(y, e->rows.y + i * dim_y, dim_y * sizeof *y);
        if (option_given(c->arguments, "from")) code = read_end(c, m, "from", "--from", 0, y);
        if (code == CLI_OK) code = read_end(c, m, "to", "--to", 0, y + dim_y);
    }
    return draw_between(c, m, &b, code, steps_of(c, STEPS), out);
}

static int of_given_images(const call *c, const jf_model *m, int in_y, jf_lines *out) {
    ends e = {0};
    int code = option_given(c->arguments, "lines")
                   ? cli_misuse(c->command, "--lines is for latent points that are drawn, not for --image")
                   : encode_images(c, m, &e);
    if (code == CLI_OK) code = (in_y ? images_along_y : images_along_z)(c, m, &e, out);
    ends_free(&e);
    return code;
}

/* ---- writing ---- */

static int write_table(const call *c, const jf_model *m, const jf_lines *l, const char *path) {
    size_t rows = (size_t)l->rows * (size_t)l->steps;
    double *line = calloc(2 * rows, sizeof *line);
    if (!line) return cli_fail_memory();
    double *step = line + rows;
    for (size_t i = 0; i < rows; i++) {
        line[i] = (double)(i / (size_t)l->steps);
        step[i] = (double)(i % (size_t)l->steps);
    }
    columns parts[] = {{.name = "line", .values = line, .count = 1, .unnumbered = 1},
                       {.name = "step", .values = step, .count = 1, .unnumbered = 1},
                       {.name = "x", .values = l->x, .count = jf_model_dim_x(m)},
                       {.name = "y", .values = l->y, .count = jf_model_dim_y(m)},
                       {.name = "z", .values = l->z, .count = jf_model_dim_x(m)}};
    int code = tables_write(c, path, (int)rows, parts, 5);
    free(line);
    return code;
}

/* As they are, or made larger by other models, which draw the same latent points all along a line. */
static int write_images(const call *c, const jf_model *m, const jf_lines *l, const char *path) {
    jf_images images = {0};
    jf_cascade *cascade = NULL;
    int full_range = option_given(c->arguments, "full-range"), code = cascade_option_load(c, m, &cascade);
    if (code == CLI_OK && jf_restore(&images, m, l->rows * l->steps, l->x, l->y) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) code = cascade_option_replace(c, cascade, l->steps, &images);
    jf_status status = code != CLI_OK ? JF_OK
                       : cli_ends_with(path, ".png")
                           ? jf_lines_draw_images(m, l, &images, NULL, full_range, path)
                           : jf_images_write(c->ctx, &images, l->steps, path);
    if (status != JF_OK) code = cli_fail_library(c);
    jf_images_free(&images);
    jf_cascade_free(cascade);
    return code;
}

static int write_lines(const call *c, const jf_model *m, const jf_lines *l, int of_images, const char *path) {
    int wants_images = of_images && path && (cli_ends_with(path, ".png") || cli_ends_with(path, ".npy"));
    return wants_images ? write_images(c, m, l, path) : write_table(c, m, l, path);
}

/* ---- the command ---- */

static int check_along(const call *c, int *in_y) {
    const arguments *a = c->arguments;
    const char *along = option_text(a, "along");
    if (!along) return cli_misuse(c->command, "--along is missing: z or y");
    if (strcmp(along, "z") != 0 && strcmp(along, "y") != 0)
        return cli_misuse(c->command, "--along: found \"%s\", expected z or y", along);
    *in_y = *along == 'y';
    if (*in_y && option_given(a, "y"))
        return cli_misuse(c->command, "-y is for --along z; a line in y has its ends in --from and --to");
    if (!*in_y && (option_given(a, "from") || option_given(a, "to")))
        return cli_misuse(c->command,
                          "--from and --to are for --along y; a line in z takes its conditions from -y");
    if (*in_y && option_given(a, "straight"))
        return cli_misuse(c->command, "--straight is for --along z; a line in y is straight");
    return CLI_OK;
}

static int check_picture(const call *c, const jf_model *m, const char *path, int *of_images) {
    jf_image_form form = {.size = sizeof(jf_image_form)};
    if (jf_model_image_form(&form, m) != JF_OK) return cli_fail_library(c);
    *of_images = form.h > 0;
    int wants_images = *of_images && path && (cli_ends_with(path, ".png") || cli_ends_with(path, ".npy"));
    if (!wants_images && option_given(c->arguments, "then")) return cli_misuse(c->command, THEN_WANTS_IMAGES);
    if (*of_images || !path || !cli_ends_with(path, ".png")) return CLI_OK;
    return cli_misuse(c->command, "-o: found \"%s\", but this model is of vectors, expected .csv or .npy",
                      path);
}

static int interpolate(const call *c) {
    const char *path = option_text(c->arguments, "output");
    jf_use_options use = {.size = sizeof(jf_use_options),
                          .seed = option_whole(c->arguments, "seed"),
                          .straight = option_given(c->arguments, "straight")};
    jf_model *m = NULL;
    jf_lines lines = {0};
    int in_y = 0, of_images = 0, code = check_along(c, &in_y);
    if (code == CLI_OK) code = tables_check_output(c, path, ".csv .npy .png");
    if (code == CLI_OK) code = cli_load_model(c, &m, argument(c->arguments, 0));
    if (code == CLI_OK) code = check_picture(c, m, path, &of_images);
    int given = option_given(c->arguments, "image");
    if (code == CLI_OK && !given && option_given(c->arguments, "image-y"))
        code = cli_misuse(c->command, "--image-y is for --image");
    if (code == CLI_OK)
        code = given  ? of_given_images(c, m, in_y, &lines)
               : in_y ? along_y(c, m, &use, &lines)
                      : along_z(c, m, &use, &lines);
    if (code == CLI_OK) code = write_lines(c, m, &lines, of_images, path);
    jf_lines_free(&lines);
    jf_model_free(m);
    return code;
}

static const option options[] = {
    {"along", 0, OPTION_TEXT, "z|y", NULL, 0, 0,
     "what changes along a line: the latent point, or the condition"},
    {"y", 'y', OPTION_LIST, "VALUES", NULL, 0, 0,
     "along z: the conditions, as in jointflow sample; each line is followed at each of them"},
    {"from", 0, OPTION_TEXT, "VALUE", NULL, 0, 0,
     "along y: where it begins, a number, a class or @IMAGE; by default half a step before the first class"},
    {"to", 0, OPTION_TEXT, "VALUE", NULL, 0, 0,
     "along y: where it ends; by default half a step beyond the last class"},
    {"image", 0, OPTION_LIST, "FILE", NULL, 0, 0,
     "a whole image, whose latent point is taken instead of a drawn one; along z two for each line; may be "
     "repeated"},
    {"image-y", 0, OPTION_LIST, "VALUES", NULL, 0, 0,
     "the conditions of these images, one for all or one for each; by default, where the condition is an "
     "image, what the model's task makes of them"},
    {"lines", 0, OPTION_WHOLE, "N", "5", 1, 10000,
     "lines: pairs of latent points along z, latent points along y"},
    {"straight", 0, OPTION_FLAG, NULL, NULL, 0, 0, "along z: go in a straight line, as the paper does"},
    {"steps", 0, OPTION_WHOLE, "N", NULL, 2, 10000,
     "points of a line, its ends among them (default 9, or along y as many as meet all classes)"},
    {"output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0,
     "a .csv or .npy file, or of image models a .png picture; by default CSV to standard output"},
    OPTION_THEN,
    OPTION_FULL_RANGE,
    OPTION_SEED,
    OPTION_THREADS,
    OPTION_DEVICE,
    {0},
};

static const example examples[] = {
    {"The same way from one latent point to another, for two classes",
     "jointflow interpolate out/fashion-class-small --along z -y shirt,sneaker --lines 1 -o z.png"},
    {"Five latent points, from before the first class to beyond the last",
     "jointflow interpolate out/fashion-class-small --along y -o y.png"},
    {"From one image to another",
     "jointflow interpolate out/fashion-class-small --along z --image a.png --image b.png --image-y "
     "shirt,sneaker -o z.png"},
    {"This shirt as a sneaker: its latent point stays while the class changes",
     "jointflow interpolate out/fashion-class-small --along y --image shirt.png --image-y shirt --to sneaker "
     "-o y.png"},
    {"Where an answer goes while the angle turns, as CSV",
     "jointflow interpolate out/sectors --along y --from 0 --to 6.28 --lines 1"},
    {0},
};

const command command_interpolate = {
    .name = "interpolate",
    .summary = "follow answers along lines in z or in y",
    .arguments = "MODEL",
    .about =
        "Shows what MODEL, a run folder, a model file or the name of one that came with the program, answers "
        "along lines. Along z the condition stays "
        "and the latent point moves from one draw of the prior to another; it turns, cos(t) z1 + sin(t) "
        "z2, so that every point on the way is itself a draw of the prior. A straight line (--straight) "
        "passes "
        "points much nearer to 0 than any sample. Along y the latent point stays and the condition moves "
        "in a straight line.\n"
        "With --image the latent points are those of given images, a .png, .jpg or .npy file each. Along z a "
        "line "
        "goes from the first image to the second: at each of the conditions of -y, or without -y on the "
        "straight way from the condition of the one to that of the other, so that its ends are the images, "
        "up to the error of y'. "
        "Along y the latent point of each image stays while the condition goes from its own, or --from, to "
        "--to.\n"
        "A picture has a row for each line, and along y it boxes the classes of the data. A table has the "
        "columns line, step, x0, ..., y0, ..., z0, ...; of image models a .npy file holds the images, "
        "(lines, steps, h, w). Where other models make the images larger (--then), their latent points stay "
        "the "
        "same all along a line, and a table holds what the model itself answers.",
    .options = options,
    .examples = examples,
    .run = interpolate,
};
