#include "data/follows.h"
#include "base/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OFF 1e-3 /* of the median distance from the median */
#define MOST_MISSED                                                                                          \
    0.05 /* of the rows that are missed in an arbitrary order, of a target without repeated values */
#define MOST_MISSED_REPEATED                                                                                 \
    0.02                     /* of others, such as classes that a measurement tells apart nearly always */
enum { LEAST_VARYING = 20 }; /* rows that are missed in an arbitrary order */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_value_and_row(const void *a, const void *b) {
    const follows_source *s = a, *t = b;
    int order = (s->value > t->value) - (s->value < t->value);
    return order ? order : (s->row > t->row) - (s->row < t->row);
}

void follows_sort(const double *values, long rows, follows_source *sorted) {
    for (long i = 0; i < rows; i++) sorted[i] = (follows_source){values[i], i};
    qsort(sorted, (size_t)rows, sizeof *sorted, by_value_and_row);
}

/* ---- prediction of a row by its neighbours ---- */

/* Lagrange's polynomial through the neighbours `first` .. -1, 1 .. -first of row i, at row i. */
static double interpolate(const follows_source *s, const double *target, int first) {
    double sum = 0;
    for (int a = first; a <= -first; a++) {
        double weight = 1;
        for (int b = first; a != 0 && b <= -first; b++)
            if (b != 0 && b != a) weight *= (s->value - s[b].value) / (s[a].value - s[b].value);
        if (a != 0) sum += weight * target[s[a].row];
    }
    return sum;
}

/* s: a row with two neighbours on either side. */
static int is_predicted(const follows_source *s, const double *target, double most) {
    double value = target[s->row];
    if (s[-1].value == s->value) return fabs(target[s[-1].row] - value) <= most;
    if (s[1].value == s->value) return fabs(target[s[1].row] - value) <= most;
    return fabs(interpolate(s, target, -1) - value) <= most ||
           fabs(interpolate(s, target, -2) - value) <= most;
}

int follows(const follows_source *sorted, const follows_target *target, long rows, long *missed) {
    *missed = 0;
    for (long i = 2; i < rows - 2 && *missed <= target->most_missed; i++)
        *missed += !is_predicted(sorted + i, target->values, target->most);
    return *missed <= target->most_missed;
}

/* ---- the target alone ---- */

/* The same rows in an arbitrary order, each at an even distance from the next. */
static long count_missed_by_chance(const double *target, long rows, double most, double *scratch) {
    rng r = rng_stream((rng_key){0}, 0);
    long missed = 0;
    memcpy(scratch, target, (size_t)rows * sizeof *scratch);
    for (long i = rows - 1; i > 0; i--) {
        long other = (long)rng_below(&r, (uint32_t)(i + 1));
        double held = scratch[i];
        scratch[i] = scratch[other];
        scratch[other] = held;
    }
    for (long i = 1; i < rows - 1; i++)
        missed += !(fabs((scratch[i - 1] + scratch[i + 1]) / 2 - scratch[i]) <= most);
    return missed;
}

/* The median distance from the median; of a target most of whose values are the same, the mean distance.
 * *repeated: whether most values are there more than once. */
static double deviation_of(const double *target, long rows, double *scratch, int *repeated) {
    long same = 0;
    double sum = 0;
    memcpy(scratch, target, (size_t)rows * sizeof *scratch);
    qsort(scratch, (size_t)rows, sizeof *scratch, ascending);
    for (long i = 1; i < rows; i++) same += scratch[i] == scratch[i - 1];
    *repeated = 2 * same > rows;
    double median = scratch[rows / 2];
    for (long i = 0; i < rows; i++) sum += scratch[i] = fabs(scratch[i] - median);
    qsort(scratch, (size_t)rows, sizeof *scratch, ascending);
    return scratch[rows / 2] > 0 ? scratch[rows / 2] : sum / (double)rows;
}

follows_target follows_measure(const double *values, long rows, double *scratch) {
    int repeated;
    follows_target t = {.values = values, .most_missed = -1};
    if (rows < FOLLOWS_LEAST_ROWS) return t;
    t.most = MOST_OFF * deviation_of(values, rows, scratch, &repeated);
    long by_chance = count_missed_by_chance(values, rows, t.most, scratch);
    double share = repeated ? MOST_MISSED_REPEATED : MOST_MISSED;
    if (by_chance >= LEAST_VARYING) t.most_missed = (long)(share * (double)by_chance);
    return t;
}
