/* Whole coupling layers of dense networks on the cpu device.
 *
 * A batch is cut into waves of rows, a wave into pieces that depend on its size alone. Regions of parallel
 * tasks follow each other: weights are packed; (piece, network) goes through its network, and the second of
 * the two takes the piece through the law; and backwards the law, (piece, network), sums. Rows of a piece
 * pass through a network while they are in the cache. Every (piece, network) has its own partial gradients,
 * which are summed in the order of the pieces: the same bits for any number of threads. */
#include "base/memory.h"
#include "compute/cpu/network.h"
#include <stdlib.h>
#include <string.h>

typedef float num;
#include "compute/law/law_formulas.h"

extern const cpu_plan_kind cpu_plan_dense;

enum { MAX_PIECES = 32, WAVE_ROWS = MAX_PIECES * CPU_CHUNK, SMALL_PIECE = 24, FEW_PIECES = 16 };
#define FEW_PRODUCTS ((size_t)1 << 17) /* one thread finishes these before another wakes up */
#define WAVE_NUMBERS ((size_t)1 << 25) /* limit of a wave's activations in scratch, if none are saved */

typedef struct dense_plan {
    layer_plan plan;
    coupling_layer l;
    const cpu_kernels *k;
    const law_functions *law;
    network nets[2];  /* A, B; sizes only */
    size_t widths[2]; /* their outputs */
    int ld;           /* numbers from row to row of activations */
} dense_plan;

/* ---- how a batch is cut ---- */

static int is_present(const dense_plan *p, int net) {
    return p->widths[net] > 0;
}

/* Rows of each piece of a wave but the last, in whole tiles. A task pays off from about two dozen rows on.
 * There are at most FEW_PIECES unless each fills a chunk, so that partial gradients stay few. */
static int piece_rows(int rows) {
    int each = cpu_round_up((rows + FEW_PIECES - 1) / FEW_PIECES, CPU_ROWS);
    return each < SMALL_PIECE ? SMALL_PIECE : each > CPU_CHUNK ? CPU_CHUNK : each;
}
static int pieces_of(int rows) {
    return (rows + piece_rows(rows) - 1) / piece_rows(rows);
}

/* The most pieces that a wave of up to `rows` rows can have. */
static int most_pieces(int rows) {
    int small = (rows + SMALL_PIECE - 1) / SMALL_PIECE, full = (rows + CPU_CHUNK - 1) / CPU_CHUNK;
    if (small > FEW_PIECES) small = FEW_PIECES;
    return full > small ? full : small;
}

static size_t row_numbers(const dense_plan *p) { /* activations of a row */
    return (size_t)(p->nets[0].layers + p->nets[1].layers) * (size_t)p->ld;
}
/* Numbers of the activations of `rows` rows, the last piece padded to the length of the others. A smaller
 * batch needs no more. */
static size_t acts_count(const dense_plan *p, int rows) {
    return ((size_t)rows + CPU_CHUNK) * row_numbers(p) + CPU_MAX_VECTOR;
}

static int wave_rows(const dense_plan *p, int n, int acts_in_scratch) {
    size_t rows = WAVE_ROWS, fit = WAVE_NUMBERS / row_numbers(p) / CPU_CHUNK * CPU_CHUNK;
    if (acts_in_scratch && fit < rows) rows = fit > 0 ? fit : CPU_CHUNK;
    return (size_t)n < rows ? n : (int)rows;
}

/* ---- a call ---- */

typedef struct call {
    const dense_plan *p;
    const layer_call *asked;
    int first, rows, pieces, each; /* the wave: rows, and its pieces of `each` rows */
    int backward;
    float s;
    network_weights *weights; /* (2) of both networks */
    float *packed[2];
    float *out[2],
        *dout[2];      /* (rows, width): the networks' outputs and gradients, where acts do not hold them */
    float *du1[2];     /* (rows, k) */
    float *ds;         /* (pieces) */
    cpu_pair *pairs;   /* (pieces) */
    float *acts;       /* activations of the wave's pieces, or NULL: each worker has its own */
    float *partial[2]; /* (pieces, stride) */
    size_t stride[2];
    float *work; /* (threads, work_count) */
    size_t work_count;
    meter *meters; /* (threads), or NULL */
} call;

