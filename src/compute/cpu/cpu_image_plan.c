/* Image networks: which kind of vectors each convolution takes, and where packed weights and gradients are.
 */
#include "compute/cpu/image_network.h"
#include "compute/cpu/winograd.h"

/* A place of `count` numbers in something that grows. */
static size_t place(size_t *total, size_t count) {
    size_t at = *total;
    *total += cpu_whole_lines(count);
    return at;
}

static int units_of(const conv_job *c, int vector, int q) {
    return c->groups * ((c->out + vector / q - 1) / (vector / q));
}
static int steps_of(const conv_job *c, int q) {
    return (c->in + q - 1) / q;
}
/* Time for one pixel, as measured, in thirds of a vector's multiplication: outputs of q > 1 have to be
 * gathered from their lanes; joined groups take a third more, since each input that serves three taps has to
 * be picked. */
static int cost_of(const conv_job *c, int vector, int q) {
    int gathering = q > 1 ? 15 : 0;
    for (int i = q; i > 1; i /= 2) gathering += 9;
    return units_of(c, vector, q) * (3 * 9 * steps_of(c, q) + gathering);
}
static int cost_of_joined(int units, int in) {
    return units * 4 * 9 * in;
}

/* The cheapest kind of vectors. */
static void plan_vectors(conv_job *c, int vector, int join) {
    int in = c->in, out = c->out;
    c->q = 1;
    for (int q = 2; q <= vector && q < 2 * in; q *= 2)
        if (cost_of(c, vector, q) < cost_of(c, vector, c->q)) c->q = q;
    c->units = units_of(c, vector, c->q);
    c->steps = steps_of(c, c->q);
    int joined = vector / out < join / in ? vector / out : join / in;
    if (joined < 2) return;
    int units = (c->groups + joined - 1) / joined;
    if (cost_of_joined(units, in) >= cost_of(c, vector, c->q)) return;
    c->joined = joined;
    c->q = 1;
    c->units = units;
    c->steps = in;
}

static size_t vectors_count(const conv_job *c, int vector) {
    return (size_t)(c->units * conv_unit_vectors(c)) * (size_t)vector;
}

/* By points only in branches: these are alike in both networks of a coupling, which share scratch. */
static void plan_conv(conv_plan *p, const conv_shape *s, const cpu_kernels *k, int is_branch, size_t *packed,
                      size_t *partial) {
    int in = s->in / s->groups, out = s->out / s->groups;
    p->shape = *s;
    p->forward = p->backward =
        (conv_job){.h = s->h, .w = s->w, .dilation = s->dilation, .groups = s->groups, .in = in, .out = out};
    p->backward.in = out;
    p->backward.out = in;
    conv_job *both[2] = {&p->forward, &p->backward};
    for (int i = 0; i < 2; i++)
        if (!is_branch || !winograd_plan(both[i], k->vector))
            plan_vectors(both[i], k->vector, k->image->join);
    p->w_count = vectors_count(&p->forward, k->vector);
    p->wt_count = vectors_count(&p->backward, k->vector);
    p->w = place(packed, p->w_count);
    p->wt = place(packed, p->wt_count);
    p->dw = place(partial, p->w_count);
}

static void plan_product(product_plan *p, const conv_shape *s, int vector, size_t *packed, size_t *partial) {
    *p = (product_plan){s->in, s->out, cpu_round_up(s->in, vector), cpu_round_up(s->out, vector), 0, 0, 0,
                        0,     0};
    p->w = place(packed, (size_t)p->in * (size_t)p->out_pad);
    p->wt = place(packed, (size_t)p->out * (size_t)p->in_pad);
    p->b = place(packed, (size_t)p->out_pad);
    p->dw = place(partial, (size_t)cpu_round_up(p->in, CPU_ROWS) * (size_t)p->out_pad);
    p->db = place(partial, (size_t)p->out_pad);
}

size_t image_norm_count(const image_norm *m) {
    return (size_t)m->shape.channels * (size_t)(m->shape.per_element ? m->shape.pixels : 1);
}

/* What a branch needs of all images and workers. */
static void plan_room(image_network *t, const conv_job *c) {
    size_t scratch = c->strip ? cpu_whole_lines(winograd_scratch(c)) : 0;
    int halo = c->strip ? winograd_halo(c) : 0;
    if (halo < c->dilation) halo = c->dilation;
    if (t->halo < halo) t->halo = halo;
    if (t->conv_scratch < scratch) t->conv_scratch = scratch;
}

static void plan_block(image_network *t, const image_residual *b, const cpu_kernels *k) {
    int vector = k->vector;
    size_t *packed = &t->packed_block, *partial = &t->partial_block;
    t->n0_dg = place(partial, 2 * image_norm_count(&b->n0));
    plan_product(&t->c0, &b->c0.shape, vector, packed, partial);
    t->n1_dg = place(partial, 2 * image_norm_count(&b->n1));
    for (int i = 0; i < t->net->branches; i++) {
        plan_conv(&t->branch[i], &b->branch[i].shape, k, 1, packed, partial);
        plan_room(t, &t->branch[i].forward);
        plan_room(t, &t->branch[i].backward);
    }
    t->branch_db = place(partial, (size_t)t->wide);
    t->n2_dg = place(partial, 2 * image_norm_count(&b->n2));
    plan_product(&t->c1, &b->c1.shape, vector, packed, partial);
}

void image_network_plan(image_network *t, const image_net *net, const cpu_kernels *k) {
    int vector = k->vector;
    *t = (image_network){.net = net, .vector = vector, .pixels = net->h * net->w, .halo = 1};
    int in = net->in.shape.in, out = net->out.shape.out;
    t->thin = cpu_round_up(net->K, vector);
    t->wide = cpu_round_up(net->concat, vector);
    t->edge = cpu_round_up(in > out ? in : out, vector);
    plan_conv(&t->in, &net->in.shape, k, 0, &t->packed_head, &t->partial_head);
    t->in_db = place(&t->partial_head, (size_t)t->thin);
    t->last_dg = place(&t->partial_head, 2 * image_norm_count(&net->last));
    plan_conv(&t->out, &net->out.shape, k, 0, &t->packed_head, &t->partial_head);
    t->out_db = place(&t->partial_head, (size_t)t->edge);
    if (net->depth > 0) plan_block(t, net->blocks, k);
    t->spaced = net->w + t->halo;
    t->packed_count = t->packed_head + (size_t)net->depth * t->packed_block;
    t->partial_count = t->partial_head + (size_t)net->depth * t->partial_block;
}
