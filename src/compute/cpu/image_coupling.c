/* Whole coupling layers of image networks on the cpu device.
 *
 * A batch is cut into waves, a wave into slices of a few samples. Regions of parallel tasks follow each
 * other: weights are packed; (sample, network) goes through its network, and the second of the two takes the
 * sample through the law, so that a worker's scratch is that of one sample; and backwards the law, (slice,
 * network), sums. A slice goes back through a step of its network before the next one, so that its samples
 * share parameters and partial gradients in the cache. Where partial gradients are large (norms with
 * parameters for each element), a region is one step, and their place is that of one block, used again by the
 * next.
 *
 * Slices depend on the batch alone, and their gradients are summed in their order: the same bits for any
 * number of threads. */
#include "base/memory.h"
#include "compute/cpu/image_network.h"
#include <stdlib.h>
#include <string.h>

typedef float num;
#include "compute/law/law_formulas.h"

extern const cpu_plan_kind cpu_plan_image;

enum { SLICE = 4, MAX_SLICES = 64 };
#define WAVE_NUMBERS                                                                                         \
    ((size_t)1 << 25) /* of activations that a wave may hold in scratch where none are saved */
#define PARTIAL_NUMBERS ((size_t)1 << 24) /* of partial gradients up to which all steps are one region */

typedef struct image_plan {
    layer_plan plan;
    coupling_layer l;
    const cpu_kernels *k;
    const law_functions *law;
    image_network nets[2]; /* A, B; sizes only */
    size_t widths[2];      /* their outputs; 0: there is no such network */
    int some;              /* one that there is; both have one shape inside */
    size_t sample_count; /* numbers that carry a sample from a pass to its backward pass: acts and outputs of
                            both */
} image_plan;

static int is_present(const image_plan *p, int net) {
    return p->widths[net] > 0;
}

/* ---- how a batch is cut ---- */

static int slices_of(int rows) {
    return (rows + SLICE - 1) / SLICE;
}

static int wave_rows(const image_plan *p, int n, int acts_in_scratch) {
    size_t rows = SLICE * MAX_SLICES, fit = WAVE_NUMBERS / p->sample_count;
    if (acts_in_scratch && fit < rows) rows = fit >= SLICE ? fit / SLICE * SLICE : SLICE;
    return (size_t)n < rows ? n : (int)rows;
}

/* ---- a call ---- */

typedef struct call {
    const image_plan *p;
    const layer_call *asked;
    int first, rows, slices; /* the wave */
    int backward;
    float s;
    image_network nets[2]; /* with their weights */
    float *acts;           /* (rows, sample_count), or NULL: acts are the workers' own, outputs lie in */
    float *out[2];         /* (rows, width) */
    float *dout[2], *du1[2], *dh[2]; /* (rows, width), (rows, k), (rows, image_dh_count()) */
    float *ds;                       /* (slices) */
    cpu_pair *pairs;                 /* (rows) */
    int by_step;                     /* a region of the backward pass is one step */
    int step, end_step;              /* the steps of the current region */
    image_partial partial[2];        /* of the first slice */
    size_t stride[2];                /* from slice to slice */
    float *work;                     /* (threads, work_count) */
    size_t work_count;
    int32_t *cleared; /* (threads): whether a worker's spaced images are clear */
    meter *meters;    /* (threads), or NULL */
} call;

/* Scratch of one worker. */
typedef struct scratch {
    image_spare spare;
    image_view u1[2], dout[2];
    float *acts[2], *u2, *du2;
} scratch;

static scratch place_worker(const image_plan *p, cpu_room *r) {
    scratch s = {0};
    float *spare = cpu_take(r, image_spare_count(&p->nets[p->some])), *edges[2][2] = {{0}};
    for (int net = 0; net < 2; net++)
        for (int i = 0; is_present(p, net) && i < 2; i++)
            edges[net][i] = cpu_take(r, image_edge_count(&p->nets[net]));
    for (int net = 0; net < 2; net++)
        if (is_present(p, net)) s.acts[net] = cpu_take(r, image_acts_count(&p->nets[net], 0));
    s.u2 = cpu_take(r, (size_t)p->l.m);
    s.du2 = cpu_take(r, (size_t)p->l.m);
    if (!r->base) return s;
    s.spare = image_spare_place(&p->nets[p->some], spare);
    for (int net = 0; net < 2; net++) {
        if (!is_present(p, net)) continue;
        s.u1[net] = image_edge_view(&p->nets[net], edges[net][0]);
        s.dout[net] = image_edge_view(&p->nets[net], edges[net][1]);
    }
    return s;
}