/* Scratch of a worker: the input of a network, and two gradients or, without activations to save, the
 * outputs of two layers. */
static size_t work_count_of(const dense_plan *p) {
    return cpu_whole_lines(CPU_CHUNK * (size_t)p->ld * 3 + CPU_MAX_VECTOR);
}

typedef struct scratch {
    float *h[NETWORK_MAX_LAYERS + 1];
    float *g, *g_next;
    meter *m;
} scratch;

/* The outputs of a network's layers for a piece; NULL: each worker has its own. */
static float *acts_of(const call *c, int piece, int net) {
    if (!c->acts) return NULL;
    return c->acts + (size_t)(piece * c->each) * row_numbers(c->p) +
           (net ? (size_t)(c->p->nets[0].layers * c->each) * (size_t)c->p->ld : 0);
}

static scratch layout_scratch(const call *c, int piece, int net, int worker) {
    scratch s;
    size_t block = (size_t)c->each * (size_t)c->p->ld;
    float *at = c->work + (size_t)worker * c->work_count, *acts = acts_of(c, piece, net);
    s.m = meter_of(c->meters, worker);
    s.h[0] = at;
    s.g = at + block;
    s.g_next = s.g + block;
    for (int i = 0; i < c->p->nets[net].layers; i++)
        s.h[i + 1] = acts ? acts + (size_t)i * block : i % 2 ? s.g_next : s.g;
    return s;
}

static int piece_begin(const call *c, int piece) {
    return piece * c->each < c->rows ? piece * c->each : c->rows;
}
static float *state_row(const call *c, real *of, int row) {
    return (float *)of + (size_t)(c->first + row) * (size_t)c->p->l.dim;
}

/* Outputs of a network for the rows of a piece, wherever they are. */
typedef struct outputs {
    const float *at;
    size_t step; /* from row to row */
} outputs;
static outputs outputs_of(const call *c, int net, int piece) {
    const float *acts = is_present(c->p, net) ? acts_of(c, piece, net) : NULL;
    size_t width = c->p->widths[net], block = (size_t)c->each * (size_t)c->p->ld;
    if (!acts) return (outputs){c->out[net] + (size_t)piece_begin(c, piece) * width, width};
    return (outputs){acts + (size_t)(c->p->nets[net].layers - 1) * block, (size_t)c->p->ld};
}

/* Whether both networks have finished a piece, called when one of them has. */
static int is_last(const call *c, int piece) {
    int both = is_present(c->p, 0) && is_present(c->p, 1);
    return !both || cpu_pair_is_second(&c->pairs[piece]);
}

/* ---- regions ---- */

static void pack_layer(call *c, int task, int worker) {
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    int net = task >= c->p->nets[0].layers, layer = net ? task - c->p->nets[0].layers : task;
    if (is_present(c->p, net))
        network_pack(&c->p->nets[net], &c->weights[net], layer, (const float *)c->asked->params,
                     c->packed[net], c->backward);
    meter_end(m, METER_PACK, start, 0);
}
static void pack_task(void *arg, int task, int worker) {
    pack_layer(arg, task, worker);
}

static void gather_input(const call *c, const scratch *s, int begin, int end) {
    const coupling_layer *l = &c->p->l;
    double start = meter_begin(s->m);
    for (int r = begin; r < end; r++) {
        const float *u = state_row(c, c->asked->state, r);
        float *to = s->h[0] + (size_t)(r - begin) * (size_t)c->p->ld;
        for (int i = 0; i < l->k; i++) to[i] = u[l->source[i]];
    }
    meter_end(s->m, METER_MOVE, start, 0);
}

/* The target elements of a row, out of the state and back. */
static void get_target(const coupling_layer *l, float *part, const float *whole) {
    for (int i = 0; i < l->m; i++) part[i] = whole[l->target[i]];
}
static void put_target(const coupling_layer *l, float *whole, const float *part) {
    for (int i = 0; i < l->m; i++) whole[l->target[i]] = part[i];
}

