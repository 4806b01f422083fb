/* One axis: its limits, its scale, and ticks at round numbers. Knows nothing of the canvas. */
#ifndef JF_DRAW_AXIS_H
#define JF_DRAW_AXIS_H

typedef enum axis_scale { SCALE_LINEAR, SCALE_LOG, SCALE_SYMLOG } axis_scale;

typedef struct axis {
    axis_scale scale;
    double min, max;   /* finite, min < max; positive on a log scale */
    double from, span; /* scaled min; scaled max - scaled min */
} axis;

axis axis_make(double min, double max, axis_scale scale); /* replaces limits that make no axis */
double axis_place(const axis *a, double value); /* 0 at min, 1 at max; NAN where the scale has no place */
double axis_value(const axis *a, double place); /* the inverse */

#define TICKS_MAX       32
#define TICKS_MINOR_MAX 128

typedef struct ticks {
    int count, minor_count;
    double place[TICKS_MAX], minor_place[TICKS_MINOR_MAX]; /* 0 .. 1 */
    char label[TICKS_MAX][32];
    char factor[32]; /* by which all labels are to be multiplied: "x10^5" with real signs; often "" */
} ticks;

/* At most about `wanted` labelled ticks, at 1, 2 or 5 times a power of ten. */
void ticks_make(ticks *t, const axis *a, int wanted);

#endif
