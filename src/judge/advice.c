/* The three sentences that a judgement begins with: how good the model is, whether it is calibrated, and what
 * to do. */
#include "base/number.h"
#include "judge/judge.h"
#include <math.h>
#include <string.h>

#define LINEAR "a linear regression with Gaussian errors"

int judge_against_linear(const judgement *j) {
    if (!isfinite(j->linear_gain)) return 0;
    return j->linear_gain > 2 * j->linear_error ? 1 : j->linear_gain < -2 * j->linear_error ? -1 : 0;
}

/* ---- warnings ---- */

void judge_warning(const judgement *j, char *out, size_t size) {
    out[0] = 0;
    if (j->worse)
        format_text(out, size,
                    "The loss is %.4g, worse than the %.4g of a Gaussian with the data's means and "
                    "deviations: training "
                    "diverged or was too short, and this model is of no use.",
                    j->terms.value[TERM_TOTAL], j->gaussian);
}

void judge_doubt(const judgement *j, const model *m, char *out, size_t size) {
    int joint = j->has_data && m->units.dim_y > 0 && !recipe_is(m->recipe, "model.condition", "fixed");
    out[0] = 0;
    if (joint && j->exact && fabs(j->log_dy) > JUDGE_LOOSE_DY)
        format_text(
            out, size,
            "This joint model is not to be trusted: y' does not follow y, log|det dF_Y'/dy| is %.3g instead "
            "of 0, so that its loss and the likelihood by the whole map are off by as much. Train it with "
            "model.condition = fixed, or with train.y_noise.",
            j->log_dy);
    else if (joint && j->y_error > JUDGE_LOOSE_Y)
        format_text(out, size,
                    "This joint model is not to be trusted: y' is %.2g deviations away from y. Train it with "
                    "model.condition = fixed, or with a larger loss.lambda.",
                    j->y_error);
}

/* ---- how good ---- */

static void add_linear(const judgement *j, text *t) {
    double errors = fabs(j->linear_gain) / fmax(j->linear_error, 1e-300);
    int than = judge_against_linear(j);
    if (than == 0)
        text_add(t, "The model is as good as " LINEAR ": the difference is %.3g of its standard errors",
                 errors);
    else
        text_add(t, "The model is %s than " LINEAR " by %.4g nats, %.1f standard errors",
                 than > 0 ? "better" : "worse", fabs(j->linear_gain), errors);
}

static void add_how_good(const judgement *j, const model *m, text *t) {
    if (j->worse)
        text_add(t, "The model is of no use: its loss is %.4g, a Gaussian's %.4g", j->terms.value[TERM_TOTAL],
                 j->gaussian);
    else if (isfinite(j->linear_gain))
        add_linear(j, t);
    else if (isfinite(j->image.floor) && !j->image.enlarged_h)
        text_add(t, "The model has %.4f nats per dimension, a linear-Gaussian model of the same data %.4f",
                 j->nats_per_dim, j->image.floor);
    else if (isfinite(j->gaussian))
        text_add(t, "The loss of the model is %.4g, that of a Gaussian %.4g", j->terms.value[TERM_TOTAL],
                 j->gaussian);
    else
        text_add(t, "The mean of -log p(x|y) is %.4g nats, with nothing to compare it with", j->nll);
    if (isfinite(j->entropy))
        text_add(t, "; it misses %.4f nats of what can be known of x", j->nll - j->entropy);
    else if (m->units.image.h > 0 && isfinite(j->image.coverage_90))
        text_add(t, "; the truth is inside of the middle 90%% of its samples in %.1f%% of all cases",
                 100 * j->image.coverage_90);
    text_add(t, ".");
}

/* ---- calibrated or not ---- */

static void add_calibrated(const judgement *j, const model *m, text *t) {
    if (j->calibration_words)
        text_add(t, "%s", j->calibration_words);
    else if (m->units.image.h > 0)
        text_add(t, "Calibration is judged of models of vectors alone.");
    else
        text_add(
            t,
            "Whether the answers are calibrated cannot be told: %ld row%s to judge on, at least %d needed.",
            j->points, j->points == 1 ? "" : "s", CALIBRATION_LEAST);
}

