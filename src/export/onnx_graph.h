/* A graph of ONNX, node by node, and its bytes. The format is protobuf's, of which a graph needs so little
 * (numbers, texts, messages in messages) that it is written here: the library then needs neither protobuf nor
 * a copy of its schema.
 *
 * A tensor is known by its name. Nothing fails on the way: memory that ran out is found by
 * onnx_graph_bytes(). */
#ifndef JF_EXPORT_ONNX_GRAPH_H
#define JF_EXPORT_ONNX_GRAPH_H

#include "base/memory.h"
#include <stdint.h>

#define ONNX_OPSET 13 /* every operator that is used is there, and what reads ONNX reads that */

typedef struct onnx_tensor {
    char name[16];
} onnx_tensor;

typedef struct onnx_graph {
    text nodes, constants, inputs, outputs; /* as they will stand in the graph */
    int count;                              /* of tensors, for their names */
} onnx_graph;

/* An attribute: a number, a whole number, or a list of those. */
typedef enum onnx_type { ONNX_REAL = 1, ONNX_INT = 2, ONNX_INTS = 7 } onnx_type;
typedef struct onnx_attribute {
    const char *name;
    onnx_type type;
    double real;
    int64_t whole;
    int count;
    const int64_t *list; /* (count) */
} onnx_attribute;

/* Inputs and outputs: floats of shape (N, width), or (N) for a width of 0, where N is any number. */
onnx_tensor onnx_input(onnx_graph *g, const char *name, int width);
void onnx_output(onnx_graph *g, onnx_tensor t, const char *name, int width);

/* attributes: (attribute_count), may be NULL */
onnx_tensor onnx_node(onnx_graph *g, const char *op, int count, const onnx_tensor *in, int attribute_count,
                      const onnx_attribute *attributes);
#define ONNX(g, op, ...)                                                                                     \
    onnx_node((g), (op), (int)(sizeof((onnx_tensor[]){__VA_ARGS__}) / sizeof(onnx_tensor)),                  \
              (onnx_tensor[]){__VA_ARGS__}, 0, NULL)

/* Constants: element i is what a function says of it. */
typedef double (*onnx_real_at)(const void *with, size_t i);
typedef int (*onnx_int_at)(const void *with, size_t i);
onnx_tensor onnx_floats(onnx_graph *g, int rank, const int *shape, onnx_real_at at, const void *with);
onnx_tensor onnx_mask(onnx_graph *g, int count, onnx_int_at at, const void *with);
double onnx_array_at(const void *doubles, size_t i); /* of an array as it lies */
onnx_tensor onnx_number(onnx_graph *g, double value);

/* Operators with their constants. Dimension 0 of a shape is kept. */
onnx_tensor onnx_reshape(onnx_graph *g, onnx_tensor t, int rank, const int *shape);
onnx_tensor onnx_transpose(onnx_graph *g, onnx_tensor t, int rank, const int *order);
onnx_tensor onnx_concat(onnx_graph *g, int count, const onnx_tensor *parts, int axis);
onnx_tensor onnx_slice(onnx_graph *g, onnx_tensor t, int axis, int from, int to);
onnx_tensor onnx_gather(onnx_graph *g, onnx_tensor t, int axis, int count, onnx_int_at at, const void *with);
onnx_tensor onnx_sum(onnx_graph *g, onnx_tensor t, int axis, int keep); /* over one axis */
onnx_tensor onnx_mean(onnx_graph *g, onnx_tensor t,
                      int rank); /* over all axes but the first, which stay as 1 */
onnx_tensor onnx_sum_before(onnx_graph *g, onnx_tensor t, int axis); /* of the elements before each */
onnx_tensor onnx_pad_last(onnx_graph *g, onnx_tensor t, int rank, int before, int after,
                          double value); /* the last axis */

/* The model file: `words` for people, `name` of the graph. */
jf_status onnx_graph_bytes(jf_context *ctx, const onnx_graph *g, const char *name, const char *words,
                           text *out);
void onnx_graph_free(onnx_graph *g);

#endif
