/* A coupling layer's image networks in one precision: the launches of a pass and of its backward pass
 * (image_coupling.cu has the rest). Included by a .cu file for each precision, so that they are compiled
 * beside each other. */
#ifndef JF_COMPUTE_CUDA_IMAGE_NETWORK_CUH
#define JF_COMPUTE_CUDA_IMAGE_NETWORK_CUH

#include "compute/cuda/image_onchip.cuh"
#include "compute/cuda/image_view.cuh"

template <class M> struct network_pass : network_view<M> {
    typedef typename M::number number;
    typedef network_view<M> seen;
    using seen::choose, seen::choose_back, seen::back_bytes, seen::in_one, seen::warps_of,
        seen::cut_fragments, seen::blocks_at_once, seen::most_blocks;
    using seen::own, seen::p, seen::b, seen::nets, seen::pixels, seen::acts, seen::sums, seen::onchip,
        seen::norm, seen::weights, seen::biases, seen::view;
    using seen::streams, seen::stream_of, seen::normalised, seen::source, seen::plain, seen::gradients_of,
        seen::back_sums;

    /* ---- launches ---- */

    /* A limit is never lowered: launches that were recorded still ask for it. */
    template <class K> void allow(K kernel, size_t bytes) const {
        cudaFuncAttributes has = {};
        cuda_note(own, cudaFuncGetAttributes(&has, kernel),
                  "asking for the shared memory of an image network");
        if ((size_t)has.maxDynamicSharedSizeBytes < bytes)
            cuda_note(own,
                      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                      "shared memory of an image network");
    }

    template <class LOAD, class STORE>
    void product(int part, int direction, LOAD load, STORE store, const char *name) const {
        const image_op *op = &p->ops[p->first_net][part_kind(p, part)][direction];
        int few = warps_of(op) < 8;
        switch (op->together) {
        case 4:
            return few ? product_by<4, 1, 4, 2>(part, direction, load, store, name)
                       : product_by<8, 1, 4, 2>(part, direction, load, store, name);
        case 2:
            return few ? product_by<4, 1, 2, 4>(part, direction, load, store, name)
                       : product_by<8, 1, 2, 4>(part, direction, load, store, name);
        default:
            return product_by<8, 2, 1, 4>(part, direction, load, store, name);
        }
    }
    template <int WARPS, int SETS, int TOGETHER, int GROUP, class LOAD, class STORE>
    void product_by(int part, int direction, LOAD load, STORE store, const char *name) const {
        int kind = part_kind(p, part);
        product_call c = {};
        c.t = choose(kind, direction);
        c.n = b->rows, c.first_net = p->first_net;
        size_t steps = 0, sets = 0;
        for (int net = 0; net < 2; net++) {
            c.op[net] = view(net, kind, direction);
            c.weights[net] = weights(net, part, direction);
            if ((size_t)c.op[net].steps > steps) steps = (size_t)c.op[net].steps;
            if ((size_t)c.op[net].sets > sets) sets = (size_t)c.op[net].sets;
        }
        load.by_slots = divider_of(c.op[p->first_net].in / SLOT);
        size_t bytes = (size_t)c.t.units * (size_t)c.t.bytes + 2 * steps * sizeof(int) + sets * sizeof(int4);
        if (STORE::staged) bytes += (size_t)stage_bytes(WARPS, SETS * TOGETHER, STORE::staged);
        auto kernel = product_kernel<M, WARPS, SETS, TOGETHER, GROUP, LOAD, STORE>;
        allow(kernel, bytes);
        dim3 grid(blocks_for((size_t)b->rows * (size_t)c.t.bands, c.t.units), (unsigned)nets());
        launch_early(own, kernel, grid, WARPS * 32, bytes, c, load, store);
        launched(own, name);
    }

    template <int EACH, int SHARE, class X, class Y>
    void gradient_by(int part, X x, Y y, int outputs, const char *name) const {
        int kind = part_kind(p, part), tiles = 0;
        gradient_call c = {};
        c.t = choose(kind, FORWARD, outputs);
        c.n = b->rows, c.first_net = p->first_net, c.pieces = b->pieces, c.outputs = outputs;
        c.stride = (size_t)b->gradient_tiles * OP_TILE_WEIGHTS;
        for (int net = 0; net < 2; net++) {
            c.op[net] = view(net, kind, FORWARD);
            int of_weights = c.op[net].gradients - (c.op[net].out + SLOT - 1) / SLOT;
            if (of_weights > tiles) tiles = of_weights;
            if (p->place[net])
                c.partial[net] = b->partial[net] + (size_t)p->place[net][part].gradient * OP_TILE_WEIGHTS;
        }
        x.by_slots = divider_of(c.op[p->first_net].in / SLOT);
        y.by_slots = divider_of(outputs / SLOT);
        size_t bytes = (size_t)c.t.bytes + (size_t)c.t.other_bytes * (size_t)c.t.other_pixels;
        cudaStream_t beside = cuda_side_begin(own);
        auto kernel = gradient_kernel<M, EACH, SHARE, X, Y>;
        allow(kernel, bytes);
        unsigned blocks = blocks_for((size_t)tiles, EACH * (int)GRADIENT_WARPS),
                 for_biases = blocks_for((size_t)outputs / SLOT, BIASES * (int)GRADIENT_WARPS);
        dim3 grid((unsigned)b->pieces, (unsigned)nets(), blocks > for_biases ? blocks : for_biases);
        launch_in(beside, kernel, grid, GRADIENT_WARPS * 32, bytes, c, x, y);
        launched(own, name);
        cuda_side_end(own, part % 3);
    }
    template <class X, class Y> void gradient(int part, X x, Y y, int outputs, const char *name) const {
        if (!b->partial[p->first_net]) return;
        const image_op *op = &p->ops[p->first_net][part_kind(p, part)][FORWARD];
        switch (op->together) {
        case 4:
            return gradient_by<8, 4>(part, x, y, outputs, name);
        case 2:
            return gradient_by<8, 2>(part, x, y, outputs, name);
        default: /* few tiles are shared by more warps */
            return op->tiles <= 6 * GRADIENT_WARPS ? gradient_by<6, 1>(part, x, y, outputs, name)
                                                   : gradient_by<16, 1>(part, x, y, outputs, name);
        }
    }

    template <int TOGETHER, int GROUP, int ROUNDS>
    void back_by(int part, void *const dy[2], int norm, void *const to[2]) const {
        int kind = part_kind(p, part);
        void *const x[2] = {acts(0, norm), acts(1, norm)};
        back_call<M> c = {};
        c.t = choose_back(kind);
        c.n = b->rows, c.first_net = p->first_net, c.pieces = b->pieces;
        c.stride = (size_t)b->gradient_tiles * OP_TILE_WEIGHTS;
        c.dy = plain(dy, p->K);
        c.dy.by_slots = divider_of(p->K / SLOT);
        c.x = plain(x, norm_channels(p, norm));
        c.x.by_slots = divider_of(c.x.channels / SLOT);
        c.store = gradients_of(norm, to);
        for (int net = 0; net < 2; net++) {
            c.forward[net] = view(net, kind, FORWARD);
            c.backward[net] = view(net, kind, BACKWARD);
            c.weights[net] = weights(net, part, BACKWARD);
            if (b->partial[net])
                c.partial[net] = b->partial[net] + (size_t)p->place[net][part].gradient * OP_TILE_WEIGHTS;
        }
        size_t bytes = back_bytes(&p->ops[p->first_net][kind][BACKWARD], c.t);
        auto kernel = back_kernel<M, TOGETHER, GROUP, ROUNDS>;
        allow(kernel, bytes);
        launch_early(own, kernel, dim3((unsigned)b->pieces, (unsigned)nets()), BACK_WARPS * 32, bytes, c);
        launched(own, "image: 1x1, backward");
    }
    bool back_fragments(int part, void *const dy[2], int norm, void *const to[2]) const {
        if constexpr (M::bytes == 2) {
            const int kind = part_kind(p, part);
            fragment_call c = {};
            c.t = cut_fragments(kind);
            if (c.t.bands == 0) return false;
            c.n = b->rows, c.first_net = p->first_net, c.pixels = (int)pixels(),
            c.in = norm_channels(p, norm);
            c.pieces = b->pieces;
            const int rounds = most_blocks() / c.t.bands;
            c.blocks = c.t.bands * (rounds < b->rows ? rounds : b->rows);
            c.store = gradients_of(norm, to);
            c.stride = (size_t)b->gradient_tiles * OP_TILE_WEIGHTS;
            for (int direction = 0; direction < 2; direction++)
                c.together[direction] = p->ops[p->first_net][kind][direction].together;
            for (int net = 0; net < 2; net++) {
                c.weights[net] = (const uint2 *)weights(net, part, BACKWARD);
                c.dy[net] = (const number *)dy[net], c.x[net] = acts(net, norm);
                if (b->partial[net])
                    c.partial[net] = b->partial[net] + (size_t)p->place[net][part].gradient * OP_TILE_WEIGHTS;
            }
            void (*const kernels[])(fragment_call) = {back_fragments_kernel<1>, back_fragments_kernel<2>,
                                                      back_fragments_kernel<3>, back_fragments_kernel<4>};
            auto kernel = kernels[p->K / 16 - 1];
            const size_t bytes =
                c.t.bytes + blocks_for((size_t)b->rows, c.blocks / c.t.bands) * sizeof(float2);
            allow(kernel, bytes);
            launch_early(own, kernel, dim3((unsigned)c.blocks, (unsigned)nets()), FRAGMENT_WARPS * 32, bytes,
                         c);
            launched(own, "image: 1x1, backward");
            return true;
        }
        return false;
    }
    /* Through a 1x1 convolution: from the gradient of its outputs to that of what norm part - 1 made, and of
     * its weights. */
    void back(int part, void *const dy[2], void *const to[2]) const {
        if (!in_one(part))
            return product(part, BACKWARD, plain(dy, p->K), gradients_of(part - 1, to),
                           "image: 1x1, backward");
        if (back_fragments(part, dy, part - 1, to)) return;
        const image_op *ops = p->ops[p->first_net][part_kind(p, part)];
        int many = ops[FORWARD].tiles > BACK_WARPS * BACK_EACH, wide = ops[BACKWARD].together == 4;
        if (wide)
            many ? back_by<4, 2, 2>(part, dy, part - 1, to) : back_by<4, 2, 1>(part, dy, part - 1, to);
        else
            many ? back_by<2, 4, 2>(part, dy, part - 1, to) : back_by<2, 4, 1>(part, dy, part - 1, to);
    }

    /* Through the branches, in a stream of rows where that is possible. */
    void branches_back(int part, void *const dy[2], void *const to[2]) const {
        if constexpr (M::bytes == 2)
            if (streams()) {
                stream_back_call c = {};
                c.v = stream_of();
                c.store = gradients_of(part - 1, to);
                for (int net = 0; net < 2; net++) {
                    c.dy[net] = (const number *)dy[net];
                    c.weights[net] = (const unsigned *)weights(net, part, BACKWARD);
                }
                auto kernel = c.v.plan.convs == 3   ? stream_back_kernel<3>
                              : c.v.plan.convs == 2 ? stream_back_kernel<2>
                                                    : stream_back_kernel<1>;
                const stream_plan &s = p->stream;
                dim3 grid(at_most((unsigned)blocks_at_once(), blocks_for((size_t)b->rows, s.teams)),
                          (unsigned)nets());
                c.moments_bytes = (int)(blocks_for((size_t)b->rows, (int)grid.x * s.teams) + 1) / 2 * 16;
                const size_t bytes = (size_t)(s.teams * (s.back_bytes + c.moments_bytes));
                allow(kernel, bytes);
                launch_early(own, kernel, grid, s.teams * s.sets * s.strips * 32, bytes, c);
                launched(own, "image: branches, backward");
                return;
            }
        product(part, BACKWARD, plain(dy, p->concat), gradients_of(part - 1, to),
                "image: branches, backward");
    }
    void branches_weights(int part, void *const x[2], void *const dy[2]) const {
        const char *name = "image: branches, weights";
        if constexpr (M::bytes == 2)
            if (streams() && b->pieces % p->stream.strips == 0) {
                if (!b->partial[p->first_net]) return;
                stream_weights_call c = {};
                c.v = stream_of();
                c.stride = (size_t)b->gradient_tiles * OP_TILE_WEIGHTS;
                c.pieces = b->pieces, c.tiles = p->ops[p->first_net][OP_BRANCHES][FORWARD].tiles;
                for (int net = 0; net < 2; net++) {
                    c.dy[net] = (const number *)dy[net], c.x[net] = (const number *)x[net];
                    if (p->place[net])
                        c.partial[net] =
                            b->partial[net] + (size_t)p->place[net][part].gradient * OP_TILE_WEIGHTS;
                }
                auto kernel = c.v.plan.convs == 3   ? stream_weights_kernel<3>
                              : c.v.plan.convs == 2 ? stream_weights_kernel<2>
                                                    : stream_weights_kernel<1>;
                const stream_plan &s = p->stream;
                const size_t bytes = (size_t)(s.teams * s.weights_bytes);
                allow(kernel, bytes);
                dim3 grid(blocks_for((size_t)(b->pieces / s.strips), s.teams), (unsigned)nets());
                cudaStream_t beside = cuda_side_begin(own);
                launch_in(beside, kernel, grid, s.teams * s.sets * s.strips * 32, bytes, c);
                launched(own, name);
                cuda_side_end(own, part % 3);
                return;
            }
        gradient(part, plain(x, p->K), plain(dy, p->concat), p->concat, name);
    }
    /* ---- a pass ---- */

    /* All of a network in one kernel. */
    void forward_onchip() const {
        if constexpr (M::bytes == 2) {
            onchip_call c = {};
            const int last = p->parts - 1;
            c.shape = p->onchip;
            c.state = b->state, c.source = p->source, c.dim = p->layer.dim, c.in_channels = p->in;
            c.n = b->rows, c.first_net = p->first_net, c.depth = p->depth, c.wide = p->concat;
            c.slope = p->slope, c.epsilon = p->epsilon;
            c.share[0] = norm(0).share, c.share[1] = norm(2).share;
            size_t block = 2 * (size_t)p->K + (size_t)p->concat;
            c.act_stride = pixels() * block * (size_t)b->capacity;
            c.sum_stride = (size_t)b->capacity * MAX_BANDS;
            for (int net = p->first_net; net < p->first_net + nets(); net++) {
                const part_place *place = p->place[net];
                c.in[net] = view(net, OP_IN, FORWARD), c.out[net] = view(net, OP_OUT, FORWARD);
                c.in_weights[net] = (const uint2 *)weights(net, 0, FORWARD);
                c.out_weights[net] = (const uint2 *)weights(net, last, FORWARD);
                c.in_bias[net] = biases(net, 0), c.out_bias[net] = biases(net, last);
                c.given[net] = b->out[net], c.out_channels[net] = p->outs[net];
                c.branches[net] = view(net, OP_BRANCHES, FORWARD);
                c.weights[net] = (const uint2 *)weights(net, 1, FORWARD);
                c.weight_stride = (size_t)(place[4].tile[FORWARD] - place[1].tile[FORWARD]) * 32;
                c.thin_bias[net] = biases(net, 1), c.wide_bias[net] = biases(net, 2);
                c.bias_stride = place[4].bias - place[1].bias;
                c.tables[net] = (const uint4 *)b->tables[net];
                c.stream[net] = acts(net, 0), c.thin[net] = acts(net, 1), c.wide_acts[net] = acts(net, 2);
                c.sums[net] = sums(0).at[net];
            }
            switch (p->K / 16) {
            case 4:
                return forward_onchip_by<4>(c);
            case 3:
                return forward_onchip_by<3>(c);
            case 2:
                return forward_onchip_by<2>(c);
            default:
                return forward_onchip_by<1>(c);
            }
        }
    }
    template <int PAIRS> void forward_onchip_by(const onchip_call &c) const {
        auto kernel = b->all ? onchip_kernel<PAIRS, true> : onchip_kernel<PAIRS, false>;
        allow(kernel, c.shape.bytes);
        const int threads = 32 * c.shape.warps,
                  room = clusters_at_once(own, kernel, c.shape.ranks, threads, c.shape.bytes) / nets(),
                  clusters = room < 1 || room > b->rows ? b->rows : room;
        launch_clusters(own, kernel, dim3((unsigned)(clusters * c.shape.ranks), (unsigned)nets()),
                        c.shape.ranks, threads, c.shape.bytes, c);
        launched(own, "image: networks");
    }
    /* What norms are to samples on the chip. */
    void pack_tables(const float *params) const {
        tables_call c = {};
        c.shape = p->onchip, c.params = params, c.norms = p->norm_table, c.second = p->second_table;
        c.first_net = p->first_net, c.norm_count = p->norms, c.depth = p->depth, c.K = p->K,
        c.wide = p->concat;
        c.h = p->h, c.w = p->w, c.per_element = p->per_element;
        for (int net = 0; net < 2; net++) c.tables[net] = (uint4 *)b->tables[net];
        launch_early(own, onchip_tables_kernel,
                     dim3((unsigned)c.shape.table_tiles, (unsigned)p->depth + 1, (unsigned)nets()),
                     TABLE_WARPS * 32, 3 * TILE_ROWS * (size_t)table_row_bytes(p->concat), c);
        launched(own, "image: packing");
    }

    void forward() const {
        if (onchip()) return forward_onchip();
        product(0, FORWARD, source(), this->template activations<false>(0), "image: convolution in");
        for (int q = 1; q < p->parts - 1; q += 3) {
            product(q, FORWARD, normalised(q - 1), this->template activations<false>(q), "image: 1x1");
            product(q + 1, FORWARD, normalised(q), this->template activations<false>(q + 1),
                    "image: branches");
            product(q + 2, FORWARD, normalised(q + 1), this->template activations<true>(q + 2), "image: 1x1");
        }
        float_store out = {};
        for (int net = 0; net < 2; net++) {
            out.y[net] = b->out[net];
            out.stride[net] = pixels() * (size_t)p->outs[net], out.channels[net] = p->outs[net];
            out.bias[net] = biases(net, p->parts - 1);
        }
        product(p->parts - 1, FORWARD, normalised(p->norms - 1), out, "image: convolution out");
    }

    /* q of norm j, in `from`, becomes dx in `to`. */
    void norm_back(int j, void *const from[2], void *const to[2], int add) const {
        norm_back_call<M> c = {};
        c.norm = norm(j);
        c.sums = back_sums(j);
        c.add = add;
        c.n = b->rows, c.elements = (int)pixels() * c.norm.channels, c.each = b->norm_samples,
        c.first_net = p->first_net;
        c.stride = p->norm_gradients;
        for (int net = 0; net < 2; net++) {
            c.q[net] = (const number *)from[net], c.dx[net] = (number *)to[net], c.x[net] = acts(net, j);
            c.partial[net] = b->norm_partial[net] ? b->norm_partial[net] + p->norm_gradient_at[j] : NULL;
            c.normalised[net] = b->norm_partial[net] && !in_one(j + 1) ? (number *)made(j)[net] : NULL;
        }
        dim3 grid(blocks_for((size_t)c.elements, NORM_ELEMENTS), (unsigned)nets(),
                  blocks_for((size_t)c.n, c.each));
        launch_early(own, norm_back_kernel<M>, grid, NORM_ELEMENTS / M::across, 0, c);
        launched(own, "image: norms, backward");
    }
    /* What norm j made, where the gradient of weights reads it from memory: for the part behind it. */
    void *const *made(int j) const { return b->normalised[p->back_in_one ? 1 : j % 3]; }

    /* Gradients of weights that are not computed in the backward pass are computed beside it, since it needs
     * none of them: what they read is waited for before it is written again (wait_for, by the kind of the
     * part).
     */
    void backward() const {
        void *const *dh = b->dh, *const *wide = b->wide, *const *thin = b->thin,
                    *const *last_thin = b->last_thin;
        int last = p->norms - 1, outputs = (p->outs[0] > p->outs[1] ? p->outs[0] : p->outs[1]);
        float_load<M> dout = {};
        for (int net = 0; net < 2; net++)
            dout.x[net] = b->dout[net], dout.stride[net] = pixels() * (size_t)p->outs[net],
            dout.channels[net] = p->outs[net];
        product(p->parts - 1, BACKWARD, dout, gradients_of(last, wide), "image: convolution out, backward");
        norm_back(last, wide, dh, 0);
        gradient(p->parts - 1, plain(made(last), p->K), dout, (outputs + SLOT - 1) / SLOT * SLOT,
                 "image: convolution out, weights");
        for (int q = p->parts - 2; q >= 1; q -= 3) {
            wait_for(q - 1);
            back(q, dh, wide);
            norm_back(q - 1, wide, wide, 0);
            if (!in_one(q))
                gradient(q, plain(made(q - 1), p->concat), plain(dh, p->K), p->K, "image: 1x1, weights");
            wait_for(q - 2);
            branches_back(q - 1, wide, thin);
            norm_back(q - 2, thin, thin, 0);
            branches_weights(q - 1, made(q - 2), wide);
            back(q - 2, thin, last_thin);
            wait_for(q);
            norm_back(q - 3, last_thin, dh, 1);
            if (!in_one(q - 2))
                gradient(q - 2, plain(made(q - 3), p->K), plain(thin, p->K), p->K, "image: 1x1, weights");
        }
        gradient(0, source(), plain(dh, p->K), p->K, "image: convolution in, weights");
        float_store du = {};
        for (int net = 0; net < 2; net++)
            du.y[net] = b->du1[net], du.stride[net] = (size_t)p->layer.k, du.channels[net] = p->in;
        product(0, BACKWARD, plain(dh, p->K), du, "image: convolution in, backward");
        for (int q = 0; q < 3; q++) wait_for(q);
    }
    /* The gradient of the last part of this kind (parts of a residual block repeat every three) is there. */
    void wait_for(int part) const { cuda_side_wait(own, part % 3); }

    /* ---- packing ---- */

    void pack(const float *params, int direction) const;
};

