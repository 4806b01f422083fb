/* Laws on arrays of their own, unit by unit (law.cuh). */
#include "compute/cuda/law.cuh"

/* What is asked of a law; pointers are on the device. */
typedef struct law_call {
    law_config law;
    int n, m, rows;
    const float *A, *b, *s;
    float *u, *du, *logdet;
    const float *dlogdet;
    float *dA, *db, *ds;
    float *partial;
    int inverse, pieces;
    size_t stride; /* of the partial sums of a piece */
} law_call;

/* Where unit `unit` of a sample has what. */
template <class LAW> struct unit_place {
    size_t at, own; /* its elements; its A and b, as units */
    int size, outputs;
    __device__ unit_place(const law_call &c, size_t sample, int unit) {
        size_t units = (size_t)c.rows * (LAW::each ? (size_t)c.m : 1), number = sample * units + (size_t)unit;
        size = LAW::each ? 1 : c.m;
        outputs = LAW::outputs(&c.law, c.m);
        at = number * (size_t)size;
        own = !LAW::shared ? number : LAW::each ? (size_t)unit % (size_t)c.m : 0;
    }
    __device__ const float *A(const law_call &c) const { return c.A + own * (size_t)outputs; }
    __device__ const float *b(const law_call &c) const { return c.b ? c.b + own * (size_t)size : NULL; }
};

template <class LAW> struct pass_sum {
    law_call c;
    __device__ float nothing() const { return 0; }
    __device__ float term(size_t sample, int unit) const {
        unit_place<LAW> p(c, sample, unit);
        float s = c.s ? *c.s : 0;
        return c.inverse ? LAW::inverse(&c.law, c.m, p.A(c), p.b(c), s, c.u + p.at)
                         : LAW::forward(&c.law, c.m, p.A(c), p.b(c), s, c.u + p.at);
    }
    __device__ void take(size_t sample, float sum) const { c.logdet[sample] += sum; }
};

/* The term is ds; where it is not wanted the partial sums are not read. */
template <class LAW> struct backward_sum {
    law_call c;
    __device__ float nothing() const { return 0; }
    __device__ float term(size_t sample, int unit) const {
        unit_place<LAW> p(c, sample, unit);
        float s = c.s ? *c.s : 0, ds = 0, dl = c.dlogdet[sample];
        float *dA = c.dA ? c.dA + p.own * (size_t)p.outputs : NULL,
              *db = c.db ? c.db + p.own * (size_t)p.size : NULL;
        LAW::backward(&c.law, c.m, p.A(c), p.b(c), s, c.u + p.at, c.du + p.at, dl, dA, db, &ds);
        return ds;
    }
    __device__ void take(size_t sample, float sum) const { c.partial[sample] = sum; }
};

/* Backward of a shared law: each piece of the rows adds to gradients of its own. A law of single elements has
 * a thread per element of a row, so that threads read neighbouring numbers; one of whole rows has a thread
 * per piece. */
