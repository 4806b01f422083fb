/* Whole coupling layers of image networks.
 *
 * A batch goes through its networks in waves, operator by operator, A and B together (image_network.cuh);
 * then the law is applied to the elements of the state, a block for each sample. Backwards the law comes
 * first. Partial gradients of the weights and of the norms are added at the end of a wave, in the order of
 * their pieces. */
#include "compute/cuda/law.cuh"
#include <limits.h>
extern "C" {
#include "compute/cuda/image_passes.h"

extern const image_passes image_passes_fp32, image_passes_tf32, image_passes_bf16;
extern const cuda_plan_kind cuda_plan_image;
}
static const image_passes *const passes[PRECISION_COUNT] = {&image_passes_fp32, &image_passes_tf32,
                                                            &image_passes_bf16};

enum {
    WAVE = 512,         /* samples that go through a layer together */
    FORWARD_WAVE = 256, /* where nothing is saved of them */
    ONCHIP_WAVE = 4224, /* and where samples stay on the chip, so that there is little beside them */
    MAX_PIECES = 128    /* of the samples of a wave, for partial gradients of weights */
};

/* ---- how a call is laid out ---- */

static int is_onchip(const image_plan *p, precision in) {
    return passes[in]->holds && p->onchip.ranks > 0;
}
static int wave_of(const image_plan *p, int n, layer_use use) {
    int most = use.backward || use.saved ? WAVE : is_onchip(p, use.precision) ? ONCHIP_WAVE : FORWARD_WAVE;
    return n < most ? n : most;
}
static int pieces_of(int rows) {
    return 2 * rows < MAX_PIECES ? 2 * rows : MAX_PIECES;
}
/* Samples of a piece of the partial gradients of norms, at most as many as a block has room for: those with
 * which the rounds of blocks that a GPU of the usual size works on at once take the least time. Leaving
 * partial gradients, and adding them up, costs about as much as two samples. */
static int norm_samples_of(const image_plan *p, int rows) {
    const int at_once = 264, least = 4;
    int elements = p->h * p->w, best = least, cost = INT_MAX;
    int thin = p->net_count * (int)blocks_for((size_t)elements * (size_t)p->K, NORM_ELEMENTS),
        wide = p->net_count * (int)blocks_for((size_t)elements * (size_t)p->concat, NORM_ELEMENTS);
    for (int samples = least; samples <= NORM_SAMPLES; samples++) {
        int pieces = (rows + samples - 1) / samples;
        int rounds = 2 * ((thin * pieces + at_once - 1) / at_once) + (wide * pieces + at_once - 1) / at_once;
        if (rounds * (samples + 2) < cost) best = samples, cost = rounds * (samples + 2);
    }
    return best;
}

static size_t pixels_of(const image_plan *p) {
    return (size_t)p->h * (size_t)p->w;
}

/* Activations of `capacity` samples: what a pass leaves for its backward pass, or what it needs. */
static void lay_out_saved(const image_plan *p, precision in, image_batch *b, cuda_room *r, int capacity,
                          int all) {
    const image_passes *m = passes[in];
    size_t K = (size_t)p->K, block = 2 * K + (size_t)p->concat;
    size_t channels = all ? (size_t)p->depth * block + K : is_onchip(p, in) ? 0 : block;
    b->capacity = capacity, b->all = all;
    for (int net = p->first_net; net < p->first_net + p->net_count; net++) {
        size_t n = (size_t)capacity, out = (size_t)p->outs[net];
        b->acts[net] = cuda_take(r, n * pixels_of(p) * channels * (size_t)m->number_bytes);
        b->sums[net] = (float *)cuda_take(r, (size_t)p->norms * n * IMAGE_MAX_BANDS * 2 * sizeof(float));
        b->out[net] = (float *)cuda_take(r, n * pixels_of(p) * out * sizeof(float));
    }
}

