#include "export/onnx_graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IR_VERSION 7 /* that of the first ONNX with ONNX_OPSET */

/* Numbers of the fields, from onnx.proto. */
enum model_field {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER = 2,
    MODEL_WORDS = 6,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8
};
enum opset_field { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum graph_field { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_CONSTANT = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum node_field { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum attribute_field {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_REAL = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20
};
enum tensor_field { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_BYTES = 9 };
enum value_field { VALUE_NAME = 1, VALUE_TYPE = 2 };
enum type_field { TYPE_TENSOR = 1 };
enum tensor_type_field { TENSOR_TYPE_ELEMENT = 1, TENSOR_TYPE_SHAPE = 2 };
enum shape_field { SHAPE_DIM = 1 };
enum dim_field { DIM_VALUE = 1, DIM_NAME = 2 };
enum element_type { ELEMENT_FLOAT = 1, ELEMENT_INT64 = 7, ELEMENT_BOOL = 9 };

/* ---- protobuf: a field is its number and kind, then a varint, four bytes, or a length and as many bytes
 * ---- */

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FOUR = 5 };

static void put_varint(text *out, uint64_t value) {
    char bytes[10];
    size_t count = 0;
    for (; value > 127; value >>= 7) bytes[count++] = (char)((value & 127) | 128);
    bytes[count++] = (char)value;
    text_add_chars(out, bytes, count);
}

static void put_key(text *out, int field, enum wire wire) {
    put_varint(out, (uint64_t)field << 3 | wire);
}

static void put_int(text *out, int field, int64_t value) {
    put_key(out, field, WIRE_VARINT);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(text *out, int field, const void *bytes, size_t size) {
    put_key(out, field, WIRE_BYTES);
    put_varint(out, size);
    text_add_chars(out, bytes, size);
}

static void put_text(text *out, int field, const char *chars) {
    put_bytes(out, field, chars, strlen(chars));
}

/* A message inside of another; it is freed. */
static void put_message(text *out, int field, text *message) {
    put_bytes(out, field, message->chars ? message->chars : "", message->length);
    out->failed |= message->failed;
    text_free(message);
}

/* Little-endian, whatever the machine. */
static void add_word(text *out, uint64_t bits, int bytes) {
    char chars[8];
    for (int i = 0; i < bytes; i++) chars[i] = (char)(bits >> 8 * i & 255);
    text_add_chars(out, chars, (size_t)bytes);
}

static uint32_t bits_of(double value) {
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

/* ---- names, inputs and outputs ---- */

static onnx_tensor new_tensor(onnx_graph *g) {
    onnx_tensor t;
    snprintf(t.name, sizeof t.name, "t%d", g->count++);
    return t;
}

static text describe_value(const char *name, int width) {
    text batch = {0}, columns = {0}, dims = {0}, tensor = {0}, type = {0}, value = {0};
    put_text(&batch, DIM_NAME, "N");
    put_message(&dims, SHAPE_DIM, &batch);
    if (width > 0) {
        put_int(&columns, DIM_VALUE, width);
        put_message(&dims, SHAPE_DIM, &columns);
    }
    put_int(&tensor, TENSOR_TYPE_ELEMENT, ELEMENT_FLOAT);
    put_message(&tensor, TENSOR_TYPE_SHAPE, &dims);
    put_message(&type, TYPE_TENSOR, &tensor);
    put_text(&value, VALUE_NAME, name);
    put_message(&value, VALUE_TYPE, &type);
    return value;
}

onnx_tensor onnx_input(onnx_graph *g, const char *name, int width) {
    onnx_tensor t;
    text value = describe_value(name, width);
    snprintf(t.name, sizeof t.name, "%s", name);
    put_message(&g->inputs, GRAPH_INPUT, &value);
    return t;
}

/* ---- nodes ---- */

static void put_attribute(text *node, const onnx_attribute *a) {
    text out = {0};
    put_text(&out, ATTRIBUTE_NAME, a->name);
    if (a->type == ONNX_REAL) {
        put_key(&out, ATTRIBUTE_REAL, WIRE_FOUR);
        add_word(&out, bits_of(a->real), 4);
    }
    if (a->type == ONNX_INT) put_int(&out, ATTRIBUTE_INT, a->whole);
    for (int i = 0; a->type == ONNX_INTS && i < a->count; i++) put_int(&out, ATTRIBUTE_INTS, a->list[i]);
    put_int(&out, ATTRIBUTE_TYPE, a->type);
    put_message(node, NODE_ATTRIBUTE, &out);
}

static void add_node(onnx_graph *g, const char *op, int count, const onnx_tensor *in, const char *to,
                     int attribute_count, const onnx_attribute *attributes) {
    text node = {0};
    for (int i = 0; i < count; i++) put_text(&node, NODE_INPUT, in[i].name);
    put_text(&node, NODE_OUTPUT, to);
    put_text(&node, NODE_NAME, to);
    put_text(&node, NODE_OP, op);
    for (int i = 0; i < attribute_count; i++) put_attribute(&node, &attributes[i]);
    put_message(&g->nodes, GRAPH_NODE, &node);
}

onnx_tensor onnx_node(onnx_graph *g, const char *op, int count, const onnx_tensor *in, int attribute_count,
                      const onnx_attribute *attributes) {
    onnx_tensor t = new_tensor(g);
    add_node(g, op, count, in, t.name, attribute_count, attributes);
    return t;
}

void onnx_output(onnx_graph *g, onnx_tensor t, const char *name, int width) {
    text value = describe_value(name, width);
    add_node(g, "Identity", 1, &t, name, 0, NULL);
    put_message(&g->outputs, GRAPH_OUTPUT, &value);
}

/* ---- constants ---- */

/* `content` is freed. */
static onnx_tensor add_constant(onnx_graph *g, enum element_type type, int rank, const int *shape,
                                text *content) {
    onnx_tensor t = new_tensor(g);
    text tensor = {0};
    for (int i = 0; i < rank; i++) put_int(&tensor, TENSOR_DIMS, shape[i]);
    put_int(&tensor, TENSOR_TYPE, type);
    put_text(&tensor, TENSOR_NAME, t.name);
    put_message(&tensor, TENSOR_BYTES, content);
    put_message(&g->constants, GRAPH_CONSTANT, &tensor);
    return t;
}

onnx_tensor onnx_floats(onnx_graph *g, int rank, const int *shape, onnx_real_at at, const void *with) {
    text content = {0};
    size_t count = 1;
    for (int i = 0; i < rank; i++) count *= (size_t)shape[i];
    for (size_t i = 0; i < count; i++) add_word(&content, bits_of(at(with, i)), 4);
    return add_constant(g, ELEMENT_FLOAT, rank, shape, &content);
}

double onnx_array_at(const void *doubles, size_t i) {
    return ((const double *)doubles)[i];
}

onnx_tensor onnx_number(onnx_graph *g, double value) {
    return onnx_floats(g, 0, NULL, onnx_array_at, &value);
}

onnx_tensor onnx_mask(onnx_graph *g, int count, onnx_int_at at, const void *with) {
    text content = {0};
    for (int i = 0; i < count; i++) add_word(&content, at(with, (size_t)i) != 0, 1);
    return add_constant(g, ELEMENT_BOOL, 1, &count, &content);
}

static onnx_tensor ints(onnx_graph *g, int count, onnx_int_at at, const void *with) {
    text content = {0};
    for (int i = 0; i < count; i++) add_word(&content, (uint64_t)(int64_t)at(with, (size_t)i), 8);
    return add_constant(g, ELEMENT_INT64, 1, &count, &content);
}

static int int_at(const void *list, size_t i) {
    return ((const int *)list)[i];
}

static onnx_tensor one_int(onnx_graph *g, int value) {
    return ints(g, 1, int_at, &value);
}

/* ---- operators with constants ---- */

enum { MOST_RANK = 8 };

onnx_tensor onnx_reshape(onnx_graph *g, onnx_tensor t, int rank, const int *shape) {
    return ONNX(g, "Reshape", t, ints(g, rank, int_at, shape));
}

onnx_tensor onnx_transpose(onnx_graph *g, onnx_tensor t, int rank, const int *order) {
    int64_t axes[MOST_RANK];
    for (int i = 0; i < rank; i++) axes[i] = order[i];
    return onnx_node(g, "Transpose", 1, &t, 1,
                     &(onnx_attribute){.name = "perm", .type = ONNX_INTS, .count = rank, .list = axes});
}

onnx_tensor onnx_concat(onnx_graph *g, int count, const onnx_tensor *parts, int axis) {
    return onnx_node(g, "Concat", count, parts, 1,
                     &(onnx_attribute){.name = "axis", .type = ONNX_INT, .whole = axis});
}

onnx_tensor onnx_slice(onnx_graph *g, onnx_tensor t, int axis, int from, int to) {
    return ONNX(g, "Slice", t, one_int(g, from), one_int(g, to), one_int(g, axis));
}

onnx_tensor onnx_gather(onnx_graph *g, onnx_tensor t, int axis, int count, onnx_int_at at, const void *with) {
    onnx_tensor in[] = {t, ints(g, count, at, with)};
    return onnx_node(g, "Gather", 2, in, 1,
                     &(onnx_attribute){.name = "axis", .type = ONNX_INT, .whole = axis});
}

onnx_tensor onnx_sum(onnx_graph *g, onnx_tensor t, int axis, int keep) {
    onnx_tensor in[] = {t, one_int(g, axis)};
    return onnx_node(g, "ReduceSum", 2, in, 1,
                     &(onnx_attribute){.name = "keepdims", .type = ONNX_INT, .whole = keep});
}

onnx_tensor onnx_mean(onnx_graph *g, onnx_tensor t, int rank) {
    int64_t axes[MOST_RANK];
    for (int i = 1; i < rank; i++) axes[i - 1] = i;
    return onnx_node(g, "ReduceMean", 1, &t, 1,
                     &(onnx_attribute){.name = "axes", .type = ONNX_INTS, .count = rank - 1, .list = axes});
}

onnx_tensor onnx_sum_before(onnx_graph *g, onnx_tensor t, int axis) {
    text content = {0};
    add_word(&content, (uint64_t)axis, 8);
    onnx_tensor in[] = {t, add_constant(g, ELEMENT_INT64, 0, NULL, &content)};
    return onnx_node(g, "CumSum", 2, in, 1,
                     &(onnx_attribute){.name = "exclusive", .type = ONNX_INT, .whole = 1});
}

onnx_tensor onnx_pad_last(onnx_graph *g, onnx_tensor t, int rank, int before, int after, double value) {
    int pads[2 * MOST_RANK] = {0};
    pads[rank - 1] = before;
    pads[2 * rank - 1] = after;
    return ONNX(g, "Pad", t, ints(g, 2 * rank, int_at, pads), onnx_number(g, value));
}

/* ---- the file ---- */

static void add_part(text *out, const text *part) {
    text_add_chars(out, part->chars ? part->chars : "", part->length);
    out->failed |= part->failed;
}

jf_status onnx_graph_bytes(jf_context *ctx, const onnx_graph *g, const char *name, const char *words,
                           text *out) {
    text graph = {0}, opset = {0};
    add_part(&graph, &g->nodes);
    put_text(&graph, GRAPH_NAME, name);
    add_part(&graph, &g->constants);
    add_part(&graph, &g->inputs);
    add_part(&graph, &g->outputs);
    put_int(out, MODEL_IR_VERSION, IR_VERSION);
    put_text(out, MODEL_PRODUCER, "jointflow");
    put_text(out, MODEL_WORDS, words);
    put_message(out, MODEL_GRAPH, &graph);
    put_text(&opset, OPSET_DOMAIN, "");
    put_int(&opset, OPSET_VERSION, ONNX_OPSET);
    put_message(out, MODEL_OPSET, &opset);
    return text_check(ctx, out);
}

void onnx_graph_free(onnx_graph *g) {
    text_free(&g->nodes);
    text_free(&g->constants);
    text_free(&g->inputs);
    text_free(&g->outputs);
}