template <class LAW> static __global__ void shared_kernel(law_call c) {
    size_t rows = (size_t)c.n * (size_t)c.rows;
    int elements = LAW::each ? c.m : 1,
        piece = LAW::each ? (int)blockIdx.x : (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (piece >= c.pieces) return;
    size_t outputs = (size_t)LAW::outputs(&c.law, c.m), size = LAW::each ? 1 : (size_t)c.m;
    float *sums = c.partial + (size_t)piece * c.stride, s = c.s ? *c.s : 0;
    for (int e = LAW::each ? (int)threadIdx.x : 0; e < elements; e += LAW::each ? (int)blockDim.x : 1) {
        float *dA = sums + (size_t)e * outputs, *db = sums + (size_t)elements * outputs + (size_t)e * size,
              ds = 0;
        const float *A = c.A + (size_t)e * outputs, *b = c.b ? c.b + (size_t)e * size : NULL;
        for (size_t i = 0; i < outputs; i++) dA[i] = 0;
        for (size_t i = 0; c.b && i < size; i++) db[i] = 0;
        for (size_t row = piece_begin(rows, c.pieces, piece); row < piece_begin(rows, c.pieces, piece + 1);
             row++) {
            size_t at = row * (size_t)c.m + (size_t)e;
            float dl = c.dlogdet[row / (size_t)c.rows];
            LAW::backward(&c.law, c.m, A, b, s, c.u + at, c.du + at, dl, dA, db, &ds);
        }
    }
}

template <class LAW> static void run_shared(cuda_device *own, law_call c) {
    size_t rows = (size_t)c.n * (size_t)c.rows, elements = LAW::each ? (size_t)c.m : 1;
    size_t outputs = elements * (size_t)LAW::outputs(&c.law, c.m), shifts = c.b ? (size_t)c.m : 0;
    c.stride = outputs + shifts;
    c.pieces = pieces_for(rows, c.stride, LAW::each ? 16 : 1, CUDA_PARTIAL);
    unsigned blocks = LAW::each ? (unsigned)c.pieces : blocks_for((size_t)c.pieces, 32);
    launch(own, shared_kernel<LAW>, blocks, LAW::each ? 64 : 32, c);
    launched(own, "law of all samples, backward");
    if (c.dA) {
        launch(own, add_pieces, blocks_for(outputs, THREADS), THREADS, c.dA, c.partial, c.stride, c.pieces,
               outputs);
        launched(own, "law of all samples, sums");
    }
    if (c.db && shifts) {
        launch(own, add_pieces, blocks_for(shifts, THREADS), THREADS, c.db, c.partial + outputs, c.stride,
               c.pieces, shifts);
        launched(own, "law of all samples, sums");
    }
}

/* Samples whose ds have room among the partial sums go together. */
template <class LAW> static void run_backward(cuda_device *own, law_call c) {
    int units = c.rows * (LAW::each ? c.m : 1), all = c.n, most = (int)CUDA_PARTIAL;
    size_t outputs = (size_t)units * (size_t)LAW::outputs(&c.law, c.m),
           elements = (size_t)c.rows * (size_t)c.m;
    for (int at = 0; at < all; at += most) {
        law_call part = c;
        size_t first = (size_t)at;
        part.n = all - at < most ? all - at : most;
        part.u += first * elements, part.du += first * elements, part.dlogdet += first,
            part.A += first * outputs;
        if (c.b) part.b += first * elements;
        if (c.dA) part.dA += first * outputs;
        if (c.db) part.db += first * elements;
        sum_of_samples(own, backward_sum<LAW>{part}, part.n, units, "law, backward");
        if (!c.ds) continue;
        launch(own, add_sum_kernel, 1, 1024, c.ds, c.partial, (size_t)part.n);
        launched(own, "law, sum of ds");
    }
}

template <class LAW> static void run_law(cuda_device *own, const law_call &c) {
    if (!c.du)
        sum_of_samples(own, pass_sum<LAW>{c}, c.n, c.rows * (LAW::each ? c.m : 1), "law");
    else if (LAW::shared)
        run_shared<LAW>(own, c);
    else
        run_backward<LAW>(own, c);
}

static void run(device *d, law_call c, const law_batch *of) {
    static void (*const laws[])(cuda_device *, const law_call &) = {
#define X(name, form) run_law<law_of_##name>,
        LAW_LIST(X)
#undef X
    };
    cuda_device *own = cuda_use(d);
    c.law = of->law;
    c.n = of->n, c.m = of->m, c.rows = of->rows;
    c.A = floats(of->A), c.b = floats(of->b), c.s = floats(of->s);
    c.partial = own->partial;
    if (c.n < 1 || c.m < 1 || c.rows < 1) return;
    if (c.du) pthread_mutex_lock(&own->lock);
    laws[of->law.id](own, c);
    if (c.du) pthread_mutex_unlock(&own->lock);
}

static law_call pass_call(int inverse, real *u, real *logdet) {
    law_call c = {};
    c.inverse = inverse;
    c.u = floats(u);
    c.logdet = floats(logdet);
    return c;
}
void cuda_law_forward(device *d, const law_batch *c, real *u, real *logdet) {
    run(d, pass_call(0, u, logdet), c);
}
void cuda_law_inverse(device *d, const law_batch *c, real *v, real *logdet) {
    run(d, pass_call(1, v, logdet), c);
}
void cuda_law_backward(device *d, const law_batch *c, real *v, real *dv, const real *dlogdet, real *dA,
                       real *db, real *ds) {
    law_call call = {};
    call.u = floats(v), call.du = floats(dv), call.dlogdet = floats(dlogdet);
    call.dA = floats(dA), call.db = floats(db), call.ds = floats(ds);
    run(d, call, c);
}
