#include "base/statistics.h"
#include <math.h>
#include <stdlib.h>

double normal_cdf(double t) {
    return 0.5 * erfc(-t * 0.70710678118654752440);
}

double normal_two_sided(double probability) {
    double lo = 0, hi = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (lo + hi) / 2;
        if (erfc(middle / sqrt(2)) > probability)
            lo = middle;
        else
            hi = middle;
    }
    return hi;
}

/* A total order: NaN comes last. */
static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y)) return (isnan(x) != 0) - (isnan(y) != 0);
    return (x > y) - (x < y);
}

void sort_ascending(double *values, size_t n) {
    qsort(values, n, sizeof *values, by_value);
}

double ks_to_normal(double *values, size_t n) {
    sort_ascending(values, n);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double p = normal_cdf(values[i]);
        double distance = fmax(p - (double)i / (double)n, (double)(i + 1) / (double)n - p);
        if (!(distance <= worst)) worst = distance; /* lets NaN, which sorts last, through */
    }
    return worst;
}

static double mean_distance(const double *a, const double *b, size_t n, size_t dim) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (i == j) continue;
            double d2 = 0;
            for (size_t k = 0; k < dim; k++)
                d2 += (a[i * dim + k] - b[j * dim + k]) * (a[i * dim + k] - b[j * dim + k]);
            sum += sqrt(d2);
        }
    return sum / ((double)n * (double)(n - 1));
}

double energy_distance(const double *a, const double *b, size_t n, size_t dim) {
    return 2 * mean_distance(a, b, n, dim) - mean_distance(a, a, n, dim) - mean_distance(b, b, n, dim);
}

double psnr(double squares, double count) {
    return -10 * log10(squares / count);
}

double quantile(const double *sorted, size_t n, double q) {
    if (n == 0) return NAN;
    double at = q * (double)(n - 1);
    size_t low = (size_t)at;
    if (low + 1 >= n) return sorted[n - 1];
    return sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}