/* Weights of a network (blockIdx.z) in the order of the lanes that multiply by them, its biases, and, from
 * blockIdx.y = 2 on, its norms. It may begin while the kernel before it still works, which is never one that
 * changes the parameters or reads what was packed last: that has ended when the one before begins. */
template <class M> struct pack_call {
    const float *params;
    typename M::weights *weights[2];
    const int32_t *weight_map[2], *bias_map[2], *norms;
    float *biases[2];
    typename M::number *packed[2];
    int tiles[2], bias_count[2], norm_count, first_net;
};
static __device__ inline void pack_lane(uint2 *to, const float v[4], bf16_math) {
    *to = make_uint2(pair_bf16(v[0], v[1]), pair_bf16(v[2], v[3]));
}
template <class M> static __device__ inline void pack_lane(uint4 *to, const float v[4], M) {
    *to = make_uint4(__float_as_uint(M::round(v[0])), __float_as_uint(M::round(v[1])),
                     __float_as_uint(M::round(v[2])), __float_as_uint(M::round(v[3])));
}
template <class M> static __global__ void pack_kernel(const __grid_constant__ pack_call<M> c) {
    const int net = c.first_net + (int)blockIdx.z;
    if (blockIdx.y == 0) {
        FOR_EACH_INDEX (i, (size_t)c.tiles[net] * 32) {
            const int32_t *map = c.weight_map[net] + i / 32 * OP_TILE_WEIGHTS;
            int lane = (int)(i % 32);
            float v[4];
            for (int k = 0; k < 4; k++) {
                int at = map[M::term(lane, k) * TILE_COLUMNS + lane / 4];
                v[k] = at >= 0 ? c.params[at] : 0;
            }
            pack_lane(c.weights[net] + i, v, M());
        }
    } else if (blockIdx.y == 1) {
        FOR_EACH_INDEX (i, (size_t)c.bias_count[net]) {
            int at = c.bias_map[net][i];
            c.biases[net][i] = at >= 0 ? c.params[at] : 0;
        }
    } else {
        int norm = (int)blockIdx.y - 2;
        size_t place = 0;
        const int32_t *table = c.norms + (size_t)net * (size_t)c.norm_count * NORM_NUMBERS;
        for (int j = 0; j < norm; j++) place += 2 * (size_t)table[j * NORM_NUMBERS + 2];
        const int32_t *of = table + norm * NORM_NUMBERS;
        size_t width = (size_t)of[2];
        FOR_EACH_INDEX (i, 2 * width)
            c.packed[net][place + i] =
                M::stored(c.params[i < width ? (size_t)of[0] + i : (size_t)of[1] + i - width]);
    }
    after_the_last();
}