/* The zeros around spaced images stay as they are, so a worker clears them once per call. */
static scratch layout_scratch(const call *c, int worker) {
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    cpu_room r = {c->work + (size_t)worker * c->work_count, 0};
    scratch s = place_worker(c->p, &r);
    if (!c->cleared[worker]) {
        size_t edge_count = 0;
        for (int net = 0; net < 2; net++)
            if (is_present(c->p, net)) edge_count += 2 * cpu_whole_lines(image_edge_count(&c->p->nets[net]));
        image_spare_clear(&s.spare);
        memset(r.base + cpu_whole_lines(image_spare_count(&c->p->nets[c->p->some])), 0,
               sizeof(float) * edge_count);
        c->cleared[worker] = 1;
    }
    s.spare.m = m;
    meter_end(m, METER_MOVE, start, 0);
    return s;
}

/* Where the acts of a sample are, if they stay. */
static float *acts_of(const call *c, int net, int row) {
    float *at = c->acts + (size_t)row * c->p->sample_count;
    return at + (net && is_present(c->p, 0) ? image_acts_count(&c->p->nets[0], 1) : 0);
}
/* Where a network's outputs for a sample are. */
static float *outputs_of(const call *c, int net, int row) {
    if (!c->acts) return c->out[net] + (size_t)row * c->p->widths[net];
    float *end = c->acts + ((size_t)row + 1) * c->p->sample_count;
    return end - cpu_whole_lines(c->p->widths[1]) - (net ? 0 : cpu_whole_lines(c->p->widths[0]));
}
static float *state_row(const call *c, real *of, int row) {
    return (float *)of + (size_t)(c->first + row) * (size_t)c->p->l.dim;
}

/* A dense sample [h][w][channels] as a spaced image, through a map or as it is. */
static void space(const image_net *net, meter *m, image_view to, int channels, const float *from,
                  const int32_t *map) {
    double start = meter_begin(m);
    for (int i = 0; i < net->h; i++)
        for (int j = 0; j < net->w; j++) {
            float *pixel = to.at + (size_t)i * to.row + (size_t)j * to.pixel;
            size_t at = ((size_t)i * (size_t)net->w + (size_t)j) * (size_t)channels;
            for (int k = 0; k < channels; k++)
                pixel[k] = from[map ? (size_t)map[at + (size_t)k] : at + (size_t)k];
        }
    meter_end(m, METER_MOVE, start, 0);
}

static void space_u1(const call *c, const scratch *s, int net, int row) {
    const image_net *t = c->nets[net].net;
    space(t, s->spare.m, s->u1[net], t->in.shape.in, state_row(c, c->asked->state, row), c->p->l.source);
}

/* ---- regions ---- */

static void pack_part(void *arg, int task, int worker) {
    call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    if (is_present(c->p, task % 2)) image_network_pack(&c->nets[task % 2], task / 2, c->backward);
    meter_end(m, METER_PACK, start, 0);
}

static void get_target(const coupling_layer *l, float *part, const float *whole) {
    for (int i = 0; i < l->m; i++) part[i] = whole[l->target[i]];
}
static void put_target(const coupling_layer *l, float *whole, const float *part) {
    for (int i = 0; i < l->m; i++) whole[l->target[i]] = part[i];
}
static int slice_end(const call *c, int slice) {
    return (slice + 1) * SLICE < c->rows ? (slice + 1) * SLICE : c->rows;
}

static void forward_law(const call *c, const scratch *s, int row) {
    const coupling_layer *l = &c->p->l;
    double start = meter_begin(s->spare.m);
    float *u = state_row(c, c->asked->state, row), *logdet = (float *)c->asked->logdet + c->first;
    get_target(l, s->u2, u);
    logdet[row] += (c->asked->kind == PASS_FORWARD ? c->p->law->forward : c->p->law->inverse)(
        &l->law, l->m, outputs_of(c, 0, row), outputs_of(c, 1, row), c->s, s->u2);
    put_target(l, u, s->u2);
    meter_end(s->spare.m, METER_LAW, start, 0);
}