static void forward_law(const call *c, int piece, int worker) {
    const coupling_layer *l = &c->p->l;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    float *u2 = c->work + (size_t)worker * c->work_count, *logdet = (float *)c->asked->logdet + c->first;
    num (*apply)(const law_config *, int, const num *, const num *, num, num *) =
        c->asked->kind == PASS_FORWARD ? c->p->law->forward : c->p->law->inverse;
    outputs A = outputs_of(c, 0, piece), B = outputs_of(c, 1, piece);
    int end = piece_begin(c, piece + 1);
    for (int r = piece_begin(c, piece); r < end; r++, A.at += A.step, B.at += B.step) {
        float *u = state_row(c, c->asked->state, r);
        get_target(l, u2, u);
        logdet[r] += apply(&l->law, l->m, A.at, B.at, c->s, u2);
        put_target(l, u, u2);
    }
    meter_end(m, METER_LAW, start, 0);
}

static void forward_network(void *arg, int task, int worker) {
    const call *c = arg;
    int piece = task / 2, net = task % 2, begin = piece_begin(c, piece), end = piece_begin(c, piece + 1);
    if (!is_present(c->p, net)) return;
    const network *t = &c->p->nets[net];
    scratch s = layout_scratch(c, piece, net, worker);
    gather_input(c, &s, begin, end);
    network_forward(t, &c->weights[net], c->p->k, s.m, end - begin, s.h, t->layers);
    double start = meter_begin(s.m);
    size_t width = c->p->widths[net];
    float *out = c->out[net] + (size_t)begin * width;
    const float *from = s.h[t->layers];
    for (int r = begin; !c->acts && r < end; r++, out += width, from += c->p->ld)
        for (size_t i = 0; i < width; i++) out[i] = from[i];
    meter_end(s.m, METER_MOVE, start, 0);
    if (!c->backward && is_last(c, piece)) forward_law(c, piece, worker);
}

static void backward_law(const call *c, int piece, int worker) {
    const coupling_layer *l = &c->p->l;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    float *u2 = c->work + (size_t)worker * c->work_count, *du2 = u2 + l->m, ds = 0;
    const float *dlogdet = (const float *)c->asked->dlogdet + c->first;
    outputs A = outputs_of(c, 0, piece), B = outputs_of(c, 1, piece);
    int end = piece_begin(c, piece + 1);
    for (int r = piece_begin(c, piece); r < end; r++, A.at += A.step, B.at += B.step) {
        float *u = state_row(c, c->asked->state, r), *du = state_row(c, c->asked->dstate, r);
        get_target(l, u2, u);
        get_target(l, du2, du);
        c->p->law->backward(&l->law, l->m, A.at, B.at, c->s, u2, du2, dlogdet[r],
                            c->dout[0] + (size_t)r * c->p->widths[0],
                            c->dout[1] + (size_t)r * c->p->widths[1], &ds);
        put_target(l, u, u2);
        put_target(l, du, du2);
    }
    c->ds[piece] = ds;
    meter_end(m, METER_LAW_BACK, start, 0);
}

/* Before the backward pass: a task is a piece that goes through the law, then a layer whose weights are
 * packed. */
static void begin_backward(void *arg, int task, int worker) {
    call *c = arg;
    if (task < c->pieces)
        backward_law(c, task, worker);
    else
        pack_layer(c, task - c->pieces, worker);
}

/* Gradients of the source elements. */
static void add_du1(const call *c, int piece, meter *m) {
    const coupling_layer *l = &c->p->l;
    double start = meter_begin(m);
    int begin = piece_begin(c, piece), end = piece_begin(c, piece + 1);
    for (int net = 0; net < 2; net++) {
        const float *du1 = c->du1[net] + (size_t)begin * (size_t)l->k;
        for (int r = begin; is_present(c->p, net) && r < end; r++, du1 += l->k) {
            float *du = state_row(c, c->asked->dstate, r);
            for (int i = 0; i < l->k; i++) du[l->source[i]] += du1[i];
        }
    }
    meter_end(m, METER_MOVE, start, 0);
}

/* The gradient of a network's outputs as padded rows; what the backward pass begins with is fetched
 * meanwhile. */
