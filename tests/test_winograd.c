/* 3x3 convolutions by points: against the sum over taps in double, for every instruction set of this machine.
 */
#include "compute/cpu/winograd.h"
#include "flow_fixture.h"

typedef struct trial {
    conv_job c;
    const cpu_kernels *k;
    int inputs, outputs, halo;
    size_t spaced;     /* pixels from row to row */
    double *x, *y, *w; /* x and y of the real pixels; w (9 taps, groups, in, out) */
    float *x_image, *y_image, *packed;
    float *memory[4];
} trial;

static double *pixel_of(double *image, const trial *t, int channels, int i, int j) {
    return image + ((size_t)i * (size_t)t->c.w + (size_t)j) * (size_t)channels;
}
static double *weight_of(double *w, const conv_job *c, int tap, int group, int in, int out) {
    return w +
           (((size_t)tap * (size_t)c->groups + (size_t)group) * (size_t)c->in + (size_t)in) * (size_t)c->out +
           out;
}

/* Not a number beyond what the kernels may read: it would show in every result. */
static float *poisoned(trial *t, int slot, size_t count) {
    free(t->memory[slot]);
    t->memory[slot] = aligned_alloc(64, (count + 16) / 16 * 64);
    CHECK(t->memory[slot]);
    for (size_t i = 0; i < count; i++) t->memory[slot][i] = NAN;
    return t->memory[slot];
}
static float *spaced_image(trial *t, int slot, int channels, const double *pixels, image_view *view) {
    size_t c = (size_t)channels, rows = (size_t)t->c.h, left = (size_t)t->halo, width = (size_t)t->c.w;
    float *at = poisoned(t, slot, (rows * t->spaced + left) * c + 16);
    memset(at, 0, sizeof(float) * (rows * t->spaced + left) * c);
    *view = (image_view){at + left * c, t->spaced * c, c};
    for (size_t i = 0; pixels && i < rows; i++)
        for (size_t j = 0; j < width * c; j++) view->at[i * view->row + j] = (float)pixels[i * width * c + j];
    return at;
}

/* Group and output of a lane of packed weights. */
static void lane_of(const trial *t, int unit, int lane, int *group, int *out) {
    const conv_job *c = &t->c;
    int first = unit * t->k->vector;
    *group = first / c->out + lane % c->bundle;
    *out = first % c->out + lane / c->bundle;
}
static float *packed_at(const trial *t, float *packed, int unit, int point, int step, int row) {
    return packed +
           (size_t)(((unit * WINOGRAD_POINTS + point) * t->c.steps + step) * 3 + row) * (size_t)t->k->vector;
}
#define EACH_WEIGHT(t, unit, step, row, lane)                                                                \
    for (int unit = 0; unit < (t)->c.units; unit++)                                                          \
        for (int step = 0; step < (t)->c.steps; step++)                                                      \
            for (int row = 0; row < 3; row++)                                                                \
                for (int lane = 0; lane < (t)->k->vector; lane++)

static void pack(trial *t, int slot) {
    t->packed = poisoned(t, slot, (size_t)(t->c.units * t->c.steps * 3 * WINOGRAD_POINTS * t->k->vector));
    EACH_WEIGHT(t, unit, step, row, lane) {
        int group, out;
        lane_of(t, unit, lane, &group, &out);
        for (int p = 0; p < WINOGRAD_POINTS; p++) {
            double sum = 0;
            for (int tap = 0; tap < 3; tap++)
                sum += (double)winograd_weights[p][tap] *
                       *weight_of(t->w, &t->c, row * 3 + tap, group, step, out);
            packed_at(t, t->packed, unit, p, step, row)[lane] = (float)sum;
        }
    }
}

