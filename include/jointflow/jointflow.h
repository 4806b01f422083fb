/* jointflow: learns the whole distribution p(x | y) of answers to an ill-posed problem.
 *
 *     jf_context *ctx;  jf_recipe *recipe;  jf_model *model;
 *     jf_context_create(&ctx);
 *     jf_recipe_load(ctx, &recipe, "crescents.ini");
 *     jf_train(ctx, &model, recipe, &(jf_train_options){.folder = "run"});
 *     jf_sample(model, 100, y, x, NULL, NULL, &(jf_use_options){.seed = 1});
 *
 * Rules: `**out` comes early and is yours to free with the matching jf_..._free; returned pointers are
 * borrowed. Functions that can fail return a jf_status, negative on failure; the message is then at
 * jf_context_error(). The library never prints, exits or aborts. A context and what was made with it belong
 * to one thread at a time; contexts are independent.
 *
 * Arrays are dense and row-major, one row a sample: x (n, dim_x), y (n, dim_y), z (n, dim_x), y' (n, dim_y).
 */
#ifndef JOINTFLOW_H
#define JOINTFLOW_H

#include "jointflow/status.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JF_VERSION "0.1.0"
const char *jf_version(void);
const char *jf_status_name(jf_status status); /* "JF_ERROR_IO" */
const char *jf_status_text(jf_status status); /* a sentence */

/* ---- context: where messages go ---- */
typedef struct jf_context jf_context;
typedef void (*jf_log_fn)(void *user, const char *line);
jf_status jf_context_create(jf_context **out);
void jf_context_free(jf_context *ctx);
void jf_context_set_log(jf_context *ctx, jf_log_fn log, void *user); /* lines for people; none by default */
const char *jf_context_error(const jf_context *ctx); /* the last failure, "" before the first */

/* ---- recipes: what to learn, and how ---- */
typedef struct jf_recipe jf_recipe;
/* A path, or the name of a recipe that came with the program ("crescents", "paper/sectors"). */
jf_status jf_recipe_load(jf_context *ctx, jf_recipe **out, const char *path);
jf_status jf_recipe_parse(jf_context *ctx, jf_recipe **out, const char *text, const char *name);
jf_status jf_recipe_set(jf_recipe *r, const char *key,
                        const char *value);                     /* "train.rate"; checked at its use */
const char *jf_recipe_get(const jf_recipe *r, const char *key); /* NULL: no such key */
/* All keys with their values, as recipe text; with_docs: each with what it means and allows. Yours to free().
 */
jf_status jf_recipe_text(const jf_recipe *r, char **out, int with_docs);
void jf_recipe_free(jf_recipe *r);
/* The recipes that came with the program, one a line: name, tab, what it is for. Yours to free(). */
jf_status jf_recipe_list(jf_context *ctx, char **out);

/* ---- devices ---- */
const char *jf_device_name(int index);    /* NULL past the last */
const char *jf_device_summary(int index); /* one line */

/* ---- models ---- */
typedef struct jf_model jf_model;
typedef struct jf_device_options {
    const char *device; /* NULL: the default, "cpu" */
    int threads;        /* 0: all processors */
} jf_device_options;
/* A model file, or a run folder that has one. options may be NULL. */
jf_status jf_model_load(jf_context *ctx, jf_model **out, const char *path, const jf_device_options *options);
jf_status jf_model_save(const jf_model *m, const char *path);
void jf_model_free(jf_model *m);
int jf_model_dim_x(const jf_model *m);
int jf_model_dim_y(const jf_model *m);
int jf_model_classes(const jf_model *m); /* > 0: y is one of so many labels */
double jf_model_label(const jf_model *m, int class_index);
const char *jf_model_class_name(const jf_model *m, int class_index); /* "" where it has none */
jf_status jf_model_info(const jf_model *m, char **out); /* a description for people; yours to free() */

/* ---- training ---- */
typedef struct jf_progress {
    const char *phase; /* "precondition", "anneal", "train" */
    int epoch, epochs, batch, batches;
    int epoch_ended; /* terms are means over the whole epoch; otherwise over its batches so far */
    long step;
    double loss, z, y, logdet; /* loss = z + y + logdet */
    double y_error;            /* mean |F_Y' - y| per element, model units */
    double best;               /* best loss of the phase so far, INFINITY before its first epoch ends */
    double rate, seconds, seconds_left;
    double ks_median, ks_max; /* latent histograms against N(0,1), last measurement; NAN before */
} jf_progress;