static void spread_gradient(const call *c, const scratch *s, int net, int begin, int end) {
    const network *t = &c->p->nets[net];
    double start = meter_begin(s->m);
    size_t width = c->p->widths[net], pad = (size_t)t->out_pad[t->layers - 1], ld = (size_t)c->p->ld;
    for (int r = begin; r < end; r++) {
        size_t at = (size_t)(r - begin) * ld;
        for (int i = t->layers - 1; i > 0 && i > t->layers - 3; i--)
            for (size_t j = 0; j < ld; j += CPU_MAX_VECTOR) __builtin_prefetch(s->h[i] + at + j, 0, 2);
        memcpy(s->g + at, c->dout[net] + (size_t)r * width, sizeof(float) * width);
        memset(s->g + at + width, 0, sizeof(float) * (pad - width));
    }
    meter_end(s->m, METER_MOVE, start, 0);
}

static void backward_network(void *arg, int task, int worker) {
    const call *c = arg;
    int piece = task / 2, net = task % 2, begin = piece_begin(c, piece), end = piece_begin(c, piece + 1);
    if (!is_present(c->p, net)) return;
    const network *t = &c->p->nets[net];
    scratch s = layout_scratch(c, piece, net, worker);
    gather_input(c, &s, begin, end);
    spread_gradient(c, &s, net, begin, end);
    float *partial = c->asked->grad ? c->partial[net] + (size_t)piece * c->stride[net] : NULL;
    const float *dx = network_backward(t, &c->weights[net], c->p->k, s.m, end - begin, s.h, s.g, s.g_next,
                                       partial, 0, NULL);
    double start = meter_begin(s.m);
    size_t k = (size_t)c->p->l.k;
    float *du1 = c->du1[net] + (size_t)begin * k;
    for (int r = begin; r < end; r++, du1 += k, dx += c->p->ld)
        for (size_t i = 0; i < k; i++) du1[i] = dx[i];
    meter_end(s.m, METER_MOVE, start, 0);
    if (is_last(c, piece)) add_du1(c, piece, s.m);
}

static void sum_layer(void *arg, int task, int worker) {
    const call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    int net = task >= c->p->nets[0].layers, layer = net ? task - c->p->nets[0].layers : task;
    if (is_present(c->p, net))
        network_reduce(&c->p->nets[net], c->p->k, layer, c->partial[net], c->stride[net], c->pieces,
                       (float *)c->asked->grad);
    meter_end(m, METER_SUM, start, 0);
}

/* ---- scratch ---- */

/* Lays out the scratch of a call; returns how many numbers it takes. */
static size_t place(call *c, float *scratch_base, int threads, int n, layer_use use, int acts_in_scratch) {
    const dense_plan *p = c->p;
    cpu_room r = {scratch_base, 0};
    size_t rows = (size_t)wave_rows(p, n, acts_in_scratch), pieces = (size_t)most_pieces((int)rows);
    for (int net = 0; net < 2; net++) {
        c->packed[net] = cpu_take(&r, p->nets[net].packed_count);
        c->out[net] = cpu_take(&r, rows * p->widths[net]);
        if (!use.backward) continue;
        c->dout[net] = cpu_take(&r, rows * p->widths[net]);
        c->du1[net] = cpu_take(&r, rows * (size_t)p->l.k);
        c->stride[net] = use.gradients ? cpu_whole_lines(p->nets[net].partial_count) : 0;
        c->partial[net] = cpu_take(&r, pieces * c->stride[net]);
    }
    if (use.backward) c->ds = cpu_take(&r, pieces);
    c->pairs = (cpu_pair *)cpu_take(&r, pieces);
    if (acts_in_scratch) c->acts = cpu_take(&r, acts_count(p, (int)rows));
    c->work_count = work_count_of(p);
    c->work = cpu_take(&r, (size_t)threads * c->work_count);
    return r.used;
}

static size_t dense_scratch(const layer_plan *plan, int threads, int n, layer_use use) {
    call c = {.p = (const dense_plan *)plan};
    layer_use none = {0};
    size_t forward = place(&c, NULL, threads, n, none, 0);
    if (!use.backward) return forward;
    size_t backward = place(&c, NULL, threads, n, use, !use.saved);
    return forward > backward ? forward : backward;
}

