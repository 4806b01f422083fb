/* Embeddings of series and images: convolutions with a stride of 2, Leaky ReLU -> a hidden dense layer -> e.
 *
 * y has zeros put around it once, evenly on both sides and as many as it takes for the kernels of all layers
 * to fit without a rest:
 *     n_i = 2 (n_(i+1) - 1) + kernel
 * from the last layer's number of places back to the first. So no number of y is left out, and no layer
 * pads. */
#include "base/memory.h"
#include "net/embed.h"
#include <stdlib.h>

enum { STRIDE = 2, MOST_LAYERS = 12, MOST_NUMBERS = 1 << 24 };

/* Along one axis: its length, the kernel, and the places that are left where the number of layers is chosen
 * for it. An axis of a kernel of 1 is passed by. */
typedef struct axis {
    int length, kernel, stride, few;
} axis;

enum { KERNEL_1D = 5, FEW_1D = 16, KERNEL_2D = 3, FEW_2D = 8 };

/* Numbers that `layers` convolutions read to give `places`. */
static long reads(const axis *a, int layers, long places) {
    for (int i = 0; i < layers; i++) places = a->stride * (places - 1) + a->kernel;
    return places;
}

/* Places that the last of them gives, and the length with its zeros. */
static int places_of(const axis *a, int layers, int *padded) {
    int places = 1;
    while (reads(a, layers, places) < a->length) places++;
    *padded = (int)reads(a, layers, places);
    return places;
}

static int layers_for(const axis *a) {
    int layers = 1, padded;
    while (layers < MOST_LAYERS && places_of(a, layers, &padded) > a->few &&
           reads(a, layers + 1, 1) <= a->length)
        layers++;
    return layers;
}

typedef struct conv_form {
    axis h, w;
    int channels; /* of y */
    int layers, width;
} conv_form;

/* ---- what the recipe says ---- */

static jf_status check_lengths(const recipe *r, const conv_form *f) {
    const axis *all[] = {&f->h, &f->w};
    for (int i = 0; i < 2; i++) {
        if (all[i]->stride == 1) continue;
        long least = reads(all[i], f->layers, 1);
        if (all[i]->length >= least) continue;
        return recipe_fail(
            r, "model.embed",
            "found a y of %d %s, expected at least %ld for %d convolution%s of %d with a stride of %d: lower "
            "model.embed_layers, or take dense",
            all[i]->length, f->w.stride == 1 ? "steps" : "pixels along an axis", least, f->layers,
            f->layers == 1 ? "" : "s", all[i]->kernel, STRIDE);
    }
    return JF_OK;
}

/* `axes` sizes, or one more for channels. A series of one channel needs none. */
static jf_status read_shape(embed *e, const recipe *r, int axes) {
    const char *expected = axes == 1 ? "STEPSxCHANNELS (or STEPS)" : "HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS";
    JF_TRY(embed_read_axes(e, r, axes, axes + 1, expected));
    if (e->axes.rank == 0 && axes == 2)
        return recipe_fail(r, "model.embed_shape",
                           "found none, expected %s, by which the %d numbers of y are an image", expected,
                           e->dim_y);
    if (e->axes.rank == 0) e->axes = (y_axes){1, {e->dim_y}};
    if (e->axes.rank == axes) e->axes.size[e->axes.rank++] = 1;
    return JF_OK;
}

static jf_status read_form(embed *e, const recipe *r, int axes, conv_form *out) {
    JF_TRY(read_shape(e, r, axes));
    const int *size = e->axes.size;
    *out = (conv_form){
        .h = axes == 1 ? (axis){size[0], KERNEL_1D, STRIDE, FEW_1D}
                       : (axis){size[0], KERNEL_2D, STRIDE, FEW_2D},
        .w = axes == 1 ? (axis){1, 1, 1, 1} : (axis){size[1], KERNEL_2D, STRIDE, FEW_2D},
        .channels = size[axes],
        .layers = recipe_int(r, "model.embed_layers"),
        .width = recipe_int(r, "model.embed_channels"),
    };
    if (out->layers == 0) {
        /* by the shorter axis, which the kernels of all layers have to fit into */
        const axis *shorter = axes == 2 && out->w.length < out->h.length ? &out->w : &out->h;
        out->layers = layers_for(shorter);
    }
    return check_lengths(r, out);
}

/* ---- layers ---- */

