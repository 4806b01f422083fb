/* The convolutions into and out of a network whose sample is on the chip: members of onchip_thread
 * (image_onchip.cuh, which includes this). Their weights come from memory as they are needed: each is used
 * once. */
#ifndef JF_COMPUTE_CUDA_IMAGE_ONCHIP_ENDS_CUH
#define JF_COMPUTE_CUDA_IMAGE_ONCHIP_ENDS_CUH

/* The state, as operands in the tile, with the rows beyond the band that the convolution needs; what lies
 * outside of the image is zero already. Channels are those of a pixel of the tile from its first on. */
template <int PAIRS, bool KEEPS>
static __device__ inline void fill_with_state(const onchip_thread<PAIRS, KEEPS> &h) {
    const op_view &in = h.c.in[h.net];
    const int slots = in.in / SLOT, lines = h.s.rows + 2 * in.halo, first_row = h.rank * h.s.rows - in.halo;
    const float *from = h.c.state + (size_t)h.sample * (size_t)h.c.dim;
    for (int i = h.thread; i < lines * in.w * slots; i += h.threads) {
        const int pixel = i / slots, first = (i - pixel * slots) * SLOT, line = pixel / in.w,
                  column = pixel - line * in.w, row = first_row + line;
        if ((unsigned)row >= (unsigned)in.h) continue;
        const int32_t *map = h.c.source + (row * in.w + column) * h.c.in_channels + first;
        float v[SLOT];
#pragma unroll
        for (int k = 0; k < SLOT; k++) v[k] = first + k < h.c.in_channels ? from[map[k]] : 0;
        const int place = h.op.halo + (line - in.halo + h.op.halo) * h.s.width + column;
        *(uint4 *)(h.tile + place * h.s.pixel_bytes + first * 2) = bf16_math::numbers_of(v);
    }
}

/* The residual stream begins. */
template <int PAIRS, bool KEEPS>
__device__ inline void onchip_thread<PAIRS, KEEPS>::convolution_in(sums_of_pixels &acc) {
    fill_with_state(*this);
    const float *bias = c.in_bias[net] + 2 * t();
#pragma unroll
    for (int j = 0; j < TILES; j++)
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
            acc[i][j][0] = acc[i][j][2] = bias[8 * j], acc[i][j][1] = acc[i][j][3] = bias[8 * j + 1];
    __syncthreads();
    const uint2 *weights = c.in_weights[net] + lane;
#pragma unroll 1
    for (int step = 0; step < s.in_steps; step++, weights += SET * 32) {
        uint2 w[TILES];
        unsigned a[UNIT_TILES][4];
#pragma unroll
        for (int j = 0; j < TILES; j++) w[j] = weights[(j / SET * s.in_steps * SET + j % SET) * 32];
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
            load_matrices(a[i], row_place[i] + (unsigned)in_slot_at[2 * step + lane / 16]);
#pragma unroll
        for (int j = 0; j < TILES; j++)
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++) multiply_bf16(acc[i][j], a[i], w[j]);
    }
#pragma unroll
    for (int i = 0; i < UNIT_TILES; i++)
#pragma unroll
        for (int j = 0; j < TILES; j++) {
            const float *v = acc[i][j];
            ((uint2 *)&stream_at(i, j / 2))[j % 2] = make_uint2(pair_bf16(v[0], v[1]), pair_bf16(v[2], v[3]));
#pragma unroll
            for (int k = 0; k < 4; k++) add(i, k / 2, leaky(v[k], c.slope));
        }
    if (KEEPS) keep_stream(c.stream[net]);
}

/* From the residual stream, normalised, to what the network gives, eight channels at a time. */
template <int PAIRS, bool KEEPS>
__device__ inline void onchip_thread<PAIRS, KEEPS>::convolution_out(ahead &next) {
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++) {
        const ahead now = next;
        if (pair + 1 < PAIRS) next.ask(*this, 0, pair + 1);
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++) {
            unsigned x[4], g[4], b[4];
            words_of(x, stream_at(i, pair));
            words_of(g, now.of[i][0]);
            words_of(b, now.of[i][1]);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const unsigned w =
                    normalised(leaky(low_bf16(x[k]), c.slope), leaky(high_bf16(x[k]), c.slope), g[k], b[k]);
                if (has[i][k % 2]) store_word(own_place[i][k % 2] + (unsigned)(32 * pair + k / 2 * 16), w);
            }
        }
    }
    share_tile();
    const op_view &out = c.out[net];
    const int channels = c.out_channels[net];
#pragma unroll 1
    for (int tile = 0; tile < s.out_together[net] * out.sets; tile++) {
        const int4 set = out.set[tile / s.out_together[net]];
        const int of_set = tile % s.out_together[net], channel = set.x + 8 * of_set + 2 * t(),
                  next_step = s.out_together[net] * 32;
        const uint2 *weights = c.out_weights[net] + (set.w + of_set) * 32 + lane;
        const int *slot = out_slot_at + 2 * set.y + lane / 16;
        float v[UNIT_TILES][4];
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
            v[i][0] = v[i][2] = c.out_bias[net][channel], v[i][1] = v[i][3] = c.out_bias[net][channel + 1];
#pragma unroll 4
        for (int step = 0; step < set.z; step++, slot += 2, weights += next_step) {
            const uint2 w = *weights;
#pragma unroll
            for (int i = 0; i < UNIT_TILES; i++) {
                unsigned a[4];
                load_matrices(a, row_place[i] + (unsigned)*slot);
                multiply_bf16(v[i], a, w);
            }
        }
#pragma unroll
        for (int i = 0; i < UNIT_TILES; i++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float *to = c.given[net] + (pixel0 + (size_t)(i * TILE_ROWS + half * 8)) * (size_t)channels;
                if (has[i][half] && channel < channels) to[channel] = v[i][2 * half];
                if (has[i][half] && channel + 1 < channels) to[channel + 1] = v[i][2 * half + 1];
            }
    }
}

#endif