static size_t dense_saved(const layer_plan *plan, int n) {
    const dense_plan *p = (const dense_plan *)plan;
    return acts_count(p, n);
}

/* ---- running ---- */

static int layers_of(const call *c) {
    return c->p->nets[0].layers + c->p->nets[1].layers;
}

/* Waking other threads for a few rows takes longer than they do. */
static void run_tasks(call *c, thread_pool *pool, int tasks, task_fn fn) {
    size_t weights = c->p->nets[0].partial_count + c->p->nets[1].partial_count;
    if (weights * (size_t)c->rows > FEW_PRODUCTS)
        pool_run(pool, tasks, fn, c);
    else
        for (int task = 0; task < tasks; task++) fn(c, task, 0);
}

static void clear_pairs(call *c) {
    for (int i = 0; i < c->pieces; i++) atomic_init(&c->pairs[i].finished, 0);
}

/* Weights are packed before anything else, or, where the backward pass begins with the law, together with it.
 */
static void run_wave(call *c, thread_pool *pool, int recompute) {
    float *grad = (float *)c->asked->grad;
    int first = c->first == 0, pack_alone = first && (!c->backward || recompute);
    clear_pairs(c);
    if (pack_alone) run_tasks(c, pool, layers_of(c), pack_task);
    if (!c->backward || recompute) run_tasks(c, pool, 2 * c->pieces, forward_network);
    if (!c->backward) return;
    run_tasks(c, pool, c->pieces + (first && !pack_alone ? layers_of(c) : 0), begin_backward);
    run_tasks(c, pool, 2 * c->pieces, backward_network);
    if (!grad) return;
    run_tasks(c, pool, layers_of(c), sum_layer);
    for (int i = 0; c->p->law->shape->has_scale && i < c->pieces; i++) grad[c->p->l.s] += c->ds[i];
}

static void dense_run(device *d, const layer_plan *plan, const layer_call *asked) {
    const dense_plan *p = (const dense_plan *)plan;
    cpu_device *own = d->own;
    network_weights weights[2];
    call c = {.p = p,
              .asked = asked,
              .backward = asked->kind == PASS_BACKWARD,
              .weights = weights,
              .meters = own->meters};
    layer_use use = {.backward = c.backward, .gradients = asked->grad != NULL, .saved = asked->saved != NULL};
    int acts_in_scratch = c.backward && !use.saved, rows = wave_rows(p, asked->n, acts_in_scratch);
    place(&c, (float *)asked->scratch, pool_threads(own->pool), asked->n, use, acts_in_scratch);
    if (p->law->shape->has_scale) c.s = ((const float *)asked->params)[p->l.s];
    if (use.saved) c.acts = (float *)asked->saved;
    for (; c.first < asked->n; c.first += c.rows) {
        c.rows = asked->n - c.first < rows ? asked->n - c.first : rows;
        c.each = piece_rows(c.rows);
        c.pieces = pieces_of(c.rows);
        run_wave(&c, own->pool, acts_in_scratch);
        if (use.saved) c.acts += (size_t)(c.pieces * c.each) * row_numbers(p);
    }
}

static jf_status dense_open(const device *d, layer_plan **out, const coupling_layer *layer) {
    const cpu_device *own = d->own;
    const dense_net *nets = layer->nets;
    dense_plan *p;
    JF_TRY(MEM_NEW(d->ctx, &p, 1));
    p->plan.kind = &cpu_plan_dense;
    p->l = *layer;
    p->k = own->kernels;
    p->law = &law_formulas[layer->law.id];
    for (int net = 0; net < 2; net++) {
        p->widths[net] = (size_t)nets[net].out;
        if (nets[net].out > 0) network_plan(&p->nets[net], &nets[net], own->kernels->vector);
        if (p->nets[net].ld > p->ld) p->ld = p->nets[net].ld;
    }
    p->nets[0].ld = p->nets[1].ld = p->ld;
    *out = &p->plan;
    return JF_OK;
}

static void dense_close(layer_plan *p) {
    free(p);
}

const cpu_plan_kind cpu_plan_dense = {
    .form = "dense",
    .open = dense_open,
    .close = dense_close,
    .saved = dense_saved,
    .scratch = dense_scratch,
    .run = dense_run,
};
