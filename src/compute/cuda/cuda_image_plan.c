#include "base/memory.h"
#include "compute/cuda/image_passes.h"
#include <stdlib.h>
#include <string.h>

/* Channels come in eights; whether tiles have room is seen when there are operators. */
static int can_plan(const coupling_layer *l, const image_net nets[2]) {
    int present = 0;
    for (int k = 0; k < 2; k++) {
        const image_net *t = &nets[k];
        if (t->K == 0) continue;
        present++;
        if (t->K % 8 != 0 || t->concat % 8 != 0 || t->concat > IMAGE_MAX_CONCAT || t->w > 4096 || t->h > 4096)
            return 0;
    }
    return present > 0 && law_outputs_per_element(&l->law) >= 0;
}

/* The convolutions of a part. */
static const image_conv *convs_of(const image_net *net, int part, int *count) {
    const image_residual *b = part > 0 && (part - 1) / 3 < net->depth ? &net->blocks[(part - 1) / 3] : NULL;
    *count = 1;
    if (part == 0) return &net->in;
    if (!b) return &net->out;
    if (part % 3 == 1) return &b->c0;
    if (part % 3 == 0) return &b->c1;
    *count = net->branches;
    return b->branch;
}

/* Tiles of a set: those that read the same inputs, which are all of a 1x1 convolution, and few of grouped
 * ones. Sets are all of one size. */
static int together(const image_net *net, int kind, int direction) {
    int outputs = kind == OP_OUT && direction == FORWARD        ? net->out.shape.out
                  : kind == OP_IN && direction == BACKWARD      ? net->in.shape.in
                  : kind == OP_BRANCHES && direction == FORWARD ? 8 /* one by one */
                  : kind == OP_SECOND && direction == BACKWARD  ? net->concat
                                                                : net->K;
    int most = kind == OP_BRANCHES ? 2 : 4, tiles = (outputs + 7) / 8;
    while (tiles % most != 0) most /= 2;
    return most;
}

/* Whether the narrowest bands that there may be of an operator have room in shared memory, in the precision
 * with the largest numbers. other: channels of a second tile, of the gradient of its weights. */
static int has_room(const cuda_device *own, const image_op *op, int other) {
    const int beside = 24 << 10; /* tables, and results on their way out */
    int rows = (op->h + IMAGE_MAX_BANDS - 1) / IMAGE_MAX_BANDS;
    size_t pixels = (size_t)op->halo + (size_t)(rows + 2 * op->halo) * (size_t)op_row(op->w, op->halo);
    size_t plain = ((size_t)rows * (size_t)op->w + 15) / 16 * 16;
    size_t bytes = pixels * ((size_t)op->in * 4 + 16) + (other > 0 ? plain * ((size_t)other * 4 + 16) : 0);
    return bytes + (size_t)beside <= own->shared_block && pixels < 1 << 16;
}

static int all_have_room(const cuda_device *own, const image_plan *p) {
    for (int net = p->first_net; net < p->first_net + p->net_count; net++)
        for (int kind = 0; kind < OP_KINDS; kind++) {
            const image_op *ops = p->ops[net][kind];
            if (!has_room(own, &ops[FORWARD], 0) || !has_room(own, &ops[BACKWARD], 0) ||
                !has_room(own, &ops[FORWARD], (ops[FORWARD].out + 7) / 8 * 8))
                return 0;
        }
    return 1;
}

/* Whether there is room for the backward pass through a 1x1 convolution in one kernel: registers for the
 * gradient of all weights, and shared memory for bands of samples. */
