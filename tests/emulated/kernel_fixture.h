/* What tests of single kernels of image networks share: numbers of bf16, a norm, and comparing with sums in double. */
#ifndef JF_TESTS_EMULATED_KERNEL_FIXTURE_H
#define JF_TESTS_EMULATED_KERNEL_FIXTURE_H

#include "compute/cuda/image_norm.cuh"
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

/* f(which, how) for all orders of threads, with copies that arrive at once or late. */
static void in_every_manner(void (*f)(int, emulated::manner)) {
    for (int i = 0; i < 6; i++) f(i, {(emulated::order)(i / 2), i % 2 == 1});
}

#endif