static trial trial_open(const cpu_kernels *k, conv_job c) {
    trial t = {.c = c, .k = k, .inputs = c.groups * c.in, .outputs = c.groups * c.out};
    CHECK(winograd_plan(&t.c, k->vector));
    t.halo = winograd_halo(&t.c) > c.dilation ? winograd_halo(&t.c) : c.dilation;
    t.spaced = (size_t)(c.w + t.halo);
    size_t pixels = (size_t)(c.h * c.w);
    t.x = draw_normal(pixels * (size_t)t.inputs, 1, 1);
    t.y = draw_normal(pixels * (size_t)t.outputs, 1, 2);
    t.w = draw_normal((size_t)(9 * t.inputs * c.out), 0.3, 3);
    spaced_image(&t, 0, t.inputs, t.x, &t.c.x);
    spaced_image(&t, 1, t.outputs, t.y, &t.c.y);
    pack(&t, 2);
    t.c.packed = t.packed;
    t.c.scratch = poisoned(&t, 3, winograd_scratch(&t.c));
    return t;
}
static void trial_close(trial *t) {
    free(t->x), free(t->y), free(t->w);
    for (int i = 0; i < 4; i++) free(t->memory[i]);
}

/* Calls with every pair of pixels that a tap joins: (i, j) of y and (a, b) of x. */
#define EACH_TAP(t, tap, i, j, a, b)                                                                         \
    for (int tap = 0; tap < 9; tap++)                                                                        \
        for (int i = 0, a; i < (t)->c.h; i++)                                                                \
            if ((a = i + (tap / 3 - 1) * (t)->c.dilation) >= 0 && a < (t)->c.h)                              \
                for (int j = 0, b; j < (t)->c.w; j++)                                                        \
                    if ((b = j + (tap % 3 - 1) * (t)->c.dilation) >= 0 && b < (t)->c.w)

/* y (+)= conv(x) + b */
static void check_conv(trial *t, int add) {
    const conv_job *c = &t->c;
    size_t count = (size_t)(c->h * c->w * t->outputs);
    double *expected = new_numbers(count), *found = new_numbers(count),
           *bias = draw_normal((size_t)t->outputs, 1, 4);
    float *b = poisoned(t, 3, winograd_scratch(c) + (size_t)t->outputs);
    t->c.scratch = b;
    b += winograd_scratch(c);
    for (int o = 0; o < t->outputs; o++) b[o] = (float)bias[o];
    for (size_t i = 0; i < count; i++) expected[i] = add ? t->y[i] : bias[i % (size_t)t->outputs];
    EACH_TAP(t, tap, i, j, a, k)
    for (int g = 0; g < c->groups; g++)
        for (int in = 0; in < c->in; in++)
            for (int o = 0; o < c->out; o++)
                pixel_of(expected, t, t->outputs, i, j)[g * c->out + o] +=
                    pixel_of(t->x, t, t->inputs, a, k)[g * c->in + in] * *weight_of(t->w, c, tap, g, in, o);
    t->c.add = add;
    t->c.b = add ? NULL : b;
    t->k->image->conv(c);
    for (int i = 0; i < c->h; i++)
        for (int j = 0; j < c->w * t->outputs; j++)
            found[i * c->w * t->outputs + j] = (double)c->y.at[(size_t)i * c->y.row + (size_t)j];
    CHECK_CLOSE(found, expected, count, 2e-6);
    for (int i = 0; i < c->h; i++) /* nothing beside the image was written */
        for (size_t j = (size_t)(c->w * t->outputs); j < c->y.row; j++)
            CHECK(c->y.at[(size_t)i * c->y.row + j] == 0);
    free(expected), free(found), free(bias);
}

static void check_dw(trial *t) {
    const conv_job *c = &t->c;
    size_t count = (size_t)(9 * t->inputs * c->out);
    double *expected = new_numbers(count), *found = new_numbers(count);
    EACH_TAP(t, tap, i, j, a, k)
    for (int g = 0; g < c->groups; g++)
        for (int in = 0; in < c->in; in++)
            for (int o = 0; o < c->out; o++)
                *weight_of(expected, c, tap, g, in, o) += 2 *
                                                          pixel_of(t->x, t, t->inputs, a, k)[g * c->in + in] *
                                                          pixel_of(t->y, t, t->outputs, i, j)[g * c->out + o];
    for (int add = 0; add < 2; add++) { /* once over what is there, once to it */
        t->c.add = add;
        t->k->image->conv_dw(c);
    }
    EACH_WEIGHT(t, unit, step, row, lane) {
        int group, out;
        lane_of(t, unit, lane, &group, &out);
        for (int tap = 0; tap < 3; tap++)
            for (int p = 0; p < WINOGRAD_POINTS; p++)
                *weight_of(found, c, row * 3 + tap, group, step, out) +=
                    (double)winograd_weights[p][tap] *
                    (double)packed_at(t, c->packed, unit, p, step, row)[lane];
    }
    CHECK_CLOSE(found, expected, count, 2e-6);
    free(expected), free(found);
}

