/* Kernels by which image networks go forward part by part, in bf16, against the same sums in double: 1x1 convolutions and branches, with
 * several samples for each warp or team, and moments of norms from several bands. */
#include "compute/cuda/image_pointwise.cuh"
#include "compute/cuda/image_stream_forward.cuh"
#include "kernel_fixture.h"

/* What a part reads, (n, pixels, channels), and its norm, whose sums are cut into bands. */
struct test_input {
    numbers x;
    test_norm norm;
    test_input(int n, int pixels, int channels, int per_element)
        : x(draw((size_t)(n * pixels * channels))), norm(n, pixels, channels, per_element) {
        norm.view.sums.bands = 3;
        for (int i = 0; i < n; i++) {
            float2 *of = &norm.sums[(size_t)i * MAX_BANDS];
            const float2 all = of[0];
            of[0] = make_float2(all.x / 2, all.y / 4), of[1] = make_float2(all.x / 4, all.y / 4);
            of[2] = make_float2(all.x / 4, all.y / 2);
            of[3] = make_float2(NAN, NAN); /* of no band */
        }
    }
    /* Normalised. */
    double made(size_t pixel, int channel) const {
        const int sample = (int)pixel / norm.pixels, place = (int)pixel % norm.pixels;
        return norm.e(sample, x[pixel * (size_t)norm.channels + (size_t)channel]) * norm.g(place, channel) +
               norm.b(place, channel);
    }
};

/* What it gives: activations, and sums of what the Leaky ReLU makes of them. */
struct test_output {
    numbers y;
    std::vector<float2> sums;
    int n, channels, bands;
    test_output(int of_n, int pixels, int of_channels, int of_bands)
        : y((size_t)(of_n * pixels * of_channels), __float2bfloat16_rn(NAN)),
          sums((size_t)of_n * MAX_BANDS, make_float2(NAN, NAN)), n(of_n), channels(of_channels),
          bands(of_bands) {}
    void check_against(const std::vector<double> &expected, double slope) const {
        const size_t of_sample = y.size() / (size_t)n;
        std::vector<double> found, found_sums((size_t)n), found_squares((size_t)n), sums_of((size_t)n),
            squares_of((size_t)n);
        for (size_t i = 0; i < y.size(); i++) {
            const double t = expected[i] > 0 ? expected[i] : slope * expected[i];
            found.push_back(value(y[i]));
            sums_of[i / of_sample] += t, squares_of[i / of_sample] += t * t;
        }
        for (size_t i = 0; i < (size_t)(n * bands); i++) {
            const float2 s = sums[i / (size_t)bands * MAX_BANDS + i % (size_t)bands];
            found_sums[i / (size_t)bands] += s.x, found_squares[i / (size_t)bands] += s.y;
        }
        check("activations", found, expected, ROUNDED);
        check("their sums", found_sums, sums_of, ROUNDED);
        check("and sums of squares", found_squares, squares_of, ROUNDED);
    }
};

static std::vector<float> draw_biases(int count) {
    std::normal_distribution<float> normal(0, 1);
    std::vector<float> v((size_t)count);
    for (float &x : v) x = normal(randomness);
    return v;
}

/* ---- 1x1 convolutions ---- */

template <int INPUTS, int OUTPUTS, bool ADDS>
static void try_pointwise(int pixels, int n, int tracks, int per_element, emulated::manner how) {
    const int in = 16 * INPUTS, out = 16 * OUTPUTS, warps = pointwise_warps(INPUTS);
    fprintf(stderr, "1x1, %d pixels, %d to %d channels, %d samples, %d at once, norms per %s\n", pixels, in,
            out, n, tracks, per_element ? "element" : "channel");
    const numbers weights = draw((size_t)(in * out), 0.2f), shortcut = draw((size_t)(n * pixels * out));
    const std::vector<float> biases = draw_biases(out);
    const test_input input(n, pixels, in, per_element);
    pointwise_call c = {};
    c.n = n, c.pixels = pixels, c.bands = pointwise_bands(pixels), c.tracks = tracks, c.together = 4;
    test_output result(n, pixels, out, c.bands);
    std::vector<unsigned> packed((size_t)(in * out / 2));
    for (int tile = 0; tile < out / 8; tile++)
        for (int i = 0; i < INPUTS * 64; i++) {
            const int step = i / 64, lane = i / 2 % 32, input_of = 16 * step + lane % 4 * 2 + i % 2 * 8;
            const number *from = &weights[(size_t)(input_of * out + 8 * tile + lane / 4)];
            packed[(size_t)((((tile / 4 * INPUTS + step) * 4 + tile % 4) * 32 + lane) * 2 + i % 2)] =
                pair_of(from[0], from[out]);
        }
    c.weights[0] = packed.data(), c.bias[0] = biases.data();
    c.x[0] = input.x.data(), c.y[0] = result.y.data(), c.shortcut[0] = ADDS ? shortcut.data() : NULL;
    c.norm = input.norm.view, c.sums.at[0] = result.sums.data(), c.sums.bands = c.bands;
    emulated::run(dim3((unsigned)((c.bands * tracks + warps - 1) / warps)), warps * 32, 1,
                  pointwise_bytes(INPUTS, OUTPUTS), how, [&] { pointwise_kernel<INPUTS, OUTPUTS, ADDS>(c); });
    std::vector<double> expected(result.y.size());
    for (size_t i = 0; i < expected.size(); i++) {
        const size_t pixel = i / (size_t)out, o = i % (size_t)out;
        expected[i] = biases[o] + (ADDS ? value(shortcut[i]) : 0);
        for (int k = 0; k < in; k++)
            expected[i] += input.made(pixel, k) * value(weights[(size_t)(k * out) + o]);
    }
    result.check_against(expected, input.norm.view.slope);
}

