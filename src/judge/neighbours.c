/* Distances between two sets of points, a block of each at a time:
 *     |q - r|^2 = sum over s of  q'_s r'_s,    q' = (q, |q|^2, 1),   r' = (-2 r, 1, |r|^2)
 * Such a sum is what a dense layer's weight gradient is, for which every device has its fastest product. Both
 * sets are taken relative to the mean of the first: the squares then are no larger than they need to be, and
 * lose fewer digits. */
#include "judge/neighbours.h"
#include "base/memory.h"
#include "ranks/ranks.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK    1024
#define STRIP    16
#define ROUNDING 1e-6 /* of float, relative to the squares that are added up */

typedef struct search search;
/* What becomes of a block: squares (n, m) of the points first .. of `to` and those from `other` on of
 * `among`. */
typedef void (*block_visitor)(void *arg, const search *s, long first, int n, long other, int m);

struct search {
    device *d;
    const points *to, *among;
    size_t terms;     /* dim + 2 */
    double *mean;     /* (dim) */
    double *read;     /* (BLOCK, dim) */
    double *operand;  /* (terms, BLOCK): the points of a block are its columns */
    double *norm_to;  /* (to.n) |q|^2 */
    double *norm;     /* (BLOCK) |r|^2 of the block at hand */
    double *squares;  /* (BLOCK, BLOCK) */
    real *q, *r, *dw; /* on the device: operands of all of `to`, block by block, of one of `among`; product */
    real *sums;       /* (BLOCK) a bias' gradient, which nobody asks for */
    block_visitor visit;
    void *visit_arg;
};

static jf_status search_open(search *s) {
    device *d = s->d;
    size_t dim = (size_t)s->to->dim, square = (size_t)BLOCK * BLOCK;
    s->terms = dim + 2;
    JF_TRY(MEM_NEW(d->ctx, &s->mean, dim));
    JF_TRY(MEM_NEW(d->ctx, &s->read, BLOCK * dim));
    JF_TRY(MEM_NEW(d->ctx, &s->operand, BLOCK * s->terms));
    JF_TRY(MEM_NEW(d->ctx, &s->norm_to, (size_t)s->to->n));
    JF_TRY(MEM_NEW(d->ctx, &s->norm, BLOCK));
    JF_TRY(MEM_NEW(d->ctx, &s->squares, square));
    JF_TRY(d->kind->alloc(d, &s->q, (size_t)s->to->n * s->terms));
    JF_TRY(d->kind->alloc(d, &s->r, BLOCK * s->terms));
    JF_TRY(d->kind->alloc(d, &s->dw, square));
    JF_TRY(d->kind->alloc(d, &s->sums, BLOCK));
    for (long i = 0; i < s->to->n; i++)
        for (size_t k = 0; k < dim; k++) s->mean[k] += s->to->values[(size_t)i * dim + k] / (double)s->to->n;
    return JF_OK;
}

static void search_close(search *s) {
    free(s->mean);
    free(s->read);
    free(s->operand);
    free(s->norm_to);
    free(s->norm);
    free(s->squares);
    real *buffers[] = {s->q, s->r, s->dw, s->sums};
    for (int i = 0; i < 4; i++)
        if (buffers[i]) s->d->kind->release(s->d, buffers[i]);
}

/* Columns (terms, n) of points, each number times `scale`; their squares and ones follow as the terms
 * `of_norm` and `of_ones`. A few points at a time, whose rows stay in the cache. */
static void fill_operand(search *s, const double *values, size_t n, double scale, size_t of_norm,
                         size_t of_ones, double *norm) {
    size_t dim = (size_t)s->to->dim;
    memset(norm, 0, n * sizeof *norm);
    for (size_t from = 0; from < n; from += STRIP)
        for (size_t k = 0; k < dim; k++)
            for (size_t i = from; i < n && i < from + STRIP; i++) {
                double value = values[i * dim + k] - s->mean[k];
                s->operand[k * n + i] = scale * value;
                norm[i] += value * value;
            }
    memcpy(s->operand + of_norm * n, norm, n * sizeof *norm);
    for (size_t i = 0; i < n; i++) s->operand[of_ones * n + i] = 1;
}

static int block_size(const points *p, long first) {
    return p->n - first < BLOCK ? (int)(p->n - first) : BLOCK;
}

static real *operand_at(const search *s, long first) {
    return real_at(s->d, s->q, (size_t)first * s->terms);
}

static void put_to(search *s) {
    size_t dim = (size_t)s->to->dim;
    for (long first = 0; first < s->to->n; first += BLOCK) {
        size_t n = (size_t)block_size(s->to, first);
        fill_operand(s, s->to->values + (size_t)first * dim, n, 1, dim, dim + 1, s->norm_to + first);
        s->d->kind->put(s->d, operand_at(s, first), s->operand, s->terms * n);
    }
}

