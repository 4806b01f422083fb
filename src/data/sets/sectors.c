/* Sectors of the unit disc: y ~ U[0, 2 pi), x uniform by area in the sector of `width` radians centred on the
 * direction y. Its area is width / 2, so H(x | y) = ln(width / 2). */
#include "base/memory.h"
#include "data/dataset.h"
#include <math.h>
#include <stdlib.h>

static const recipe_key keys[] = {
    {"data", "width", KEY_REAL, "1", 0.001, 6.283185307179586, NULL, "Width of a sector in radians."}, {0}};

typedef struct sectors {
    double width;
} sectors;

static jf_status sectors_open(dataset *d, const recipe *r) {
    sectors *own;
    JF_TRY(MEM_NEW(d->ctx, &own, 1));
    d->own = own;
    own->width = recipe_real(r, "data.width");
    dataset_set_plane(d, "direction");
    return JF_OK;
}

static void sectors_close(dataset *d) {
    free(d->own);
}

static void sectors_draw(const dataset *d, rng *stream, int class_index, double *x, double *y) {
    (void)class_index;
    double width = ((const sectors *)d->own)->width;
    y[0] = rng_range(stream, 0, 2 * M_PI);
    double angle = y[0] + width * (rng_uniform(stream) - 0.5);
    double radius = sqrt(rng_uniform(stream)); /* uniform by area */
    x[0] = radius * cos(angle);
    x[1] = radius * sin(angle);
}

static double sectors_entropy(const dataset *d, int class_index) {
    (void)class_index;
    return log(((const sectors *)d->own)->width / 2);
}

const dataset_kind dataset_sectors = {
    .name = "sectors",
    .summary = "a sector of the unit disc around the direction y",
    .keys = keys,
    .open = sectors_open,
    .close = sectors_close,
    .draw = sectors_draw,
    .entropy = sectors_entropy,
};
