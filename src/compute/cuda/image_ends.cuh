/* Launches of the ends of image networks as products of taps, where plans have them (end_plan). */
#ifndef JF_COMPUTE_CUDA_IMAGE_ENDS_CUH
#define JF_COMPUTE_CUDA_IMAGE_ENDS_CUH

#include "compute/cuda/image_end_back.cuh"
#include "compute/cuda/image_end_forward.cuh"
#include "compute/cuda/image_parts.cuh"

/* A kernel, and how much shared memory a block of so many warps needs, of which each has so many samples. */
typedef struct end_kernel {
    void (*run)(end_call);
    int warps;     /* at most */
    int of_sample; /* bytes */
    size_t (*bytes)(int warps, int samples, int of_sample);
} end_kernel;

/* Those for so many channels of a network, and terms of its narrow side. */
typedef struct end_kernels {
    int pairs, steps;
    end_kernel in_forward, out_forward, out_sums, out, in;
} end_kernels;
static constexpr bool has_room(const end_kernel &k) {
    return k.bytes(k.warps, END_SAMPLES, k.of_sample) <= END_ROOM;
}
template <int PAIRS, int STEPS> static constexpr end_kernels end_kernels_of() {
    return end_kernels{
        PAIRS,
        STEPS,
        {end_in_forward_kernel<PAIRS, STEPS>, END_SUMS_WARPS, 0, end_in_forward_memory<PAIRS, STEPS>::bytes},
        {end_out_forward_kernel<PAIRS, STEPS>, END_SUMS_WARPS, sizeof(float2),
         end_out_forward_memory<PAIRS, STEPS>::bytes},
        {end_out_sums_kernel<PAIRS, STEPS>, END_SUMS_WARPS, sizeof(float2),
         end_sums_memory<PAIRS, STEPS>::bytes},
        {end_out_kernel<PAIRS, STEPS>, END_WARPS, sizeof(float4), end_out_memory<PAIRS, STEPS>::bytes},
        {end_in_kernel<PAIRS, STEPS>, END_WARPS, sizeof(float4), end_in_memory<PAIRS, STEPS>::bytes}};
}
template <size_t COUNT> static constexpr bool all_have_room(const end_kernels (&shapes)[COUNT]) {
    for (const end_kernels &k : shapes)
        if (!has_room(k.in_forward) || !has_room(k.out_forward) || !has_room(k.out_sums) ||
            !has_room(k.out) || !has_room(k.in))
            return false;
    return true;
}
/* They are compiled where a precision has them. */
template <class M> static const end_kernels *end_kernels_for(const image_plan *p, int steps) {
    if constexpr (M::bytes == 2) {
        static constexpr end_kernels shapes[] = {end_kernels_of<4, 1>(), end_kernels_of<2, 1>(),
                                                 end_kernels_of<2, 2>(), end_kernels_of<2, 3>()};
        static_assert(all_have_room(shapes));
        for (const end_kernels &k : shapes)
            if (k.pairs * 16 == p->K && k.steps == steps) return &k;
    }
    return NULL;
}