typedef struct jf_train_options {
    const char *folder; /* run folder: model, checkpoint, history, recipe; NULL: nothing is written */
    int resume;         /* continue the run in `folder` exactly where it stopped */
    uint64_t seed;
    jf_device_options device;
    void (*progress)(void *user, const jf_progress *progress); /* after every batch; may be NULL */
    void *user;
    const volatile int
        *stop; /* set to non-zero from anywhere (a signal handler): stops after the batch, saves */
} jf_train_options;
/* JF_STOPPED where `stop` was seen: *out is then the best model so far and the run can be resumed. */
jf_status jf_train(jf_context *ctx, jf_model **out, const jf_recipe *r, const jf_train_options *options);

/* ---- use ---- */
typedef struct jf_use_options {
    uint64_t seed;
    int standardised; /* values are in the model's units (mean 0, deviation 1) instead of the data's */
} jf_use_options;
/* x ~ p(x | y) for each row of y. y_back (n, dim_y): F_Y^-1(z, y), which should equal y; z (n, dim_x): the
 * latent points. Both may be NULL, options too. */
jf_status jf_sample(const jf_model *m, int n, const double *y, double *x, double *y_back, double *z,
                    const jf_use_options *options);
jf_status jf_encode(const jf_model *m, int n, const double *x, const double *y, double *z, double *y_out,
                    const jf_use_options *options);
jf_status jf_decode(const jf_model *m, int n, const double *z, const double *y, double *x, double *y_back,
                    const jf_use_options *options);

typedef struct jf_density_summary {
    double mean;         /* of log p(x | y), nats */
    double sampler_mean; /* of the density that jf_sample draws from, NAN where it was not computed */
    double whole_mean;   /* with the log-determinant of the whole map in the block's place */
    double y_error;      /* mean |F_Y' - y| per element, model units: no density without it */
    double log_dy;       /* mean log |det dF_Y'/dy|; 0 where y' follows y */
    int exact; /* from the Jacobian (few dimensions); 0: the whole map's log-determinant stands in */
} jf_density_summary;
/* log p(x | y) = log p_Z(F_Z) + log |det dF_Z/dx| of each row. */
jf_status jf_density(const jf_model *m, int n, const double *x, const double *y, double *log_p,
                     jf_density_summary *summary, const jf_use_options *options);

/* ---- judging ---- */
typedef struct jf_judgement jf_judgement;
typedef struct jf_judge_options {
    int points; /* fresh points; 0: 50000 */
    uint64_t seed;
} jf_judge_options;
jf_status jf_judge(const jf_model *m, jf_judgement **out, const jf_judge_options *options);
const char *jf_judgement_json(const jf_judgement *j); /* one object, one line */
const char *jf_judgement_text(const jf_judgement *j); /* a table for people */
void jf_judgement_free(jf_judgement *j);
/* Pictures, judgement and report.html of a model into a run folder (history.csv there is drawn too). */
jf_status jf_report(const jf_model *m, const jf_judgement *j, const char *folder);

/* ---- figures of the paper ---- */
typedef struct jf_figure_options {
    const char *folder; /* pictures and the models that were trained for them go here */
    const char *const
        *models; /* run folders or model files to use instead of training, in the figure's order */
    int model_count;
    jf_train_options train; /* seed, device, progress, stop */
} jf_figure_options;
const char *jf_figure_name(int index); /* NULL past the last */
const char *jf_figure_summary(int index);
jf_status jf_figure(jf_context *ctx, const char *name, const jf_figure_options *options);

/* ---- measuring speed ---- */
typedef struct jf_bench_result {
    double train_samples_per_s, sample_samples_per_s, peak_memory_mib;
    int batch, steps;
    char device[96]; /* "cpu (float, avx512, 2 threads)" */
} jf_bench_result;
/* batch 0: the recipe's; seconds: how long each of the two measurements lasts, 0: 3. */
jf_status jf_bench(jf_context *ctx, const jf_recipe *r, const jf_device_options *options, int batch,
                   double seconds, jf_bench_result *out);

/* ---- tables: .csv or .npy ---- */
typedef struct jf_table {
    double *values; /* (rows, columns) */
    size_t rows, columns;
} jf_table;
jf_status jf_table_read(jf_context *ctx, jf_table *out,
                        const char *path); /* refuses values that are not finite */
/* names: `columns` column names for .csv; may be NULL */
jf_status jf_table_write(jf_context *ctx, const jf_table *t, const char *const *names, const char *path);
void jf_table_free(jf_table *t);
/* A picture of samples: a panel for each different y (the first two x against each other, or histograms of
 * x0). */
jf_status jf_draw_samples(const jf_model *m, int n, const double *x, const double *y, const char *path);

#ifdef __cplusplus
}
#endif

#endif