template <class M> void network_pass<M>::pack(const float *params, int direction) const {
    pack_call<M> c = {};
    c.params = params;
    c.norms = p->norm_table;
    c.norm_count = p->norms, c.first_net = p->first_net;
    for (int net = 0; net < 2; net++) {
        c.weights[net] = (typename M::weights *)b->weights[net];
        c.weight_map[net] = p->weight_map[net][direction];
        c.tiles[net] = p->tiles[net][direction];
        c.bias_map[net] = p->bias_map[net];
        c.bias_count[net] = p->biases[net];
        c.biases[net] = b->biases[net];
        c.packed[net] = (number *)b->norms[net];
    }
    const bool in_tables = onchip() && direction == FORWARD;
    launch_early(own, pack_kernel<M>, dim3(64, 2 + (in_tables ? 0 : (unsigned)p->norms), (unsigned)nets()),
                 THREADS, 0, c);
    launched(own, "image: packing");
    if (in_tables) pack_tables(params);
}

template <class M> static void pass_forward(cuda_device *own, const image_plan *p, const image_batch *b) {
    network_pass<M>{{own, p, b}}.forward();
}
template <class M> static void pass_backward(cuda_device *own, const image_plan *p, const image_batch *b) {
    network_pass<M>{{own, p, b}}.backward();
}
template <class M>
static void pass_pack(cuda_device *own, const image_plan *p, const image_batch *b, const float *params,
                      int direction) {
    network_pass<M>{{own, p, b}}.pack(params, direction);
}
#define IMAGE_PASSES(name, M)                                                                                \
    extern "C" const image_passes name;                                                                      \
    const image_passes name = {M::bytes,     (int)sizeof(M::weights), M::bytes == 2,                         \
                               pass_pack<M>, pass_forward<M>,         pass_backward<M>}

#endif