static void lay_out_back(const image_plan *p, const image_passes *m, image_batch *b, cuda_room *r, int rows,
                         int gradients) {
    int most = p->gradients[0] > p->gradients[1] ? p->gradients[0] : p->gradients[1];
    size_t n = (size_t)rows, thin = n * pixels_of(p) * (size_t)p->K * (size_t)m->number_bytes;
    b->pieces = pieces_of(rows), b->gradient_tiles = most, b->norm_samples = norm_samples_of(p, rows);
    for (int net = p->first_net; net < p->first_net + p->net_count; net++) {
        b->dout[net] = (float *)cuda_take(r, n * pixels_of(p) * (size_t)p->outs[net] * sizeof(float));
        b->du1[net] = (float *)cuda_take(r, n * (size_t)p->layer.k * sizeof(float));
        b->dh[net] = cuda_take(r, thin);
        b->thin[net] = cuda_take(r, thin);
        b->last_thin[net] = cuda_take(r, thin);
        b->wide[net] = cuda_take(r, n * pixels_of(p) * (size_t)p->concat * (size_t)m->number_bytes);
        b->back_sums[net] = (float *)cuda_take(r, n * IMAGE_MAX_BANDS * 2 * sizeof(float));
        if (!gradients) continue;
        for (int i = p->back_in_one; i < (p->back_in_one ? 2 : 3); i++)
            b->normalised[i][net] =
                cuda_take(r, n * pixels_of(p) * (size_t)norm_channels(p, i) * (size_t)m->number_bytes);
        b->partial[net] =
            (float *)cuda_take(r, (size_t)b->pieces * (size_t)most * OP_TILE_WEIGHTS * sizeof(float));
        b->norm_partial[net] =
            (float *)cuda_take(r, (size_t)blocks_for(n, b->norm_samples) * p->norm_gradients * sizeof(float));
    }
}

static void lay_out_packed(const image_plan *p, precision in, image_batch *b, cuda_room *r) {
    const image_passes *m = passes[in];
    for (int net = p->first_net; net < p->first_net + p->net_count; net++) {
        int tiles = p->tiles[net][0] > p->tiles[net][1] ? p->tiles[net][0] : p->tiles[net][1];
        b->weights[net] = cuda_take(r, (size_t)tiles * 32 * (size_t)m->lane_bytes);
        b->biases[net] = (float *)cuda_take(r, (size_t)p->biases[net] * sizeof(float));
        b->norms[net] = cuda_take(r, p->norm_numbers * (size_t)m->number_bytes);
        if (is_onchip(p, in))
            b->tables[net] = cuda_take(r, (size_t)(p->depth + 1) * (size_t)p->onchip.block_tables * 16);
    }
}

/* All of a call's scratch. ds: (n). */
static float *lay_out(const image_plan *p, image_batch *b, cuda_room *r, int n, layer_use use) {
    const image_passes *m = passes[use.precision];
    int rows = wave_of(p, n, use);
    lay_out_packed(p, use.precision, b, r);
    if (!use.saved) lay_out_saved(p, use.precision, b, r, rows, use.backward);
    if (!use.backward) return NULL;
    lay_out_back(p, m, b, r, rows, use.gradients);
    return (float *)cuda_take(r, (size_t)rows * sizeof(float));
}

/* ---- the law: a block for each sample ---- */

typedef struct couple_call {
    law_config law;
    int dim, m, inverse;
    const int32_t *target;
    const float *A, *b, *s; /* (n, m outputs), (n, m); b NULL: no shift */
    float *state, *logdet, *dstate;
    const float *dlogdet;
    float *dA, *db, *ds;
} couple_call;

template <class LAW> static __global__ void couple_kernel(const __grid_constant__ couple_call c) {
    const size_t sample = blockIdx.x, outputs = (size_t)LAW::outputs(&c.law, c.m);
    float *state = c.state + sample * (size_t)c.dim, s = c.s ? *c.s : 0, sum = 0;
    for (int i = (int)threadIdx.x; i < c.m; i += (int)blockDim.x) {
        size_t at = sample * (size_t)c.m + (size_t)i;
        const float *A = c.A + at * outputs, *b = c.b ? c.b + at : NULL;
        float u = state[c.target[i]];
        sum += c.inverse ? LAW::inverse(&c.law, c.m, A, b, s, &u) : LAW::forward(&c.law, c.m, A, b, s, &u);
        state[c.target[i]] = u;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) c.logdet[sample] += sum;
}

template <class LAW> static __global__ void couple_back_kernel(const __grid_constant__ couple_call c) {
    const size_t sample = blockIdx.x, outputs = (size_t)LAW::outputs(&c.law, c.m);
    float *state = c.state + sample * (size_t)c.dim, *dstate = c.dstate + sample * (size_t)c.dim;
    float s = c.s ? *c.s : 0, sum = 0, dl = c.dlogdet[sample];
    for (int i = (int)threadIdx.x; i < c.m; i += (int)blockDim.x) {
        size_t at = sample * (size_t)c.m + (size_t)i;
        const float *A = c.A + at * outputs, *b = c.b ? c.b + at : NULL;
        float *dA = c.dA + at * outputs, *db = c.db + at;
        float u = state[c.target[i]], du = dstate[c.target[i]], ds = 0;
        LAW::backward(&c.law, c.m, A, b, s, &u, &du, dl, dA, db, &ds);
        state[c.target[i]] = u, dstate[c.target[i]] = du;
        sum += ds;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) c.ds[sample] = sum;
}

