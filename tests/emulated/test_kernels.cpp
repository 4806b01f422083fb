/* Kernels of image networks in bf16, one by one, against the same sums in double: the backward pass through
 * branches in streams of rows, and through 1x1 convolutions in fragments, with several samples for each
 * block. Whole layers are tested as on a GPU, but within what bf16 loses on its way through a network. */
#include "compute/cuda/image_back_bf16.cuh"
#include "compute/cuda/image_stream.cuh"
#include <algorithm>
#include <random>
#include <vector>
#define _Noreturn [[noreturn]]
extern "C" {
#include "test.h"
}

typedef __nv_bfloat16 number;
typedef std::vector<number> numbers;

/* Rounding to bf16; sums of numbers of either sign, of which little may be left; sums in fp32. */
static const double ROUNDED = 5e-3, SIGNED = 0.05, SUMMED = 1e-5;
static std::mt19937 randomness(3);

static numbers draw(size_t count, float deviation = 1, float mean = 0) {
    std::normal_distribution<float> normal(mean, deviation);
    numbers v(count);
    for (number &x : v) x = __float2bfloat16_rn(normal(randomness));
    return v;
}
static double value(number x) {
    return __bfloat162float(x);
}
static unsigned pair_of(number low, number high) {
    uint16_t bits[2];
    memcpy(&bits[0], &low, 2), memcpy(&bits[1], &high, 2);
    return bits[0] | (unsigned)bits[1] << 16;
}

static void check(const char *what, const std::vector<double> &found, const std::vector<double> &expected,
                  double bound) {
    double off = 0, all = 0;
    for (size_t i = 0; i < found.size(); i++)
        off += (found[i] - expected[i]) * (found[i] - expected[i]), all += expected[i] * expected[i];
    const double error = sqrt(off / all);
    fprintf(stderr, "    %-24s off by %.2g\n", what, error);
    if (!(error <= bound)) test_fail(__FILE__, __LINE__, "%s: off by %.3g, allowed %.3g", what, error, bound);
}

/* A norm whose moments differ from sample to sample. */
struct test_norm {
    numbers parameters;
    std::vector<float2> sums;
    norm_view<bf16_math> view = {};
    int pixels, channels;

    test_norm(int n, int of_pixels, int of_channels, int per_element)
        : sums((size_t)n * MAX_BANDS), pixels(of_pixels), channels(of_channels) {
        const int width = channels * (per_element ? pixels : 1);
        parameters = draw(2 * (size_t)width, 0.3f, 1);
        view.channels = channels, view.per_element = per_element;
        view.slope = 0.3f, view.epsilon = 1e-3f, view.share = 1.0 / (pixels * channels);
        view.bias_behind = width;
        view.sums.bands = 1;
        for (int i = 0; i < n; i++)
            sums[(size_t)i * MAX_BANDS] = make_float2(
                (float)(mean(i) / view.share), (float)((variance(i) + mean(i) * mean(i)) / view.share));
        view.g[0] = parameters.data(), view.b[0] = parameters.data() + width, view.sums.at[0] = sums.data();
    }
    static double mean(int sample) { return 0.1 * sample; }
    static double variance(int sample) { return 1 + 0.2 * sample; }
    double e(int sample, number x) const {
        const double v = value(x), t = v > 0 ? v : view.slope * v;
        return (t - mean(sample)) / sqrt(variance(sample) + view.epsilon);
    }
    size_t parameter(int pixel, int channel) const { return view.place(pixel, channel); }
    double g(int pixel, int channel) const { return value(view.g[0][parameter(pixel, channel)]); }
    double b(int pixel, int channel) const { return value(view.b[0][parameter(pixel, channel)]); }
};

/* What the backward pass through a part leaves: the gradient q of what the norm made of x, and two sums of
 * each sample. */
struct test_back {
    numbers q;
    std::vector<float2> sums;
    gradient_store<bf16_math> store = {};
    int n, bands;

