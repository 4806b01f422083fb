#include "compute/cpu/network.h"
#include <string.h>

static int is_narrow(const network *t, int layer) {
    return t->narrow_out && layer == t->layers - 1;
}

void network_plan(network *t, const dense_net *net, int vector) {
    *t = (network){.net = net, .layers = net->depth + 1, .narrow_out = net->out <= CPU_NARROW};
    for (int i = 0; i < t->layers; i++) {
        t->in[i] = i ? net->width : net->in;
        t->out[i] = i < net->depth ? net->width : net->out;
        t->in_pad[i] = cpu_round_up(t->in[i], vector);
        t->out_pad[i] = cpu_round_up(t->out[i], vector);
        if (t->in_pad[i] > t->ld) t->ld = t->in_pad[i];
        if (t->out_pad[i] > t->ld) t->ld = t->out_pad[i];
        t->packed[i] = t->packed_count;
        if (t->out[i] != t->out_pad[i]) t->packed_count += (size_t)(t->in[i] + 1) * (size_t)t->out_pad[i];
        t->packed_count = cpu_whole_lines(t->packed_count + (size_t)t->out[i] * (size_t)t->in_pad[i]);
        t->dw[i] = t->partial_count;
        t->partial_count += is_narrow(t, i) ? (size_t)t->out[i] * (size_t)t->in_pad[i]
                                            : (size_t)t->in[i] * (size_t)t->out_pad[i];
        t->db[i] = t->partial_count;
        t->partial_count += (size_t)t->out_pad[i];
    }
}

/* rows (rows, count) into rows of `pad`, zeros behind. */
static float *pad_rows(float *to, const float *from, int rows, int count, int pad) {
    for (int r = 0; r < rows; r++, to += pad) {
        memcpy(to, from + (size_t)r * count, sizeof(float) * (size_t)count);
        memset(to + count, 0, sizeof(float) * (size_t)(pad - count));
    }
    return to;
}

typedef float four __attribute__((vector_size(16)));

