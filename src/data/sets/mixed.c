/* Several shapes, one per class, that overlap and differ in topology. Labels are 0, 1, ... in the order in
 * which the recipe names the shapes. */
#include "base/memory.h"
#include "data/curve.h"
#include "data/dataset.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void circle(int piece, double t, double x[2]) {
    (void)piece;
    x[0] = cos(t);
    x[1] = sin(t);
}

static void slash(int piece, double t, double x[2]) {
    (void)piece;
    x[0] = t;
    x[1] = t;
}

static void blobs(int piece, double t, double x[2]) {
    (void)t;
    x[0] = piece ? 0.5 : -0.5;
    x[1] = -x[0];
}

static void three(int piece, double t, double x[2]) {
    x[0] = (cos(t) + (piece ? 1 : -1)) / 2;
    x[1] = 2 * sin(t) - 1;
}

static void grid(int piece, double t, double x[2]) {
    (void)t;
    x[0] = 0.8 * (piece % 3 - 1);
    x[1] = 0.8 * (piece / 3 - 1);
}

static void concentric(int piece, double t, double x[2]) {
    double radius = piece ? 0.6 : 1;
    x[0] = radius * cos(t);
    x[1] = radius * sin(t);
}

typedef struct shape {
    const char *name;
    blurred_curve curve; /* .at NULL: uniform on [-1,1]^2 */
} shape;

/* name, and its curve: at, pieces, t from, t to, speed, noise */
#define SHAPE_LIST(X)                                                                                        \
    X(circle, circle, 1, 0, 2 * M_PI, 1, 0.05)                                                               \
    X(slash, slash, 1, -1, 1, M_SQRT2, 0.05)                                                                 \
    X(blobs, blobs, 2, 0, 0, 0, 0.15)                                                                        \
    X(three, three, 2, 0, M_PI, 2, 0.05)                                                                     \
    X(square, .at = NULL)                                                                                    \
    X(grid, grid, 9, 0, 0, 0, 0.05)                                                                          \
    X(concentric, concentric, 2, 0, 2 * M_PI, 1, 0.05)

static const shape shapes[] = {
#define X(name, ...) {#name, {__VA_ARGS__}},
    SHAPE_LIST(X)
#undef X
};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

/* " circle slash ..." */
#define X(name, ...) " " #name
static const char names_after_spaces[] = SHAPE_LIST(X);
#undef X

/* The default has four topologies: a loop, one piece, two pieces, nine pieces. */
static const recipe_key keys[] = {{"data", "shapes", KEY_WORDS, "circle slash blobs grid", 0, 0,
                                   &names_after_spaces[1],
                                   "The shapes, one class each, at least two of them."},
                                  {0}};

typedef struct mixed {
    const shape *shape[SHAPES]; /* of each class */
    double entropy[SHAPES];
} mixed;

static const shape *find_shape(const char *name) {
    for (int i = 0; i < SHAPES; i++) {
        if (strcmp(shapes[i].name, name) == 0) return &shapes[i];
    }
    return NULL;
}

static jf_status add_class(dataset *d, const recipe *r, const char *name) {
    mixed *own = d->own;
    int k = d->classes;
    const shape *s = find_shape(name);
    if (!s) return recipe_fail(r, "data.shapes", "\"%s\" is not a shape", name);
    for (int i = 0; i < k; i++) {
        if (own->shape[i] == s) return recipe_fail(r, "data.shapes", "\"%s\" is named twice", name);
    }
    own->shape[k] = s;
    d->label[k] = k;
    d->class_name[k] = s->name;
    d->classes++;
    own->entropy[k] = log(4);
    return s->curve.at ? curve_entropy(d->ctx, &own->entropy[k], &s->curve) : JF_OK;
}

static jf_status mixed_open(dataset *d, const recipe *r) {
    mixed *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    dataset_set_plane(d, "shape");
    char word[32];
    for (int i = 0; recipe_words(r, "data.shapes", i, word, sizeof word); i++) JF_TRY(add_class(d, r, word));
    if (d->classes < 2) {
        return recipe_fail(r, "data.shapes",
                           "found %d shape%s, expected at least two, since a single label says "
                           "nothing and cannot be standardised",
                           d->classes, d->classes == 1 ? "" : "s");
    }
    return JF_OK;
}

static void mixed_close(dataset *d) {
    free(d->own);
}

static void mixed_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)y;
    const shape *s = ((const mixed *)d->own)->shape[class_index];
    if (s->curve.at) {
        curve_draw(&s->curve, stream, x);
    } else {
        x[0] = rng_range(stream, -1, 1);
        x[1] = rng_range(stream, -1, 1);
    }
}

static double mixed_entropy(const dataset *d, int class_index) {
    return ((const mixed *)d->own)->entropy[class_index];
}

const dataset_kind dataset_mixed = {
    .name = "mixed",
    .summary = "overlapping shapes of different topology, one per class",
    .keys = keys,
    .open = mixed_open,
    .close = mixed_close,
    .draw = mixed_draw,
    .entropy = mixed_entropy,
};