template <class LAW> static void couple(cuda_device *own, const couple_call &c, int rows) {
    if constexpr (LAW::each) { /* image networks serve no other laws */
        if (c.dstate)
            launch(own, couple_back_kernel<LAW>, (unsigned)rows, THREADS, c);
        else
            launch(own, couple_kernel<LAW>, (unsigned)rows, THREADS, c);
        launched(own, "image: law");
    }
}
static void couple_by_law(cuda_device *own, const couple_call &c, int rows) {
    static void (*const laws[])(cuda_device *, const couple_call &, int) = {
#define X(name, form) couple<law_of_##name>,
        LAW_LIST(X)
#undef X
    };
    laws[c.law.id](own, c, rows);
}

/* ---- sums of partial gradients ---- */

static __global__ void weight_sums_kernel(const __grid_constant__ image_batch b, int first_net, int tiles_a,
                                          int tiles_b, const int32_t *map_a, const int32_t *map_b,
                                          float *grad) {
    const int net = first_net + (int)blockIdx.y;
    const int32_t *map = net ? map_b : map_a;
    const size_t stride = (size_t)b.gradient_tiles * OP_TILE_WEIGHTS;
    FOR_EACH_INDEX (i, (size_t)(net ? tiles_b : tiles_a) * OP_TILE_WEIGHTS) {
        if (map[i] < 0) continue;
        float sum = 0;
        for (int piece = 0; piece < b.pieces; piece++) sum += b.partial[net][(size_t)piece * stride + i];
        grad[map[i]] += sum;
    }
}

/* Of a norm (blockIdx.y) of a network (blockIdx.z): four numbers a thread, which come in eights. */
static __global__ void norm_sums_kernel(const __grid_constant__ image_batch b, int first_net, int norms,
                                        size_t numbers, int pieces, const int32_t *table, float *grad) {
    const int net = first_net + (int)blockIdx.z;
    const int32_t *of = table + ((size_t)net * (size_t)norms + blockIdx.y) * NORM_NUMBERS;
    const size_t width = (size_t)of[2], blocks = (size_t)of[4];
    const float *from = b.norm_partial[net] + of[3];
    FOR_EACH_INDEX (four, width / 2) {
        const size_t i = 4 * four;
        float4 sum = make_float4(0, 0, 0, 0);
        for (size_t block = 0; block < blocks; block++) {
            const float *at = from + block * 2 * width + i;
#pragma unroll 8
            for (int piece = 0; piece < pieces; piece++) {
                const float4 v = *(const float4 *)(at + (size_t)piece * numbers);
                sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
            }
        }
        float *to = grad + (i < width ? (size_t)of[0] + i : (size_t)of[1] + i - width);
        to[0] += sum.x, to[1] += sum.y, to[2] += sum.z, to[3] += sum.w;
    }
}

static void add_gradients(cuda_device *own, const image_plan *p, const image_batch *b, float *grad) {
    launch(own, weight_sums_kernel,
           dim3(blocks_for((size_t)b->gradient_tiles * OP_TILE_WEIGHTS, THREADS), (unsigned)p->net_count),
           THREADS, *b, p->first_net, p->gradients[0], p->gradients[1], p->gradient_map[0],
           p->gradient_map[1], grad);
    launched(own, "image: sums of weights");
    launch(own, norm_sums_kernel,
           dim3(at_most(64, blocks_for(pixels_of(p) * (size_t)p->concat / 2, THREADS)), (unsigned)p->norms,
                (unsigned)p->net_count),
           THREADS, *b, p->first_net, p->norms, p->norm_gradients,
           (int)blocks_for((size_t)b->rows, b->norm_samples), p->norm_table, grad);
    launched(own, "image: sums of norms");
}

/* dstate += du1 of both networks */
static __global__ void source_kernel(const __grid_constant__ image_batch b, int first_net, int nets, int k,
                                     int dim, const int32_t *source, float *dstate) {
    FOR_EACH_INDEX (i, (size_t)b.rows * (size_t)k) {
        size_t row = i / (size_t)k;
        float sum = 0;
        for (int net = first_net; net < first_net + nets; net++) sum += b.du1[net][i];
        dstate[row * (size_t)dim + (size_t)source[i % (size_t)k]] += sum;
    }
}

/* ---- running ---- */

