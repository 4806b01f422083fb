/* Messages between the thread blocks of a cluster that hold a sample (image_onchip.cuh): stores into each
 * other's shared memory, which count down a barrier there. On GPUs from 9.0 on. */
#ifndef JF_COMPUTE_CUDA_IMAGE_CLUSTER_CUH
#define JF_COMPUTE_CUDA_IMAGE_CLUSTER_CUH

#include "compute/cuda/image_product.cuh"

/* What a thread knows of the others of its cluster. Exchanges are numbered; two barriers take turns, since no
 * block can be further ahead than the exchange that it waits for. */
struct cluster_view {
    int ranks, rank, warps;
    unsigned barriers;                        /* two, of 8 bytes */
    float2 (*slots)[MAX_RANKS][ONCHIP_WARPS]; /* of exchange k % 2 */
    int exchanges, sums;

    __device__ unsigned barrier() const { return barriers + (unsigned)(exchanges % 2) * 8; }
    __device__ void expect(int bytes) const {
        if (ranks > 1 && threadIdx.x == 0) barrier_expect(barrier(), bytes);
    }
    __device__ void arrived() {
        if (ranks == 1) return;
        barrier_wait(barrier(), exchanges / 2 % 2);
        exchanges++;
    }
    /* The sums of all samples' elements, of which each warp has its own; those of each block go to `to`. All
     * threads wait here. */
    __device__ double2 add_up(float sum, float square, float2 *to) {
        const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
        float2(*slot)[ONCHIP_WARPS] = slots[sums++ % 2];
        const float2 of_warp = warp_sum(sum, square);
        if (lane == 0) {
            slot[rank][warp] = of_warp;
            for (int other = 0; other < ranks; other++)
                if (other != rank)
                    send_8(in_block(shared_address(&slot[rank][warp]), other), of_warp.x, of_warp.y,
                           in_block(barrier(), other));
        }
        expect((ranks - 1) * warps * (int)sizeof(float2));
        __syncthreads();
        arrived();
        double2 total = make_double2(0, 0);
        for (int r = 0; r < ranks; r++) {
            float2 v = lane < warps ? slot[r][lane] : make_float2(0, 0);
#pragma unroll
            for (int step = 8; step > 0; step /= 2) {
                v.x += __shfl_xor_sync(0xffffffff, v.x, step);
                v.y += __shfl_xor_sync(0xffffffff, v.y, step);
            }
            v.x = __shfl_sync(0xffffffff, v.x, 0), v.y = __shfl_sync(0xffffffff, v.y, 0);
            if (r == rank && threadIdx.x == 0) *to = v;
            total.x += (double)v.x, total.y += (double)v.y;
        }
        return total;
    }
};

#endif
