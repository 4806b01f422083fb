/* What the launches of a coupling layer's image networks (image_network.cuh) work on, in one precision: where
 * things are, how samples are cut into what blocks take, and what operators read and write. */
#ifndef JF_COMPUTE_CUDA_IMAGE_VIEW_CUH
#define JF_COMPUTE_CUDA_IMAGE_VIEW_CUH

#include "compute/cuda/image_back.cuh"
#include "compute/cuda/image_back_bf16.cuh"
#include "compute/cuda/image_stream.cuh"

template <class M> struct network_view {
    typedef typename M::number number;
    cuda_device *own;
    const image_plan *p;
    const image_batch *b;

    int nets() const { return p->net_count; }
    size_t pixels() const { return (size_t)p->h * (size_t)p->w; }

    /* ---- where things are ---- */

    /* Of a block of the residual stream: h, after the first 1x1 convolution, after the branches. */
    number *acts(int net, int q) const {
        if (!b->acts[net]) return NULL;
        size_t K = (size_t)p->K, channels = (size_t)norm_channels(p, q), block = 2 * K + (size_t)p->concat;
        size_t before = (b->all ? (size_t)(q / 3) * block : 0) + (size_t)(q % 3) * K;
        return (number *)b->acts[net] +
               pixels() * (before * (size_t)b->capacity + channels * (size_t)b->first);
    }
    band_sums sums(int q) const {
        band_sums s = {};
        for (int net = 0; net < 2; net++)
            s.at[net] = (float2 *)b->sums[net] + (size_t)q * (size_t)b->capacity * MAX_BANDS +
                        (size_t)b->first * MAX_BANDS;
        s.bands = onchip() ? p->onchip.ranks
                           : choose(part_kind(p, q), FORWARD).bands; /* of the part that sums them */
        return s;
    }
    /* Whether samples stay on the chip through the whole network. */
    bool onchip() const { return M::bytes == 2 && p->onchip.ranks > 0; }
    norm_view<M> norm(int q) const {
        norm_view<M> v = {};
        v.channels = norm_channels(p, q), v.per_element = p->per_element;
        v.slope = p->slope, v.epsilon = p->epsilon;
        v.share = 1 / ((double)pixels() * v.channels);
        v.sums = sums(q);
        size_t width = (size_t)v.channels * (p->per_element ? pixels() : 1);
        v.bias_behind = (int)width;
        for (int net = 0; net < 2; net++) {
            v.g[net] = (const number *)b->norms[net] + p->norm_at[q];
            v.b[net] = v.g[net] + width;
        }
        return v;
    }
    const void *weights(int net, int part, int direction) const {
        if (!p->place[net]) return NULL;
        return (const char *)b->weights[net] +
               (size_t)p->place[net][part].tile[direction] * 32 * sizeof(typename M::weights);
    }
    const float *biases(int net, int part) const {
        return p->place[net] ? b->biases[net] + p->place[net][part].bias : NULL;
    }
    op_view view(int net, int kind, int direction) const {
        const image_op *op = &p->ops[net][kind][direction];
        op_view v = {op->h,     op->w,         op->halo, op->in, op->out, op->sets,
                     op->steps, op->gradients, NULL,     NULL,   NULL};
        v.set = (const int4 *)op->tables;
        v.slot = (const int2 *)(op->tables + 4 * op->sets);
        v.gradient = v.slot + 2 * op->steps;
        return v;
    }

    /* ---- how samples are cut ---- */

    /* Bands of so many rows that two blocks have room on a multiprocessor, where that does not mean too many
     * rows read twice, and that all multiprocessors have work. other: channels of a second tile. */
    cut choose(int kind, int direction, int other = 0) const {
        const image_op *op = &p->ops[p->first_net][kind][direction];
        int in = op->in, steps = op->steps;
        for (int net = 0; net < 2; net++) {
            const image_op *o = &p->ops[net][kind][direction];
            if (o->in > in) in = o->in;
            if (o->steps > steps) steps = o->steps;
        }
        const size_t most = own->shared_block - 3072,
                     table = 2 * (size_t)steps * sizeof(int) + (size_t)op->sets * sizeof(int4) +
                             (size_t)stage_bytes(warps_of(op), op->together == 1 ? 2 : op->together,
                                                 kind == OP_SECOND && direction == FORWARD ? 4 : M::bytes);
        const int warps = warps_of(op), wanted = other ? 2 : RESIDENT(warps);
        double least = 1e30;
        cut best = {};
        for (int bands = 1; bands <= op->h && bands <= MAX_BANDS; bands++) {
            cut t = cut_of(op, in, other, bands);
            size_t bytes = (size_t)t.bytes + (size_t)t.other_bytes * (size_t)t.other_pixels + table;
            if (bytes > most || (bands > 1 && t.rows * (bands - 1) >= op->h)) continue;
            size_t fit = own->shared_processor / (bytes + 3072);
            int resident = fit < 1 ? 1 : fit > (size_t)wanted ? wanted : (int)fit;
            double blocks = (double)b->rows * nets() * bands, room = (double)resident * own->processors;
            double rounds = ceil(blocks / room) * room / blocks; /* work that waits for the last blocks */
            double cost = (t.rows + 2.0 * op->halo + 1) / t.rows * (other ? 1 : rounds) *
                          (1 + 0.5 * (wanted - resident) / wanted);
            if (cost < least) least = cost, best = t;
        }
        if (best.bands == 1 && !other) {
            int units = (int)ceil((double)b->rows * nets() / ((double)wanted * own->processors));
            size_t fit = most / (size_t)wanted / (size_t)best.bytes;
            best.units = units < 1 ? 1 : units > MAX_UNITS ? MAX_UNITS : units;
            if ((size_t)best.units > fit) best.units = fit < 1 ? 1 : (int)fit;
        }
        return best;
    }
    /* Chooses the bands of a backward pass in one kernel (back_call). They fill tiles of pixels and are so
     * large that waiting at barriers, which costs about as much as a tile, does not count. */
    cut choose_back(int kind) const {
        const image_op *op = &p->ops[p->first_net][kind][BACKWARD];
        double least = 1e30;
        cut best = {};
        for (int bands = 1; bands <= op->h && bands <= MAX_BANDS; bands++) {
            cut t = cut_of(op, op->in, op->out, bands);
            t.bytes = t.other_pixels * t.pixel_bytes;
            size_t bytes = back_bytes(op, t);
            if (bytes > own->shared_block - 3072 || (bands > 1 && t.rows * (bands - 1) >= op->h)) continue;
            double cost = (double)bands * (t.other_pixels + TILE_ROWS) *
                          (2 * (bytes + 3072) > own->shared_processor ? 1.5 : 1);
            if (cost < least) least = cost, best = t;
        }
        return best;
    }
    static size_t back_bytes(const image_op *op, const cut &t) {
        size_t bytes = 2 * (size_t)t.bytes + 3 * (size_t)t.other_bytes * (size_t)t.other_pixels +
                       (size_t)op->sets * sizeof(int4) + 2 * (size_t)op->steps * sizeof(int);
        const size_t sums = BACK_WARPS * BACK_EACH * OP_TILE_WEIGHTS * sizeof(float);
        return bytes > sums ? bytes : sums;
    }
    /* Whether the backward pass through a part and the gradient of its weights are one kernel. */
    int in_one(int part) const {
        int kind = part_kind(p, part);
        return p->back_in_one && (kind == OP_FIRST || kind == OP_SECOND);
    }
    /* Without a halo small tiles cost nothing, and many small blocks hide each other's waiting best. */
    static int warps_of(const image_op *op) { return op->halo == 0 && op->together > 1 ? 4 : 8; }
    static int odd_sixteens(int bytes) {
        int sixteens = (bytes + 15) / 16;
        return (sixteens | 1) * 16;
    }
    static cut cut_of(const image_op *op, int in, int other, int bands) {
        cut t = {};
        t.rows = (op->h + bands - 1) / bands;
        t.bands = bands, t.units = 1;
        t.width = op_row(op->w, op->halo);
        t.pixels = op->halo + (t.rows + 2 * op->halo) * t.width;
        t.pixel_bytes = odd_sixteens(in * M::bytes);
        t.bytes = t.pixels * t.pixel_bytes;
        t.other_bytes = other > 0 ? odd_sixteens(other * M::bytes) : 0;
        t.other_pixels = other > 0 ? (t.rows * op->w + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS : 0;
        t.by_width = divider_of(t.width);
        t.by_row = divider_of(op->w);
        return t;
    }
    /* The same in fragments, in bf16; without bands where that is not possible. */
    fragment_cut cut_fragments(int kind) const {
        const image_op *op = &p->ops[p->first_net][kind][BACKWARD];
        const int steps = op->in / 16, groups = (op->out / 16 + 1) * (steps % 2 == 0 ? steps / 2 : steps),
                  all = ((int)pixels() + TILE_ROWS - 1) / TILE_ROWS;
        fragment_cut t = {};
        if (M::bytes != 2 || !p->back_in_one || op->in % 16 || op->out % 16 || op->in > 64 ||
            op->out > fragment_inputs(steps) || groups > FRAGMENT_WARPS)
            return t;
        const int bands = (all + fragment_tiles(steps) - 1) / fragment_tiles(steps);
        t.tiles = (all + bands - 1) / bands;
        t.shares = FRAGMENT_WARPS / groups;
        t.y_bytes = odd_sixteens(2 * op->in), t.x_bytes = odd_sixteens(2 * op->out);
        t.by_y_slots = divider_of(op->in / SLOT), t.by_x_slots = divider_of(op->out / SLOT);
        const size_t tile = (size_t)t.tiles * TILE_ROWS,
                     sums = 4 * FRAGMENT_WARPS * OP_TILE_WEIGHTS * sizeof(float);
        t.bytes = tile * (size_t)(FRAGMENT_STAGES * (t.y_bytes + t.x_bytes) + 2 * t.x_bytes);
        if (t.bytes < sums) t.bytes = sums;
        if (bands <= MAX_BANDS && bands <= most_blocks() && t.bytes + 8192 <= own->shared_block)
            t.bands = (all + t.tiles - 1) / t.tiles;
        return t;
    }
    /* Blocks of a network that run at once, one on each multiprocessor. */
    int blocks_at_once() const {
        const int blocks = own->processors / nets();
        return blocks > 0 ? blocks : 1;
    }
    int most_blocks() const {
        const int most = blocks_at_once();
        return most < b->pieces ? most : b->pieces;
    }
    bool streams() const { return M::bytes == 2 && p->stream.convs > 0; }
    stream_view stream_of() const {
        stream_view v = {};
        v.plan = p->stream;
        v.h = p->h, v.w = p->w, v.K = p->K, v.wide = p->concat;
        v.n = b->rows, v.first_net = p->first_net;
        v.by_w = divider_of(p->w), v.by_thin = divider_of(p->K / SLOT),
        v.by_wide = divider_of(p->concat / SLOT);
        return v;
    }

    /* ---- what parts read and write ---- */

    norm_load<M> normalised(int q) const {
        norm_load<M> l = {};
        for (int net = 0; net < 2; net++) l.x[net] = acts(net, q);
        l.norm = norm(q);
        l.pixels = (int)pixels();
        return l;
    }
    float_load<M> source() const {
        float_load<M> l = {};
        for (int net = 0; net < 2; net++)
            l.x[net] = b->state, l.stride[net] = (size_t)p->layer.dim, l.channels[net] = p->in;
        l.map = p->source;
        return l;
    }
    plain_load<M> plain(void *const from[2], int channels) const {
        plain_load<M> l = {};
        for (int net = 0; net < 2; net++) l.x[net] = (const number *)from[net];
        l.pixels = (int)pixels(), l.channels = channels;
        return l;
    }
    template <bool ADDS> act_store<M, ADDS> activations(int q) const {
        act_store<M, ADDS> s = {};
        for (int net = 0; net < 2; net++) {
            s.y[net] = acts(net, q);
            s.shortcut[net] = ADDS ? acts(net, q - 3) : NULL;
            s.bias[net] = biases(net, q);
        }
        s.pixels = (int)pixels(), s.channels = norm_channels(p, q), s.slope = p->slope;
        s.sums = sums(q);
        return s;
    }
    gradient_store<M> gradients_of(int q, void *const to[2]) const {
        gradient_store<M> s = {};
        for (int net = 0; net < 2; net++) s.q[net] = (number *)to[net], s.x[net] = acts(net, q);
        s.norm = norm(q);
        s.pixels = (int)pixels();
        s.sums = back_sums(q);
        return s;
    }
    band_sums back_sums(int q) const {
        band_sums s = {};
        for (int net = 0; net < 2; net++) s.at[net] = (float2 *)b->back_sums[net];
        const int part = q + 1, kind = part_kind(p, part);
        const int of_fragments = in_one(part) ? cut_fragments(kind).bands : 0;
        s.bands = of_fragments                       ? of_fragments
                  : in_one(part)                     ? choose_back(kind).bands
                  : kind == OP_BRANCHES && streams() ? 1
                                                     : choose(kind, BACKWARD).bands;
        return s;
    }
};

#endif