static int back_in_one(const cuda_device *own, const image_plan *p) {
    const int kinds[] = {OP_FIRST, OP_SECOND};
    for (int net = p->first_net; net < p->first_net + p->net_count; net++)
        for (int i = 0; i < 2; i++) {
            const image_op *forward = &p->ops[net][kinds[i]][FORWARD], *backward = forward + BACKWARD;
            size_t rows = (size_t)(forward->h + IMAGE_MAX_BANDS - 1) / IMAGE_MAX_BANDS,
                   pixels = (rows * (size_t)forward->w + 15) / 16 * 16,
                   bytes = pixels * ((size_t)(2 * forward->out + 3 * forward->in) * 4 + 5 * 16);
            if (forward->together < 2 || backward->together < 2 || forward->tiles > IMAGE_BACK_TILES ||
                forward->out > IMAGE_BACK_OUTPUTS || bytes + (24u << 10) > own->shared_block)
                return 0;
        }
    return 1;
}

/* Whether the tiles of branches come in twos of 16 channels, of which the upper reads what the lower reads so
 * many channels further; a last one may be alone. */
static int in_pairs(const image_op *op) {
    const op_set *lower[IMAGE_MAX_CONCAT / 16] = {0};
    if (op->together != 1) return 0;
    for (int i = 0; i < op->sets; i++)
        if (op->set[i].channel % 16 == 0) lower[op->set[i].channel / 16] = &op->set[i];
    for (int i = 0; i < op->sets; i++) {
        const op_set *upper = &op->set[i], *other = lower[upper->channel / 16];
        const op_slot *of_upper = op->slot + 2 * upper->step, *of_other = op->slot + 2 * other->step;
        if (upper->steps != other->steps) return 0;
        for (int k = 0; k < 2 * upper->steps; k++)
            if (of_upper[k].conv >= 0 &&
                (of_upper[k].shift != of_other[k].shift ||
                 of_upper[k].channel - of_other[k].channel != of_upper[0].channel - of_other[0].channel))
                return 0;
    }
    return 1;
}

/* Whether of all sets the last step, which is not the only one, has a second slot without weights. */
static int all_are_odd(const image_op *op) {
    for (int i = 0; i < op->sets; i++)
        if (op->set[i].steps < 2 || op->slot[2 * (op->set[i].step + op->set[i].steps) - 1].conv >= 0)
            return 0;
    return 1;
}

/* Whether all sets of an operator read the same. */
static int is_dense(const image_op *op) {
    for (int i = 1; i < op->sets; i++) {
        if (op->set[i].steps != op->set[0].steps || op->set[i].channel < op->set[i - 1].channel) return 0;
        for (int k = 0; k < 2 * op->set[i].steps; k++) {
            const op_slot *a = &op->slot[k], *b = &op->slot[2 * op->set[i].step + k];
            if (a->shift != b->shift || a->channel != b->channel) return 0;
        }
    }
    return 1;
}

/* Whether the convolutions in and out can read the tile of the branches. */
static int ends_fit(const image_plan *p, int net) {
    const image_op *in = &p->ops[net][OP_IN][FORWARD], *out = &p->ops[net][OP_OUT][FORWARD];
    int halo = p->ops[net][OP_BRANCHES][FORWARD].halo;
    return is_dense(in) && in->in <= p->K && in->halo <= halo && out->halo <= halo;
}

