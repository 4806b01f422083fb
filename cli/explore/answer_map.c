/* Points through the map: x of latent points, latent points of x, and the density of x on a grid. */
#include "conditions_asked.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_POINTS = 2000, MOST_GRID = 128 };

/* ---- x <-> z ---- */

typedef jf_status (*map_fn)(const jf_model *m, size_t n, const double *from, const double *y, double *to,
                            double *y_to, const jf_use_options *options);

static jf_status give_map(explorer *e, ask *asked, buffer *out, map_fn map, const char *from,
                          const char *to) {
    shown_model *s = answers_model(e, asked);
    double *y = NULL;
    if (asked->refused) return JF_OK;
    size_t given = ask_length(asked, from), dim_x = (size_t)s->dim_x, n = given / dim_x;
    if (n < 1 || n > MOST_POINTS || n * dim_x != given)
        ask_refuse(asked, "%s: found %zu numbers, expected %zu for each of 1 to %d points", from, given,
                   dim_x, MOST_POINTS);
    if (asked->refused) return JF_OK;
    jf_status status = asked_condition(s, asked, "y", &y, NULL);
    if (status != JF_OK || !y) return status;
    double *a = answers_array(asked, given), *b = answers_array(asked, given);
    double *ys = repeat_condition(asked, s, y, (int)n);
    if (a) ask_numbers(asked, from, a, given);
    if (!asked->refused) status = map(s->m, n, a, ys, b, NULL, NULL);
    if (!asked->refused && status == JF_OK) {
        buffer_add(out, "{\"%s\":", to);
        buffer_add_numbers(out, b, given);
        buffer_add(out, "}\n");
    }
    free(a);
    free(b);
    free(ys);
    free(y);
    return status;
}

static jf_status give_decode(explorer *e, ask *asked, buffer *out) {
    return give_map(e, asked, out, jf_decode, "z", "x");
}
static jf_status give_encode(explorer *e, ask *asked, buffer *out) {
    return give_map(e, asked, out, jf_encode, "x", "z");
}
const answer answer_decode = {"decode", give_decode};
const answer answer_encode = {"encode", give_encode};

/* ---- the density ---- */

/* The middles of `size` x `size` cells (of `size` where x is one number), row by row from the lowest x1 on.
 */
static void place_grid(double *x, int dim_x, int size, const double *range) {
    for (int row = 0, at = 0; row < (dim_x > 1 ? size : 1); row++)
        for (int column = 0; column < size; column++) {
            x[at++] = range[0] + (range[1] - range[0]) * (column + 0.5) / size;
            if (dim_x > 1) x[at++] = range[2] + (range[3] - range[2]) * (row + 0.5) / size;
        }
}

static jf_status add_density(const shown_model *s, ask *asked, const double *y, const double *range, int size,
                             buffer *out) {
    int n = s->dim_x > 1 ? size * size : size;
    double *x = answers_array(asked, (size_t)n * (size_t)s->dim_x), *p = answers_array(asked, (size_t)n);
    double *ys = repeat_condition(asked, s, y, n);
    jf_status status = JF_OK;
    if (!asked->refused) {
        place_grid(x, s->dim_x, size, range);
        status = jf_density(s->m, n, x, ys, p, NULL, NULL);
    }
    if (!asked->refused && status == JF_OK) {
        for (int i = 0; i < n; i++) p[i] = exp(p[i]);
        buffer_add(out, "{\"size\":%d,\"range\":", size);
        buffer_add_numbers(out, range, s->dim_x > 1 ? 4 : 2);
        buffer_add(out, ",\"p\":");
        buffer_add_numbers(out, p, (size_t)n);
        buffer_add(out, "}\n");
    }
    free(x);
    free(p);
    free(ys);
    return status;
}

static jf_status give_density(explorer *e, ask *asked, buffer *out) {
    shown_model *s = answers_model(e, asked);
    double *y = NULL, range[4];
    if (asked->refused) return JF_OK;
    if (s->form.h > 0 || s->dim_x > 2)
        ask_refuse(asked, "the density on a grid is for one or two coordinates, and this model has %d",
                   s->dim_x);
    int size = (int)ask_whole(asked, "size", 2, MOST_GRID, 48);
    ask_numbers(asked, "range", range, s->dim_x > 1 ? 4 : 2);
    for (int i = 0; i < (s->dim_x > 1 ? 4 : 2); i += 2)
        if (!(range[i] < range[i + 1]) || fabs(range[i]) > 1e30 || fabs(range[i + 1]) > 1e30)
            ask_refuse(asked, "range: from %g to %g is none", range[i], range[i + 1]);
    if (asked->refused) return JF_OK;
    jf_status status = asked_condition(s, asked, "y", &y, NULL);
    if (status == JF_OK && y) status = add_density(s, asked, y, range, size, out);
    free(y);
    return status;
}

const answer answer_density = {"density", give_density};
