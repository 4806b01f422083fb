/* Image networks forward part by part, in bf16: 1x1 convolutions (image_pointwise.cuh) and branches (image_stream_forward.cuh) as
 * kernels of their own. An alternative to the one kernel that holds the sample (image_held.cuh) where all activations go to memory
 * anyway, since they are kept for the way back. */
#ifndef JF_COMPUTE_CUDA_IMAGE_PARTS_CUH
#define JF_COMPUTE_CUDA_IMAGE_PARTS_CUH

#include "compute/cuda/image_stream_forward.cuh"
#include "compute/cuda/image_view.cuh"

/* The kernels for networks of one shape. */
typedef struct parts_kernels {
    int convs, sets, strips;
    void (*first)(pointwise_call), (*second)(pointwise_call);
    int first_warps, second_warps;
    size_t first_bytes, second_bytes;
    void (*branches)(stream_forward_call);
    int teams, threads, team_bytes; /* threads of a block */
} parts_kernels;

template <int CONVS, int SETS, int STRIPS> static constexpr parts_kernels parts_kernels_of() {
    typedef chains<CONVS, SETS, STRIPS> S;
    enum { THIN = SETS / 2, WIDE = S::WIDE_SLOTS / 2 }; /* sixteens of channels */
    return parts_kernels{CONVS,
                         SETS,
                         STRIPS,
                         pointwise_kernel<THIN, THIN, false>,
                         pointwise_kernel<WIDE, THIN, true>,
                         pointwise_warps(THIN),
                         pointwise_warps(WIDE),
                         pointwise_bytes(THIN, THIN),
                         pointwise_bytes(WIDE, THIN),
                         stream_forward_kernel<CONVS, SETS, STRIPS>,
                         S::TEAMS,
                         S::BLOCK,
                         S::TEAM_BYTES};
}

/* Those for such a network on such a GPU; NULL: there are none. They are compiled where a precision has them. */
template <class M> static const parts_kernels *parts_for(const cuda_device *own, const image_plan *p) {
    if constexpr (M::bytes == 2) {
        static const parts_kernels shapes[] = {
            parts_kernels_of<3, 8, 2>(), /* 64 channels of 28x28 */
            parts_kernels_of<2, 8, 1>(), /* of 14x14 */
            parts_kernels_of<2, 4, 1>()  /* 32 channels of 14x14 */
        };
        const stream_plan &s = p->stream;
        if (!s.forward || pointwise_bands(p->h * p->w) > MAX_BANDS) return NULL;
        for (const parts_kernels &k : shapes)
            if (k.convs == s.convs && k.sets == s.sets && k.strips == s.strips &&
                k.first_bytes <= own->shared_block && k.second_bytes <= own->shared_block &&
                (size_t)(k.teams * k.team_bytes) + 8192 <= own->shared_block) /* beside: moments of samples */
                return &k;
    }
    return NULL;
}

template <class M> struct network_parts : network_view<M> {
    typedef network_view<M> seen;
    using seen::own, seen::p, seen::b, seen::nets, seen::pixels, seen::acts, seen::sums, seen::norm,
        seen::weights, seen::biases, seen::blocks_at_once, seen::allow;

    /* A 1x1 convolution, with as many warps as run at once where there are so many bands and samples. */
    void pointwise(const parts_kernels *k, int part) const {
        if constexpr (M::bytes == 2) {
            const bool adds = part_kind(p, part) == OP_SECOND;
            const int warps = adds ? k->second_warps : k->first_warps;
            const size_t bytes = adds ? k->second_bytes : k->first_bytes;
            auto kernel = adds ? k->second : k->first;
            pointwise_call c = {};
            c.n = b->rows, c.first_net = p->first_net, c.pixels = (int)pixels();
            c.bands = pointwise_bands(c.pixels);
            const int room = blocks_at_once() * warps / c.bands;
            c.tracks = room < 1 ? 1 : room < b->rows ? room : b->rows;
            c.together = p->ops[p->first_net][part_kind(p, part)][FORWARD].together;
            c.norm = norm(part - 1), c.sums = sums(part);
            for (int net = 0; net < 2; net++) {
                c.weights[net] = (const unsigned *)weights(net, part, FORWARD);
                c.bias[net] = biases(net, part);
                c.x[net] = acts(net, part - 1), c.y[net] = acts(net, part);
                c.shortcut[net] = adds ? acts(net, part - 3) : NULL;
            }
            allow(kernel, bytes);
            launch_early(own, kernel, dim3(blocks_for((size_t)(c.bands * c.tracks), warps), (unsigned)nets()),
                         warps * 32, bytes, c);
            launched(own, "image: 1x1");
        }
    }
    void branches(const parts_kernels *k, int part) const {
        if constexpr (M::bytes == 2) {
            stream_forward_call c = {};
            c.h = p->h, c.w = p->w, c.n = b->rows, c.first_net = p->first_net;
            c.by_w = divider_of(p->w);
            c.table = p->stream.forward;
            c.norm = norm(part - 1), c.sums = sums(part);
            for (int net = 0; net < 2; net++) {
                c.weights[net] = (const unsigned *)weights(net, part, FORWARD);
                c.bias[net] = biases(net, part);
                c.x[net] = acts(net, part - 1), c.y[net] = acts(net, part);
            }
            dim3 grid(at_most((unsigned)blocks_at_once(), blocks_for((size_t)b->rows, k->teams)),
                      (unsigned)nets());
            c.moments_bytes = (int)(blocks_for((size_t)b->rows, (int)grid.x * k->teams) + 1) / 2 * 16;
            const size_t bytes = (size_t)(k->teams * (k->team_bytes + c.moments_bytes));
            allow(k->branches, bytes);
            launch_early(own, k->branches, grid, k->threads, bytes, c);
            launched(own, "image: branches");
        }
    }
};

#endif
