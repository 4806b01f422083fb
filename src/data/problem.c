#include "data/problem.h"
#include "base/memory.h"
#include "base/statistics.h"
#include <math.h>

const char *const problem_ten_names[] = {
    "theta1", "theta2", "theta3", "theta4", "theta5", "theta6", "theta7", "theta8", "theta9", "theta10",
    "obs1",   "obs2",   "obs3",   "obs4",   "obs5",   "obs6",   "obs7",   "obs8",   "obs9",   "obs10"};

void problem_sizes(dataset *d, int dim_x, int dim_y, const char *const *names) {
    d->dim_x = dim_x;
    d->dim_y = dim_y;
    d->names = names;
    d->keeps_names = 1;
}

jf_status problem_box(dataset *d, double lo, double hi) {
    JF_TRY(MEM_NEW(d->ctx, &d->support, (size_t)dataset_dim(d)));
    for (int i = 0; i < d->dim_x; i++)
        d->support[i] = (column_support){.kind = SUPPORT_CUT, .lo = lo, .hi = hi};
    return JF_OK;
}

int problem_in_box(const double *x, int dim, double lo, double hi) {
    for (int i = 0; i < dim; i++)
        if (!(x[i] >= lo && x[i] <= hi)) return 0;
    return 1;
}

double blurred_box_entropy(double lo, double hi, double deviation) {
    enum { STEPS = 4000 }; /* even */
    double from = lo - 10 * deviation, step = (hi - lo + 20 * deviation) / STEPS, sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        double v = from + i * step;
        double p = (normal_cdf((v - lo) / deviation) - normal_cdf((v - hi) / deviation)) / (hi - lo);
        double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        if (p > 0) sum -= weight * p * log(p);
    }
    return sum * step / 3;
}
