#include "compute/cpu/winograd.h"

/* At 0, 1, -1, 2, -2: (w0 + p w1 + p^2 w2) / product of the distances to the other points; at infinity: w2.
 */
const float winograd_weights[WINOGRAD_POINTS][3] = {
    {1.0f / 4, 0, 0},
    {-1.0f / 6, -1.0f / 6, -1.0f / 6},
    {-1.0f / 6, 1.0f / 6, -1.0f / 6},
    {1.0f / 24, 1.0f / 12, 1.0f / 6},
    {1.0f / 24, -1.0f / 12, 1.0f / 6},
    {0, 0, 1},
};

/* Groups whose inputs and outputs are whole vectors; 0: there is no such number. */
static int chunk_of(const conv_job *c, int vector) {
    for (int n = 1; n <= c->groups && n <= vector; n++)
        if (n * c->in % vector == 0 && n * c->out % vector == 0) return c->groups % n == 0 ? n : 0;
    return 0;
}

static int strips_of(const conv_job *c, int strip) {
    return (winograd_share(c->h, 0, c->dilation) + strip - 1) / strip;
}

/* Multiplications for a row of taps and all outputs of one remainder of rows and pixels. */
static int products_of(const conv_job *c, int strip) {
    int columns = winograd_share(c->w, 0, c->dilation), tiles = winograd_tiles(columns);
    return strips_of(c, strip) * strip * (tiles * WINOGRAD_POINTS - winograd_short(columns));
}

int winograd_plan(conv_job *c, int vector) {
    static const int strips[] = WINOGRAD_STRIPS;
    int bundle = c->out < vector ? vector / c->out : 1, chunk = chunk_of(c, vector);
    if (chunk == 0 || c->out * bundle % vector != 0 || bundle > vector / 4 || chunk % bundle != 0) return 0;
    if (bundle * c->in % vector != 0 && vector % (bundle * c->in) != 0)
        return 0; /* a bundle would begin within a vector */
    int strip = strips[0];
    for (size_t i = 1; i < sizeof strips / sizeof *strips; i++)
        if (products_of(c, strips[i]) < products_of(c, strip)) strip = strips[i];
    int direct = 3 * winograd_share(c->h, 0, c->dilation) * winograd_share(c->w, 0, c->dilation);
    if (10 * products_of(c, strip) > 7 * direct) return 0; /* the transforms would take up what is left */
    c->joined = 0;
    c->q = 1;
    c->units = c->groups * c->out / vector;
    c->steps = c->in;
    c->strip = strip;
    c->strips = strips_of(c, strip);
    c->chunk = chunk;
    c->bundle = bundle;
    return 1;
}

size_t winograd_scratch(const conv_job *c) {
    size_t lines = (size_t)(winograd_classes(c) * winograd_class_lines(c));
    return WINOGRAD_POINTS * lines * (size_t)(c->chunk * (c->in + c->out));
}

int winograd_halo(const conv_job *c) {
    int halo = 0;
    for (int remainder = 0; remainder < c->dilation && remainder < c->w; remainder++) {
        int outputs = winograd_share(c->w, remainder, c->dilation), tiles = winograd_tiles(outputs);
        int covered = 4 * tiles - winograd_short(outputs);
        int last = remainder + covered * c->dilation; /* the pixel after the last output */
        if (last - (c->w - 1) > halo) halo = last - (c->w - 1);
    }
    return halo;
}