/* Whether all networks are through with a sample, of which one just was. */
static int is_last(const call *c, int row) {
    int both = is_present(c->p, 0) && is_present(c->p, 1);
    return !both || cpu_pair_is_second(&c->pairs[row]);
}

static void forward_network(void *arg, int task, int worker) {
    const call *c = arg;
    int row = task / 2, net = task % 2;
    if (!is_present(c->p, net)) return;
    scratch s = layout_scratch(c, worker);
    image_acts acts = c->acts ? (image_acts){acts_of(c, net, row), 1} : (image_acts){s.acts[net], 0};
    space_u1(c, &s, net, row);
    image_network_forward(&c->nets[net], c->p->k, s.u1[net], acts, &s.spare, outputs_of(c, net, row));
    if (!c->backward && is_last(c, row)) forward_law(c, &s, row);
}

static void backward_law(const call *c, int slice, int worker) {
    const coupling_layer *l = &c->p->l;
    scratch s = layout_scratch(c, worker);
    double start = meter_begin(s.spare.m);
    const float *dlogdet = (const float *)c->asked->dlogdet + c->first;
    float ds = 0;
    for (int row = slice * SLICE; row < slice_end(c, slice); row++) {
        float *u = state_row(c, c->asked->state, row), *du = state_row(c, c->asked->dstate, row);
        get_target(l, s.u2, u);
        get_target(l, s.du2, du);
        c->p->law->backward(&l->law, l->m, outputs_of(c, 0, row), outputs_of(c, 1, row), c->s, s.u2, s.du2,
                            dlogdet[row], c->dout[0] + (size_t)row * c->p->widths[0],
                            c->dout[1] + (size_t)row * c->p->widths[1], &ds);
        put_target(l, u, s.u2);
        put_target(l, du, s.du2);
    }
    c->ds[slice] = ds;
    meter_end(s.spare.m, METER_LAW_BACK, start, 0);
}

/* Before the backward pass: a task is a slice that goes through the law, then a part of the weights to pack.
 */
static void begin_backward(void *arg, int task, int worker) {
    call *c = arg;
    if (task < c->slices)
        backward_law(c, task, worker);
    else
        pack_part(c, task - c->slices, worker);
}

/* One step of the backward pass of one sample. */
static void return_sample(const call *c, const scratch *s, int net, int slice, int row, int step) {
    const image_network *t = &c->nets[net];
    image_partial partial = c->partial[net];
    if (partial.head) {
        partial.head += (size_t)slice * c->stride[net];
        partial.blocks += (size_t)slice * c->stride[net];
    }
    image_return w = {.t = t,
                      .k = c->p->k,
                      .acts = {acts_of(c, net, row), 1},
                      .s = &s->spare,
                      .dh = c->dh[net] + (size_t)row * image_dh_count(t),
                      .partial = partial,
                      .accumulate = row > slice * SLICE,
                      .dout = s->dout[net],
                      .u1 = s->u1[net],
                      .du1 = c->du1[net] + (size_t)row * (size_t)c->p->l.k};
    if (step == 0)
        space(t->net, s->spare.m, w.dout, t->net->out.shape.out,
              c->dout[net] + (size_t)row * c->p->widths[net], NULL);
    if (step == image_return_steps(t) - 1) space_u1(c, s, net, row);
    image_return_step(&w, step);
}

static void return_slice(void *arg, int task, int worker) {
    const call *c = arg;
    int slice = task / 2, net = task % 2;
    if (!is_present(c->p, net)) return;
    scratch s = layout_scratch(c, worker);
    for (int step = c->step; step < c->end_step; step++)
        for (int row = slice * SLICE; row < slice_end(c, slice); row++)
            return_sample(c, &s, net, slice, row, step);
}

