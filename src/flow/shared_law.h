/* What transforms by a shared law have in common: one A and one b for all samples, which are their
 * parameters, applied to a whole vector or to the channels of every pixel. Such a kind fills in a shared_map,
 * the first member of its own, and takes the functions below for its table. */
#ifndef JF_FLOW_SHARED_LAW_H
#define JF_FLOW_SHARED_LAW_H

#include "flow/transform.h"

typedef struct shared_map {
    law_config law;
    int rows, m;        /* of a sample: pixels and channels, or 1 and all elements */
    size_t A, b;        /* offsets of the parameters; b only where the law has a shift */
    int32_t *from, *to; /* device maps (rows, m): where u is read and v written; NULL: the state as it lies */
    int32_t *host_from, *host_to; /* the same in host memory, of the state as it lies, too */
} shared_map;

/* Rows and maps of what `spec` lets be transformed: element i of a row is read as element i, and written as
 * element order[i]; order NULL: where it was. */
jf_status shared_map_create(jf_context *ctx, shared_map *s, device *d, const transform_spec *spec, law_id law,
                            const int32_t *order);
void shared_map_free(transform *t, device *d);
size_t shared_map_workspace(const transform *t, const device *d, int n, layer_use use);
/* What the map would be applied to, (n, rows, m): in the pass's scratch, or the state itself. */
const real *shared_map_read(const transform *t, const pass *p, int n, const real *state);
void shared_map_forward(const transform *t, const pass *p, int n, real *u_to_v, real *logdet);
void shared_map_inverse(const transform *t, const pass *p, int n, real *v_to_u, real *logdet);
void shared_map_backward(const transform *t, const pass *p, int n, real *v_to_u, real *dv_to_du,
                         const real *dlogdet);
transform_form shared_map_describe(const transform *t);

#endif
