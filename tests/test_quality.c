/* Nearest neighbours, and what is made of them, on points for which the answer is known. */
#include "test.h"

#include "base/memory.h"
#include "base/random.h"
#include "images_fixture.h"
#include "judge/judge.h"
#include "judge/neighbours.h"

static device *opened(jf_context *ctx, const char *name, int threads) {
    device *d = NULL;
    CHECK_STATUS(device_open(ctx, &d, name, threads), JF_OK);
    return d;
}

/* Points (n, dim), uniform in boxes of side 1 that begin at `from`. */
static double *uniform_points(long n, int dim, double from, uint32_t stream) {
    double *values = calloc((size_t)n * (size_t)dim, sizeof *values);
    CHECK(values != NULL);
    rng r = rng_stream((rng_key){5, RNG_TEST, stream}, 0);
    for (size_t i = 0; i < (size_t)n * (size_t)dim; i++) values[i] = from + rng_uniform(&r);
    return values;
}

static double square_distance(const double *a, const double *b, int dim) {
    double sum = 0;
    for (int k = 0; k < dim; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

static void read_values(const void *source, long first, int count, double *values) {
    const points *all = source;
    memcpy(values, all->values + (size_t)first * (size_t)all->dim,
           (size_t)count * (size_t)all->dim * sizeof *values);
}

/* More than one block of each set, and no multiple of it; far from 0, where squares of floats have few digits
 * left. */
static void check_found(const char *name, long n, long m, int dim, double far) {
    enum { K = 3 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    device *d = opened(ctx, name, 2);
    double *q = uniform_points(n, dim, far, 1), *r = uniform_points(m, dim, far, 2),
           *squares = calloc((size_t)n * K, sizeof *squares), *again = calloc((size_t)n * K, sizeof *again);
    long *index = calloc((size_t)n * K, sizeof *index);
    points to = {.n = n, .dim = dim, .values = q}, among = {.n = m, .dim = dim, .values = r},
           read = {.n = m, .dim = dim, .read = read_values, .source = &among};
    CHECK_STATUS(neighbours_find(d, &to, &among, K, squares, index), JF_OK);
    CHECK_STATUS(neighbours_find(d, &to, &read, K, again, NULL), JF_OK);
    CHECK(memcmp(squares, again, (size_t)n * K * sizeof *squares) == 0);
    for (long i = 0; i < n; i += 7) {
        double best[K] = {INFINITY, INFINITY, INFINITY};
        for (long j = 0; j < m; j++) {
            double found = square_distance(q + i * dim, r + j * dim, dim);
            for (int k = 0; k < K; k++)
                if (found < best[k]) {
                    double other = best[k];
                    best[k] = found;
                    found = other;
                }
        }
        for (int k = 0; k < K; k++) {
            CHECK_NEAR(squares[i * K + k], best[k], 2e-6 * dim);
            CHECK_NEAR(square_distance(q + i * dim, r + index[i * K + k] * dim, dim), best[k], 2e-6 * dim);
        }
    }
    free(q);
    free(r);
    free(squares);
    free(again);
    free(index);
    device_close(d);
    jf_context_free(ctx);
}

TEST(neighbours__are_those_of_a_plain_search) {
    check_found("cpu", 1200, 2500, 37, 1000);
    check_found("ref", 150, 1100, 5, 0);
}

TEST(neighbours__of_a_set_in_itself_leave_each_point_out) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    device *d = opened(ctx, "cpu", 1);
    const double line[] = {0, 1, 3, 3, 10}; /* two of them are equal */
    points set = {.n = 5, .dim = 1, .values = line};
    double squares[10];
    long index[10];
    CHECK_STATUS(neighbours_find(d, &set, &set, 2, squares, index), JF_OK);
    static const double expected[] = {1, 9, 1, 4, 0, 4, 0, 4, 49, 49};
    static const long places[] = {1, 2, 0, 2, 3, 1, 2, 1, 2, 3};
    for (int i = 0; i < 10; i++) {
        CHECK_NEAR(squares[i], expected[i], 1e-4);
        CHECK(index[i] == places[i]);
    }
    double few[25]; /* more than there are */
    CHECK_STATUS(neighbours_find(d, &set, &set, 5, few, NULL), JF_OK);
    CHECK(isfinite(few[3]) && isinf(few[4]));
    device_close(d);
    jf_context_free(ctx);
}

TEST(neighbours__have_the_same_bits_for_any_number_of_threads) {
    enum { N = 1500, DIM = 50, K = 3 };
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    double *values = uniform_points(N, DIM, 0, 3), *squares[2];
    points set = {.n = N, .dim = DIM, .values = values};
    for (int t = 0; t < 2; t++) {
        device *d = opened(ctx, "cpu", t ? 3 : 1);
        squares[t] = calloc(N * K, sizeof(double));
        CHECK_STATUS(neighbours_find(d, &set, &set, K, squares[t], NULL), JF_OK);
        device_close(d);
    }
    CHECK(memcmp(squares[0], squares[1], N * K * sizeof(double)) == 0);
    free(squares[0]);
    free(squares[1]);
    free(values);
    jf_context_free(ctx);
}

/* ---- precision and recall ---- */

static image_quality measure(const double *judged, long n, const double *reals, long m, int dim) {
    image_quality q;
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    device *d = opened(ctx, "cpu", 2);
    CHECK_STATUS(precision_and_recall(d, dim, n, judged, m, reals, &q), JF_OK);
    device_close(d);
    jf_context_free(ctx);
    return q;
}

/* A point of the same density is inside the ball of one of its neighbours most of the time. Points that are
 * far away are in no ball, and copies of real points are inside of all of theirs. */
TEST(precision_and_recall__are_one_for_copies_and_zero_far_away) {
    enum { N = 1500, DIM = 2 };
    double *reals = uniform_points(N, DIM, 0, 4), *far = uniform_points(N, DIM, 5, 5);
    image_quality q = measure(reals, N, reals, N, DIM);
    CHECK(q.precision == 1 && q.recall == 1);
    q = measure(far, N, reals, N, DIM);
    CHECK(q.precision == 0 && q.recall == 0);
    free(reals);
    free(far);
}

/* What is drawn covers half of the real square, and nothing else: all of it is good, half of the truth is
 * missed. The other way round half of what is drawn is wrong. The balls reach over the edge by their radius,
 * about sqrt(3 / (pi N)) = 0.026 here, and in a uniform density a point is in none of them with a probability
 * of some per cent. */
TEST(precision_and_recall__tell_what_is_wrong_from_what_is_missing) {
    enum { N = 1500, DIM = 2 };
    double *reals = uniform_points(N, DIM, 0, 6), *half = uniform_points(N, DIM, 0, 7);
    image_quality q;
    for (int i = 0; i < N; i++) half[i * DIM] *= 0.5;
    q = measure(half, N, reals, N, DIM);
    CHECK(q.precision > 0.93 && q.precision <= 1);
    CHECK_NEAR(q.recall, 0.5, 0.06);
    q = measure(reals, N, half, N, DIM);
    CHECK_NEAR(q.precision, 0.5, 0.06);
    CHECK(q.recall > 0.93 && q.recall <= 1);
    q = measure(reals, QUALITY_NEIGHBOURS, half, N, DIM);
    CHECK(isnan(q.precision) && isnan(q.recall)); /* too few for a neighbour of that number */
    free(reals);
    free(half);
}

/* ---- images of classes ---- */

/* Every image of the training set is recognised as what it is; under labels that all are wrong none is. */
TEST(quality__training_images_are_recognised_and_wrong_labels_are_not) {
    enum { N = 120 };
    data_fixture f = images_known("glyphs", "task = class\nclasses = ring star\nlimit = 200\n");
    model m = {.ctx = f.ctx, .d = opened(f.ctx, "cpu", 2)};
    size_t dim = (size_t)dataset_dim(f.set), pixels = (size_t)f.set->dim_x;
    double *rows = calloc(N * dim, sizeof *rows), *images = calloc(N * pixels, sizeof *images);
    int class_of[N], count[2] = {0};
    CHECK_STATUS(dataset_draw(f.set, (rng_key){2, RNG_TEST, 0}, 0, N, -1, rows), JF_OK);
    for (int i = 0; i < N; i++) {
        memcpy(images + (size_t)i * pixels, rows + (size_t)i * dim, pixels * sizeof *rows);
        class_of[i] = (int)rows[(size_t)i * dim + pixels];
        count[class_of[i]]++;
    }
    CHECK(count[0] > 20 && count[1] > 20);
    image_quality q;
    CHECK_STATUS(quality_of_images(&m, f.set, N, images, class_of, &q), JF_OK);
    CHECK(q.images == N && q.training == f.set->rows);
    CHECK_NEAR(q.recognised, 1, 1e-12);
    CHECK(q.by_class[0] == 1 && q.by_class[1] == 1 && isnan(q.by_class[2]));
    for (int i = 0; i < N; i++) class_of[i] = class_of[i] == 0 ? 0 : i % 2; /* half of the second class */
    CHECK_STATUS(quality_of_images(&m, f.set, N, images, class_of, &q), JF_OK);
    CHECK(q.recognised < 0.9 && q.by_class[0] < 0.9 && q.by_class[1] == 1);
    CHECK_STATUS(quality_of_images(&m, f.set, N, images, NULL, &q), JF_OK);
    CHECK(isnan(q.recognised) && q.precision > 0.9);
    free(rows);
    free(images);
    device_close(m.d);
    data_close(&f);
}
