/* One dense layer. */
#include "compute/cuda/product.cuh"

void cuda_dense_forward(device *d, real *y, const real *x, const real *w, const real *b, int n, int in,
                        int out, double slope) {
    size_t rows = (size_t)n, from = (size_t)in, to = (size_t)out;
    product p = {rows, to, from,      floats(x), floats(w), floats(b),    from, 1,
                 to,   1,  floats(y), to,        0,         (float)slope, 0,    1};
    product_run(cuda_use(d), p, "dense layers, forward");
}

/* act'(y), by the sign of y */
static __global__ void activation_kernel(float *dy, const float *y, float slope, size_t count) {
    FOR_EACH_INDEX (i, count)
        if (!(y[i] > 0)) dy[i] *= slope;
}

void cuda_dense_backward(device *d, real *dx, real *dw, real *db, real *dy, const real *y, const real *x,
                         const real *w, int n, int in, int out, double slope) {
    cuda_device *own = cuda_use(d);
    size_t rows = (size_t)n, from = (size_t)in, to = (size_t)out;
    if (rows * to == 0) return;
    launch(own, activation_kernel, blocks_for(rows * to, THREADS), THREADS, floats(dy), floats(y),
           (float)slope, rows * to);
    launched(own, "dense layers, activation back");
    if (dx) {
        product p = {rows, from, to, floats(dy), floats(w), NULL, to, 1, 1, to, floats(dx), from, 0, 1, 0, 1};
        product_run(own, p, "dense layers, dx");
    }
    if (!dw) return;
    product p = {from, to, rows, floats(x), floats(dy), NULL, 1, from, to, 1, floats(dw), to, 0, 1, 0, 1};
    pthread_mutex_lock(&own->lock);
    product_of_columns(own, p, "dense layers, dw");
    add_column_sums(own, floats(db), floats(dy), rows, to, to);
    pthread_mutex_unlock(&own->lock);
}
