/* Coupling laws on the cpu device: slices of the batch over the pool; the gradient of the scale is summed by
 * slice. */
#include "compute/cpu/cpu.h"

typedef float num;
#include "compute/law/formulas.h"

typedef struct law_call {
    const law_batch *c;
    const law_functions *f;
    int slices;
    int mode; /* 0 forward, 1 inverse, 2 backward, 3 inverse_backward */
    float *u, *du, *logdet, *dA, *db, ds[CPU_SLICES];
    const float *dlogdet;
} law_call;

static void law_slice(void *arg, int slice, int worker) {
    (void)worker;
    law_call *k = arg;
    const law_batch *c = k->c;
    size_t m = (size_t)c->m, na = (size_t)k->f->outputs(&c->law, c->m),
           nb = (size_t)law_shifts(&c->law, c->m);
    const float *A = (const float *)c->A, *b = (const float *)c->b, s = c->s ? *(const float *)c->s : 0;
    size_t end = (size_t)cpu_slice_begin(c->n, k->slices, slice + 1);
    for (size_t i = (size_t)cpu_slice_begin(c->n, k->slices, slice); i < end; i++) {
        const float *Ai = A + i * na, *bi = b + i * nb;
        float *u = k->u + i * m;
        switch (k->mode) {
        case 0:
            k->logdet[i] += k->f->forward(&c->law, c->m, Ai, bi, s, u);
            break;
        case 1:
            k->logdet[i] += k->f->inverse(&c->law, c->m, Ai, bi, s, u);
            break;
        case 2:
            k->f->backward(&c->law, c->m, Ai, bi, s, u, k->du + i * m, k->dlogdet[i], k->dA + i * na,
                           k->db + i * nb, &k->ds[slice]);
            break;
        default:
            k->f->inverse_backward(&c->law, c->m, Ai, bi, s, u, k->du + i * m, k->dlogdet[i], k->dA + i * na,
                                   k->db + i * nb, &k->ds[slice]);
        }
    }
}

static void law_run(device *d, law_call *k) {
    cpu_device *own = d->own;
    k->f = &law_formulas[k->c->law.id];
    k->slices = cpu_slices(k->c->n);
    pool_run(own->pool, k->slices, law_slice, k);
}

static void law_run_backward(device *d, law_call *k, real *ds) {
    law_run(d, k);
    if (ds)
        for (int i = 0; i < k->slices; i++) *(float *)ds += k->ds[i];
}

void cpu_law_forward(device *d, const law_batch *c, real *u, real *logdet) {
    law_run(d, &(law_call){.c = c, .mode = 0, .u = (float *)u, .logdet = (float *)logdet});
}
void cpu_law_inverse(device *d, const law_batch *c, real *v, real *logdet) {
    law_run(d, &(law_call){.c = c, .mode = 1, .u = (float *)v, .logdet = (float *)logdet});
}
void cpu_law_backward(device *d, const law_batch *c, real *v, real *dv, const real *dlogdet, real *dA,
                      real *db, real *ds) {
    law_call k = {.c = c, .mode = 2, .u = (float *)v, .du = (float *)dv, .dlogdet = (const float *)dlogdet};
    k.dA = (float *)dA;
    k.db = (float *)db;
    law_run_backward(d, &k, ds);
}
void cpu_law_inverse_backward(device *d, const law_batch *c, real *u, real *du, const real *dlogdet, real *dA,
                              real *db, real *ds) {
    law_call k = {.c = c, .mode = 3, .u = (float *)u, .du = (float *)du, .dlogdet = (const float *)dlogdet};
    k.dA = (float *)dA;
    k.db = (float *)db;
    law_run_backward(d, &k, ds);
}