/* ---- what to do ---- */

/* Begins a remedy. */
static text *remedy(text *t, int *count) {
    text_add(t, "%s", (*count)++ ? " " : "");
    return t;
}

static void add_calibration_remedy(const judgement *j, const model *m, text *t, int *count) {
    if (m->units.image.h > 0) return;
    if (j->calibration.rows == 0) {
        if (j->available >= CALIBRATION_LEAST)
            text_add(remedy(t, count),
                     "To see whether it is calibrated, judge on %d points or more (--points).",
                     CALIBRATION_LEAST);
        else
            text_add(remedy(t, count),
                     "To see whether it is calibrated, hold out %d rows or more (data.validation, a share of "
                     "the rows, when "
                     "training), or judge on a table of its own (--test).",
                     CALIBRATION_LEAST);
        return;
    }
    if (calibration_is_good(&j->calibration) || judge_is_overfit(j)) return;
    text_add(
        remedy(t, count),
        "Answers that are not calibrated are helped by more rows to train on, more train.epochs, and then "
        "more model.blocks or a larger model.width.");
}

#define INTEGRAL_OFF 0.05

/* The density of x given each class, or a few values of y, summed over the plane. */
static void add_integral_remedy(const judgement *j, text *t, int *count) {
    double worst = 1;
    for (int c = 0; c < j->classes; c++) {
        double integral = j->by_class[c].integral;
        if (fabs(integral - 1) > fabs(worst - 1)) worst = integral;
    }
    if (fabs(worst - 1) > INTEGRAL_OFF)
        text_add(
            remedy(t, count),
            "Its density integrates to %.3g instead of 1 over the plane: log p is off by as much, or has "
            "peaks or tails that the grid of the sum misses.",
            worst);
}

static void add_remedies(const judgement *j, const model *m, text *t, int *count) {
    char doubt[512];
    if (j->worse)
        text_add(
            remedy(t, count),
            "See in history.csv whether the loss rose: lower train.rate or set train.clip; if it did not, "
            "train for longer.");
    judge_doubt(j, m, doubt, sizeof doubt);
    if (doubt[0])
        text_add(remedy(t, count),
                 "Trust no density of it before y' follows y: train with model.condition = fixed.");
    add_integral_remedy(j, t, count);
    if (judge_is_overfit(j))
        text_add(remedy(t, count),
                 "It overfits: the mean of log p is %.2f on rows trained on and %.2f nats on held-out ones. "
                 "More rows help; "
                 "otherwise a smaller model.width, fewer model.blocks or a larger train.weight_decay.",
                 -j->training_nll, -j->nll);
    if (model_was_cut_short(m))
        text_add(
            remedy(t, count),
            "The held-out loss was still falling when training ended: train again with more train.epochs.");
    if (judge_against_linear(j) < 0 && !judge_is_overfit(j) && !j->worse)
        text_add(remedy(t, count), "Use the linear regression, or train on more rows.");
    if (isfinite(j->linear_gain) && judge_against_linear(j) == 0)
        text_add(remedy(t, count),
                 "More rows, or columns of y that say more of x, would have to show what a linear regression "
                 "does not know.");
    add_calibration_remedy(j, m, t, count);
    if (!j->unseen)
        text_add(
            remedy(t, count),
            "It was judged on the rows it was trained on: hold some out (data.validation) to learn how it "
            "does on others.");
}

jf_status judge_advise(judgement *j, const model *m) {
    text of[JUDGE_ADVICE] = {{0}};
    int count = 0;
    jf_status status = JF_OK;
    if (!j->has_data) return JF_OK;
    add_how_good(j, m, &of[0]);
    add_calibrated(j, m, &of[1]);
    add_remedies(j, m, &of[2], &count);
    if (count == 0) text_add(&of[2], "Nothing needs to be done: no test found a fault.");
    for (int i = 0; i < JUDGE_ADVICE; i++) {
        if (status == JF_OK) status = text_check(m->ctx, &of[i]);
        j->advice[i] = of[i].chars; /* owned from here on, whether complete or not */
    }
    return status;
}
