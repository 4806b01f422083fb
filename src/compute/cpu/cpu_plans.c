/* Plans of whole layers: which kind a form of networks takes. A new one is a file that defines it, and a line
 * here. */
#include "compute/cpu/cpu.h"
#include <string.h>

extern const cpu_plan_kind cpu_plan_dense, cpu_plan_image;

static const cpu_plan_kind *const kinds[] = {&cpu_plan_dense, &cpu_plan_image};

jf_status cpu_plan_open(device *d, layer_plan **out, const coupling_layer *layer) {
    *out = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->form, layer->form) == 0) return kinds[i]->open(d, out, layer);
    return JF_OK;
}

void cpu_plan_close(device *d, layer_plan *p) {
    (void)d;
    p->kind->close(p);
}

size_t cpu_plan_saved(const device *d, const layer_plan *p, int n, precision in) {
    (void)d, (void)in;
    return p->kind->saved(p, n);
}

size_t cpu_plan_scratch(const device *d, const layer_plan *p, int n, layer_use use) {
    const cpu_device *own = d->own;
    return p->kind->scratch(p, pool_threads(own->pool), n, use);
}

void cpu_plan_run(device *d, const layer_plan *p, const layer_call *call) {
    p->kind->run(d, p, call);
}
