/* Making a model ready to be given away: its file, compared with the model it was made of, and its card. */
#ifndef JF_JUDGE_PACK_H
#define JF_JUDGE_PACK_H

#include "judge/judge.h"

#define PACK_TOLERANCE 0.002 /* by default, nats per dimension: a tenth of what a y error of 2e-4 costs */

/* Writes the file and the card, or neither: refused where the packed model is judged worse than the tolerance
 * allows. path: NAME.safetensors; the card is NAME.md. declare_all: every key that a recipe may have. `told`
 * gets the comparison, a table for people; nothing where weights stay whole. */
jf_status pack_model(const model *m, const char *path, const jf_pack_options *options, declare_fn declare_all,
                     text *told);

/* ---- compare.c ---- */

/* Two judgements of the same points side by side: a table. */
void judgements_compare(const judgement *before, const judgement *after, text *out);
/* How much worse the loss is, nats per dimension of x. */
double judgements_worse_by(const judgement *before, const judgement *after, int dim_x);

/* ---- card.c ---- */

typedef struct card_facts {
    const char *name; /* of the model */
    const char
        *called;      /* how commands call it: by its name where it comes with the program, or by its path */
    const char *file; /* without its folders */
    const char *sha256;     /* of the file */
    size_t bytes;           /* of the file */
    int half;               /* how weights are stored */
    const char *comparison; /* "" or the table of judgements_compare */
    const char *run;        /* run folder, or NULL */
} card_facts;
/* What a model is, what it was trained on, how it was made and its numbers, as Markdown. All of it follows
 * from the model itself, its history and its judgement. */
jf_status card_write(const model *m, const judgement *j, const card_facts *facts, text *out);

#endif