static void check_shapes(const char *isa) {
    /* strips of 7 and of 8 rows, and more than fill the image; tiles of 4, of 3 and both; remainders with
     * unequal shares; groups in bundles and such that fill vectors */
    static const conv_job shapes[] = {
        {.h = 28, .w = 28, .dilation = 1, .groups = 4, .in = 8, .out = 8},
        {.h = 28, .w = 28, .dilation = 2, .groups = 2, .in = 16, .out = 8},
        {.h = 28, .w = 28, .dilation = 4, .groups = 2, .in = 32, .out = 8},
        {.h = 28, .w = 28, .dilation = 4, .groups = 2, .in = 8, .out = 32},
        {.h = 14, .w = 14, .dilation = 2, .groups = 2, .in = 8, .out = 16},
        {.h = 16, .w = 9, .dilation = 1, .groups = 1, .in = 16, .out = 16},
        {.h = 13, .w = 15, .dilation = 1, .groups = 2, .in = 8, .out = 8},
        {.h = 27, .w = 22, .dilation = 2, .groups = 1, .in = 48, .out = 16},
        {.h = 14, .w = 14, .dilation = 1, .groups = 8, .in = 4, .out = 4},
        {.h = 14, .w = 14, .dilation = 2, .groups = 4, .in = 8, .out = 4},
        {.h = 14, .w = 14, .dilation = 2, .groups = 4, .in = 4, .out = 8},
        {.h = 31, .w = 35, .dilation = 4, .groups = 2, .in = 24, .out = 8},
    };
    jf_context *ctx = NULL;
    const cpu_kernels *k = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    setenv("JOINTFLOW_ISA", isa, 1);
    jf_status status = cpu_kernels_choose(ctx, &k);
    unsetenv("JOINTFLOW_ISA");
    jf_context_free(ctx);
    if (status != JF_OK) SKIP("this machine lacks the instruction set");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        trial t = trial_open(k, shapes[i]);
        check_conv(&t, 0);
        trial_close(&t);
        t = trial_open(k, shapes[i]);
        check_conv(&t, 1);
        trial_close(&t);
        t = trial_open(k, shapes[i]);
        check_dw(&t);
        trial_close(&t);
    }
}

TEST(winograd__is_the_sum_over_taps_without_vector_extensions) {
    check_shapes("baseline");
}
TEST(winograd__is_the_sum_over_taps_with_avx2) {
    check_shapes("avx2");
}
TEST(winograd__is_the_sum_over_taps_with_avx512) {
    check_shapes("avx512");
}

TEST(winograd__is_left_alone_where_it_does_not_fit_or_pay) {
    static const conv_job shapes[] = {
        {.h = 28, .w = 28, .dilation = 1, .groups = 8, .in = 3, .out = 3},  /* no whole vectors */
        {.h = 28, .w = 28, .dilation = 1, .groups = 3, .in = 8, .out = 8},  /* nor of whole chunks */
        {.h = 28, .w = 28, .dilation = 1, .groups = 8, .in = 8, .out = 2},  /* bundles of 8 are too many */
        {.h = 4, .w = 4, .dilation = 1, .groups = 2, .in = 16, .out = 16},  /* strips mostly empty */
        {.h = 28, .w = 2, .dilation = 1, .groups = 2, .in = 16, .out = 16}, /* tiles, too */
        {.h = 1, .w = 1, .dilation = 4, .groups = 2, .in = 16, .out = 16},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        conv_job c = shapes[i];
        CHECK(!winograd_plan(&c, 16));
        CHECK(memcmp(&c, &shapes[i], sizeof c) == 0);
    }
}