static onchip_plan onchip_in(const image_plan *p, int ranks) {
    const image_op *op = &p->ops[p->first_net][OP_BRANCHES][FORWARD];
    int out_steps = 0;
    int pairs = p->K / 16, wide_pairs = (p->concat + 15) / 16;
    onchip_plan r = {.ranks = ranks, .rows = (p->h + ranks - 1) / ranks};
    r.warps = (r.rows * p->w + ONCHIP_PIXELS - 1) / ONCHIP_PIXELS;
    r.width = p->w + (op->halo + 7) / 8 * 8; /* pixels behind a row and the next one meet different banks, */
    r.pixel_bytes = 2 * p->K + 16;           /* as do neighbours */
    r.tile_bytes = (op->halo + (r.rows + 2 * op->halo) * r.width) * r.pixel_bytes;
    r.table_tiles = p->per_element ? ranks * r.warps * ONCHIP_PIXELS / 16 : 1;
    r.block_tables = r.table_tiles * 32 * (8 * pairs + wide_pairs);
    r.thin_biases = (p->K + 31) / 32 * 32, r.wide_biases = (p->concat + 31) / 32 * 32;
    r.odd = all_are_odd(op); /* of both networks: their branches have the same shapes */
    r.in_steps = p->ops[p->first_net][OP_IN][FORWARD].set[0].steps;
    for (int net = p->first_net; net < p->first_net + p->net_count; net++) {
        const image_op *out = &p->ops[net][OP_OUT][FORWARD];
        r.out_together[net] = out->together;
        if (out->steps > out_steps) out_steps = out->steps;
    }
    int tiles = 2 * pairs * pairs + op->steps + 2 * pairs * wide_pairs, threads = 32 * r.warps;
    r.bytes = (size_t)r.tile_bytes + (size_t)tiles * 256 +
              (size_t)(ONCHIP_PIXELS / 16 * pairs * threads) * 16 +
              (size_t)(r.thin_biases + r.wide_biases + 2 * (op->steps + 2 + r.in_steps + out_steps) +
                       4 * wide_pairs) *
                  4;
    return r;
}

/* As few blocks for a sample as have room for it, on GPUs whose blocks reach each other's memory. */
static onchip_plan plan_onchip(const cuda_device *own, const image_plan *p) {
    const onchip_plan none = {0};
    if (own->major < 9 || p->K % 16 != 0 || p->K > 64 || p->depth < 1) return none;
    for (int net = p->first_net; net < p->first_net + p->net_count; net++)
        if (!in_pairs(&p->ops[net][OP_BRANCHES][FORWARD]) || !ends_fit(p, net)) return none;
    for (int ranks = 1; ranks <= MAX_RANKS; ranks *= 2) {
        onchip_plan r = onchip_in(p, ranks);
        int halo = p->ops[p->first_net][OP_BRANCHES][FORWARD].halo, last = p->h - (ranks - 1) * r.rows;
        if (ranks > 1 && last < halo) return none;
        if (r.warps <= ONCHIP_WARPS && r.bytes + 2048 <= own->shared_block) return r;
    }
    return none;
}

/* Of branch `conv` the only eight channels that it makes of those of a set; -1: there are none, or more. */
static int given_to(const image_conv *conv, int set) {
    const conv_shape *s = &conv->shape;
    int gi = s->in / s->groups, go = s->out / s->groups, first = s->y_offset + set * 8 / gi * go,
        last = s->y_offset + ((set * 8 + 7) / gi + 1) * go - 1;
    return first / 8 == last / 8 ? first / 8 * 8 : -1;
}

/* Where an operator has the weights from channels `read` of a tap to `given`: twice the tile, and which half.
 */
static int32_t tile_of(const image_op *op, int conv, int tap, int read, int given) {
    for (int i = 0; i < op->sets; i++) {
        const op_set *s = &op->set[i];
        if (given < s->channel || given >= s->channel + op->together * 8) continue;
        for (int k = 0; k < 2 * s->steps; k++) {
            const op_slot *slot = &op->slot[2 * s->step + k];
            if (slot->conv == conv && slot->tap == tap && slot->channel == read)
                return 2 * (s->tile + k / 2 * op->together + (given - s->channel) / 8) + k % 2;
        }
    }
    return 0; /* not if given_to() found one */
}

