/* Scales and ticks. A tick's label always names the exact value of its place. */
#include "draw/axis.h"
#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static double scaled(axis_scale scale, double value) {
    if (scale == SCALE_LOG) return value > 0 ? log10(value) : NAN;
    if (scale == SCALE_SYMLOG) return copysign(log10(1 + fabs(value)), value);
    return value;
}

axis axis_make(double min, double max, axis_scale scale) {
    const double largest = 1e150; /* so that no difference overflows */
    axis a = {.scale = scale};
    if (!isfinite(min) || !isfinite(max)) min = scale == SCALE_LOG ? 0.1 : 0, max = 1;
    if (min > max) {
        double swap = min;
        min = max, max = swap;
    }
    min = fmin(fmax(min, -largest), largest), max = fmin(fmax(max, -largest), largest);
    if (scale == SCALE_LOG) {
        if (max <= 0) max = 1;
        if (min <= 1 / largest) min = fmin(max, 1) * 1e-3;
        if (max < min * (1 + 1e-9)) min /= 2, max *= 2;
    } else if (max - min <= 1e-9 * fmax(fabs(min), fabs(max))) {
        double half = fmax(fabs(min), fabs(max)) > 0 ? 0.1 * fmax(fabs(min), fabs(max)) : 0.5;
        min -= half, max += half;
    }
    a.min = min, a.max = max;
    a.from = scaled(scale, min);
    a.span = scaled(scale, max) - a.from;
    return a;
}

double axis_place(const axis *a, double value) {
    return (scaled(a->scale, value) - a->from) / a->span;
}

double axis_value(const axis *a, double place) {
    double s = a->from + place * a->span;
    if (a->scale == SCALE_LOG) return pow(10, s);
    if (a->scale == SCALE_SYMLOG) return copysign(pow(10, fabs(s)) - 1, s);
    return s;
}

/* ---- labels ---- */

/* Fixed-point text with a true minus sign, as wide as a plus. */
static void write_number(char out[32], double value, int decimals) {
    char digits[24];
    format_text(digits, sizeof digits, "%.*f", decimals, fabs(value));
    int zero = strspn(digits, "0.") == strlen(digits);
    snprintf(out, 32, "%s%s", value < 0 && !zero ? "\xE2\x88\x92" : "", digits);
}

static void write_power(char out[32], const char *before, int exponent) {
    static const char *const raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char digits[12];
    size_t used = (size_t)snprintf(out, 32, "%s10%s", before, exponent < 0 ? "⁻" : "");
    snprintf(digits, sizeof digits, "%d", exponent < 0 ? -exponent : exponent);
    for (const char *d = digits; *d && used < 28; ++d)
        used += (size_t)snprintf(out + used, 32 - used, "%s", raised[*d - '0']);
}

static int floor_log10(double value) {
    return (int)floor(log10(value) + 1e-12);
}

/* Labels of single values such as 0.02, 5, 300, or -10^6 unless all are to be `plain`. */
static void write_round(char out[32], double value, int plain) {
    double size = fabs(value);
    if (plain || size == 0 || (size > 0.0999 && size < 10.001)) {
        int exponent = size > 0 ? floor_log10(size) : 0;
        write_number(out, value, exponent < 0 ? -exponent : 0);
        return;
    }
    int exponent = floor_log10(size), mantissa = (int)lround(size / pow(10, exponent));
    char before[12] = "";
    snprintf(before, sizeof before, "%s", value < 0 ? "\xE2\x88\x92" : "");
    if (mantissa != 1) snprintf(before + strlen(before), sizeof before - strlen(before), "%d·", mantissa);
    write_power(out, before, exponent);
}

/* ---- ticks ---- */

static double round_step(double least) {
    double unit = pow(10, floor_log10(least)), share = least / unit;
    return unit * (share < 1.0001 ? 1 : share < 2.0001 ? 2 : share < 5.0001 ? 5 : 10);
}