/* Gradients of the source elements of a slice. */
static void add_du1(const call *c, int slice, meter *m) {
    const coupling_layer *l = &c->p->l;
    double start = meter_begin(m);
    for (int row = slice * SLICE; row < slice_end(c, slice); row++)
        for (int net = 0; net < 2; net++) {
            float *du = state_row(c, c->asked->dstate, row), *du1 = c->du1[net] + (size_t)row * (size_t)l->k;
            for (int i = 0; is_present(c->p, net) && i < l->k; i++) du[l->source[i]] += du1[i];
        }
    meter_end(m, METER_MOVE, start, 0);
}

/* Sums of partial gradients of the region's steps, then, after the last one, du1 of the slices. */
static int sums_of(const call *c) {
    int tasks = 0;
    for (int net = 0; c->asked->grad && net < 2; net++)
        for (int step = c->step; is_present(c->p, net) && step < c->end_step; step++)
            tasks += image_reduce_tasks(&c->nets[net], step);
    return tasks;
}
static void sum_part(void *arg, int task, int worker) {
    const call *c = arg;
    meter *m = meter_of(c->meters, worker);
    for (int net = 0; c->asked->grad && net < 2; net++)
        for (int step = c->step; is_present(c->p, net) && step < c->end_step; step++) {
            int tasks = image_reduce_tasks(&c->nets[net], step);
            if (task < tasks) {
                double start = meter_begin(m);
                image_network_reduce(&c->nets[net], c->p->k, step, task, &c->partial[net], c->stride[net],
                                     c->slices, (float *)c->asked->grad);
                meter_end(m, METER_SUM, start, 0);
                return;
            }
            task -= tasks;
        }
    add_du1(c, task, m);
}

/* ---- scratch ---- */

/* Partial gradients of a slice: of the head and all blocks, or of the head and one block. */
static size_t partial_count(const image_network *t, int by_step) {
    return t->partial_head + (by_step && t->net->depth > 0 ? 1 : (size_t)t->net->depth) * t->partial_block;
}

static void place_partials(call *c, cpu_room *r, size_t slices) {
    const image_plan *p = c->p;
    size_t all = 0;
    for (int net = 0; net < 2; net++)
        if (is_present(p, net)) all += slices * partial_count(&p->nets[net], 0);
    c->by_step = all > PARTIAL_NUMBERS;
    for (int net = 0; net < 2; net++) {
        const image_network *t = &p->nets[net];
        if (!is_present(p, net)) continue;
        c->stride[net] = partial_count(t, c->by_step);
        float *at = cpu_take(r, slices * c->stride[net]);
        if (at)
            c->partial[net] = (image_partial){at, at + t->partial_head, c->by_step ? 0 : t->partial_block};
    }
}

/* Lays out the scratch of a call; returns how many numbers it takes. */
static size_t place(call *c, float *base, int threads, int n, layer_use use, int acts_in_scratch) {
    const image_plan *p = c->p;
    cpu_room r = {base, 0}, worker = {0};
    size_t rows = (size_t)wave_rows(p, n, acts_in_scratch), slices = (size_t)slices_of((int)rows);
    for (int net = 0; net < 2; net++) {
        if (is_present(p, net)) c->nets[net].packed = cpu_take(&r, p->nets[net].packed_count);
        c->out[net] = cpu_take(&r, rows * p->widths[net]);
        if (!use.backward) continue;
        c->dout[net] = cpu_take(&r, rows * p->widths[net]);
        c->du1[net] = cpu_take(&r, rows * (size_t)p->l.k);
        if (is_present(p, net)) c->dh[net] = cpu_take(&r, rows * image_dh_count(&p->nets[net]));
    }
    if (use.backward) c->ds = cpu_take(&r, slices);
    c->pairs = (cpu_pair *)cpu_take(&r, rows);
    if (use.backward && use.gradients) place_partials(c, &r, slices);
    if (acts_in_scratch) c->acts = cpu_take(&r, rows * p->sample_count);
    place_worker(p, &worker);
    c->work_count = worker.used;
    c->cleared = (int32_t *)cpu_take(&r, (size_t)threads);
    c->work = cpu_take(&r, (size_t)threads * c->work_count);
    return r.used;
}

static size_t image_scratch(const layer_plan *plan, int threads, int n, layer_use use) {
    call c = {.p = (const image_plan *)plan};
    size_t forward = place(&c, NULL, threads, n, (layer_use){0}, 0);
    if (!use.backward) return forward;
    size_t backward = place(&c, NULL, threads, n, use, !use.saved);
    return forward > backward ? forward : backward;
}

