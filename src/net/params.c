#include "net/params.h"
#include "base/memory.h"
#include "base/random.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

jf_status params_add(param_list *list, size_t *offset, const char *name, int rank, const size_t *shape,
                     init_kind init, double gain) {
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 64;
        param *grown = realloc(list->items, (size_t)capacity * sizeof *grown);
        if (!grown) return jf_fail(list->ctx, JF_ERROR_MEMORY, "no memory for the list of parameters");
        list->items = grown;
        list->capacity = capacity;
    }
    param *p = &list->items[list->count++];
    *p = (param){.offset = list->total,
                 .count = 1,
                 .rank = rank,
                 .init = init,
                 .gain = gain,
                 .groups = 1,
                 .lo = -INFINITY,
                 .hi = INFINITY};
    snprintf(p->name, sizeof p->name, "%s", name);
    for (int i = 0; i < rank; i++) p->count *= p->shape[i] = shape[i];
    list->total += p->count;
    *offset = p->offset;
    return list->check ? list->check(list->check_with, p) : JF_OK;
}

jf_status params_add_groups(param_list *list, size_t *offset, const char *name, int rank, const size_t *shape,
                            double gain, int groups) {
    JF_TRY(params_add(list, offset, name, rank, shape, INIT_ORTHOGONAL, gain));
    list->items[list->count - 1].groups = groups;
    return JF_OK;
}

void params_bound(param_list *list, double lo, double hi) {
    param *p = &list->items[list->count - 1];
    p->lo = lo;
    p->hi = hi;
}

int param_is_bounded(const param *p) {
    return isfinite(p->lo) || isfinite(p->hi);
}

size_t params_bounded(const param_list *list) {
    size_t count = 0;
    for (int i = 0; i < list->count; i++)
        if (param_is_bounded(&list->items[i])) count += list->items[i].count;
    return count;
}

void params_free(param_list *list) {
    free(list->items);
    list->items = NULL;
    list->count = list->capacity = 0;
}

/* Gram-Schmidt, twice for accuracy, on `few` rows of `many` Gaussian numbers. */
static void orthonormal_rows(double *a, size_t few, size_t many, rng *r) {
    for (size_t i = 0; i < few * many; i++) a[i] = rng_normal(r);
    for (size_t i = 0; i < few; i++) {
        double *row = a + i * many, norm = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t j = 0; j < i; j++) {
                double dot = 0;
                for (size_t k = 0; k < many; k++) dot += row[k] * a[j * many + k];
                for (size_t k = 0; k < many; k++) row[k] -= dot * a[j * many + k];
            }
        for (size_t k = 0; k < many; k++) norm += row[k] * row[k];
        for (size_t k = 0; k < many; k++) row[k] /= sqrt(norm);
    }
}

static jf_status orthogonal(const param_list *list, const param *p, rng *r, double *values) {
    size_t columns = p->shape[p->rank - 1], rows = p->count / columns, wide = columns / (size_t)p->groups;
    size_t few = rows < wide ? rows : wide, many = rows < wide ? wide : rows;
    double *a;
    JF_TRY(MEM_NEW(list->ctx, &a, few * many));
    for (size_t first = 0; first < columns; first += wide) {
        orthonormal_rows(a, few, many, r);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < wide; j++)
                values[i * columns + first + j] = p->gain * (rows < wide ? a[i * many + j] : a[j * many + i]);
    }
    free(a);
    return JF_OK;
}

jf_status params_initialise(const param_list *list, uint64_t seed, double *values) {
    for (int i = 0; i < list->count; i++) {
        const param *p = &list->items[i];
        rng r = rng_stream((rng_key){seed, RNG_INIT, 0}, (uint64_t)i);
        if (p->init == INIT_ORTHOGONAL)
            JF_TRY(orthogonal(list, p, &r, values + p->offset));
        else
            for (size_t k = 0; k < p->count; k++) values[p->offset + k] = p->gain;
    }
    return JF_OK;
}