/* ---- branches ---- */

template <int CONVS, int SETS, int STRIPS>
static void try_forward(int h, int w, int n, int blocks, int per_element, emulated::manner how) {
    typedef chains<CONVS, SETS, STRIPS> S;
    const int count = SETS * STREAM_FORWARD(CONVS);
    fprintf(stderr, "%d branches, %d x %d x %d, %d samples for %d teams, norms per %s\n", CONVS, h, w,
            (int)S::K, n, blocks * S::TEAMS, per_element ? "element" : "channel");
    /* A slot is eight channels read and eight given, [read][given]; those of a group are the same for all of its chains. */
    const numbers weights = draw((size_t)count * 64, 0.2f);
    const std::vector<float> biases = draw_biases(S::WIDE);
    const test_input input(n, h * w, S::K, per_element);
    test_output result(n, h * w, S::WIDE, 1);
    auto slot_of = [](int set, int k, int tap, int eight) {
        return (set >> k << k) * STREAM_FORWARD(CONVS) + 9 * ((1 << k) - 1) + (tap << k) + eight;
    };
    std::vector<int32_t> table((size_t)count);
    for (int set = 0; set < SETS; set++)
        for (int k = 0; k < CONVS; k++)
            for (int i = 0; i < 9 << k; i++)
                table[(size_t)(set * STREAM_FORWARD(CONVS) + 9 * ((1 << k) - 1) + i)] =
                    slot_of(set, k, i >> k, i % (1 << k));
    std::vector<unsigned> packed((size_t)(count + 1) / 2 * 64);
    for (int i = 0; i < count * 32; i++) {
        const int slot = i / 32, lane = i % 32;
        const number *from = &weights[(size_t)(slot * 64 + lane % 4 * 16 + lane / 4)];
        packed[(size_t)((slot / 2 * 32 + lane) * 2 + slot % 2)] = pair_of(from[0], from[8]);
    }
    stream_forward_call c = {};
    c.h = h, c.w = w, c.n = n, c.by_w = divider_of(w);
    c.table = table.data(), c.weights[0] = packed.data(), c.bias[0] = biases.data();
    c.x[0] = input.x.data(), c.y[0] = result.y.data();
    c.norm = input.norm.view, c.sums.at[0] = result.sums.data(), c.sums.bands = 1;
    c.moments_bytes = (n / (blocks * S::TEAMS) + 2) / 2 * 16;
    emulated::run(dim3((unsigned)blocks), S::BLOCK, 1, (size_t)(S::TEAMS * (S::TEAM_BYTES + c.moments_bytes)),
                  how, [&] { stream_forward_kernel<CONVS, SETS, STRIPS>(c); });
    std::vector<double> made(input.x.size()), expected(result.y.size());
    for (size_t i = 0; i < made.size(); i++) made[i] = input.made(i / S::K, (int)(i % S::K));
    for (size_t i = 0; i < expected.size(); i++) expected[i] = biases[i % S::WIDE];
    for (int k = 0, offset = 0; k < CONVS; offset += S::K >> k, k++)
        for (int i = 0; i < n * h * w * 9; i++) {
            const int tap = i % 9, pixel = i / 9, line = pixel / w % h + ((tap / 3 - 1) << k),
                      column = pixel % w + ((tap % 3 - 1) << k);
            if (line < 0 || line >= h || column < 0 || column >= w) continue;
            const double *from = &made[(size_t)((pixel / (h * w) * h + line) * w + column) * S::K];
            for (int o = 0; o < S::K >> k; o++)
                for (int in = 0; in < 8 << k; in++) {
                    const int set = o / 8 << k;
                    expected[(size_t)pixel * S::WIDE + (size_t)(offset + o)] +=
                        from[set * 8 + in] *
                        value(weights[(size_t)(slot_of(set, k, tap, in / 8) * 64 + in % 8 * 8 + o % 8)]);
                }
        }
    result.check_against(expected, input.norm.view.slope);
}

TEST(kernels__of_1x1_convolutions_go_forward_as_they_should_whatever_the_order_of_threads) {
    in_every_manner([](int i, emulated::manner how) {
        try_pointwise<2, 2, false>(196, 5, 2, i != 3,
                                   how); /* the last band has one tile, and a part of one */
        try_pointwise<3, 2, true>(50, 4, 1, i != 2, how);
    });
    try_pointwise<4, 4, false>(784, 2, 1, 1, {emulated::SHUFFLED, false}); /* the paper's */
    try_pointwise<6, 4, true>(196, 3, 2, 0, {emulated::DESCENDING, false});
    try_pointwise<7, 4, true>(784, 2, 1, 1, {emulated::DESCENDING, false});
}

TEST(kernels__of_branches_go_forward_as_they_should_whatever_the_order_of_threads) {
    in_every_manner([](int i, emulated::manner how) {
        try_forward<2, 4, 1>(14, 14, 11, 1, i != 3, how);
        try_forward<3, 8, 2>(9, 19, 3, 1, i != 2, how); /* as few rows as reach each other */
    });
    try_forward<2, 8, 1>(14, 14, 5, 2, 1, {emulated::SHUFFLED, true});
    try_forward<3, 8, 2>(28, 28, 3, 2, 1, {emulated::DESCENDING, true}); /* the paper's */
}
