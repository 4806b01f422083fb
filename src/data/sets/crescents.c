/* Two interleaved half circles, one per class:
 *     class 0: (cos t, sin t)
 *     class 1: (1 - cos t, 0.5 - sin t), or (1 - cos t, 1.25 - sin t) where they shall overlap
 * with t ~ U(0, pi), plus N(0, noise^2) on both coordinates. */
#include "base/memory.h"
#include "data/curve.h"
#include "data/dataset.h"
#include <math.h>
#include <stdlib.h>

/* The entropy is summed over a grid that grows as 1 / noise^2: two million points at a noise of 0.002. */
static const recipe_key keys[] = {
    {"data", "noise", KEY_REAL, "0.05", 0.002, 1, NULL, "Deviation of the noise on both coordinates."},
    {"data", "overlap", KEY_BOOL, "no", 0, 0, NULL, "Move class 1 up so that the crescents overlap."},
    {0}};

typedef struct crescents {
    blurred_curve curve[2];
    double entropy; /* of either class: they are congruent */
} crescents;

static void upper(int piece, double t, double x[2]) {
    (void)piece;
    x[0] = cos(t);
    x[1] = sin(t);
}

static void lower(int piece, double t, double x[2]) {
    (void)piece;
    x[0] = 1 - cos(t);
    x[1] = 0.5 - sin(t);
}

static void lower_overlapping(int piece, double t, double x[2]) {
    (void)piece;
    x[0] = 1 - cos(t);
    x[1] = 1.25 - sin(t);
}

static jf_status crescents_open(dataset *d, const recipe *r) {
    crescents *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    own->curve[0] = (blurred_curve){.at = upper,
                                    .pieces = 1,
                                    .t_from = 0,
                                    .t_to = M_PI,
                                    .speed = 1,
                                    .noise = recipe_real(r, "data.noise")};
    own->curve[1] = own->curve[0];
    own->curve[1].at = recipe_bool(r, "data.overlap") ? lower_overlapping : lower;

    dataset_set_plane(d, "class");
    d->classes = 2;
    d->label[0] = 0;
    d->label[1] = 1;
    d->class_name[0] = "upper";
    d->class_name[1] = "lower";
    return curve_entropy(d->ctx, &own->entropy, &own->curve[0]);
}

static void crescents_close(dataset *d) {
    free(d->own);
}

static void crescents_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)y;
    const crescents *own = d->own;
    curve_draw(&own->curve[class_index], stream, x);
}

static double crescents_entropy(const dataset *d, int class_index) {
    (void)class_index;
    return ((const crescents *)d->own)->entropy;
}

const dataset_kind dataset_crescents = {
    .name = "crescents",
    .summary = "two interleaved half circles, one per class",
    .keys = keys,
    .open = crescents_open,
    .close = crescents_close,
    .draw = crescents_draw,
    .entropy = crescents_entropy,
};
