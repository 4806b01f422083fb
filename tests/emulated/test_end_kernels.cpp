/* Kernels of the ends of image networks, in bf16, against the same sums in double: several samples for each warp, warps
 * without any, pieces of partial gradients that no block has, and narrow sides that lie in their order or anywhere in a sample. */
#include "compute/cuda/image_end_back.cuh"
#include "compute/cuda/image_end_forward.cuh"
#include "kernel_fixture.h"
#include <numeric>

/* A 3x3 convolution between a narrow side of few channels and a wide one of K, with the norm of the wide side. */
template <int PAIRS, int STEPS> struct test_end {
    enum { K = 16 * PAIRS, TOGETHER = 4 };
    const int h, w, channels, n, pixels = h * w, terms = TAPS * channels;
    const int net = n % 2; /* the only one of the layer */
    const int per_element, tracks, warps = (pixels + 15) / 16 * tracks;
    const int of_block = per_element ? END_WARPS : 3, blocks = (warps + of_block - 1) / of_block; /* warps */
    int dim = pixels * channels; /* numbers of the narrow side in a sample */
    std::vector<int32_t> map;    /* empty: they lie in their order */
    std::vector<float> narrow;   /* numbers of bf16 */
    const numbers x;
    numbers weights; /* (tap, narrow, K) */
    const test_norm norm;
    std::vector<float2> sums;
    std::vector<float> of_weights, of_norm;
    end_call c = {};

    test_end(int of_h, int of_w, int of_channels, int of_n, int of_tracks, int of_elements, bool mapped)
        : h(of_h), w(of_w), channels(of_channels), n(of_n), per_element(of_elements), tracks(of_tracks),
          x(draw((size_t)(n * h * w * K))), weights(draw((size_t)(9 * channels * K), 0.2f)),
          norm(n, h * w, K, of_elements), sums((size_t)n * MAX_BANDS, make_float2(NAN, NAN)) {
        fprintf(stderr, "%d x %d, %d and %d channels, %d samples, %d at once, norms per %s\n", h, w, channels,
                (int)K, n, tracks, per_element ? "element" : "channel");
        if (mapped) {
            dim = 2 * pixels * channels + 3;
            map.resize((size_t)dim);
            std::iota(map.begin(), map.end(), 0);
            std::shuffle(map.begin(), map.end(), randomness);
            map.resize((size_t)(pixels * channels));
        }
        for (number v : draw((size_t)(n * dim))) narrow.push_back((float)value(v));
        c.cut.units = (pixels + 15) / 16, c.cut.tracks = tracks, c.cut.samples = (n + tracks - 1) / tracks;
        c.view = narrow_of(h, w, channels);
        c.n = n, c.first_net = net;
        c.narrow[net] = narrow.data(), c.map = mapped ? map.data() : NULL, c.narrow_stride = (size_t)dim;
        c.together = TOGETHER, c.x[net] = x.data(), c.norm = norm.view;
        c.norm.g[net] = norm.view.g[0], c.norm.b[net] = norm.view.b[0];
        c.norm.sums.at[net] = norm.view.sums.at[0];
        c.sums.at[net] = sums.data();
        /* what no block has is to be zero */
        c.to.weight_tiles = 2 * PAIRS * TAP_STEPS, c.to.weight_pieces = blocks + 2, c.to.together = TOGETHER;
        c.to.weight_stride = (size_t)(c.to.weight_tiles + 2 * PAIRS) * OP_TILE_WEIGHTS;
        of_weights.assign(c.to.weight_stride * (size_t)c.to.weight_pieces, NAN);
        c.to.weights[net] = of_weights.data();
        const int spare = n % 2; /* places beyond those that are filled */
        c.to.norm_pieces = (per_element ? tracks : 1) + spare;
        c.to.norm_blocks = per_element ? 1 : blocks;
        c.to.norm_stride = 2 * (size_t)K * (size_t)(per_element ? pixels : c.to.norm_blocks);
        of_norm.assign(c.to.norm_stride * (size_t)c.to.norm_pieces, NAN);
        c.to.norm[net] = of_norm.data();
    }
    /* Without gradients of parameters. */
    test_end &&alone() && {
        c.to.weights[net] = c.to.norm[net] = NULL;
        return std::move(*this);
    }
    static bool untouched(const std::vector<float> &v) {
        return std::all_of(v.begin(), v.end(), [](float x) { return std::isnan(x); });
    }
    double at(int sample, int pixel, int channel) const {
        const int place = pixel * channels + channel;
        return narrow[(size_t)(sample * dim + (map.empty() ? place : map[(size_t)place]))];
    }
    double weight(int tap, int channel, int k) const {
        return value(weights[(size_t)((tap * channels + channel) * K + k)]);
    }
    /* f(pixel that a tap reads, pixel that reads it, tap), where both are inside */
    template <class F> void each_tap(F f) const {
        for (int i = 0; i < 9 * pixels; i++) {
            const int pixel = i / 9, tap = i % 9, line = pixel / w + tap / 3 - 1,
                      column = pixel % w + tap % 3 - 1;
            if (line >= 0 && line < h && column >= 0 && column < w) f(line * w + column, pixel, tap);
        }
    }
    size_t wide(int sample, int pixel, int k) const { return (size_t)((sample * pixels + pixel) * K + k); }
    double e(size_t i) const { return norm.e((int)(i / (size_t)(pixels * K)), x[i]); }
    double g(size_t i) const { return norm.g((int)(i / K) % pixels, (int)(i % K)); }
    double made(size_t i) const { return e(i) * g(i) + norm.b((int)(i / K) % pixels, (int)(i % K)); }

    /* Sums of q g and q g e of each sample, and the gradient of the activations. */
    std::vector<double> sums_of(const std::vector<double> &q) const {
        std::vector<double> s(2 * (size_t)n);
        for (size_t i = 0; i < q.size(); i++) {
            double *const of = &s[2 * (i / (size_t)(pixels * K))];
            of[0] += q[i] * g(i), of[1] += q[i] * g(i) * e(i);
        }
        return s;
    }
    std::vector<double> through_norm(const std::vector<double> &q) const {
        const std::vector<double> s = sums_of(q);
        std::vector<double> dx(q.size());
        for (size_t i = 0; i < q.size(); i++) {
            const size_t sample = i / (size_t)(pixels * K);
            const double r = 1 / sqrt(test_norm::variance((int)sample) + norm.view.epsilon);
            dx[i] =
                r *
                (q[i] * g(i) - s[2 * sample] * norm.view.share - e(i) * s[2 * sample + 1] * norm.view.share) *
                (value(x[i]) > 0 ? 1 : norm.view.slope);
        }
        return dx;
    }
    void check_norm(const std::vector<double> &q) const {
        const size_t width = (size_t)K * (size_t)(per_element ? pixels : 1);
        std::vector<double> expected(2 * width), found(2 * width);
        for (size_t i = 0; i < q.size(); i++) {
            const size_t at = i % width;
            expected[at] += q[i] * e(i), expected[width + at] += q[i];
        }
        for (size_t i = 0; i < of_norm.size(); i++) found[i % (2 * width)] += of_norm[i];
        check("parameters of the norm", found, expected, ROUNDED);
    }
    double sum_of_pieces(int place) const {
        double sum = 0;
        for (int i = 0; i < c.to.weight_pieces; i++)
            sum += of_weights[(size_t)i * c.to.weight_stride + (size_t)place];
        return sum;
    }
    numbers pack_widening() const {
        numbers packed((size_t)(2 * PAIRS * TAP_STEPS * OP_TILE_WEIGHTS));
        for (int i = 0; i < terms * K; i++)
            packed[(size_t)widening_packed(i / K / channels, i / K % channels, i % K, TOGETHER)] =
                weights[(size_t)i];
        return packed;
    }
    numbers pack_narrowing() const {
        numbers packed((size_t)((9 * K / 8 + 1) / 2 * OP_TILE_WEIGHTS));
        for (int i = 0; i < terms * K; i++)
            packed[(size_t)narrowing_packed(i / K / channels, i % K, i / K % channels, K)] =
                weights[(size_t)i];
        return packed;
    }
    /* Both numbers of each sample, summed over its bands. */
    std::vector<double> sums_of_bands() const {
        std::vector<double> found(2 * (size_t)n);
        for (int i = 0; i < n * c.sums.bands; i++) {
            const float2 s = sums[(size_t)(i / c.sums.bands * MAX_BANDS + i % c.sums.bands)];
            double *const of = &found[2 * (size_t)(i / c.sums.bands)];
            of[0] += s.x, of[1] += s.y;
        }
        return found;
    }
    void run(void (*kernel)(end_call), size_t bytes, emulated::manner how) {
        emulated::run(dim3((unsigned)blocks), of_block * 32, 1, bytes, how, [&] { kernel(c); });
    }

    void out(emulated::manner how) {
        const numbers packed = pack_widening();
        numbers dx(x.size());
        std::vector<double> q(x.size()), found, dw((size_t)(terms * K)), found_dw, db((size_t)channels),
            found_db;
        for (int sample = 0; sample < n; sample++)
            each_tap([&](int read, int reader, int tap) {
                for (int i = 0; i < channels * K; i++) {
                    const int k = i % K, o = i / K;
                    const size_t place = wide(sample, read, k);
                    q[place] += at(sample, reader, o) * weight(tap, o, k);
                    dw[(size_t)((tap * channels + o) * K + k)] += at(sample, reader, o) * made(place);
                }
            });
        for (int i = 0; i < n * pixels * channels; i++)
            db[(size_t)(i % channels)] += at(i / channels / pixels, i / channels % pixels, i % channels);
        c.weights[net] = packed.data(), c.y[net] = dx.data();
        c.sums.bands = pointwise_bands(pixels);

        end_call of_sums = c;
        of_sums.cut.units = c.sums.bands, of_sums.cut.tracks = 2, of_sums.cut.samples = (n + 1) / 2;
        emulated::run(
            dim3((unsigned)(2 * c.sums.bands + END_SUMS_WARPS - 1) / END_SUMS_WARPS), END_SUMS_WARPS * 32, 1,
            end_sums_memory<PAIRS, STEPS>::bytes(END_SUMS_WARPS, of_sums.cut.samples, sizeof(float2)), how,
            [&] { end_out_sums_kernel<PAIRS, STEPS>(of_sums); });
        check("sums of q", sums_of_bands(), sums_of(q), ROUNDED);

        run(end_out_kernel<PAIRS, STEPS>,
            end_out_memory<PAIRS, STEPS>::bytes(of_block, c.cut.samples, sizeof(float4)), how);
        for (number v : dx) found.push_back(value(v));
        for (int i = 0; i < terms * K; i++)
            found_dw.push_back(
                sum_of_pieces(narrowing_gradient(i / K / channels, i % K, i / K % channels, K)));
        for (int i = 0; i < channels; i++)
            found_db.push_back(sum_of_pieces(c.to.weight_tiles * OP_TILE_WEIGHTS + i));
        check("gradient of activations", found, through_norm(q), ROUNDED);
        if (!c.to.norm[net]) {
            CHECK(untouched(of_weights) && untouched(of_norm));
            return;
        }
        check_norm(q);
        check("gradient of weights", found_dw, dw, ROUNDED);
        check("gradient of biases", found_db, db, SUMMED);
    }

    /* From the narrow side to the wide one, whose sums are for its norm. */
    void in_forward(emulated::manner how) {
        const numbers packed = pack_widening(), biases = draw(K);
        numbers y(x.size(), __float2bfloat16_rn(NAN));
        std::vector<float> of_biases;
        std::vector<double> expected(x.size()), found, sums_of_y(2 * (size_t)n);
        for (number v : biases) of_biases.push_back((float)value(v));
        for (size_t i = 0; i < x.size(); i++) expected[i] = of_biases[i % K];
        for (int sample = 0; sample < n; sample++)
            each_tap([&](int read, int reader, int tap) {
                for (int i = 0; i < channels * K; i++)
                    expected[wide(sample, reader, i % K)] +=
                        at(sample, read, i / K) * weight(tap, i / K, i % K);
            });
        for (size_t i = 0; i < x.size(); i++) {
            const double t = expected[i] > 0 ? expected[i] : norm.view.slope * expected[i];
            double *const of = &sums_of_y[2 * (i / (size_t)(pixels * K))];
            of[0] += t, of[1] += t * t;
        }
        c.weights[net] = packed.data(), c.y[net] = y.data(), c.bias[net] = of_biases.data();
        c.sums.bands = c.cut.units = pointwise_bands(pixels);
        const int warps_of = c.cut.units * tracks;
        emulated::run(dim3((unsigned)(warps_of + END_SUMS_WARPS - 1) / END_SUMS_WARPS), END_SUMS_WARPS * 32,
                      1, end_in_forward_memory<PAIRS, STEPS>::bytes(END_SUMS_WARPS, c.cut.samples, 0), how,
                      [&] { end_in_forward_kernel<PAIRS, STEPS>(c); });
        for (number v : y) found.push_back(value(v));
        check("activations", found, expected, ROUNDED);
        check("their sums", sums_of_bands(), sums_of_y, ROUNDED);
    }
    /* From the wide side, normalised, to the narrow one. */
    void out_forward(emulated::manner how) {
        const numbers packed = pack_narrowing();
        std::vector<float> columns((size_t)(n * pixels * TAP_COLUMNS(channels)), NAN),
            y((size_t)(n * pixels * channels), NAN), biases = {0.5f, -0.25f, 1, 2, -3, 4, 5};
        std::vector<double> expected(y.size());
        for (size_t i = 0; i < y.size(); i++) expected[i] = biases[i % (size_t)channels];
        for (int sample = 0; sample < n; sample++)
            each_tap([&](int read, int reader, int tap) {
                for (int i = 0; i < channels * K; i++)
                    expected[(size_t)((sample * pixels + reader) * channels + i / K)] +=
                        made(wide(sample, read, i % K)) * weight(tap, i / K, i % K);
            });
        c.weights[net] = packed.data(), c.columns[net] = columns.data();
        emulated::run(
            dim3((unsigned)(warps + END_SUMS_WARPS - 1) / END_SUMS_WARPS), END_SUMS_WARPS * 32, 1,
            end_out_forward_memory<PAIRS, STEPS>::bytes(END_SUMS_WARPS, c.cut.samples, sizeof(float2)), how,
            [&] { end_out_forward_kernel<PAIRS, STEPS>(c); });
        sum_taps(columns, y, 1, biases.data(), how);
        check("outputs", {y.begin(), y.end()}, expected, ROUNDED);
    }
    void sum_taps(const std::vector<float> &columns, std::vector<float> &y, int towards, const float *bias,
                  emulated::manner how) const {
        taps_call taps = {};
        taps.view = c.view, taps.n = n, taps.first_net = net, taps.towards = towards, taps.bias[net] = bias;
        taps.columns[net] = columns.data(), taps.y[net] = y.data();
        emulated::run(dim3(3), THREADS, 1, 0, how, [&] { taps_kernel(taps); });
    }

    void in(emulated::manner how) {
        const numbers q = draw(x.size()), add = draw(x.size());
        const numbers packed = pack_narrowing();
        std::vector<float> columns((size_t)(n * pixels * TAP_COLUMNS(channels)), NAN),
            y((size_t)(n * pixels * channels), NAN);
        std::vector<double> of_q, dx, du(y.size()), dw((size_t)(terms * K)), found_dw, db((size_t)K),
            found_db;
        for (number v : q) of_q.push_back(value(v));
        dx = through_norm(of_q);
        for (size_t i = 0; i < dx.size(); i++) dx[i] += value(add[i]), db[i % K] += dx[i];
        for (int sample = 0; sample < n; sample++)
            each_tap([&](int read, int reader, int tap) {
                for (int i = 0; i < channels * K; i++) {
                    const int k = i % K, o = i / K;
                    const double d = dx[wide(sample, reader, k)];
                    du[(size_t)((sample * pixels + read) * channels + o)] += d * weight(tap, o, k);
                    dw[(size_t)((tap * channels + o) * K + k)] += d * at(sample, read, o);
                }
            });
        const std::vector<double> s = sums_of(of_q);
        for (size_t i = 0; i < (size_t)n; i++) { /* of two bands */
            sums[i * MAX_BANDS] = make_float2((float)s[2 * i] / 4, (float)s[2 * i + 1] / 2);
            sums[i * MAX_BANDS + 1] = make_float2((float)s[2 * i] * 3 / 4, (float)s[2 * i + 1] / 2);
        }
        c.sums.bands = 2;
        c.weights[net] = packed.data(), c.q[net] = q.data(), c.add[net] = add.data(),
        c.columns[net] = columns.data();
        run(end_in_kernel<PAIRS, STEPS>,
            end_in_memory<PAIRS, STEPS>::bytes(of_block, c.cut.samples, sizeof(float4)), how);
        sum_taps(columns, y, -1, NULL, how);
        for (int i = 0; i < terms * K; i++)
            found_dw.push_back(
                sum_of_pieces(widening_gradient(i / K / channels, i / K % channels, i % K, TOGETHER)));
        for (int i = 0; i < K; i++)
            found_db.push_back(sum_of_pieces((c.to.weight_tiles + i / 8) * OP_TILE_WEIGHTS + i % 8));
        check("gradient of what was read", {y.begin(), y.end()}, du, ROUNDED);
        if (!c.to.norm[net]) {
            CHECK(untouched(of_weights) && untouched(of_norm));
            return;
        }
        check_norm(of_q);
        check("gradient of weights", found_dw, dw, ROUNDED);
        check("gradient of biases", found_db, db, ROUNDED);
    }
};

