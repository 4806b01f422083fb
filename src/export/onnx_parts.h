/* What exported graphs are made of: units, networks and laws, of batches (N, .). */
#ifndef JF_EXPORT_ONNX_PARTS_H
#define JF_EXPORT_ONNX_PARTS_H

#include "export/onnx_graph.h"
#include "export/source.h"

/* ---- units (onnx_units.c): elements first .. first + count - 1 of rows, (N, count) ---- */
onnx_tensor onnx_to_model(onnx_graph *g, const export_source *s, int first, int count, onnx_tensor values);
onnx_tensor onnx_to_data(onnx_graph *g, const export_source *s, int first, int count, onnx_tensor values);
/* log |d data / d model| over x of rows (N, dim_x) in model units, but for the deviations: (N, 1); 0 where
 * there is nothing to add. */
int onnx_log_slopes(onnx_graph *g, const export_source *s, onnx_tensor x, onnx_tensor *out);

/* ---- networks (onnx_nets.c) ---- */
typedef struct onnx_net_kind {
    const char *form;                       /* net_kind.name */
    int (*exists)(const void *nets, int k); /* k: 0 for A, 1 for B */
    int (*pixels)(const void *nets);        /* of images, which are taken channel by channel; otherwise 1 */
    /* u (N, in) -> (N, out); images: (N, channels times pixels) */
    onnx_tensor (*run)(onnx_graph *g, const export_source *s, const void *nets, int k, onnx_tensor u);
} onnx_net_kind;
const onnx_net_kind *onnx_net_find(const char *form); /* NULL: none */

/* ---- laws (onnx_laws.c) ---- */
/* What a law needs: elements u (N, m); A (N, m), or (N, m, each) where it takes several numbers for each
 * element, or whatever it takes for all; b (N, m); s. */
typedef struct onnx_law_call {
    const law_config *law;
    int inverse, m;
    onnx_tensor A, b;
    double s;
    onnx_tensor logdet; /* out: (N, 1), if has_logdet */
    int has_logdet;
} onnx_law_call;
typedef onnx_tensor (*onnx_law)(onnx_graph *g, onnx_law_call *c, onnx_tensor u);
onnx_law onnx_law_find(law_id law); /* of couplings; NULL: none */

#endif
