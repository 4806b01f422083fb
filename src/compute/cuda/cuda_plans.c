/* Plans of whole layers: which kind a form of networks takes. A new one is a file that defines it, and a line
 * here. */
#include "compute/cuda/cuda.h"
#include <string.h>

extern const cuda_plan_kind cuda_plan_dense, cuda_plan_image;

static const cuda_plan_kind *const kinds[] = {&cuda_plan_dense, &cuda_plan_image};

jf_status cuda_plan_open(device *d, layer_plan **out, const coupling_layer *layer) {
    *out = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->form, layer->form) == 0) return kinds[i]->open(d, out, layer);
    return JF_OK;
}

void cuda_plan_close(device *d, layer_plan *p) {
    p->kind->close(d, p);
}

size_t cuda_plan_saved(const device *d, const layer_plan *p, int n, precision in) {
    (void)d;
    return p->kind->saved(p, n, in);
}

size_t cuda_plan_scratch(const device *d, const layer_plan *p, int n, layer_use use) {
    (void)d;
    return p->kind->scratch(p, n, use);
}

void cuda_plan_run(device *d, const layer_plan *p, const layer_call *call) {
    p->kind->run(d, p, call);
}