static inline four load_four(const float *p) {
    four v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void transpose_square(float *wt, size_t ldwt, const float *w, size_t ldw) {
    four a = load_four(w), b = load_four(w + ldw), c = load_four(w + 2 * ldw), d = load_four(w + 3 * ldw);
    four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    four AB = __builtin_shufflevector(a, b, 2, 6, 3, 7), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    four columns[4] = {
        __builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
        __builtin_shufflevector(AB, CD, 0, 1, 4, 5), __builtin_shufflevector(AB, CD, 2, 3, 6, 7)};
    for (size_t i = 0; i < 4; i++) memcpy(wt + i * ldwt, &columns[i], sizeof columns[i]);
}

/* wt (out, in_pad) = w (in, out)^t, zeros behind: in squares of 4 x 4, the edges one by one. */
static void transpose(float *wt, const float *w, int in, int out, int in_pad) {
    int in_whole = in / 4 * 4, out_whole = out / 4 * 4;
    for (int r = 0; r < in_whole; r += 4)
        for (int o = 0; o < out_whole; o += 4)
            transpose_square(wt + (size_t)o * in_pad + r, (size_t)in_pad, w + (size_t)r * out + o,
                             (size_t)out);
    for (int o = 0; o < out; o++)
        for (int r = o < out_whole ? in_whole : 0; r < in_pad; r++)
            wt[(size_t)o * in_pad + r] = r < in ? w[(size_t)r * out + o] : 0;
}

void network_pack(const network *t, network_weights *to, int i, const float *params, float *packed,
                  int backward) {
    int in = t->in[i], out = t->out[i], in_pad = t->in_pad[i], out_pad = t->out_pad[i];
    const float *w = params + t->net->w[i], *b = params + t->net->b[i];
    packed += t->packed[i];
    to->w[i] = w;
    to->b[i] = b;
    if (out != out_pad) {
        to->w[i] = packed;
        if (!is_narrow(t, i) || i == 0) /* else only the transposed ones are read */
            pad_rows(packed, w, in, out, out_pad);
        packed += (size_t)in * (size_t)out_pad;
        to->b[i] = packed;
        packed = pad_rows(packed, b, 1, out, out_pad);
    }
    if (!backward && !is_narrow(t, i)) return;
    to->wt[i] = packed;
    transpose(packed, w, in, out, in_pad);
}

/* Of one of a layer's products. */
static double flops_of(const network *t, int layer, int rows) {
    return 2.0 * rows * t->in[layer] * t->out[layer];
}

/* Activations saved for the backward pass lie in main memory: what the next layer will write, or on
 * the backward pass read, is fetched while this one is computed. */
void network_forward(const network *t, const network_weights *of, const cpu_kernels *k, meter *m, int rows,
                     float *const *h, int layers) {
    size_t ld = (size_t)t->ld;
    for (int i = 0; i < layers; i++) {
        double start = meter_begin(m);
        if (is_narrow(t, i))
            k->dense_dot(rows, t->out[i], t->in_pad[i], h[i], ld, of->wt[i], (size_t)t->in_pad[i], of->b[i],
                         h[i + 1], ld);
        else
            k->dense(rows, t->out_pad[i], t->in[i], h[i], ld, of->w[i], (size_t)t->out_pad[i], of->b[i],
                     i < t->net->depth ? (float)t->net->slope : 1.0f, h[i + 1], ld,
                     i + 1 < layers ? h[i + 2] : NULL);
        meter_end(m, METER_DENSE, start, flops_of(t, i, rows));
    }
}

float *network_backward(const network *t, const network_weights *of, const cpu_kernels *k, meter *m, int rows,
                        float *const *h, float *g, float *g_next, float *partial, int accumulate,
                        const float *next) {
    size_t ld = (size_t)t->ld;
    for (int i = t->layers - 1; i >= 0; i--) {
        if (partial) {
            double start = meter_begin(m);
            if (is_narrow(t, i))
                k->dense_dw(t->out[i], t->in_pad[i], rows, g, ld, h[i], ld, accumulate, partial + t->dw[i],
                            (size_t)t->in_pad[i]);
            else
                k->dense_dw(t->in[i], t->out_pad[i], rows, h[i], ld, g, ld, accumulate, partial + t->dw[i],
                            (size_t)t->out_pad[i]);
            k->dense_db(t->out_pad[i], rows, g, ld, accumulate, partial + t->db[i]);
            meter_end(m, METER_DENSE_DW, start, flops_of(t, i, rows));
        }
        double start = meter_begin(m);
        if (i == 0 && t->in[0] <= CPU_NARROW)
            k->dense_dot(rows, t->in[0], t->out_pad[0], g, ld, of->w[0], (size_t)t->out_pad[0], NULL, g_next,
                         ld);
        else
            k->dense_dx(rows, t->in_pad[i], t->out[i], g, ld, of->wt[i], (size_t)t->in_pad[i],
                        i ? h[i] : NULL, (float)t->net->slope, g_next, ld, i > 1 ? h[i - 1] : next);
        meter_end(m, METER_DENSE_DX, start, flops_of(t, i, rows));
        float *swap = g;
        g = g_next;
        g_next = swap;
    }
    return g;
}

void network_reduce(const network *t, const cpu_kernels *k, int layer, const float *partial, size_t stride,
                    int slices, float *grad) {
    int in = t->in[layer], out = t->out[layer], out_pad = t->out_pad[layer];
    float *dw = grad + t->net->w[layer];
    if (is_narrow(t, layer)) {
        for (int slice = 0; slice < slices; slice++)
            for (int i = 0; i < in; i++)
                for (int o = 0; o < out; o++)
                    dw[(size_t)i * out + o] +=
                        partial[(size_t)slice * stride + t->dw[layer] + (size_t)o * t->in_pad[layer] + i];
    } else if (out == out_pad)
        k->add_parts(dw, partial + t->dw[layer], stride, slices, (size_t)in * (size_t)out);
    else
        for (int r = 0; r < in; r++)
            k->add_parts(dw + (size_t)r * out, partial + t->dw[layer] + (size_t)r * out_pad, stride, slices,
                         (size_t)out);
    k->add_parts(grad + t->net->b[layer], partial + t->db[layer], stride, slices, (size_t)out);
}