template <int PAIRS, int STEPS>
static void try_ends(int h, int w, int channels, int n, int tracks, int per_element, emulated::manner how) {
    test_end<PAIRS, STEPS>(h, w, channels, n, tracks, per_element, false).out(how);
    test_end<PAIRS, STEPS>(h, w, channels, n, tracks, per_element, true).in(how);
}
template <int PAIRS, int STEPS>
static void try_ends_alone(int h, int w, int channels, int n, int tracks, int per_element,
                           emulated::manner how) {
    test_end<PAIRS, STEPS>(h, w, channels, n, tracks, per_element, false).alone().out(how);
    test_end<PAIRS, STEPS>(h, w, channels, n, tracks, per_element, true).alone().in(how);
}
template <int PAIRS, int STEPS>
static void try_ends_forward(int h, int w, int channels, int n, int tracks, int per_element,
                             emulated::manner how) {
    test_end<PAIRS, STEPS>(h, w, channels, n, tracks, per_element, true).in_forward(how);
    test_end<PAIRS, STEPS>(h, w, channels, n, tracks, per_element, false).out_forward(how);
}

TEST(kernels__of_ends_go_back_as_they_should_whatever_the_order_of_threads) {
    in_every_manner([](int i, emulated::manner how) {
        try_ends<2, 2>(7, 9, 2, 5, 2, i != 3, how); /* the last tile has a part of its pixels */
        try_ends<2, 1>(14, 14, 1, 4, 3, i != 2, how);
    });
    try_ends<2, 3>(14, 14, 4, 5, 2, 0, {emulated::SHUFFLED, false});
    try_ends<2, 2>(8, 8, 3, 3, 1, 1, {emulated::DESCENDING, false});
    try_ends<4, 1>(28, 28, 1, 3, 2, 1, {emulated::DESCENDING, false}); /* the paper's */
    try_ends<4, 1>(14, 14, 1, 3, 2, 0, {emulated::SHUFFLED, false});
    for (int per_element = 0; per_element < 2; per_element++)
        try_ends_alone<2, 2>(7, 9, 2, 4, 2, per_element, {emulated::SHUFFLED, false});
}

TEST(kernels__of_ends_go_forward_as_they_should_whatever_the_order_of_threads) {
    in_every_manner([](int i, emulated::manner how) {
        try_ends_forward<2, 2>(7, 9, 2, 5, 2, i != 3, how);
        try_ends_forward<2, 3>(14, 14, 4, 4, 3, i != 2, how);
    });
    try_ends_forward<2, 1>(8, 8, 1, 3, 1, 1, {emulated::DESCENDING, false});
    try_ends_forward<4, 1>(28, 28, 1, 3, 2, 1, {emulated::SHUFFLED, false}); /* the paper's */
}