    test_back(int of_n, int of_bands, const test_norm &norm, const numbers &x)
        : q(x.size()), sums((size_t)of_n * MAX_BANDS), n(of_n), bands(of_bands) {
        store.q[0] = q.data(), store.x[0] = x.data(), store.norm = norm.view, store.pixels = norm.pixels;
        store.sums.at[0] = sums.data(), store.sums.bands = bands;
    }
    /* expected: q in double, (n, pixels, channels) */
    void check_against(const std::vector<double> &expected, const test_norm &norm, const numbers &x) const {
        std::vector<double> found(q.size()), found_sums(2 * (size_t)n), sums_of(2 * (size_t)n);
        for (size_t i = 0; i < q.size(); i++) {
            const int channel = (int)(i % (size_t)norm.channels),
                      pixel = (int)(i / (size_t)norm.channels % (size_t)norm.pixels);
            const size_t sample = i / ((size_t)norm.channels * (size_t)norm.pixels);
            const double p = expected[i] * norm.g(pixel, channel);
            found[i] = value(q[i]);
            sums_of[2 * sample] += p, sums_of[2 * sample + 1] += p * norm.e((int)sample, x[i]);
        }
        for (size_t i = 0; i < (size_t)(n * bands); i++) {
            const float2 s = sums[i / (size_t)bands * MAX_BANDS + i % (size_t)bands];
            found_sums[2 * (i / (size_t)bands)] += s.x, found_sums[2 * (i / (size_t)bands) + 1] += s.y;
        }
        check("gradient", found, expected, ROUNDED);
        check("its sums", found_sums, sums_of, SIGNED);
    }
};

/* ---- branches ---- */