static void put_among(search *s, long first, int n) {
    size_t dim = (size_t)s->to->dim;
    const double *values = s->read;
    if (s->among->values)
        values = s->among->values + (size_t)first * dim;
    else
        s->among->read(s->among->source, first, n, s->read);
    fill_operand(s, values, (size_t)n, -2, dim + 1, dim, s->norm);
    s->d->kind->put(s->d, s->r, s->operand, s->terms * (size_t)n);
}

/* The points begin .. end-1 of `to`, which are whole blocks but for the last one. */
static jf_status search_part(void *arg, size_t begin, size_t end) {
    search *s = arg;
    device *d = s->d;
    for (long other = 0; other < s->among->n; other += BLOCK) {
        int m = block_size(s->among, other);
        JF_TRY(context_poll(d->ctx, "neighbours", (uint64_t)other, (uint64_t)s->among->n));
        put_among(s, other, m);
        for (long first = (long)begin; first < (long)end; first += BLOCK) {
            int n = block_size(s->to, first);
            size_t count = (size_t)n * (size_t)m;
            d->kind->fill(d, s->dw, 0, count);
            d->kind->dense_backward(d, NULL, s->dw, s->sums, s->r, s->r, operand_at(s, first), s->dw,
                                    (int)s->terms, n, m, 1);
            d->kind->get(d, s->squares, s->dw, count);
            s->visit(s->visit_arg, s, first, n, other, m);
        }
        JF_TRY(d->kind->status(d));
    }
    return JF_OK;
}

/* results: what `visit` leaves for each point of `to`. */
static jf_status search_run(search *s, const ranks_rows *results, int count) {
    JF_TRY(search_open(s));
    put_to(s);
    return ranks_divide(ranks_of(s->d->ctx), (size_t)s->to->n, BLOCK, search_part, s, results, count);
}

/* ---- the k nearest ---- */

typedef struct nearest {
    int k;
    double *squares; /* (n, k) */
    long *index;     /* (n, k) or NULL */
} nearest;

/* One more candidate, which comes after all that are equally near. */
static void insert(const nearest *f, long point, double square, long place) {
    double *squares = f->squares + (size_t)point * (size_t)f->k;
    long *index = f->index ? f->index + (size_t)point * (size_t)f->k : NULL;
    int at = f->k - 1;
    for (; at > 0 && square < squares[at - 1]; at--) {
        squares[at] = squares[at - 1];
        if (index) index[at] = index[at - 1];
    }
    squares[at] = square;
    if (index) index[at] = place;
}

static void visit_nearest(void *arg, const search *s, long first, int n, long other, int m) {
    const nearest *f = arg;
    int same = s->to == s->among;
    for (int i = 0; i < n; i++) {
        const double *squares = s->squares + (size_t)i * (size_t)m;
        const double *furthest = f->squares + (size_t)(first + i + 1) * (size_t)f->k - 1;
        for (int j = 0; j < m; j++) {
            if (squares[j] >= *furthest || (same && other + j == first + i)) continue;
            insert(f, first + i, fmax(squares[j], 0), other + j); /* below 0 by rounding alone */
        }
    }
}

jf_status neighbours_find(device *d, const points *to, const points *among, int k, double *squares,
                          long *index) {
    nearest f = {k, squares, index};
    search s = {.d = d, .to = to, .among = among, .visit = visit_nearest, .visit_arg = &f};
    ranks_rows results[] = {{squares, (size_t)k * sizeof *squares}, {index, (size_t)k * sizeof *index}};
    for (size_t i = 0; i < (size_t)to->n * (size_t)k; i++) {
        squares[i] = INFINITY;
        if (index) index[i] = -1;
    }
    jf_status status = search_run(&s, results, 2);
    search_close(&s);
    return status;
}

/* ---- inside of balls ---- */

typedef struct balls {
    const double *radius;  /* (around), squared */
    unsigned char *inside; /* (to) */
} balls;

static void visit_balls(void *arg, const search *s, long first, int n, long other, int m) {
    const balls *b = arg;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m && !b->inside[first + i]; j++)
            b->inside[first + i] = s->squares[(size_t)i * (size_t)m + (size_t)j] <=
                                   b->radius[other + j] + ROUNDING * (s->norm_to[first + i] + s->norm[j]);
}

jf_status neighbours_inside(device *d, const points *to, const points *around, const double *radius,
                            unsigned char *inside) {
    balls b = {radius, inside};
    search s = {.d = d, .to = to, .among = around, .visit = visit_balls, .visit_arg = &b};
    ranks_rows results = {inside, sizeof *inside};
    memset(inside, 0, (size_t)to->n);
    jf_status status = search_run(&s, &results, 1);
    search_close(&s);
    return status;
}