/* A table of `sets`, as image_plan.h describes it; 0: that is not possible. */
static int fill_stream(const image_plan *p, int32_t *table) {
    const image_net *net = &p->nets[p->first_net];
    const image_op *ops = p->ops[p->first_net][OP_BRANCHES];
    const int convs = net->branches, sets = p->K / 8;
    char has_bias[IMAGE_MAX_CONCAT / 8] = {0};
    for (int set = 0; set < sets; set++) {
        int32_t *to = table + set * STREAM_NUMBERS(convs);
        to[0] = 0;
        for (int k = 0; k < convs; k++) {
            int given = given_to(&net->blocks[0].branch[k], set);
            if (given < 0) return 0;
            to[STREAM_CHANNELS + k] = given;
            for (int tap = 0; tap < 9; tap++) {
                int32_t tile = tile_of(&ops[FORWARD], k, tap, set * 8, given);
                to[STREAM_WEIGHTS(convs) + 9 * k + tap] = tile_of(&ops[BACKWARD], k, tap, given, set * 8);
                to[STREAM_GRADIENTS(convs) + 9 * k + tap] = tile * (OP_TILE_WEIGHTS / 2);
            }
            if ((k == 0 || to[0] == 0) && !has_bias[given / 8]) {
                has_bias[given / 8] = 1;
                to[0] = k;
            } else if (k == 0) {
                return 0;
            }
        }
    }
    for (int i = 0; i < p->concat / 8; i++)
        if (!has_bias[i]) return 0;
    return 1;
}

static jf_status plan_stream(device *d, image_plan *p) {
    const image_net *net = &p->nets[p->first_net];
    const int convs = net->branches, halo = 1 << (convs - 1), rows = STREAM_STAGES * STREAM_ROWS;
    stream_plan r = {.convs = convs, .sets = p->K / 8, .strips = (p->w + 15) / 16};
    if (p->depth < 1 || convs < 1 || convs > STREAM_CONVS || p->concat % 8 || p->w <= 8 ||
        p->h <= 2 * STREAM_ROWS || r.sets * r.strips > STREAM_WARPS ||
        STREAM_ROWS * p->w * (p->concat / 8) > STREAM_WIDE_EACH * 32 * r.sets * r.strips ||
        STREAM_ROWS * p->w * r.sets > STREAM_THIN_EACH * 32 * r.sets * r.strips)
        return JF_OK;
    for (int k = 0; k < convs; k++) {
        const conv_shape *s = &net->blocks[0].branch[k].shape;
        if (s->kernel != 3 || s->dilation != 1 << k) return JF_OK;
    }
    r.wide_bytes = (2 * p->concat / 16 | 1) * 16, r.thin_bytes = (2 * p->K / 16 | 1) * 16;
    int columns = 16 * r.strips, wide = rows * (columns + 2 * halo) * r.wide_bytes;
    r.back_bytes = wide + rows * p->w * p->K * 4 + 2 * STREAM_ROWS * columns * r.thin_bytes;
    r.weights_bytes = wide + rows * columns * r.thin_bytes;
    size_t room = ((const cuda_device *)d->own)->shared_block - 8192; /* beside: moments of samples */
    int most = r.back_bytes > r.weights_bytes ? r.back_bytes : r.weights_bytes;
    r.teams = STREAM_WARPS / (r.sets * r.strips);
    if ((size_t)r.teams > room / (size_t)most) r.teams = (int)(room / (size_t)most);
    if (r.teams < 1) return JF_OK;
    int32_t *table;
    size_t count = (size_t)(r.sets * STREAM_NUMBERS(convs));
    jf_status status = JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &table, count));
    if (fill_stream(p, table)) {
        status = d->kind->alloc_map(d, &r.table, table, count);
        if (status == JF_OK) p->stream = r;
    }
    free(table);
    return status;
}

static jf_status create_ops(device *d, image_plan *p, int net) {
    for (int kind = 0; kind < OP_KINDS; kind++)
        for (int direction = 0; direction < 2; direction++) {
            int part = kind == OP_OUT ? p->parts - 1 : kind, count;
            const image_conv *convs = convs_of(&p->nets[net], part, &count);
            JF_TRY(op_create(d, &p->ops[net][kind][direction], convs, count, direction,
                             together(&p->nets[net], kind, direction)));
        }
    return JF_OK;
}