static size_t image_saved(const layer_plan *plan, int n) {
    return (size_t)n * ((const image_plan *)plan)->sample_count;
}

/* ---- running ---- */

static void run_back(call *c, thread_pool *pool) {
    int steps = image_return_steps(&c->nets[c->p->some]);
    for (c->step = 0; c->step < steps; c->step = c->end_step) {
        c->end_step = c->by_step ? c->step + 1 : steps;
        pool_run(pool, 2 * c->slices, return_slice, c);
        pool_run(pool, sums_of(c) + (c->end_step == steps ? c->slices : 0), sum_part, c);
    }
}

/* Weights are packed before anything else, or, where the backward pass begins with the law, together with it.
 */
static void run_wave(call *c, thread_pool *pool, int recompute) {
    int parts = 2 * (1 + c->p->nets[c->p->some].net->depth), first = c->first == 0;
    int pack_alone = first && (!c->backward || recompute);
    for (int i = 0; i < c->rows; i++) atomic_init(&c->pairs[i].finished, 0);
    if (pack_alone) pool_run(pool, parts, pack_part, c);
    if (!c->backward || recompute) pool_run(pool, 2 * c->rows, forward_network, c);
    if (!c->backward) return;
    pool_run(pool, c->slices + (first && !pack_alone ? parts : 0), begin_backward, c);
    run_back(c, pool);
    float *grad = (float *)c->asked->grad;
    for (int i = 0; grad && c->p->law->shape->has_scale && i < c->slices; i++) grad[c->p->l.s] += c->ds[i];
}

static void image_run(device *d, const layer_plan *plan, const layer_call *asked) {
    const image_plan *p = (const image_plan *)plan;
    cpu_device *own = d->own;
    call c = {.p = p, .asked = asked, .backward = asked->kind == PASS_BACKWARD, .meters = own->meters};
    layer_use use = {.backward = c.backward, .gradients = asked->grad != NULL, .saved = asked->saved != NULL};
    int acts_in_scratch = c.backward && !use.saved, rows = wave_rows(p, asked->n, acts_in_scratch);
    int threads = pool_threads(own->pool);
    for (int net = 0; net < 2; net++) {
        c.nets[net] = p->nets[net];
        c.nets[net].params = (const float *)asked->params;
    }
    place(&c, (float *)asked->scratch, threads, asked->n, use, acts_in_scratch);
    memset(c.cleared, 0, sizeof *c.cleared * (size_t)threads);
    if (p->law->shape->has_scale) c.s = ((const float *)asked->params)[p->l.s];
    if (use.saved) c.acts = (float *)asked->saved;
    for (; c.first < asked->n; c.first += c.rows) {
        c.rows = asked->n - c.first < rows ? asked->n - c.first : rows;
        c.slices = slices_of(c.rows);
        run_wave(&c, own->pool, acts_in_scratch);
        if (use.saved) c.acts += (size_t)c.rows * p->sample_count;
    }
}

static jf_status image_open(const device *d, layer_plan **out, const coupling_layer *layer) {
    const cpu_device *own = d->own;
    const image_net *nets = layer->nets;
    image_plan *p;
    JF_TRY(MEM_NEW(d->ctx, &p, 1));
    p->plan.kind = &cpu_plan_image;
    p->l = *layer;
    p->k = own->kernels;
    p->law = &law_formulas[layer->law.id];
    for (int net = 0; net < 2; net++) {
        if (nets[net].K == 0) continue;
        p->some = net;
        p->widths[net] = (size_t)(nets[net].h * nets[net].w * nets[net].out.shape.out);
        image_network_plan(&p->nets[net], &nets[net], own->kernels);
        p->sample_count += image_acts_count(&p->nets[net], 1) + cpu_whole_lines(p->widths[net]);
    }
    *out = &p->plan;
    return JF_OK;
}

static void image_close(layer_plan *p) {
    free(p);
}

const cpu_plan_kind cpu_plan_image = {
    .form = "resnext",
    .open = image_open,
    .close = image_close,
    .saved = image_saved,
    .scratch = image_scratch,
    .run = image_run,
};
