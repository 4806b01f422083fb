/* Whether the answers of a model are as uncertain as they should be, judged without knowing the true
 * posterior.
 *
 * Of a pair (x, y) of the data and samples of p(x | y), x is one more sample if the model is right. So is the
 * rank of whatever is computed of it among the same of the samples: all ranks are equally likely. Three kinds
 * of such numbers are ranked:
 *
 *     every coordinate of x               simulation-based calibration (SBC)
 *     the density at x                    expected coverage of the regions of highest density
 *     the distance from a random point    tests of accuracy with random points (TARP)
 *
 * The distribution function of the ranks is compared with the diagonal, beside a band that holds all of it,
 * of all numbers of all three kinds together, in 96 of 100 cases of a right model (calibration_bands.c); in
 * 99 of 100 no region of y is named, either. So a right model is called calibrated in 95 of 100 cases or
 * more, however many coordinates and conditions it has. */
#ifndef JF_JUDGE_CALIBRATION_H
#define JF_JUDGE_CALIBRATION_H

#include "model/model.h"

#define CALIBRATION_SAMPLES 99 /* of each condition: ranks 0 .. 99 */
#define CALIBRATION_RANKS   (CALIBRATION_SAMPLES + 1)
#define CALIBRATION_ROWS    1000 /* pairs, at most */
#define CALIBRATION_LEAST   100  /* and at least: fewer show nothing */

/* How often a right model may be called something else: because a line leaves the band, or because of a
 * region. */
#define CALIBRATION_LEVEL        0.04
#define CALIBRATION_REGION_LEVEL 0.01

typedef enum calibration_verdict {
    CALIBRATED,
    OVER_CONFIDENT,  /* the truth is too often far out among the samples */
    UNDER_CONFIDENT, /* too often in their middle */
    BIASED_LOW,      /* the samples are too low */
    BIASED_HIGH,
    MISSHAPEN /* none of these alone */
} calibration_verdict;
extern const char *const calibration_words[]; /* by verdict */

/* Of the ranks of one number. */
typedef struct rank_fit {
    double ecdf[CALIBRATION_RANKS]; /* share of ranks up to i */
    double deviation;               /* largest |ecdf - (i + 1)/ranks| */
    double outside;                 /* by how much the band is left, at most; 0: it is inside */
    double of_band; /* largest share of the way from the diagonal to the edge of the band; 1: the edge */
    calibration_verdict verdict;
} rank_fit;

/* Where in y the answers are furthest from calibrated, if more than chance explains (calibration_regions.c):
 * a third of the rows by one column of y, or a class. */
typedef struct calibration_region {
    long rows;     /* of the region; 0: there is none */
    int number;    /* what is off: a coordinate of x, or coordinates: the density */
    int column;    /* of y; -1: a class */
    int part;      /* 0: the lowest third, 1, 2: the highest; or the class */
    double lo, hi; /* the column's values there, in the data's units */
    double off;    /* of the mean of the ranks, or of their spread, in standard errors */
    double limit;  /* what all that are compared stay below in 99 of 100 cases of a right model */
    int compared;  /* how many there are */
    calibration_verdict verdict;
} calibration_region;

typedef struct calibration {
    long rows;                                              /* 0: not judged */
    int coordinates;                                        /* of x */
    double low[CALIBRATION_RANKS], high[CALIBRATION_RANKS]; /* the band of all numbers together */
    rank_fit *sbc;                                          /* (coordinates) */
    rank_fit hpd, tarp;                                     /* of the density, of the distance */
    double coverage_50,
        coverage_90; /* how often the truth lies in the region of highest density of that size */
    calibration_region region;
} calibration;

/* Ranks of all numbers of all candidates of a pair, the truth and then its samples, among each other:
 * (numbers, rows, CALIBRATION_RANKS); the coordinates first, then the density, then the distance. */
typedef struct candidate_ranks {
    int numbers;
    long rows;
    unsigned char *of;
} candidate_ranks;

static inline int candidate_rank(const candidate_ranks *r, int number, long row, int candidate) {
    return r->of[((size_t)number * (size_t)r->rows + (size_t)row) * CALIBRATION_RANKS + (size_t)candidate];
}

/* rows (n, dim): pairs in the model's units. temperature: of the latent points that samples are drawn from.
 */
jf_status calibration_create(const model *m, calibration *out, long n, const double *rows, uint64_t seed,
                             double temperature);
void calibration_free(calibration *c);
/* The band of the distribution functions, low and high (CALIBRATION_RANKS). */
jf_status calibration_find_band(jf_context *ctx, const candidate_ranks *of, uint64_t seed, double *low,
                                double *high);
/* ranks (dim_x + 1, n): of the coordinates and the density, for rows (n, dim) in the model's units. */
jf_status calibration_find_region(const model *m, calibration_region *out, long n, const double *rows,
                                  const int *ranks);
/* "calibrated", or what is wrong, in which coordinate and for which y, by the names of the columns; yours to
 * free. */
jf_status calibration_tell(const model *m, const calibration *c, char **out);
/* The name of a column, or its place: "x0"; written into `place` (32). */
const char *calibration_name(const model *m, int element, char *place, size_t size);
int calibration_is_good(const calibration *c);
/* Distribution functions minus the diagonal with their bands, three panels. */
jf_status calibration_draw(jf_context *ctx, const calibration *c, const char *path);

#endif