static int ticks_of_step(const axis *a, double step) {
    return (int)(floor(a->max / step + 1e-6) - ceil(a->min / step - 1e-6)) + 1;
}

/* One tick alone has no scale: then there are more than `wanted`. */
static void linear_ticks(ticks *t, const axis *a, int wanted) {
    double step = round_step((a->max - a->min) / wanted);
    while (ticks_of_step(a, step) < 2) step = round_step(step / 2.6); /* 5, 2, 1, 0.5, ... */
    int exponent = floor_log10(fmax(fabs(a->min), fabs(a->max)));
    int shift = exponent >= 5 || exponent <= -4 ? exponent : 0;
    int step_exponent = floor_log10(step) - shift, decimals = step_exponent < 0 ? -step_exponent : 0;
    if (shift) write_power(t->factor, "×", shift);
    double first = ceil(a->min / step - 1e-6);
    for (int i = 0; t->count < TICKS_MAX; ++i) {
        double value = (first + i) * step;
        if (value > a->max + 1e-6 * step) break;
        t->place[t->count] = axis_place(a, value);
        write_number(t->label[t->count++], value / pow(10, shift), decimals < 12 ? decimals : 12);
    }
}

/* Adds a tick unless it is out of range or closer to another one than `distance`. */
static void offer_tick(ticks *t, const axis *a, double value, double distance) {
    const double largest = fmax(fabs(a->min), fabs(a->max));
    const int plain = largest < 1.001e4 && (a->scale == SCALE_SYMLOG || a->min > 0.999e-3);
    double place = axis_place(a, value);
    if (!(place >= -1e-9 && place <= 1 + 1e-9) || t->count == TICKS_MAX) return;
    for (int i = 0; i < t->count; ++i)
        if (fabs(t->place[i] - place) < distance) return;
    t->place[t->count] = place;
    write_round(t->label[t->count++], value, plain);
}

static void offer_minor(ticks *t, const axis *a, double value) {
    double place = axis_place(a, value);
    if (place >= 0 && place <= 1 && t->minor_count < TICKS_MINOR_MAX)
        t->minor_place[t->minor_count++] = place;
}

/* Powers of ten first (every one, every second, ...), then 5 and 2 times them where there is room. */
static void decade_ticks(ticks *t, const axis *a, int wanted) {
    const int lowest = a->scale == SCALE_LOG ? floor_log10(a->min) : 0;
    const int highest = floor_log10(fmax(fabs(a->min), fabs(a->max))) + 1;
    const int stride = (int)fmax(1, ceil(a->span / wanted));
    const int mirrored = a->scale == SCALE_SYMLOG;
    const double distance = 0.8 / wanted;
    static const int multiples[] = {1, 5, 2};
    if (mirrored) offer_tick(t, a, 0, distance);
    for (int level = 0; level < 3 && (level == 0 || stride == 1); ++level)
        for (int k = highest; k >= lowest; --k) {
            if (k % stride != 0) continue;
            offer_tick(t, a, multiples[level] * pow(10, k), distance);
            if (mirrored) offer_tick(t, a, -multiples[level] * pow(10, k), distance);
        }
    for (int k = lowest; k <= highest && a->span < 9; ++k)
        for (int m = 1; m < 10; ++m) {
            offer_minor(t, a, m * pow(10, k));
            if (mirrored) offer_minor(t, a, -m * pow(10, k));
        }
}

void ticks_make(ticks *t, const axis *a, int wanted) {
    *t = (ticks){0};
    if (wanted < 2) wanted = 2;
    if (wanted > TICKS_MAX / 2) wanted = TICKS_MAX / 2;
    if (a->scale != SCALE_LINEAR) {
        decade_ticks(t, a, wanted);
        if (t->count >= 3 || a->span > 0.8) return;
        *t = (ticks){0}; /* too narrow a range for powers of ten */
    }
    linear_ticks(t, a, wanted);
}
