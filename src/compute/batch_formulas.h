/* Batches as formulas, for devices that hold the data: every element by itself, from the same counter-based
 * random numbers that the host draws one after the other. Included by a device after `typedef ... num;`, its
 * number type. */
#ifndef JF_COMPUTE_BATCH_FORMULAS_H
#define JF_COMPUTE_BATCH_FORMULAS_H

#include "base/permutation.h"
#include "compute/batch.h"
#include "types/label_formulas.h"

/* resident_data as a device holds it, all in its own memory. */
typedef struct resident_view {
    long rows, validation_rows;
    int dim_x, model_y, width; /* model_y: elements of y that a state has */
    const uint8_t *bytes;      /* (rows + validation_rows, width), or NULL and */
    const num *reals;
    const double *value; /* (256) */
    resident_task task;
    double noise;
    int h, w, channels, hole_h, hole_w;
    int classes, planes;
    const double *label;                  /* (classes) */
    const uint8_t *row_class;             /* (rows + validation_rows) */
    const long *class_rows, *class_start; /* (rows), (classes + 1) */
    const double *mean, *deviation;       /* (dim_x + dim_y) */
    const int32_t *order;                 /* or NULL */
    pixel_spread spread;
} resident_view;

/* Sizes and the task; the arrays are the device's to make. */
FORMULA resident_view resident_view_of(const resident_data *from) {
    return (resident_view){.rows = from->rows,
                           .validation_rows = from->validation_rows,
                           .dim_x = from->dim_x,
                           .model_y = from->model_y,
                           .width = from->width,
                           .task = from->task,
                           .noise = from->noise,
                           .h = from->h,
                           .w = from->w,
                           .channels = from->channels,
                           .hole_h = from->hole_h,
                           .hole_w = from->hole_w,
                           .classes = from->classes,
                           .planes = from->planes,
                           .spread = from->spread};
}

/* What the elements of one sample of a batch have in common. */
typedef struct batch_sample {
    long row;
    uint64_t stream; /* of what the task draws */
    double label;
    int top, left; /* of the hole */
} batch_sample;

FORMULA batch_sample batch_sample_of(const resident_view *v, const batch_request *q, int i) {
    uint64_t number = q->first + (uint64_t)i;
    batch_sample s = {0, number, 0, 0, 0};
    if (q->validation) {
        s.stream = validation_row((uint64_t)v->validation_rows, number);
        s.row = v->rows + (long)s.stream;
    } else {
        int by_class = v->classes > 0 && q->class_index >= 0;
        long begin = by_class ? v->class_start[q->class_index] : 0;
        uint64_t size = (uint64_t)(by_class ? v->class_start[q->class_index + 1] - begin : v->rows);
        permutation order = permutation_create(q->order, number / size, size);
        long place = (long)permutation_at(&order, number % size);
        s.row = by_class ? v->class_rows[begin + place] : place;
    }
    if (v->classes > 0) s.label = v->label[v->row_class[s.row]];
    if (v->task == RESIDENT_HOLE) {
        rng r = stream_of(q->row, s.stream);
        s.top = (int)stream_below(&r, (uint32_t)(v->h - v->hole_h + 1));
        s.left = (int)stream_below(&r, (uint32_t)(v->w - v->hole_w + 1));
    }
    return s;
}

FORMULA double batch_stored_value(const resident_view *v, long row, int at) {
    size_t i = (size_t)row * (size_t)v->width + (size_t)at;
    return v->bytes ? v->value[v->bytes[i]] : (double)v->reals[i];
}

/* y of a task that makes it of the image. */
FORMULA double batch_degraded(const resident_view *v, const batch_request *q, const batch_sample *s, int at,
                              double value) {
    if (v->task == RESIDENT_NOISE)
        return value + v->noise * stream_normal_at(q->row, s->stream, (uint32_t)at);
    int line = at / (v->w * v->channels), column = at / v->channels % v->w;
    int inside =
        line >= s->top && line < s->top + v->hole_h && column >= s->left && column < s->left + v->hole_w;
    return inside ? 0 : value;
}

/* Element `at` of the row, in the data's units. */
FORMULA double batch_row_value(const resident_view *v, const batch_request *q, const batch_sample *s,
                               int at) {
    int of_y = at >= v->dim_x;
    if (of_y && v->classes > 0) return label_element(s->label, v->planes, at - v->dim_x);
    if (v->task == RESIDENT_WHOLE) return batch_stored_value(v, s->row, at);
    if (v->task == RESIDENT_LEVELS) {
        double u = stream_uniform_at(q->row, s->stream, (uint32_t)at);
        return pixel_spread_out(v->spread, pixel_of_level(batch_stored_value(v, s->row, at), u));
    }
    int place = of_y ? at - v->dim_x : at;
    double value = batch_stored_value(v, s->row, place), y = batch_degraded(v, q, s, place, value);
    return of_y ? y : value - y;
}

/* Element `element` of the state of sample i. Normals are counted as they would be drawn: those of all
 * elements, one of each, or two where the data are annealed in, and then those that are added to y. */
FORMULA double batch_element(const resident_view *v, const batch_request *q, const batch_sample *s, int i,
                             int element) {
    int at = v->order ? v->order[element] : element, dim = v->dim_x + v->model_y, each = q->share < 1 ? 2 : 1;
    double value = (batch_row_value(v, q, s, at) - v->mean[at]) / v->deviation[at];
    if (!batch_is_mixed(q)) return value;
    uint64_t stream = q->noise_first + (uint64_t)i;
    uint32_t first = (uint32_t)(each * at);
    double prior = each == 2 ? stream_normal_at(q->noise, stream, first) : 0;
    double noise = stream_normal_at(q->noise, stream, first + (uint32_t)each - 1);
    value = batch_mix(q, value, noise, prior);
    if (at >= v->dim_x && q->y_noise > 0)
        value += q->y_noise * stream_normal_at(q->noise, stream, (uint32_t)(each * dim + at - v->dim_x));
    return value;
}

#endif