static jf_status place_parts(device *d, image_plan *p, int net) {
    part_place at = {{0}, 0, 0};
    JF_TRY(MEM_NEW(d->ctx, &p->place[net], (size_t)p->parts));
    for (int part = 0; part < p->parts; part++) {
        const image_op *ops = p->ops[net][part_kind(p, part)];
        p->place[net][part] = at;
        for (int direction = 0; direction < 2; direction++) at.tile[direction] += ops[direction].tiles;
        at.gradient += ops[FORWARD].gradients;
        at.bias += (ops[FORWARD].out + 31) / 32 * 32;
    }
    p->tiles[net][FORWARD] = at.tile[FORWARD];
    p->tiles[net][BACKWARD] = at.tile[BACKWARD];
    p->gradients[net] = at.gradient;
    p->biases[net] = at.bias;
    return JF_OK;
}

/* One of the maps of a network: what `fill` writes for each part. */
typedef void (*fill_fn)(const image_op *op, const image_conv *convs, int32_t *to);

static jf_status send_map(device *d, const image_plan *p, int net, int direction, fill_fn fill, size_t count,
                          size_t (*at)(const part_place *place, int direction), int32_t **out) {
    int32_t *map;
    JF_TRY(MEM_NEW(d->ctx, &map, count));
    for (size_t i = 0; i < count; i++) map[i] = -1;
    for (int part = 0; part < p->parts; part++) {
        int convs;
        const image_conv *list = convs_of(&p->nets[net], part, &convs);
        fill(&p->ops[net][part_kind(p, part)][direction], list, map + at(&p->place[net][part], direction));
    }
    jf_status status = d->kind->alloc_map(d, out, map, count);
    free(map);
    return status;
}
static size_t weights_at(const part_place *place, int direction) {
    return (size_t)place->tile[direction] * OP_TILE_WEIGHTS;
}
static size_t gradients_at(const part_place *place, int direction) {
    (void)direction;
    return (size_t)place->gradient * OP_TILE_WEIGHTS;
}
static size_t biases_at(const part_place *place, int direction) {
    (void)direction;
    return (size_t)place->bias;
}

static jf_status send_maps(device *d, image_plan *p, int net) {
    for (int direction = 0; direction < 2; direction++)
        JF_TRY(send_map(d, p, net, direction, op_weights, (size_t)p->tiles[net][direction] * OP_TILE_WEIGHTS,
                        weights_at, &p->weight_map[net][direction]));
    JF_TRY(send_map(d, p, net, FORWARD, op_gradients, (size_t)p->gradients[net] * OP_TILE_WEIGHTS,
                    gradients_at, &p->gradient_map[net]));
    return send_map(d, p, net, FORWARD, op_biases, (size_t)p->biases[net], biases_at, &p->bias_map[net]);
}

/* Norms: one after the other, scale and bias, in packed form; and where their partial gradients lie. */
static jf_status place_norms(device *d, image_plan *p) {
    int32_t *table;
    JF_TRY(MEM_NEW(d->ctx, &p->norm_at, (size_t)p->norms));
    JF_TRY(MEM_NEW(d->ctx, &p->norm_gradient_at, (size_t)p->norms));
    JF_TRY(MEM_NEW(d->ctx, &table, 2 * (size_t)p->norms * NORM_NUMBERS));
    for (int j = 0; j < p->norms; j++) {
        int channels = norm_channels(p, j), elements = p->h * p->w * channels,
            width = p->per_element ? elements : channels,
            blocks = p->per_element ? 1 : (elements + NORM_ELEMENTS - 1) / NORM_ELEMENTS;
        p->norm_at[j] = p->norm_numbers;
        p->norm_gradient_at[j] = p->norm_gradients;
        for (int net = p->first_net; net < p->first_net + p->net_count; net++) {
            const image_norm *of = norm_of(&p->nets[net], j);
            const int32_t numbers[NORM_NUMBERS] = {(int32_t)of->g, (int32_t)of->b, width,
                                                   (int32_t)p->norm_gradients, blocks};
            memcpy(table + (net * p->norms + j) * NORM_NUMBERS, numbers, sizeof numbers);
        }
        p->norm_numbers += 2 * (size_t)width;
        p->norm_gradients += 2 * (size_t)blocks * (size_t)width;
    }
    jf_status status = d->kind->alloc_map(d, &p->norm_table, table, 2 * (size_t)p->norms * NORM_NUMBERS);
    free(table);
    return status;
}