static couple_call couple_of(const image_plan *p, const layer_call *call, const image_batch *b, int first,
                             float *ds) {
    couple_call c = {};
    size_t at = (size_t)first;
    c.law = p->layer.law;
    c.dim = p->layer.dim, c.m = p->layer.m;
    c.inverse = call->kind == PASS_INVERSE;
    c.target = p->target;
    c.A = b->out[0], c.b = p->outs[1] > 0 ? b->out[1] : NULL;
    c.s = law_shape_of(p->layer.law.id)->has_scale ? floats(call->params) + p->layer.s : NULL;
    c.state = floats(call->state) + at * (size_t)c.dim;
    if (call->kind != PASS_BACKWARD) {
        c.logdet = floats(call->logdet) + at;
        return c;
    }
    c.dstate = floats(call->dstate) + at * (size_t)c.dim;
    c.dlogdet = floats(call->dlogdet) + at;
    c.dA = (float *)b->dout[0], c.db = (float *)b->dout[1], c.ds = ds;
    return c;
}

/* Samples `first` to `first + b.rows` of the batch; in `saved` lie those of all of it. */
static void run_wave(cuda_device *own, const image_plan *p, const layer_call *call, image_batch b, int first,
                     float *ds) {
    const image_passes *m = passes[call->precision];
    int backward = call->kind == PASS_BACKWARD;
    float *grad = floats(call->grad);
    b.first = call->saved ? first : 0;
    b.state = floats(call->state) + (size_t)first * (size_t)p->layer.dim;
    for (int net = 0; net < 2; net++)
        if (b.out[net]) b.out[net] += (size_t)b.first * pixels_of(p) * (size_t)p->outs[net];
    if (!backward || !call->saved) {
        if (backward || first == 0) m->pack(own, p, &b, floats(call->params), FORWARD);
        m->forward(own, p, &b);
    }
    couple_by_law(own, couple_of(p, call, &b, first, ds), b.rows);
    if (!backward) return;
    m->pack(own, p, &b, floats(call->params), BACKWARD);
    m->backward(own, p, &b);
    if (grad) add_gradients(own, p, &b, grad);
    launch(own, source_kernel, blocks_for((size_t)b.rows * (size_t)p->layer.k, THREADS), THREADS, b,
           p->first_net, p->net_count, p->layer.k, p->layer.dim, p->source,
           floats(call->dstate) + (size_t)first * (size_t)p->layer.dim);
    launched(own, "image: gradient of the source");
    if (!grad || !law_shape_of(p->layer.law.id)->has_scale) return;
    launch(own, add_sum_kernel, 1, 1024, grad + p->layer.s, ds, (size_t)b.rows);
    launched(own, "image: gradient of the scale");
}

static void image_run(device *d, const layer_plan *plan, const layer_call *call) {
    cuda_device *own = cuda_use(d);
    const image_plan *p = (const image_plan *)plan;
    layer_use use = {call->kind == PASS_BACKWARD, call->grad != NULL, call->saved != NULL, call->precision};
    int wave = wave_of(p, call->n, use);
    image_batch b = {};
    cuda_room scratch = {(char *)call->scratch, 0}, saved = {(char *)call->saved, 0};
    float *ds = lay_out(p, &b, &scratch, call->n, use);
    if (use.saved) lay_out_saved(p, call->precision, &b, &saved, call->n, 1);
    for (int first = 0; first < call->n; first += wave) {
        b.rows = call->n - first < wave ? call->n - first : wave;
        run_wave(own, p, call, b, first, ds);
    }
}

/* ---- plans ---- */

static jf_status image_open(device *d, layer_plan **out, const coupling_layer *layer) {
    image_plan *p;
    JF_TRY(image_plan_create(d, &p, layer));
    if (!p) return JF_OK;
    p->plan.kind = &cuda_plan_image;
    *out = &p->plan;
    return JF_OK;
}

static void image_close(device *d, layer_plan *p) {
    image_plan_free(d, (image_plan *)p);
}

static size_t image_saved(const layer_plan *plan, int n, precision in) {
    const image_plan *p = (const image_plan *)plan;
    image_batch b = {};
    cuda_room r = {NULL, 0};
    lay_out_saved(p, in, &b, &r, n, 1);
    return cuda_room_reals(&r);
}

static size_t image_scratch(const layer_plan *plan, int n, layer_use use) {
    image_batch b = {};
    cuda_room r = {NULL, 0};
    lay_out((const image_plan *)plan, &b, &r, n, use);
    return cuda_room_reals(&r);
}

extern "C" const cuda_plan_kind cuda_plan_image = {"resnext",   image_open,    image_close,
                                                   image_saved, image_scratch, image_run};
