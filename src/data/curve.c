/* Entropy of a blurred curve. In units of the noise, p is a sum of unit Gaussians around quadrature nodes of
 * the curve. It is put on a square grid node by node (each reaches CUT deviations), then -p log p is summed
 * over the grid. Gauss-Legendre panels no longer than PANEL and the trapezoidal rule with a spacing of STEP
 * both converge faster than any power on functions this smooth. */
#include "data/curve.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>

#define CUT   8.0
#define PANEL 2.0
#define STEP  0.5
#define REACH ((int)(2 * CUT / STEP) + 1) /* grid points that a node reaches, each way */

#define LEGENDRE_NODES 8
static const double legendre_node[LEGENDRE_NODES] = {
    -0.96028985649753623, -0.79666647741362674, -0.52553240991632899, -0.18343464249564980,
    0.18343464249564980,  0.52553240991632899,  0.79666647741362674,  0.96028985649753623};
static const double legendre_weight[LEGENDRE_NODES] = {
    0.10122853629037626, 0.22238103445337447, 0.31370664587788729, 0.36268378337836198,
    0.36268378337836198, 0.31370664587788729, 0.22238103445337447, 0.10122853629037626}; /* sum 2 */

typedef struct curve_node {
    double x[2], weight; /* in units of the noise; the weights sum to 1 */
} curve_node;

typedef struct density_grid {
    double origin[2];
    size_t size[2];
    double *p; /* (size[0], size[1]) */
} density_grid;

void curve_draw(const blurred_curve *c, rng *stream, double x[2]) {
    int piece = c->pieces > 1 ? (int)rng_below(stream, (uint32_t)c->pieces) : 0;
    c->at(piece, rng_range(stream, c->t_from, c->t_to), x);
    x[0] += c->noise * rng_normal(stream);
    x[1] += c->noise * rng_normal(stream);
}

static size_t panels_of(const blurred_curve *c) {
    double panels = ceil(c->speed * (c->t_to - c->t_from) / (PANEL * c->noise));
    return panels > 1 ? (size_t)panels : 1;
}

static void place_nodes(const blurred_curve *c, curve_node *nodes) {
    size_t panels = panels_of(c);
    double width = (c->t_to - c->t_from) / (double)panels;
    for (int piece = 0; piece < c->pieces; piece++) {
        for (size_t panel = 0; panel < panels; panel++) {
            for (int i = 0; i < LEGENDRE_NODES; i++, nodes++) {
                double t = c->t_from + width * ((double)panel + 0.5 * (1 + legendre_node[i]));
                c->at(piece, t, nodes->x);
                for (int axis = 0; axis < 2; axis++) nodes->x[axis] /= c->noise;
                nodes->weight = legendre_weight[i] / (2 * (double)panels * c->pieces);
            }
        }
    }
}

/* A grid around all nodes, with room for CUT deviations on every side. */
static jf_status make_grid(jf_context *ctx, density_grid *grid, const curve_node *nodes, size_t n) {
    for (int axis = 0; axis < 2; axis++) {
        double lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < n; i++) {
            lo = fmin(lo, nodes[i].x[axis]);
            hi = fmax(hi, nodes[i].x[axis]);
        }
        grid->origin[axis] = lo - CUT - STEP;
        grid->size[axis] = (size_t)((hi - lo) / STEP) + REACH + 3;
    }
    return MEM_NEW(ctx, &grid->p, grid->size[0] * grid->size[1]);
}

/* p += weight / (2 pi) exp(-|u - x|^2 / 2), which is a product of one factor per row and one per column. */
static void add_node(density_grid *grid, const curve_node *node) {
    size_t first[2];
    double factor[2][REACH];
    for (int axis = 0; axis < 2; axis++) {
        double offset = node->x[axis] - grid->origin[axis];
        first[axis] = (size_t)ceil((offset - CUT) / STEP);
        for (int i = 0; i < REACH; i++) {
            double u = STEP * (double)(first[axis] + (size_t)i) - offset;
            factor[axis][i] = exp(-0.5 * u * u);
        }
    }
    for (int i = 0; i < REACH; i++) {
        double scale = node->weight / (2 * M_PI) * factor[0][i];
        double *row = grid->p + (first[0] + (size_t)i) * grid->size[1] + first[1];
        for (int j = 0; j < REACH; j++) row[j] += scale * factor[1][j];
    }
}

jf_status curve_entropy(jf_context *ctx, double *out, const blurred_curve *c) {
    size_t n = panels_of(c) * (size_t)c->pieces * LEGENDRE_NODES;
    curve_node *nodes = NULL;
    density_grid grid = {.p = NULL};
    jf_status status;
    JF_TRY_DONE(MEM_NEW(ctx, &nodes, n));
    place_nodes(c, nodes);
    JF_TRY_DONE(make_grid(ctx, &grid, nodes, n));
    for (size_t i = 0; i < n; i++) add_node(&grid, &nodes[i]);

    double sum = 0;
    for (size_t i = 0; i < grid.size[0] * grid.size[1]; i++) {
        if (grid.p[i] > 0) sum -= grid.p[i] * log(grid.p[i]);
    }
    *out = sum * STEP * STEP + 2 * log(c->noise); /* back from units of the noise */
done:
    free(nodes);
    free(grid.p);
    return status;
}