template <class M> struct network_ends : network_parts<M> {
    typedef network_view<M> seen;
    using seen::own, seen::p, seen::b, seen::nets, seen::pixels, seen::acts, seen::norm, seen::weights,
        seen::biases, seen::blocks_at_once, seen::most_blocks, seen::sums, seen::back_sums, seen::allow;

    int tiles() const { return ((int)pixels() + TILE_ROWS - 1) / TILE_ROWS; }
    int norm_pieces() const { return (int)blocks_for((size_t)b->rows, b->norm_samples); }
    /* Places for partial gradients of a norm per channel. */
    int norm_places() const {
        return norm_pieces() * (int)blocks_for(pixels() * (size_t)p->K, NORM_ELEMENTS);
    }
    /* Blocks of a network: as many as run at once, if partial gradients of all have a place, but enough for all tiles of a sample. 0: there
     * are not so many places. */
    int end_blocks() const {
        const int least = (int)blocks_for((size_t)tiles(), END_WARPS);
        int most = b->pieces;
        if (!p->per_element && norm_places() < most) most = norm_places();
        return least > most ? 0 : most_blocks() < least ? least : most_blocks() < most ? most_blocks() : most;
    }
    bool has_ends() const { return M::bytes == 2 && p->ends.columns > 0 && end_blocks() > 0; }

    /* What kernels of one end work on: activations and norm q, and a narrow side of so many channels. */
    end_call end_of(int part, int q, int channels, int direction) const {
        end_call c = {};
        c.view = narrow_of(p->h, p->w, channels);
        c.n = b->rows, c.first_net = p->first_net;
        c.together = p->ops[p->first_net][part_kind(p, part)][direction].together;
        c.narrow_stride = pixels() * (size_t)channels;
        if constexpr (M::bytes == 2) c.norm = norm(q);
        for (int net = p->first_net; net < p->first_net + nets(); net++) {
            c.weights[net] = (const __nv_bfloat16 *)weights(net, part, direction);
            c.x[net] = (const __nv_bfloat16 *)acts(net, q);
            c.columns[net] = b->columns[net];
        }
        if (part > 0) return c;
        c.narrow_stride = (size_t)p->layer.dim, c.map = p->source;
        for (int net = 0; net < 2; net++) c.narrow[net] = b->state;
        return c;
    }
    /* Partial gradients of norm q and of the part behind or before it, by as many warps as have a place for theirs. */
    void with_gradients(end_call &c, int part, int q) const {
        const image_op *forward = &p->ops[p->first_net][part_kind(p, part)][FORWARD];
        const int room = end_blocks() * END_WARPS / tiles(), most = p->per_element ? norm_pieces() : room;
        c.cut.units = tiles(), c.cut.tracks = room < most ? room : most;
        c.to.weight_stride = (size_t)b->gradient_tiles * OP_TILE_WEIGHTS;
        c.to.weight_pieces = b->pieces, c.to.weight_tiles = forward->tiles, c.to.together = forward->together;
        c.to.norm_stride = p->norm_gradients;
        c.to.norm_pieces = norm_pieces(), c.to.norm_blocks = norm_places() / norm_pieces();
        for (int net = p->first_net; net < p->first_net + nets(); net++) {
            if (!b->partial[net]) continue;
            c.to.weights[net] = b->partial[net] + (size_t)p->place[net][part].gradient * OP_TILE_WEIGHTS;
            c.to.norm[net] = b->norm_partial[net] + p->norm_gradient_at[q];
        }
    }
    /* By as many warps as run at once. */
    void without_gradients(end_call &c, int units) const {
        const int room = blocks_at_once() * END_SUMS_WARPS / units;
        c.cut.units = units, c.cut.tracks = room < 1 ? 1 : room;
    }
    /* most: blocks of a network. Where warps are too few for these, blocks have fewer. */
    void launch_end(const end_kernel &kernel, end_call c, int most, const char *name) const {
        if (c.cut.tracks > c.n) c.cut.tracks = c.n;
        c.cut.samples = (int)blocks_for((size_t)c.n, c.cut.tracks);
        const int units = c.cut.units * c.cut.tracks;
        int warps = kernel.warps;
        while (warps % 2 == 0 && (int)blocks_for((size_t)units, warps / 2) <= most) warps /= 2;
        const size_t bytes = kernel.bytes(warps, c.cut.samples, kernel.of_sample);
        allow(kernel.run, bytes);
        launch_early(own, kernel.run, dim3(blocks_for((size_t)units, warps), (unsigned)nets()), warps * 32,
                     bytes, c);
        launched(own, name);
    }
    /* The narrow side from its columns. */
    void launch_taps(const end_call &c, int towards, float *const y[2], const float *const bias[2],
                     const char *name) const {
        taps_call taps = {};
        taps.view = c.view, taps.n = c.n, taps.first_net = c.first_net, taps.towards = towards;
        for (int net = 0; net < 2; net++) {
            taps.columns[net] = c.columns[net], taps.y[net] = y[net];
            if (bias) taps.bias[net] = bias[net];
        }
        launch_early(
            own, taps_kernel,
            dim3(blocks_for((size_t)c.n * pixels() * (size_t)c.view.channels, THREADS), (unsigned)nets()),
            THREADS, 0, taps);
        launched(own, name);
    }

    /* From what the network reads to the first activations; and from the last ones to the outputs. */
    void in_forward() const {
        const end_kernels *const k = end_kernels_for<M>(p, p->ends.in_steps);
        end_call c = end_of(0, 0, p->in, FORWARD);
        c.sums = sums(0);
        for (int net = 0; net < 2; net++)
            c.bias[net] = biases(net, 0), c.y[net] = (__nv_bfloat16 *)acts(net, 0);
        without_gradients(c, c.sums.bands);
        launch_end(k->in_forward, c, blocks_at_once(), "image: convolution in");
    }
    void out_forward() const {
        const int part = p->parts - 1;
        const end_kernels *const k = end_kernels_for<M>(p, p->ends.out_steps);
        const float *const bias[2] = {biases(0, part), biases(1, part)};
        end_call c = end_of(part, p->norms - 1, p->outs[p->first_net], FORWARD);
        without_gradients(c, tiles());
        launch_end(k->out_forward, c, blocks_at_once(), "image: convolution out");
        launch_taps(c, 1, b->out, bias, "image: convolution out");
    }

    /* From the gradient of the outputs to that of the last activations. */
    void out_back(void *const dx[2]) const {
        const int part = p->parts - 1, last = p->norms - 1;
        const end_kernels *const k = end_kernels_for<M>(p, p->ends.out_steps);
        end_call c = end_of(part, last, p->outs[p->first_net], BACKWARD);
        c.sums = back_sums(last);
        c.sums.bands = pointwise_bands((int)pixels());
        for (int net = 0; net < 2; net++) c.narrow[net] = b->dout[net], c.y[net] = (__nv_bfloat16 *)dx[net];
        without_gradients(c, c.sums.bands);
        launch_end(k->out_sums, c, blocks_at_once(), "image: convolution out, sums");
        with_gradients(c, part, last);
        launch_end(k->out, c, end_blocks(), "image: convolution out, backward");
    }
    /* From q of the first norm, and the gradient that it is added to, to that of what the network read. */
    void in_back(void *const q[2], void *const add[2]) const {
        const end_kernels *const k = end_kernels_for<M>(p, p->ends.in_steps);
        end_call c = end_of(0, 0, p->in, BACKWARD);
        c.sums = back_sums(0);
        for (int net = 0; net < 2; net++)
            c.q[net] = (const __nv_bfloat16 *)q[net], c.add[net] = (const __nv_bfloat16 *)add[net];
        with_gradients(c, 0, 0);
        launch_end(k->in, c, end_blocks(), "image: convolution in, backward");
        launch_taps(c, -1, b->du1, NULL, "image: convolution in, backward");
    }
};

#endif