/* y's place among its zeros, [h][w][c]. */
static jf_status pad(embed *e, const conv_form *f, int *h, int *w) {
    places_of(&f->h, f->layers, h);
    places_of(&f->w, f->layers, w);
    int top = (*h - f->h.length) / 2, left = (*w - f->w.length) / 2;
    double padded = (double)*h * *w * f->channels;
    if (padded > MOST_NUMBERS)
        return jf_fail(e->ctx, JF_ERROR_SHAPE,
                       "y has %.0f numbers with the zeros around it, expected at most %d", padded,
                       MOST_NUMBERS);
    e->padded = (int)padded;
    JF_TRY(MEM_NEW(e->ctx, &e->place, (size_t)e->dim_y));
    for (int i = 0; i < e->dim_y; i++) {
        int c = i % f->channels, pixel = i / f->channels, row = pixel / f->w.length,
            column = pixel % f->w.length;
        e->place[i] = ((row + top) * *w + column + left) * f->channels + c;
    }
    return JF_OK;
}

/* (places of h, of w, kernel of h, of w, channels): which number of [h][w][channels] each is. */
static void fill_patches(const conv_form *f, int places_h, int places_w, int w, int channels, int32_t *out) {
    for (int i = 0; i < places_h; i++)
        for (int k = 0; k < places_w; k++)
            for (int a = 0; a < f->h.kernel; a++)
                for (int b = 0; b < f->w.kernel; b++)
                    for (int c = 0; c < channels; c++)
                        *out++ = ((i * f->h.stride + a) * w + k * f->w.stride + b) * channels + c;
}

/* One convolution of [*h][*w][*channels], which become what it gives. */
static jf_status add_convolution(embed *e, const recipe *r, param_list *params, const char *prefix,
                                 const conv_form *f, int *h, int *w, int *channels) {
    int places_h = (*h - f->h.kernel) / f->h.stride + 1, places_w = (*w - f->w.kernel) / f->w.stride + 1;
    double numbers = (double)places_h * places_w * f->h.kernel * f->w.kernel * *channels;
    int32_t *patches;
    if (numbers > MOST_NUMBERS)
        return recipe_fail(r, "model.embed_channels",
                           "found %d, which makes %.0f numbers of a y, expected at most %d", f->width,
                           numbers, MOST_NUMBERS);
    JF_TRY(embed_add_layer(e, params, prefix, places_h * places_w, f->h.kernel * f->w.kernel * *channels,
                           f->width, 0));
    if (!params->only_names) {
        JF_TRY(embed_add_patches(e, &patches));
        fill_patches(f, places_h, places_w, *w, *channels, patches);
    }
    *h = places_h;
    *w = places_w;
    *channels = f->width;
    return JF_OK;
}

static jf_status lay_out(embed *e, const recipe *r, param_list *params, const char *prefix, int axes) {
    conv_form f;
    int h, w, width = recipe_int(r, "model.embed_width");
    JF_TRY(read_form(e, r, axes, &f));
    JF_TRY(pad(e, &f, &h, &w));
    int channels = f.channels;
    for (int i = 0; i < f.layers; i++) JF_TRY(add_convolution(e, r, params, prefix, &f, &h, &w, &channels));
    JF_TRY(embed_add_layer(e, params, prefix, 1, h * w * channels, width, 0));
    return embed_add_layer(e, params, prefix, 1, width, e->size, 1);
}

static jf_status conv1d_lay_out(embed *e, const recipe *r, param_list *params, const char *prefix) {
    return lay_out(e, r, params, prefix, 1);
}

static jf_status conv2d_lay_out(embed *e, const recipe *r, param_list *params, const char *prefix) {
    return lay_out(e, r, params, prefix, 2);
}

#define CONV_KEYS(shape_doc, layers_doc)                                                                     \
    EMBED_SIZE_KEY, {"model", "embed_shape", KEY_TEXT, "", 0, 0, NULL, shape_doc},                           \
        {"model", "embed_layers", KEY_INT, "0", 0, MOST_LAYERS, NULL, layers_doc},                           \
        {"model", "embed_channels", KEY_INT, "32", 1, 1024, NULL, "Channels of each convolution."},          \
        {"model", "embed_width", KEY_INT, "64",                                                              \
         1,       4096,          NULL,    "Units of the hidden dense layer behind the convolutions."},       \
    {                                                                                                        \
        0                                                                                                    \
    }

static const recipe_key conv1d_keys[] = {
    CONV_KEYS("The numbers of y as a series, STEPSxCHANNELS: 100x2; empty: one channel.",
              "Convolutions of 5 steps with a stride of 2; 0: as many as leave at most 16 steps.")};
static const recipe_key conv2d_keys[] = {
    CONV_KEYS("The numbers of y as an image, HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS: 28x28.",
              "Convolutions of 3x3 pixels with a stride of 2; 0: as many as leave at most 8 pixels along "
              "the shorter side.")};

const embed_kind embed_conv1d = {
    .name = "conv1d",
    .keys = conv1d_keys,
    .lay_out = conv1d_lay_out,
};

const embed_kind embed_conv2d = {
    .name = "conv2d",
    .keys = conv2d_keys,
    .lay_out = conv2d_lay_out,
};
