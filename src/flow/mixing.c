/* Mixing: v = P L U u, a learned linear map of a vector, or of the channels of an image at every pixel. P is
 * a permutation that never changes, L and U are triangular (law/linear.h), so that the log-determinant is the
 * sum of the diagonal's logarithms (times the pixels) and the inverse a substitution. L and U start as the
 * identity: a mixing starts as a permutation of x, which leaves y in its place. */
#include "base/memory.h"
#include "flow/shared_law.h"
#include <stdio.h>
#include <stdlib.h>

#define MAX_MIXED 256 /* elements: a mixing has the square of it for parameters */

/* Element i of L U u goes to place p[i]. Drawn for the elements of x alone. */
static jf_status draw(jf_context *ctx, const transform_spec *spec, int32_t *p) {
    int m = spec->active_shape.c, count = 0, *places;
    JF_TRY(MEM_NEW(ctx, &places, 2 * (size_t)m));
    int *order = places + m; /* of those places */
    for (int i = 0; i < m; i++) {
        p[i] = i;
        if (!spec_is_y(spec, spec->active[i])) places[count++] = i;
    }
    for (int i = 0; i < count; i++) order[i] = places[i];
    rng r = rng_stream((rng_key){spec->seed, RNG_MIXING, 0}, (uint64_t)spec->layer);
    rng_shuffle(&r, order, count);
    for (int i = 0; i < count; i++) p[places[i]] = order[i];
    free(places);
    return JF_OK;
}

/* A permutation from a file: every place once, and y where it was. */
static jf_status take(jf_context *ctx, const transform_spec *spec, const char *name, int32_t *p) {
    int m = spec->active_shape.c;
    const flow_table *t = tables_get(spec->given, name);
    char taken[MAX_MIXED] = {0};
    if (!t || t->count != (size_t)m)
        return jf_fail(ctx, JF_ERROR_FORMAT, "table \"%s\" has %zu numbers, expected %d", name,
                       t ? t->count : 0, m);
    for (int i = 0; i < m; i++) {
        p[i] = t->values[i];
        if (p[i] < 0 || p[i] >= m || taken[p[i]]++)
            return jf_fail(ctx, JF_ERROR_FORMAT,
                           "table \"%s\" has %d at %d, expected every number from 0 to %d once", name, p[i],
                           i, m - 1);
        if (p[i] != i && spec_is_y(spec, spec->active[i]))
            return jf_fail(ctx, JF_ERROR_FORMAT, "table \"%s\" moves y, from %d to %d", name, i, p[i]);
    }
    return JF_OK;
}

static jf_status mixing_create(jf_context *ctx, transform *out, device *d, const transform_spec *spec,
                               const recipe *r, param_list *params) {
    shared_map *map;
    char name[48];
    int32_t p[MAX_MIXED];
    int m = spec->active_shape.c;
    if (m > MAX_MIXED)
        return recipe_fail(r, "model.transforms", "mixing goes up to %d elements or channels, found %d",
                           MAX_MIXED, m);
    JF_TRY(MEM_NEW(ctx, &map, 1));
    out->own = map;
    snprintf(name, sizeof name, "%s.mixing.lu", spec->prefix);
    JF_TRY(params_add(params, &map->A, name, 2, (size_t[]){(size_t)m, (size_t)m}, INIT_CONSTANT, 0));
    snprintf(name, sizeof name, "%s.mixing.p", spec->prefix);
    JF_TRY(spec->given ? take(ctx, spec, name, p) : draw(ctx, spec, p));
    JF_TRY(tables_add(spec->tables, name, (size_t)m, p));
    return params->only_names ? JF_OK : shared_map_create(ctx, map, d, spec, law_linear, p);
}

const transform_kind transform_mixing = {
    .name = "mixing",
    .create = mixing_create,
    .free = shared_map_free,
    .workspace = shared_map_workspace,
    .forward = shared_map_forward,
    .inverse = shared_map_inverse,
    .backward = shared_map_backward,
    .describe = shared_map_describe,
};
