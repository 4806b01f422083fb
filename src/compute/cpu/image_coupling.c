/* A whole coupling layer of image networks on the cpu device: one parallel region a pass, one before it to pack weights, and
 * one more to sum gradients.
 *
 * A sample goes through both networks and the law alone, so that scratch does not grow with the batch and activations stay in
 * the cache. Backward passes cut the batch into slices, each with its own partial gradients, which are summed in the order of
 * the slices. */
#include "compute/cpu/image_network.h"
#include <string.h>

typedef float num;
#include "compute/law/formulas.h"

typedef struct call {
    const image_coupling *c;
    const cpu_kernels *k;
    const law_functions *law;
    pass_kind kind;
    int n, slices, na;
    float s, ds[CPU_SLICES];
    float *state, *dstate, *logdet, *grad;
    const float *dlogdet;
    image_network nets[2]; /* A, B */
    float *partial;        /* (slices, stride): of A, then of B */
    size_t stride;
    float *work; /* (threads, work_count) */
    size_t work_count;
    float *kept; /* NULL, or (n, kept_count): acts of both networks, and A and B */
    size_t kept_count;
    meter *meters; /* (threads), or NULL */
} call;

/* Scratch of one worker. */
typedef struct scratch {
    image_spare spare;
    image_view u1, dout;
    image_acts acts[2];
    float *out[2], *dout_dense[2], *u2, *du2, *du1;
} scratch;

static float *take(float **at, size_t count) {
    float *p = *at;
    *at += cpu_whole_lines(count);
    return p;
}

/* Acts of both networks and their outputs, one after the other. */
static void place_acts(const call *c, scratch *s, float **at, int all) {
    for (int k = 0; k < 2; k++) s->acts[k] = (image_acts){take(at, image_acts_count(&c->nets[k], all)), all};
    s->out[0] = take(at, (size_t)c->na);
    s->out[1] = take(at, (size_t)c->c->m);
}
static size_t acts_count(const call *c, int all) {
    return image_acts_count(&c->nets[0], all) + image_acts_count(&c->nets[1], all) +
           cpu_whole_lines((size_t)c->na) + cpu_whole_lines((size_t)c->c->m);
}

static size_t scratch_count(const call *c) {
    size_t m = cpu_whole_lines((size_t)c->c->m), na = cpu_whole_lines((size_t)c->na),
           k = cpu_whole_lines((size_t)c->c->k);
    return image_spare_count(&c->nets[0]) + image_edge_count(&c->nets[0]) + image_edge_count(&c->nets[1]) +
           na + 3 * m + k + (c->kept ? 0 : acts_count(c, cpu_is_backward(c->kind)));
}

static scratch carve(const call *c, int worker) {
    scratch s;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    float *at = c->work + (size_t)worker * c->work_count;
    s.spare = image_spare_place(&c->nets[0], take(&at, image_spare_count(&c->nets[0])));
    float *edges = at;
    s.u1 = image_edge_view(&c->nets[0], take(&at, image_edge_count(&c->nets[0])));
    s.dout = image_edge_view(&c->nets[1], take(&at, image_edge_count(&c->nets[1])));
    memset(edges, 0, sizeof(float) * (size_t)(at - edges));
    s.dout_dense[0] = take(&at, (size_t)c->na);
    s.dout_dense[1] = take(&at, (size_t)c->c->m);
    s.u2 = take(&at, (size_t)c->c->m);
    s.du2 = take(&at, (size_t)c->c->m);
    s.du1 = take(&at, (size_t)c->c->k);
    if (!c->kept) place_acts(c, &s, &at, cpu_is_backward(c->kind));
    s.spare.m = m;
    meter_end(m, METER_MOVE, start, 0);
    return s;
}

