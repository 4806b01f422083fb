/* Whether the answers of a model are as uncertain as they should be, judged without knowing the true posterior.
 *
 * Of a pair (x, y) of the data and samples of p(x | y), x is one more sample if the model is right. So is the rank of whatever
 * is computed of it among the same of the samples: all ranks are equally likely. Three kinds of such numbers are ranked:
 *
 *     every coordinate of x               simulation-based calibration (SBC)
 *     the density at x                    expected coverage of the regions of highest density
 *     the distance from a random point    tests of accuracy with random points (TARP)
 *
 * The distribution function of the ranks is compared with the diagonal, beside a band that holds all of it, of all numbers of
 * one kind together, in 95 of 100 cases of a right model. */
#ifndef JF_JUDGE_CALIBRATION_H
#define JF_JUDGE_CALIBRATION_H

#include "model/model.h"

#define CALIBRATION_SAMPLES 99 /* of each condition: ranks 0 .. 99 */
#define CALIBRATION_RANKS   (CALIBRATION_SAMPLES + 1)
#define CALIBRATION_ROWS    1000 /* pairs, at most */
#define CALIBRATION_LEAST   100  /* and at least: fewer show nothing */

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

typedef struct calibration {
    long rows;                                                      /* 0: not judged */
    int coordinates;                                                /* of x */
    double low[CALIBRATION_RANKS], high[CALIBRATION_RANKS];         /* the band of one number, */
    double sbc_low[CALIBRATION_RANKS], sbc_high[CALIBRATION_RANKS]; /* and of all coordinates together */
    rank_fit *sbc;                                                  /* (coordinates) */
    rank_fit hpd, tarp;                                             /* of the density, of the distance */
    double coverage_50,
        coverage_90; /* how often the truth lies in the region of highest density of that size */
} calibration;

/* rows (n, dim): pairs in the model's units. temperature: of the latent points that samples are drawn from. */
jf_status calibration_create(const model *m, calibration *out, long n, const double *rows, uint64_t seed,
                             double temperature);
void calibration_free(calibration *c);
/* "calibrated", or what is wrong and in which coordinate; yours to free. */
jf_status calibration_tell(jf_context *ctx, const calibration *c, char **out);
int calibration_is_good(const calibration *c);
/* Distribution functions minus the diagonal with their bands, three panels. */
jf_status calibration_draw(jf_context *ctx, const calibration *c, const char *path);

#endif
