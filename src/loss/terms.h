/* The terms that an objective reports of a batch, each named here and nowhere else: progress, history.csv,
 * checkpoints, judging and the report follow this list. A new term is a line at its end and its value in the
 * objectives that have it; it is 0 in the others.
 *
 *     identifier, column of history.csv, role, what it is in a few words
 *
 * The loss is the sum of the parts; what is watched is shown beside it. */
#ifndef JF_LOSS_TERMS_H
#define JF_LOSS_TERMS_H

#define LOSS_TERMS(X)                                                                                        \
    X(TOTAL, "loss", WHOLE, "sum of its parts")                                                              \
    X(Z, "z", PART, "-log p_Z(F_Z)")                                                                         \
    X(Y, "y", PART, "lambda d(F_Y', y)")                                                                     \
    X(LOGDET, "logdet", PART, "-log|det J|")                                                                 \
    X(Y_ERROR, "y_error", WATCHED, "mean |F_Y' - y|")

typedef enum term_id {
#define X(id, name, role, about) TERM_##id,
    LOSS_TERMS(X)
#undef X
        TERM_COUNT
} term_id;

typedef enum term_role { TERM_IS_WHOLE, TERM_IS_PART, TERM_IS_WATCHED } term_role;

typedef struct term_info {
    const char *name, *about;
    term_role role;
} term_info;
extern const term_info loss_term_info[TERM_COUNT];

/* Means over the samples of a batch, or whatever else they are taken over. All doubles, so that checkpoints
 * hold them as they are. */
typedef struct loss_terms {
    double value[TERM_COUNT];
} loss_terms;

void loss_terms_total(loss_terms *t); /* the whole from its parts */
void loss_terms_add(loss_terms *sums, const loss_terms *t);
loss_terms loss_terms_mean(const loss_terms *sums, double n);

#endif