template <int CONVS> struct test_branches {
    const int h, w, K, n, sets = K / 8;
    int wide = 0, offset[CONVS];
    stream_view view = {};
    std::vector<int32_t> table;
    numbers weights, dy, x; /* weights: [set][convolution][tap][input][output] */

    test_branches(int of_h, int of_w, int of_K, int of_n) : h(of_h), w(of_w), K(of_K), n(of_n) {
        for (int k = 0; k < CONVS; k++) offset[k] = wide, wide += K >> k;
        weights = draw((size_t)(sets * CONVS * 9 * 64), 0.2f);
        dy = draw((size_t)(n * h * w * wide)), x = draw((size_t)(n * h * w * K));
        fill_table();
        stream_plan &p = view.plan;
        const int reach = 1 << (CONVS - 1), rows = STREAM_STAGES * STREAM_ROWS;
        p.convs = CONVS, p.sets = sets, p.strips = (w + 15) / 16, p.table = table.data();
        p.wide_bytes = (2 * wide / 16 | 1) * 16, p.thin_bytes = (2 * K / 16 | 1) * 16;
        const int columns = 16 * p.strips, of_wide = rows * (columns + 2 * reach) * p.wide_bytes;
        p.back_bytes = of_wide + rows * w * K * 4 + 2 * STREAM_ROWS * columns * p.thin_bytes;
        p.weights_bytes = of_wide + rows * columns * p.thin_bytes;
        p.teams =
            std::min(STREAM_WARPS / (sets * p.strips), 220000 / std::max(p.back_bytes, p.weights_bytes));
        view.h = h, view.w = w, view.K = K, view.wide = wide, view.n = n;
        view.by_w = divider_of(w), view.by_thin = divider_of(K / 8), view.by_wide = divider_of(wide / 8);
    }
    int place(int set, int k, int tap) const { return (set * CONVS + k) * 9 + tap; }
    int given(int set, int k) const { return offset[k] + (set >> k) * 8; }
    double weight(int set, int k, int tap, int input, int output) const {
        return value(weights[(size_t)(place(set, k, tap) * 64 + input * 8 + output)]);
    }
    void fill_table() {
        std::vector<bool> has_bias((size_t)wide / 8);
        table.resize((size_t)(sets * STREAM_NUMBERS(CONVS)));
        for (int set = 0; set < sets; set++) {
            int32_t *to = &table[(size_t)(set * STREAM_NUMBERS(CONVS))];
            for (int k = 0; k < CONVS; k++) {
                to[STREAM_CHANNELS + k] = given(set, k);
                for (int tap = 0; tap < 9; tap++) {
                    to[STREAM_WEIGHTS(CONVS) + 9 * k + tap] = place(set, k, tap);
                    to[STREAM_GRADIENTS(CONVS) + 9 * k + tap] = 64 * place(set, k, tap);
                }
                if (to[0] != 0 || has_bias[(size_t)given(set, k) / 8]) continue;
                has_bias[(size_t)given(set, k) / 8] = true;
                to[0] = k;
            }
        }
    }
    int threads() const { return view.plan.teams * sets * view.plan.strips * 32; }
    /* f(number in dy, number in x) for all outputs that a tap takes from a pixel inside of the image to one
     * inside of it */
    template <class F> void each_pixel(int k, int tap, F f) const {
        const int down = (tap / 3 - 1) << k, right = (tap % 3 - 1) << k;
        for (int sample = 0; sample < n; sample++)
            for (int i = 0; i < h; i++)
                for (int j = 0; j < w; j++) {
                    const int line = i + down, column = j + right;
                    if (line < 0 || line >= h || column < 0 || column >= w) continue;
                    f((size_t)((sample * h + i) * w + j), (size_t)((sample * h + line) * w + column));
                }
    }

    void back(int blocks, int per_element, emulated::manner how) {
        const test_norm norm(n, h * w, K, per_element);
        test_back result(n, 1, norm, x);
        std::vector<unsigned> packed((size_t)(sets * CONVS * 9 + 1) / 2 * 64);
        for (int i = 0; i < sets * CONVS * 9 * 32; i++) {
            const int of = i / 32, lane = i % 32;
            const number *from = &weights[(size_t)(of * 64 + lane / 4 * 8 + lane % 4 * 2)];
            packed[(size_t)((of / 2 * 32 + lane) * 2 + of % 2)] = pair_of(from[0], from[1]);
        }
        stream_back_call c = {};
        c.v = view, c.store = result.store;
        c.dy[0] = dy.data(), c.weights[0] = packed.data();
        c.moments_bytes = (n / (blocks * view.plan.teams) + 2) / 2 * 16;
        emulated::run(dim3((unsigned)blocks), threads(), 1, emulated::LAUNCH_BYTES, how,
                      [&] { stream_back_kernel<CONVS>(c); });
        std::vector<double> expected(x.size());
        for (int i = 0; i < sets * CONVS * 9; i++) {
            const int set = i / 9 / CONVS, k = i / 9 % CONVS, tap = i % 9;
            each_pixel(k, tap, [&](size_t of_dy, size_t of_x) {
                for (int m = 0; m < 64; m++)
                    expected[of_x * (size_t)K + (size_t)(set * 8 + m / 8)] +=
                        weight(set, k, tap, m / 8, m % 8) *
                        value(dy[of_dy * (size_t)wide + (size_t)(given(set, k) + m % 8)]);
            });
        }
        result.check_against(expected, norm, x);
    }

    void gradients(int pieces, emulated::manner how) {
        const int tiles = (sets * CONVS * 9 + 1) / 2, all = tiles + wide / 8;
        std::vector<float> partial((size_t)(pieces * all * OP_TILE_WEIGHTS), NAN);
        stream_weights_call c = {};
        c.v = view;
        c.dy[0] = dy.data(), c.x[0] = x.data(), c.partial[0] = partial.data();
        c.stride = (size_t)(all * OP_TILE_WEIGHTS), c.pieces = pieces, c.tiles = tiles;
        const int teams = view.plan.teams, blocks = (pieces / view.plan.strips + teams - 1) / teams;
        emulated::run(dim3((unsigned)blocks), threads(), 1, emulated::LAUNCH_BYTES, how,
                      [&] { stream_weights_kernel<CONVS>(c); });
        auto sum_of_pieces = [&](size_t at) {
            double sum = 0;
            for (int i = 0; i < pieces; i++) sum += partial[(size_t)i * c.stride + at];
            return sum;
        };
        std::vector<double> found, expected(weights.size()), found_biases, biases((size_t)wide);
        for (int i = 0; i < sets * CONVS * 9; i++) {
            const int set = i / 9 / CONVS, k = i / 9 % CONVS;
            each_pixel(k, i % 9, [&](size_t of_dy, size_t of_x) {
                for (int m = 0; m < 64; m++)
                    expected[(size_t)(i * 64 + m)] +=
                        value(x[of_x * (size_t)K + (size_t)(set * 8 + m / 8)]) *
                        value(dy[of_dy * (size_t)wide + (size_t)(given(set, k) + m % 8)]);
            });
        }
        for (size_t i = 0; i < weights.size(); i++) found.push_back(sum_of_pieces(i));
        for (size_t i = 0; i < dy.size(); i++) biases[i % (size_t)wide] += value(dy[i]);
        for (int i = 0; i < wide; i++)
            found_biases.push_back(sum_of_pieces((size_t)((tiles + i / 8) * OP_TILE_WEIGHTS + i % 8)));
        check("gradient of weights", found, expected, SUMMED);
        check("gradient of biases", found_biases, biases, SUMMED);
    }
};