static jf_status place_second(device *d, image_plan *p) {
    int32_t *table;
    JF_TRY(MEM_NEW(d->ctx, &table, 4 * (size_t)p->depth + 1));
    for (int net = p->first_net; net < p->first_net + p->net_count; net++)
        for (int i = 0; i < p->depth; i++) {
            const image_conv *second = &p->nets[net].blocks[i].c1;
            table[2 * (net * p->depth + i)] = (int32_t)second->w;
            table[2 * (net * p->depth + i) + 1] = (int32_t)second->b;
        }
    jf_status status = d->kind->alloc_map(d, &p->second_table, table, 4 * (size_t)p->depth + 1);
    free(table);
    return status;
}

static jf_status create_parts(device *d, image_plan *p) {
    for (int net = p->first_net; net < p->first_net + p->net_count; net++) {
        JF_TRY(create_ops(d, p, net));
        JF_TRY(place_parts(d, p, net));
        JF_TRY(send_maps(d, p, net));
    }
    JF_TRY(place_norms(d, p));
    JF_TRY(place_second(d, p));
    JF_TRY(d->kind->alloc_map(d, &p->source, p->layer.source, (size_t)p->layer.k));
    return d->kind->alloc_map(d, &p->target, p->layer.target, (size_t)p->layer.m);
}

jf_status image_plan_create(device *d, image_plan **out, const coupling_layer *layer) {
    const image_net *nets = layer->nets;
    image_plan *p;
    *out = NULL;
    if (!can_plan(layer, nets)) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &p, 1));
    p->layer = *layer;
    p->nets = nets;
    p->first_net = nets[0].K > 0 ? 0 : 1;
    p->net_count = (nets[0].K > 0) + (nets[1].K > 0);
    const image_net *some = &nets[p->first_net];
    p->h = some->h, p->w = some->w, p->K = some->K, p->concat = some->concat, p->depth = some->depth;
    p->in = some->in.shape.in;
    for (int k = 0; k < 2; k++) p->outs[k] = nets[k].K > 0 ? nets[k].out.shape.out : 0;
    p->per_element = some->last.shape.per_element;
    p->slope = (float)some->last.shape.slope;
    p->epsilon = (float)some->last.shape.epsilon;
    p->parts = 3 * p->depth + 2;
    p->norms = 3 * p->depth + 1;
    jf_status status = create_parts(d, p);
    p->back_in_one = status == JF_OK && back_in_one(d->own, p);
    if (status == JF_OK) p->onchip = plan_onchip(d->own, p);
    if (status == JF_OK) status = plan_stream(d, p);
    if (status == JF_OK && all_have_room(d->own, p))
        *out = p;
    else
        image_plan_free(d, p);
    return status;
}

void image_plan_free(device *d, image_plan *p) {
    for (int net = 0; net < 2; net++) {
        for (int kind = 0; kind < OP_KINDS; kind++)
            for (int direction = 0; direction < 2; direction++) op_free(d, &p->ops[net][kind][direction]);
        int32_t *maps[] = {p->weight_map[net][0], p->weight_map[net][1], p->bias_map[net],
                           p->gradient_map[net]};
        for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
            if (maps[i]) d->kind->release_map(d, maps[i]);
        free(p->place[net]);
    }
    int32_t *maps[] = {p->norm_table, p->second_table, p->stream.table, p->source, p->target};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (maps[i]) d->kind->release_map(d, maps[i]);
    free(p->norm_at);
    free(p->norm_gradient_at);
    free(p);
}