/* Where the acts of a sample are, if they are kept. */
static void find_acts(const call *c, scratch *s, int sample) {
    float *at = c->kept + (size_t)sample * c->kept_count;
    if (c->kept) place_acts(c, s, &at, 1);
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

static void space_u1(const call *c, const scratch *s, int sample) {
    const image_net *net = c->c->nets;
    space(net, s->spare.m, s->u1, net->in.shape.in, c->state + (size_t)sample * (size_t)c->c->dim,
          c->c->source);
}

static void run_networks(const call *c, const scratch *s, int sample) {
    space_u1(c, s, sample);
    for (int k = 0; k < 2; k++)
        image_network_forward(&c->nets[k], c->k, s->u1, s->acts[k], &s->spare, s->out[k]);
}

static void get_target(const call *c, float *part, const float *whole) {
    for (int i = 0; i < c->c->m; i++) part[i] = whole[c->c->target[i]];
}
static void put_target(const call *c, float *whole, const float *part) {
    for (int i = 0; i < c->c->m; i++) whole[c->c->target[i]] = part[i];
}

static void forward_sample(const call *c, scratch *s, int sample) {
    float *u = c->state + (size_t)sample * (size_t)c->c->dim;
    find_acts(c, s, sample);
    run_networks(c, s, sample);
    double start = meter_begin(s->spare.m);
    get_target(c, s->u2, u);
    c->logdet[sample] += (c->kind == PASS_FORWARD ? c->law->forward : c->law->inverse)(
        c->c->m, s->out[0], s->out[1], c->s, s->u2);
    put_target(c, u, s->u2);
    meter_end(s->spare.m, METER_LAW, start, 0);
}

/* The law's gradient; that of the networks' outputs takes their place. */
static void backward_law(const call *c, scratch *s, int sample, float *ds) {
    size_t at = (size_t)sample * (size_t)c->c->dim, m = (size_t)c->c->m;
    double start = meter_begin(s->spare.m);
    get_target(c, s->u2, c->state + at);
    get_target(c, s->du2, c->dstate + at);
    (c->kind == PASS_BACKWARD ? c->law->backward : c->law->inverse_backward)(
        c->c->m, s->out[0], s->out[1], c->s, s->u2, s->du2, c->dlogdet[sample], s->dout_dense[0],
        s->dout_dense[1], ds);
    put_target(c, c->state + at, s->u2);
    put_target(c, c->dstate + at, s->du2);
    memcpy(s->out[0], s->dout_dense[0], sizeof(float) * (size_t)c->na);
    memcpy(s->out[1], s->dout_dense[1], sizeof(float) * m);
    meter_end(s->spare.m, METER_LAW_BACK, start, 0);
}

/* Network k for `count` samples from `first` on, from the gradient of its outputs. All of them go through a block before the
 * next one, so that its parameters and partial gradients, which are large where norms have them for each element, stay in
 * the cache. */
static void backward_network(const call *c, scratch *s, int k, int first, int count, float *partial,
                             int accumulate) {
    const image_net *net = &c->c->nets[k];
    image_return way[IMAGE_GROUP];
    for (int i = 0; i < count; i++) {
        find_acts(c, s, first + i);
        way[i] = (image_return){
            &c->nets[k],        c->k,           s->acts[k],
            &s->spare,          s->spare.dh[i], partial ? partial + (k ? c->nets[0].partial_count : 0) : NULL,
            accumulate || i > 0};
        space(net, s->spare.m, s->dout, net->out.shape.out, s->out[k], NULL);
        image_return_out(&way[i], s->dout);
    }
    for (int block = net->depth - 1; block > 0; block--)
        for (int i = 0; i < count; i++) image_return_block(&way[i], block);
    for (int i = 0; i < count; i++) {
        float *du = c->dstate + (size_t)(first + i) * (size_t)c->c->dim;
        space_u1(c, s, first + i);
        image_return_in(&way[i], s->u1, s->du1);
        double start = meter_begin(s->spare.m);
        for (int j = 0; j < c->c->k; j++) du[c->c->source[j]] += s->du1[j];
        meter_end(s->spare.m, METER_MOVE, start, 0);
    }
}

/* Groups of samples where acts are kept; otherwise those of one sample at a time are there. */
static void backward_slice(const call *c, scratch *s, int begin, int end, float *partial, float *ds) {
    int size = c->kept ? IMAGE_GROUP : 1;
    for (int first = begin; first < end; first += size) {
        int count = end - first < size ? end - first : size;
        for (int sample = first; sample < first + count; sample++) {
            find_acts(c, s, sample);
            if (!c->kept) run_networks(c, s, sample);
            backward_law(c, s, sample, ds);
        }
        for (int k = 0; k < 2; k++) backward_network(c, s, k, first, count, partial, first > begin);
    }
}

static void run_slice(void *arg, int slice, int worker) {
    call *c = arg;
    scratch s = carve(c, worker);
    int begin = cpu_slice_begin(c->n, c->slices, slice), end = cpu_slice_begin(c->n, c->slices, slice + 1);
    float *partial = c->grad ? c->partial + (size_t)slice * c->stride : NULL, ds = 0;
    if (cpu_is_backward(c->kind)) {
        backward_slice(c, &s, begin, end, partial, &ds);
        c->ds[slice] = ds;
    } else
        for (int sample = begin; sample < end; sample++) forward_sample(c, &s, sample);
}

static void pack_part(void *arg, int task, int worker) {
    call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    image_network_pack(&c->nets[task % 2], task / 2, cpu_is_backward(c->kind));
    meter_end(m, METER_PACK, start, 0);
}

static void reduce_part(void *arg, int task, int worker) {
    call *c = arg;
    meter *m = meter_of(c->meters, worker);
    double start = meter_begin(m);
    int second = task >= image_reduce_tasks(&c->nets[0]);
    image_network_reduce(&c->nets[second], c->k, second ? task - image_reduce_tasks(&c->nets[0]) : task,
                         c->partial + (second ? c->nets[0].partial_count : 0), c->stride, c->slices, c->grad);
    meter_end(m, METER_SUM, start, 0);
}

static void plan(call *c, const cpu_kernels *k) {
    c->k = k;
    c->law = &law_formulas[c->c->law];
    c->na = c->law->outputs(c->c->m);
    for (int i = 0; i < 2; i++) image_network_plan(&c->nets[i], &c->c->nets[i], k);
    c->kept_count = acts_count(c, 1);
}

size_t cpu_image_coupling_kept(const device *d, const image_coupling *l, int n) {
    const cpu_device *own = d->own;
    call c = {.c = l};
    plan(&c, own->kernels);
    return (size_t)n * c.kept_count;
}

/* Weights, partial gradients and the workers' scratch; 0 where memory is short. */
static int find_room(call *c, device *d) {
    cpu_device *own = d->own;
    size_t packed = c->nets[0].packed_count + c->nets[1].packed_count;
    c->stride = c->grad ? c->nets[0].partial_count + c->nets[1].partial_count : 0;
    c->work_count = scratch_count(c);
    float *at = cpu_scratch(d, packed + (size_t)c->slices * c->stride +
                                   (size_t)pool_threads(own->pool) * c->work_count);
    if (!at) return 0;
    for (int i = 0; i < 2; i++) c->nets[i].packed = take(&at, c->nets[i].packed_count);
    c->partial = take(&at, (size_t)c->slices * c->stride);
    c->work = at;
    return 1;
}

void cpu_image_coupling(device *d, const image_coupling *l, const coupling_call *asked) {
    cpu_device *own = d->own;
    call c = {.c = l, .kind = asked->kind, .n = asked->n};
    const float *params = (const float *)asked->params;
    int backward = cpu_is_backward(c.kind);
    c.s = params[l->s];
    c.state = (float *)asked->state;
    c.dstate = (float *)asked->dstate;
    c.logdet = (float *)asked->logdet;
    c.dlogdet = (const float *)asked->dlogdet;
    c.grad = backward ? (float *)asked->grad : NULL;
    c.kept = (float *)asked->kept;
    c.meters = own->meters;
    c.slices = backward && c.n > CPU_SLICES ? CPU_SLICES : c.n;
    plan(&c, own->kernels);
    if (!find_room(&c, d)) return;
    for (int i = 0; i < 2; i++) c.nets[i].params = params;
    pool_run(own->pool, 2 * (1 + l->nets[0].depth), pack_part, &c);
    pool_run(own->pool, c.slices, run_slice, &c);
    if (!c.grad) return;
    for (int i = 0; i < c.slices; i++) c.grad[l->s] += c.ds[i];
    pool_run(own->pool, image_reduce_tasks(&c.nets[0]) + image_reduce_tasks(&c.nets[1]), reduce_part, &c);
}