template <int CONVS>
static void try_branches(int h, int w, int K, int n, int per_element, emulated::manner how) {
    test_branches<CONVS> t(h, w, K, n);
    const int teams = t.view.plan.teams;
    fprintf(stderr, "%d branches, %d x %d x %d, %d samples for %d teams, norms per %s, copies %s\n", CONVS, h,
            w, K, n, teams, per_element ? "element" : "channel", how.late ? "late" : "at once");
    t.back(1, per_element, how);
    t.gradients(teams * t.view.plan.strips, how);
}

/* ---- 1x1 convolutions ---- */

template <int STEPS>
static void try_product(int pixels, int in, int n, int rounds, int per_element, emulated::manner how) {
    const int out = 16 * STEPS, all = (pixels + 15) / 16,
              bands = (all + fragment_tiles(STEPS) - 1) / fragment_tiles(STEPS);
    auto odd_sixteens = [](int bytes) { return ((bytes + 15) / 16 | 1) * 16; };
    auto tiles_together = [](int channels) {
        return channels / 8 % 4 == 0 ? 4 : channels / 8 % 2 == 0 ? 2 : 1;
    };
    fragment_call c = {};
    fragment_cut &t = c.t;
    t.tiles = (all + bands - 1) / bands, t.bands = (all + t.tiles - 1) / t.tiles;
    t.shares = FRAGMENT_WARPS / ((in / 16 + 1) * (STEPS % 2 == 0 ? STEPS / 2 : STEPS));
    t.y_bytes = odd_sixteens(2 * out), t.x_bytes = odd_sixteens(2 * in);
    t.by_y_slots = divider_of(out / 8), t.by_x_slots = divider_of(in / 8);
    c.n = n, c.pixels = pixels, c.in = in, c.blocks = t.bands * rounds, c.pieces = c.blocks + 3;
    c.together[0] = tiles_together(out), c.together[1] = tiles_together(in);
    fprintf(
        stderr,
        "1x1, %d pixels, %d to %d channels, %d samples in %d bands and %d rounds, norms per %s, copies %s\n",
        pixels, in, out, n, t.bands, rounds, per_element ? "element" : "channel",
        how.late ? "late" : "at once");

    const numbers weights = draw((size_t)(out * in), 0.2f), dy = draw((size_t)(n * pixels * out)),
                  x = draw((size_t)(n * pixels * in));
    const test_norm norm(n, pixels, in, per_element);
    test_back result(n, t.bands, norm, x);
    std::vector<uint2> packed((size_t)(in / 8 * STEPS * 32));
    for (int i = 0; i < in / 8 * STEPS * 32; i++) {
        const int tile = i / 32 / STEPS, step = i / 32 % STEPS, lane = i % 32, together = c.together[1];
        auto at = [&](int term) {
            return weights[(size_t)((16 * step + lane % 4 * 2 + term) * in + 8 * tile + lane / 4)];
        };
        packed[(size_t)(((tile / together * STEPS + step) * together + tile % together) * 32 + lane)] =
            make_uint2(pair_of(at(0), at(1)), pair_of(at(8), at(9)));
    }
    c.stride = (size_t)((in / 16 + 1) * 2 * STEPS * OP_TILE_WEIGHTS);
    std::vector<float> partial(c.stride * (size_t)c.pieces, NAN);
    c.weights[0] = packed.data(), c.dy[0] = dy.data(), c.x[0] = x.data(), c.store = result.store,
    c.partial[0] = partial.data();
    emulated::run(dim3((unsigned)c.blocks), FRAGMENT_WARPS * 32, 1, emulated::LAUNCH_BYTES, how,
                  [&] { back_fragments_kernel<STEPS>(c); });

    std::vector<double> expected(x.size()), of_weights((size_t)(in * out)), found, of_biases((size_t)out),
        found_biases;
    for (size_t i = 0; i < x.size(); i++) {
        const size_t pixel = i / (size_t)in, channel = i % (size_t)in;
        const int sample = (int)pixel / pixels, place = (int)pixel % pixels;
        const double made = norm.e(sample, x[i]) * norm.g(place, (int)channel) + norm.b(place, (int)channel);
        for (size_t o = 0; o < (size_t)out; o++) {
            const double d = value(dy[pixel * (size_t)out + o]);
            expected[i] += value(weights[o * (size_t)in + channel]) * d;
            of_weights[channel * (size_t)out + o] += made * d;
            if (channel == 0) of_biases[o] += d;
        }
    }
    auto sum_of_pieces = [&](int tile, int at) {
        double sum = 0;
        for (int i = 0; i < c.pieces; i++)
            sum += partial[(size_t)i * c.stride + (size_t)(tile * OP_TILE_WEIGHTS + at)];
        return sum;
    };
    for (int i = 0; i < in * out; i++) {
        const int channel = i / out, o = i % out, together = c.together[0];
        found.push_back(
            sum_of_pieces((o / 8 / together * (in / 16) + channel / 16) * together + o / 8 % together,
                          channel % 16 * 8 + o % 8));
    }
    for (int o = 0; o < out; o++) found_biases.push_back(sum_of_pieces(in / 16 * (out / 8) + o / 8, o % 8));
    result.check_against(expected, norm, x);
    check("gradient of weights", found, of_weights, ROUNDED);
    check("gradient of biases", found_biases, of_biases, SUMMED);
}

/* ---- in all manners ---- */

static void in_every_manner(void (*f)(int, emulated::manner)) {
    for (int i = 0; i < 6; i++) f(i, {(emulated::order)(i / 2), i % 2 == 1});
}

TEST(kernels__of_branches_go_back_as_they_should_whatever_the_order_of_threads) {
    in_every_manner([](int i, emulated::manner how) {
        try_branches<1>(9, 12, 16, 11, 1, how);
        try_branches<2>(14, 14, 32, 9, i != 3, how);
        try_branches<3>(12, 20, 32, 5, 1, how);
    });
    try_branches<3>(28, 28, 64, 2, 1, {emulated::DESCENDING, true}); /* the paper's */
}

TEST(kernels__of_1x1_convolutions_go_back_as_they_should_whatever_the_order_of_threads) {
    in_every_manner([](int, emulated::manner how) {
        try_product<1>(49, 16, 4, 1, 0, how);
        try_product<2>(196, 48, 5, 2, 1, how);
        try_product<3>(150, 48, 4, 1, 1, how);
    });
    try_product<4>(196, 112, 5, 2, 0, {emulated::DESCENDING, true});
}
