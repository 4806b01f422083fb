/* jointflow: learns the whole distribution p(x | y) of answers to an ill-posed problem.
 *
 *     jf_context *ctx;  jf_recipe *recipe;  jf_model *model;
 *     jf_context_create(&ctx);
 *     jf_recipe_load(&recipe, ctx, "crescents.ini");
 *     jf_train(&model, ctx, recipe, &(jf_train_options){.size = sizeof(jf_train_options), .folder = "run"});
 *     jf_sample(model, 100, y, x, NULL, NULL, &(jf_use_options){.size = sizeof(jf_use_options), .seed = 1});
 *
 * Rules. `**out` comes first and is yours to free with the matching jf_..._free(); it is NULL where a call
 * fails. Returned pointers are borrowed. Every jf_..._free() takes NULL. Functions that can fail return a
 * jf_status: negative on failure, JF_STOPPED (positive) where the progress callback of the context asked for
 * it; the message is then at jf_context_error(), where each thread finds its own. The library never prints,
 * exits or aborts.
 *
 * NULL. Every argument is needed, except for options, titles, callbacks' `user`, arrays of 0 rows, and what a
 * comment says may be NULL: JF_ERROR_ARGUMENT otherwise, and a message that names it where there is a
 * context. A function that returns no status gives 0, NAN, "" or NULL of NULL.
 *
 * Structs. One that begins with `size` may grow in later versions, at its end: the caller sets it to sizeof,
 * options and results alike, and leaves all else that it does not know of 0, which is the default. Where
 * there are options NULL stands for all defaults. Structs without `size` will not change, except for those
 * that the library makes and hands to a callback.
 *
 * Threads. A context, a model, a recipe, data and a judgement may be used by any number of threads at once,
 * by every function that takes them as const, or that makes something new with them; each gets what it would
 * get alone. Whatever is changed or freed belongs to one thread while that is done: a recipe that is set, a
 * context whose log or progress is set, data that are named, a model that jf_model_set_data() changes.
 * One training into a folder at a time; two at once into two folders are fine. Callbacks are called by the
 * thread that made the call.
 *
 * Forks. In a forked child every function returns, jf_..._free() too, whatever other threads of its parent
 * did at the time of the fork; the child computes on the threads that call, and a device with memory of its
 * own refuses (JF_ERROR_DEVICE). Two things are not promised: a child that draws or fetches while another
 * thread of its parent did, since their libraries have locks, and one that returns from a callback of its
 * parent's call: it has to end, or to execute another program, inside of it. A training refuses to go on
 * there, and the run of the parent stays as it is. Ranks are of the parent alone.
 *
 * Lives. A handle keeps what it was made with: models keep their context and their data, recipes their
 * context. So handles may be freed in any order; the context itself goes when the last of them does.
 *
 * Arrays are dense and row-major, one row per sample: x (n, dim_x), y (n, dim_y), z (n, dim_x), y' (n,
 * dim_y). Numbers that are given have to be finite, and no function that succeeds gives others, with two
 * exceptions: the NAN of what does not apply where a comment says so, and the log p of an x outside of its
 * support, which is -infinity (jf_density). A row whose answer is not finite otherwise is refused, and the
 * message names it.
 */
#ifndef JOINTFLOW_H
#define JOINTFLOW_H

#include "jointflow/context.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default) /* what the public headers declare is all that a library exports */
#endif

#define JF_VERSION       "0.1.0"
#define JF_VERSION_MAJOR 0
#define JF_VERSION_MINOR 1
#define JF_VERSION_PATCH 0
const char *jf_version(void); /* of the library that is linked; JF_VERSION: of the header */
/* Whether the library is of this version or a later one that a program compiled for it can use: of the same
 * major version, and before 1.0 of the same minor version. jf_version_check(JF_VERSION_MAJOR,
 * JF_VERSION_MINOR, JF_VERSION_PATCH) */
int jf_version_check(int major, int minor, int patch);

/* Texts that functions give. */
void jf_text_free(char *chars);

/* ---- several processes: ranks that a launcher (mpirun, srun) has started ---- */
typedef struct jf_ranks_options {
    size_t size;
    int ranks;    /* how many there have to be; 0: any number */
    double limit; /* seconds without a sign of life after which a rank is lost; 0: 20 */
} jf_ranks_options;
/* Joins the processes that were started together with this one, before anything else is done with the
 * context, by the thread that will use it: what follows is shared by all of them, which make the same calls
 * in the same order. Does nothing where there is no launcher. They leave when the context goes, for which all
 * of them wait. */
jf_status jf_ranks_join(jf_context *ctx, const jf_ranks_options *options);
int jf_ranks_rank(const jf_context *ctx); /* of this process, from 0; rank 0 alone writes files, and its
                                             progress is asked */
int jf_ranks_size(const jf_context *ctx); /* 1: there are no others */
int jf_ranks_have_failed(
    const jf_context *ctx); /* whether all have agreed on a failure, which rank 0 is to tell */
/* Work of which each process does another part: apart, what a process calls is its own, with files of its
 * own, until it is together with the others again. Taking gives numbers 0, 1, 2, ..., each to one process, so
 * that whoever has time takes the next piece; rank 0 answers while it waits or works in the library. Summing
 * and comparing is for all of them, together: the sums of all in place of the values, and a failure that
 * names the first rank whose text is not that of rank 0. */
jf_status jf_ranks_set_apart(jf_context *ctx, int apart);
jf_status jf_ranks_take(jf_context *ctx, uint64_t *number);
jf_status jf_ranks_sum(jf_context *ctx, double *values, size_t count);
jf_status jf_ranks_same(jf_context *ctx, const char *what, const char *mine);
/* After a failure of this process alone: ends all of them, this one too, with that exit status. Returns where
 * there is one. */
void jf_ranks_end(jf_context *ctx, int status);

/* ---- data in memory: what a program has in arrays needs no file ---- */
/* A handle of rows of x and y. Recipes, models and calls that it is given to keep it alive by themselves, so
 * that it may be freed at any time. Its values are read while anybody keeps it, by any number of threads, and
 * must not change. */
typedef struct jf_data jf_data;
typedef enum jf_number_type { JF_FLOAT = 1, JF_DOUBLE = 2 } jf_number_type;
/* An array (rows, columns) of the caller's, which is not copied. This struct will not change. */
typedef struct jf_array {
    const void *values;
    jf_number_type type;
    size_t rows, columns;
    /* Bytes from a row to the next and from a column to the next, of either sign; both 0: dense, row by row.
     */
    ptrdiff_t row_stride, column_stride;
} jf_array;
/* y NULL: there is no condition. The arrays stay in place until jf_data_on_release() says that they are not
 * read any more. */
jf_status jf_data_create(jf_data **out, jf_context *ctx, const jf_array *x, const jf_array *y);
/* Rows that a callback fills, once and here, a few at a time and in their order: rows first .. first + count
 * - 1 of x (count, dim_x) and of y (count, dim_y). They are kept as doubles. It returns non-zero to stop:
 * JF_STOPPED. */
typedef int (*jf_fill_fn)(void *user, size_t first, size_t count, double *x, double *y);
jf_status jf_data_fill(jf_data **out, jf_context *ctx, size_t rows, size_t dim_x, size_t dim_y,
                       jf_fill_fn fill, void *user);
/* Before it is used: names of the columns of x, then of y, as many as there are; they are copied. NULL: they
 * have none. */
jf_status jf_data_set_names(jf_data *d, const char *const *names);
/* The one column of y holds the numbers 0, 1, ... of `count` classes with these names, which are copied. */
jf_status jf_data_set_classes(jf_data *d, const char *const *names, size_t count);
/* Before it is used: each y is a series (steps, channels) or an image (h, w) or (h, w, channels), in C order;
 * count sizes, the product of which is the number of its columns. jf_recipe_for_table() then chooses an
 * embedding for it (model.embed). */
jf_status jf_data_set_y_shape(jf_data *d, const size_t *sizes, size_t count);
/* Before it is used: called once nobody keeps the data any more, by the thread that let go of them last.
 * release NULL: nothing is. */
void jf_data_on_release(jf_data *d, void (*release)(void *user), void *user);
void jf_data_free(jf_data *d);

/* ---- recipes: what to learn, and how ---- */
typedef struct jf_recipe jf_recipe;
/* A path, or the name of a recipe that came with the program ("crescents", "paper/sectors"). */
jf_status jf_recipe_load(jf_recipe **out, jf_context *ctx, const char *path);
jf_status jf_recipe_parse(jf_recipe **out, jf_context *ctx, const char *chars, const char *name);
/* A table that comes without a recipe: sizes, law, epochs and regularisation follow from its dimensions and
 * the number of its rows. Files are text (.csv, .tsv, .txt) or .npy, an array (rows, columns); one of both,
 * or one of x and one of y, row by row. A .npy file of y may have one or two axes more: series (rows, steps,
 * channels) or images (rows, h, w) and (rows, h, w, channels), which get an embedding (model.embed). Three
 * axes are those of series where these have at least four times as many steps as channels. Rows with a
 * missing value are left out when the table is opened, with a warning that counts them; the key data.missing
 * = refuse makes an error of them. */
typedef struct jf_table_request {
    size_t size;                       /* sizeof(jf_table_request) */
    const char *x, *y;                 /* y NULL: in the file of x, or there is none */
    const char *x_columns, *y_columns; /* by name or number from 1, "a,b"; NULL: all columns of their file */
    int discrete;                      /* y is one column and a class */
    /* Where columns can be, as data.bounds of a recipe; "auto" among them, or NULL: intervals that x fills
     * evenly up to both of its edges are found and taken as its support, which the log says; "none": no
     * bounds but those that are named. */
    const char *bounds;
    /* Rows in memory instead of files, all of their columns: x, y, x_columns and y_columns are then NULL. */
    jf_data *data;
    /* The only column of y stays one number. Otherwise y of more than two classes gets a column of zeros and
     * ones for each (data.one_hot): where discrete says so, or where it is text or its values are whole
     * numbers, at most 20 different ones, each in five rows or more, which the log says. */
    int ordered;
} jf_table_request;
jf_status jf_recipe_for_table(jf_recipe **out, jf_context *ctx, const jf_table_request *request);
jf_status jf_recipe_set(jf_recipe *r, const char *key,
                        const char *value);                     /* "train.rate"; checked at its use */
const char *jf_recipe_get(const jf_recipe *r, const char *key); /* NULL: no such key */
/* Trains on rows in memory: sets data.set = table, data.file = memory, data.x and data.y. The text of a
 * recipe does not hold them: one that was read again, to resume its run, is given them again. */
jf_status jf_recipe_set_data(jf_recipe *r, jf_data *data);
/* All keys with their values, as recipe text; with_docs: each with what it means and allows. Yours to
 * jf_text_free(). */
jf_status jf_recipe_text(char **out, const jf_recipe *r, int with_docs);
void jf_recipe_free(jf_recipe *r);
/* The recipes that came with the program, one per line: name, tab, what it is for. Yours to jf_text_free().
 */
jf_status jf_recipe_list(char **out, jf_context *ctx);

/* ---- devices ---- */
const char *jf_device_name(int index);    /* NULL past the last */
const char *jf_device_summary(int index); /* one line */
/* Whether this machine lacks it, and why, in so many bytes of text; why may be NULL. */
int jf_device_is_missing(int index, char *why, size_t size);

/* ---- models ---- */
typedef struct jf_model jf_model;
typedef struct jf_load_options {
    size_t size;        /* sizeof(jf_load_options) */
    const char *device; /* NULL: the default, jf_device_name(0); "auto": a GPU, if there is one; "cuda:1": the
                           second */
    int threads;        /* 0: all processors */
} jf_load_options;
/* A model file, a run folder that has one, or the name of a model that came with the program. options may be
 * NULL. */
jf_status jf_model_load(jf_model **out, jf_context *ctx, const char *path, const jf_load_options *options);
jf_status jf_model_save(const jf_model *m, const char *path);
/* With weights in half precision: half as large. Refuses weights beyond its range, 65504. */
jf_status jf_model_save_half(const jf_model *m, const char *path);
/* The models that came with the program, one per line: name, tab, what it is. Yours to jf_text_free(). */
jf_status jf_model_list(char **out, jf_context *ctx);
/* The file of what jf_model_load() takes, yours to jf_text_free(). Some names stand for several models, the
 * steps of a super-resolution: file `index` of them; *out is NULL past the last. */
jf_status jf_model_find(char **out, jf_context *ctx, const char *name, int index);
/* The data that a model was trained on, where those were in memory: it keeps them for jf_judge(). A model
 * that was loaded gets them again by this; NULL lets go of them. Changes the model: no other thread uses it
 * meanwhile. */
jf_status jf_model_set_data(jf_model *m, jf_data *data);
void jf_model_free(jf_model *m);
/* The models of super-resolution that make what it draws larger, by the names that its recipe has for them
 * (data.then), as jf_cascade_load() takes them; "": none. Borrowed. */
const char *jf_model_then(const jf_model *m);
int jf_model_dim_x(const jf_model *m);
int jf_model_dim_y(const jf_model *m);
/* How many axes y has to the model, 1 to 3, and their sizes: of a model with an embedding of series (steps,
 * channels), with one of images (h, w, channels), otherwise (dim_y). */
int jf_model_y_shape(const jf_model *m, size_t sizes[3]);
int jf_model_classes(const jf_model *m); /* > 0: y is one of so many labels */
double jf_model_label(const jf_model *m, int class_index);
/* y (dim_y) for a label, or for a number between two of them or beyond, of a model of classes: the number in
 * all elements, or, where y of an image has a plane for each class, straight on from plane to plane. Where y
 * of a table has a column for each class, only its labels have a y. */
jf_status jf_model_y_of_label(const jf_model *m, double label, double *y);
double jf_model_label_of_y(const jf_model *m,
                           const double *y); /* the number that y (dim_y) was made of; NAN: no classes */
const char *jf_model_class_name(const jf_model *m, int class_index); /* "" where it has none */
/* Of the table that it was trained on: element 0 .. dim_x - 1 of x, then those of y; "" where columns had no
 * names. */
const char *jf_model_column_name(const jf_model *m, int element);
jf_status jf_model_info(char **out,
                        const jf_model *m); /* a description for people; yours to jf_text_free() */
/* A command that draws samples, "jointflow sample NAME -y 0.5 -o samples.png": works as it stands in a shell
 * where the program and the model have these names. Yours to jf_text_free(). */
jf_status jf_model_example(char **out, const jf_model *m, const char *program, const char *name);
/* The name of its objective ("joint", "plain", "rule", ...) and of its data set ("" where it has none). */
const char *jf_model_objective(const jf_model *m);
const char *jf_model_data_set(const jf_model *m);

/* ---- where the data of a model are ---- */
/* The range of element 0 .. dim_y - 1 of y in the training data, in their units. JF_ERROR_UNSUPPORTED where
 * it is not known: y is an image. */
jf_status jf_model_y_range(const jf_model *m, int element, double *lo, double *hi);
/* In which way a y (dim_y), the data's units, is unlike those of the training data, a sentence or two; ""
 * where it is not, or where that is not known. Yours to jf_text_free(). */
jf_status jf_y_beyond(char **words, const jf_model *m, const double *y);
/* Mean |y_back - y| per element, model units, of y_back as jf_sample() gives it; rows in the data's units. */
jf_status jf_y_error(const jf_model *m, size_t n, const double *y, const double *y_back, double *out);
/* Rows of the model's own data, in their units: fresh ones of a set that draws its points, otherwise rows to
 * train on, each at most once, shuffled by the seed. class_index: of one class only; -1: all. *found: how
 * many, at most n; x (n, dim_x) and y (n, dim_y) may each be NULL. JF_ERROR_UNSUPPORTED where it has no data,
 * being trained from a rule. */
jf_status jf_data_rows(const jf_model *m, size_t n, int class_index, uint64_t seed, size_t *found, double *x,
                       double *y);

/* Writes a model as a file that answers without this library, in the format that the ending of `path` names:
 * .c, C99 without allocation; .onnx, two graphs, of which the second is NAME.density.onnx. name: what
 * functions or graphs are called, an identifier of C; NULL: after the file. *files: what was written, one per
 * line, yours to jf_text_free(); may be NULL. JF_ERROR_UNSUPPORTED where the format has no place for a part
 * of the model. */
jf_status jf_model_export(char **files, const jf_model *m, const char *path, const char *name);

/* ---- training ---- */
/* The loss, its parts, and what is watched beside them. */
typedef struct jf_term {
    const char *name;  /* as in history.csv: "loss", "z", "y", "logdet", "y_error", ... */
    const char *about; /* a few words */
    double value;      /* mean, nats or model units */
    int part;          /* the loss is the sum of all terms with 1 here */
} jf_term;

/* Where a training stands: jf_progress.training. */
typedef struct jf_training {
    const char *phase; /* "precondition", "anneal", "train" */
    int64_t epoch, epochs, batch, batches;
    int epoch_ended; /* terms are means over the whole epoch; otherwise over its batches so far */
    int64_t step;
    size_t term_count;
    const jf_term *terms; /* (term_count), the loss first; valid during the call */
    double best;          /* best loss of the phase so far, INFINITY before its first epoch ends */
    double rate, seconds, seconds_left;
    double ks_median, ks_max; /* latent histograms against N(0,1), last measurement; NAN before */
    double held_out;          /* loss of held-out rows after the last epoch that ended; NAN: none */
    int64_t best_epoch;       /* of the phase so far, whose weights would be kept; 0: none */
    /* As it is where an epoch has ended, to be looked at during the call (jf_sample, jf_encode, ...); NULL
     * otherwise. */
    const jf_model *model;
} jf_training;

typedef struct jf_train_options {
    size_t size;        /* sizeof(jf_train_options) */
    const char *folder; /* run folder: model, checkpoint, history, recipe; NULL: nothing is written */
    /* Continue the run in `folder` exactly where it stopped; on another device with other roundings, which a
     * warning says. */
    int resume;
    int changed_data; /* of a run that is resumed: go on although its data have changed since; 0: refuse that
                       */
    uint64_t seed;
    const char *device; /* as of jf_load_options */
    int threads;
    /* Steps are taken in slices that ranks share (jf_ranks_join), and so are all sums: 1, 2, 4 or 8 of them
     * have the same bits. Slower than without, where ranks differ in the last bits. */
    int deterministic;
} jf_train_options;
/* The progress callback of the context is called a few times a second and at the end of every epoch, when the
 * device is asked how far it is. JF_STOPPED where it asked for it: *out is then the best model so far and the
 * run can be resumed; NULL where the data were still being read.
 * One call at a time, of all threads and processes, writes into a folder: JF_ERROR_IO, naming the process,
 * where another one does. A run that is in the folder and not resumed is set aside, whole, in old-run in
 * it until the new one has finished. */
jf_status jf_train(jf_model **out, jf_context *ctx, const jf_recipe *r, const jf_train_options *options);

/* ---- use ---- */
typedef struct jf_use_options {
    size_t size; /* sizeof(jf_use_options) */
    uint64_t seed;
    int standardised; /* values are in the model's units (mean 0, deviation 1) instead of the data's */
    int straight;     /* of lines in z alone: straight ones, as in the paper, instead of a quarter turn */
    /* Factor of the latent points of samples. Finite and not negative; 0: 1, as in a struct that is zeroed.
     */
    double temperature;
    int zero_temperature; /* the temperature 0 itself: each sample decodes z = 0; temperature is then 0 */
} jf_use_options;
/* x ~ p(x | y) for each row of y. y_back (n, dim_y): F_Y^-1(z, y), which should equal y; z (n, dim_x): the
 * latent points. Both may be NULL, options too. */
jf_status jf_sample(const jf_model *m, size_t n, const double *y, double *x, double *y_back, double *z,
                    const jf_use_options *options);
/* y_out may be NULL, and y_back. */
jf_status jf_encode(const jf_model *m, size_t n, const double *x, const double *y, double *z, double *y_out,
                    const jf_use_options *options);
jf_status jf_decode(const jf_model *m, size_t n, const double *z, const double *y, double *x, double *y_back,
                    const jf_use_options *options);

/* What is expected of x without the noise of training (train.noise), by Tweedie's formula, x + sigma^2 grad_x
 * log p(x|y); x: samples, or anything else with that noise. clean (n, dim_x) may be x. JF_ERROR_UNSUPPORTED
 * of models that were trained without. */
jf_status jf_denoise(const jf_model *m, size_t n, const double *x, const double *y, double *clean,
                     const jf_use_options *options);

typedef struct jf_density_summary {
    size_t size;         /* sizeof(jf_density_summary) */
    double mean;         /* of log p(x | y), nats */
    double sampler_mean; /* of the density that jf_sample draws from, NAN where it was not computed */
    double whole_mean;   /* with the log-determinant of the whole map in the block's place */
    double y_error;      /* mean |F_Y' - y| per element, model units: no density without it */
    double log_dy;       /* mean log |det dF_Y'/dy|; 0 where y' follows y; NAN where it is not exact */
    int64_t lost;    /* rows that sampler_mean leaves out: no y* with F_Y'(x, y*) = y was found for them */
    int exact;       /* from the Jacobian (few dimensions); 0: the whole map's log-determinant stands in */
    int64_t outside; /* rows whose x lies outside of its support: all of the above leaves them out, NAN where
                        none is left */
} jf_density_summary;
/* log p(x | y) = log p_Z(F_Z) + log |det dF_Z/dx| of each row; -infinity where x lies outside of its support
 * (data.bounds). A y outside of its own is refused. summary may be NULL. */
jf_status jf_density(const jf_model *m, size_t n, const double *x, const double *y, double *log_p,
                     jf_density_summary *summary, const jf_use_options *options);

/* ---- summaries of posteriors; models of vectors ---- */
/* Of samples of each condition: means, deviations, quantiles, the mode, and highest posterior density (HPD)
 * regions. The mode is where log p(x | y) in the data's units is highest on the way up its gradient from the
 * likeliest sample, or that sample where a column is of whole numbers. A region is the smallest set of a
 * mass: jointly {x: log p(x | y) >= a threshold}, and of each column alone one interval or, where it has
 * several modes, several. */
typedef struct jf_summary jf_summary;
typedef struct jf_summary_options {
    size_t size; /* sizeof(jf_summary_options) */
    size_t mass_count, quantile_count;
    const double *masses; /* (mass_count) of regions, above 0 and below 1; NULL: 0.5, 0.9 */
    const double
        *quantiles; /* (quantile_count), 0 to 1; NULL: 0.05, 0.25, 0.5, 0.75, 0.95; of both at most 16 */
} jf_summary_options;
/* x (conditions, each, dim_x): samples of jf_sample() at each of y (conditions, dim_y), the data's units.
 * options may be NULL. */
jf_status jf_summarise(jf_summary **out, const jf_model *m, size_t conditions, size_t each, const double *x,
                       const double *y, const jf_summary_options *options);
const char *jf_summary_csv(const jf_summary *s);  /* a row for each condition and column of x */
const char *jf_summary_json(const jf_summary *s); /* one object, one line */
const char *jf_summary_text(const jf_summary *s); /* tables for people */
void jf_summary_free(jf_summary *s);

/* ---- images ---- */
/* What the rows of an image model are: x [h][w][x_channels] and y [h][w][y_channels], which together make
 * an image [h][w][channels]. In models with classes all elements of a row of y are the label. */
typedef struct jf_image_form {
    size_t size;      /* sizeof(jf_image_form) */
    const char *task; /* "class", "superres", ...; "" for models of vectors, whose sizes are all 0 */
    int h, w, x_channels, y_channels;
    int channels;                         /* of the images that x and y make */
    int input_h, input_w, input_channels; /* of the degraded images that y is made of; 0: y is a class */
    int masked;         /* the last channel of a degraded image is 1 where it is missing, and else 0 */
    int random;         /* degrading draws random numbers: twice gives different inputs */
    int data_h, data_w; /* of the images of its data, which may have been halved first (data.down) */
} jf_image_form;
jf_status jf_model_image_form(jf_image_form *out, const jf_model *m);

/* Images of one size, intensities from 0 to 1. Those that functions give back are yours to free. */
typedef struct jf_images {
    double *values; /* (count, h, w, channels) */
    size_t count;
    int h, w, channels;
} jf_images;
/* A PNG or JPEG file, or a .npy array (h, w) or (h, w, c) of one or (..., h, w) or (..., h, w, c) of many; a
 * last axis of at most 4 is that of the channels. Bytes are divided by 255, other numbers are intensities as
 * they are. */
jf_status jf_images_read(jf_images *out, jf_context *ctx, const char *path);
/* The same for models whose inputs have a mask (jf_image_form.masked): what is transparent in a PNG file is
 * missing. */
jf_status jf_images_read_masked(jf_images *out, jf_context *ctx, const char *path);
/* .npy: (count, h, w[, c]), or with columns > 0 (count/columns, columns, h, w[, c]). */
jf_status jf_images_write(jf_context *ctx, const jf_images *images, size_t columns, const char *path);
void jf_images_free(jf_images *images);

/* The images of rows of x and y, in the data's units. */
jf_status jf_restore(jf_images *out, const jf_model *m, size_t n, const double *x, const double *y);
/* The other way: x (count, dim_x) of whole images under the conditions y (count, dim_y), those of
 * jf_image_conditions_create or labels; for jf_encode and jf_density. Of models of a class that have learned
 * halved images (data.down) those of the data's size are halved first. */
jf_status jf_image_answers(const jf_model *m, const jf_images *whole, const double *y, double *x);
/* What the model's task makes of whole images: the inputs that it answers to. */
jf_status jf_degrade(jf_images *inputs, const jf_model *m, const jf_images *whole, uint64_t seed);
/* An image of the model's own data: row 0, 1, ... of those held out, or of those it was trained on. */
jf_status jf_data_image(jf_images *out, const jf_model *m, int64_t row, int of_training);

/* Conditions made of images: of degraded ones as they are, or of whole ones, which are degraded first.
 * Their size tells which they are; where both have the same, they are degraded ones unless `degrade` is
 * set. */
typedef struct jf_image_conditions {
    size_t size;      /* sizeof(jf_image_conditions) */
    double *y;        /* (inputs.count, dim_y) */
    jf_images inputs; /* the degraded images */
    jf_images whole;  /* those that they were made of here; count 0: the inputs were given */
} jf_image_conditions;
jf_status jf_image_conditions_create(jf_image_conditions *out, const jf_model *m, const jf_images *given,
                                     int degrade, uint64_t seed);
void jf_image_conditions_free(jf_image_conditions *c);

/* ---- cascades of models of super-resolution ---- */
/* Each model makes larger what the one before it made: 7x7 to 14x14 to 28x28, say. They start from degraded
 * images, from whole ones, which are degraded first, or from samples of a model of small images, such as
 * fashion-ten; densities and latent points of that one are always those of its own, small images. */
#define JF_CASCADE_MOST 8
typedef struct jf_cascade jf_cascade;
/* Takes models in any order, which have to outlive it. JF_ERROR_SHAPE where they do not follow each other. */
jf_status jf_cascade_create(jf_cascade **out, const jf_model *const *models, size_t count);
/* Loads models and makes a cascade that frees them. names: as jf_model_find() takes them, separated by
 * commas, in any order, each of one model or of several; NULL: those that the recipe of `before` names
 * (jf_model_then()). before: the model whose samples are to be made larger, JF_ERROR_SHAPE where they do not
 * start from what it draws; NULL: none. *out is NULL where names is "none", or the recipe names none: what is
 * drawn stays as it is. options may be NULL. */
jf_status jf_cascade_load(jf_cascade **out, jf_context *ctx, const char *names, const jf_model *before,
                          const jf_load_options *options);
/* Gives the model of a step, from the smallest images to the largest, borrowed; NULL past the last. */
const jf_model *jf_cascade_model(const jf_cascade *c, size_t index);
void jf_cascade_free(jf_cascade *c);

typedef struct jf_cascade_options {
    size_t size;                    /* sizeof(jf_cascade_options) */
    size_t counts[JF_CASCADE_MOST]; /* images of each step for each of the one before it, from the smallest
                                       on; 0: 1 */
    uint64_t seed;
    uint64_t first; /* number of the first image, or group, where a set is made larger in parts: what becomes
                       of an image depends on the seed and its number alone */
    double temperature;   /* of all steps, as of jf_use_options */
    int zero_temperature; /* the same */
    int denoise;          /* the noise of training is taken off the images of each step (jf_denoise) */
    /* The images are samples that were drawn with this seed: the steps draw other latent points than these
     * had, and whole images are refused. */
    int of_samples;
    /* So many images that follow each other, the steps of a line say, get the same latent points, so that
     * they differ by what is made larger alone; 0: 1. */
    size_t together;
} jf_cascade_options;
typedef struct jf_cascade_result {
    size_t size;     /* sizeof(jf_cascade_result) */
    jf_images truth; /* the whole images that were given; count 0: not known */
    jf_images input; /* what the first step starts from, as many as were given */
    size_t steps;
    jf_images made[JF_CASCADE_MOST]; /* of each step; those of one image before follow each other */
    double psnr[JF_CASCADE_MOST];    /* of each step: its images, degraded again, against the input, dB */
    double y_error;                  /* mean |y_back - y| per element over all steps, model units */
} jf_cascade_result;
/* given: inputs of the first step or whole images of the last, each of which is made larger by itself.
 * options may be NULL. */
jf_status jf_cascade_enlarge(jf_cascade_result *out, const jf_cascade *c, const jf_images *given,
                             const jf_cascade_options *options);
/* Writes what was made of one image. .png: truth, input, all steps; .npy: the images of the last, (before it,
 * of each, h, w[, c]). */
jf_status jf_cascade_write(const jf_cascade *c, const jf_cascade_result *r, const char *title, int full_range,
                           const char *path);
void jf_cascade_result_free(jf_cascade_result *r);

/* Scores: how well a cascade fits its inputs, over a whole set of images. */
typedef struct jf_cascade_test {
    size_t size;                    /* sizeof(jf_cascade_test) */
    const char *test, *test_labels; /* as of jf_judge_options; NULL: what the last model's recipe holds out */
    size_t most;                    /* images, drawn at random; 0: all */
} jf_cascade_test;
typedef struct jf_cascade_class {
    char name[64]; /* "" for all images */
    int64_t images;
    double psnr[JF_CASCADE_MOST]; /* of each step, from the mean square over the images */
} jf_cascade_class;
typedef struct jf_cascade_scores {
    size_t size; /* sizeof(jf_cascade_scores) */
    size_t steps, count;
    jf_cascade_class *of; /* (count): all images first, then each class */
    double y_error;       /* as of jf_cascade_result */
} jf_cascade_scores;
/* Every image of the set is degraded and made larger again. Of the options counts, seed, temperature and
 * denoise count; both may be NULL. */
jf_status jf_cascade_score(jf_cascade_scores *out, const jf_cascade *c, const jf_cascade_test *test,
                           const jf_cascade_options *options);
void jf_cascade_scores_free(jf_cascade_scores *scores);

/* Answers along lines; any model. */
typedef struct jf_lines {
    size_t rows, steps;
    double *z, *y, *x; /* (rows, steps, dim_x), (rows, steps, dim_y), (rows, steps, dim_x) */
    int along_y;
    size_t conditions; /* rows of the same line in z, which follow each other; 1 along y */
} jf_lines;
/* Lines in z at fixed y: for each of `lines` pairs of latent points a row for each of the `conditions`
 * rows of y. From z1 to z2 it goes by a quarter turn, cos(t) z1 + sin(t) z2: every point of it is itself a
 * draw of the prior, whereas those of a straight line, which options may ask for, are nearer to 0 than
 * samples are. */
jf_status jf_lines_along_z(jf_lines *out, const jf_model *m, size_t lines, size_t steps, size_t conditions,
                           const double *y, const jf_use_options *options);
/* Straight lines in y, between and beyond conditions of the data, at `lines` fixed latent points; from,
 * to: (dim_y). */
jf_status jf_lines_along_y(jf_lines *out, const jf_model *m, size_t lines, size_t steps, const double *from,
                           const double *to, const jf_use_options *options);
/* The same along any way in y: (steps, dim_y). */
jf_status jf_lines_through(jf_lines *out, const jf_model *m, size_t lines, size_t steps, const double *y,
                           const jf_use_options *options);
/* `lines` lines between given ends, such as those that jf_encode() finds of two images: z (lines, 2, dim_x)
 * turns as above, or stays where its ends are the same, y (lines, 2, dim_y) goes straight. `conditions`: how
 * many of the lines that follow each other belong together; 1 if none do. */
jf_status jf_lines_between(jf_lines *out, const jf_model *m, size_t lines, size_t steps, size_t conditions,
                           const double *z, const double *y, const jf_use_options *options);
/* A picture of lines of an image model, a row each; the places of classes are boxed. */
jf_status jf_lines_draw(const jf_model *m, const jf_lines *lines, const char *title, int full_range,
                        const char *path);
/* Draws images (rows * steps) made from those of the lines, for example by jf_cascade_enlarge(). */
jf_status jf_lines_draw_images(const jf_model *m, const jf_lines *lines, const jf_images *images,
                               const char *title, int full_range, const char *path);
void jf_lines_free(jf_lines *lines);

/* A picture of images side by side, smaller ones enlarged to the size of the largest. */
typedef struct jf_grid_cell {
    const double *values; /* (h, w, channels); NULL: the cell stays empty */
    int h, w, channels; /* channels: 1, or 3; one more is a mask, 1 where the image is missing, which is drawn
                           in grey */
    int boxed;          /* with a coloured frame */
} jf_grid_cell;
typedef struct jf_grid {
    size_t size; /* sizeof(jf_grid) */
    size_t rows, columns;
    const jf_grid_cell *cells;        /* (rows, columns) */
    const char *const *row_labels;    /* (rows) or NULL */
    const char *const *column_labels; /* (columns) or NULL */
    const char *title;                /* may be NULL */
    int full_range; /* black and white are the least and the greatest of all values instead of 0 and 1 */
} jf_grid;
jf_status jf_grid_draw(jf_context *ctx, const jf_grid *grid, const char *path);
/* jf_draw_samples() of image models, which has full_range 0; 2: each image has a range of its own. */
jf_status jf_draw_image_samples(const jf_model *m, size_t n, const double *x, const double *y, int full_range,
                                const char *path);
/* The same of images that were made of samples of m under the conditions y (images.count, dim_y), by models
 * that make them larger, say. */
jf_status jf_draw_images_of(const jf_model *m, const jf_images *images, const double *y, int full_range,
                            const char *path);

/* ---- judging ---- */
typedef struct jf_judgement jf_judgement;
typedef struct jf_judge_options {
    size_t size;   /* sizeof(jf_judge_options) */
    size_t points; /* fresh points, or rows of a file, drawn at random; 0: 50000, of rules 1000000 */
    uint64_t seed;
    int denoise;   /* also judge samples from which the noise of training was taken (jf_denoise) */
    size_t inputs; /* of image models: held-out images that samples are drawn for; 0: 64 */
    /* Data to judge on instead of the held-out ones, as data.images or data.file of a recipe would name them;
     * NULL: none. test_labels: of images in a .npy file their labels, of a table whose y has a file of its
     * own that file. */
    const char *test, *test_labels;
    double temperature; /* of the samples that are judged, of vectors for their calibration; >= 1e-6; 0: 1 */
    jf_data *test_data; /* of models of tables, in place of test: rows in memory to judge on */
    /* Of models of vectors: what makes y (n, dim_y) of x (n, dim_x), the data's units, to judge what is
     * simulated from answers; not 0 where it failed. NULL: none. */
    int (*simulate)(void *user, size_t n, const double *x, double *y);
    void *simulate_user;
    /* Makes drawn images of a class larger before they are judged, beside held-out images of that size; NULL:
     * none. */
    const jf_cascade *cascade;
} jf_judge_options;
jf_status jf_judge(jf_judgement **out, const jf_model *m, const jf_judge_options *options);
const char *jf_judgement_json(const jf_judgement *j); /* one object, one line */
const char *jf_judgement_text(const jf_judgement *j); /* a table for people */
void jf_judgement_free(jf_judgement *j);
/* A model made ready to be given away: its file, NAME.safetensors, and its card, NAME.md, which tells what it
 * is, how it was made and how it is judged. */
typedef struct jf_pack_options {
    size_t size;      /* sizeof(jf_pack_options) */
    int half;         /* weights in half precision, which is refused where the judgement suffers */
    double tolerance; /* how much worse the loss may then be, nats per dimension of x; 0: 0.002 */
    const char *name; /* by which it will be called; NULL: NAME */
    const char *run;  /* run folder whose history the card tells; may be NULL */
    size_t points;    /* that it is judged on; 0: as of jf_judge_options */
    uint64_t seed;
    int threads;               /* 0: all processors */
    const jf_cascade *cascade; /* as of jf_judge_options */
} jf_pack_options;
/* *told: both judgements side by side, a table, yours to jf_text_free(); "" where weights stay whole. It is
 * there after JF_ERROR_NUMERIC, too, which says that the judgement suffers; nothing is written then. options
 * and told may be NULL. */
jf_status jf_pack(char **told, const jf_model *m, const char *path, const jf_pack_options *options);
/* Pictures, judgement and report.html of a model into a run folder (history.csv there is drawn too).
 * JF_ERROR_IO where a run is being written into it. */
jf_status jf_report(const jf_model *m, const jf_judgement *j, const char *folder);

/* ---- two samples: whether they have the same distribution ---- */
/* One measure, beside what it is for two samples of the same distribution and as many rows. */
typedef struct jf_two_sample {
    const char *name;  /* "c2st", "mmd", "sliced_wasserstein" */
    const char *label; /* a word or two */
    const char *about; /* a few words */
    double value;
    double same;  /* of the same rows, dealt out at random */
    double limit; /* what samples of the same distribution exceed once in twenty times */
} jf_two_sample;
#define JF_MAX_TWO_SAMPLE 16
typedef struct jf_comparison {
    size_t size; /* sizeof(jf_comparison) */
    jf_two_sample measures[JF_MAX_TWO_SAMPLE];
    size_t count;
    size_t rows; /* that were taken of each */
} jf_comparison;
typedef struct jf_compare_options {
    size_t size;    /* sizeof(jf_compare_options) */
    size_t rows;    /* of each, at most, taken at random where there are more; 0: 10000 */
    size_t columns; /* that are compared, from the first on; 0: all, of which both have equally many */
    uint64_t seed;
    int threads; /* 0: all processors */
} jf_compare_options;
/* a is the reference: columns are measured in its deviations. options may be NULL. */
struct jf_table;
jf_status jf_compare(jf_comparison *out, jf_context *ctx, const struct jf_table *a, const struct jf_table *b,
                     const jf_compare_options *options);

/* ---- figures of the paper ---- */
typedef struct jf_figure_options {
    size_t size;        /* sizeof(jf_figure_options) */
    const char *folder; /* pictures and the models that were trained for them go here */
    const char *const
        *models; /* run folders or model files to use instead of training, in the figure's order */
    size_t model_count;
    uint64_t seed;
    const char *device; /* as of jf_load_options */
    int threads;
    /* Folder of models NAME.safetensors to draw from; those that are not there are not trained. NULL: models
     * that came with the program, where it has them, and others are trained. */
    const char *model_folder;
    int fresh;        /* train, whatever models there are */
    int quarter_turn; /* 5b: lines in z by a quarter turn instead of straight */
} jf_figure_options;
const char *jf_figure_name(int index); /* NULL past the last */
const char *jf_figure_summary(int index);
/* `name`: that of a figure, with or without its dot ("A.3", "A3"); "F": F.1 to F.8; "all": every one. Of
 * several, those whose models or data are not there are left out with a warning, and none is trained unless
 * `fresh`. */
jf_status jf_figure(jf_context *ctx, const char *name, const jf_figure_options *options);

/* ---- measuring speed ---- */
typedef struct jf_bench_options {
    size_t size;        /* sizeof(jf_bench_options) */
    const char *device; /* as of jf_load_options */
    int threads;
    int64_t batch;         /* 0: the recipe's */
    double seconds;        /* how long each of the two measurements lasts; 0: 3 */
    int profile;           /* also measure the parts, which makes the whole a little slower */
    int sample_as_trained; /* sampling has the precision of training (train.precision), not fp32 */
} jf_bench_options;

/* Where the time of a step goes: the parts that took any, the longest first, and last what they leave of it.
 */
typedef struct jf_profile_part {
    const char *name; /* "1x1 products, forward" */
    double calls, ms; /* of one step; ms of thread time: all threads together; of a GPU its own time */
    double share;     /* of the whole step, 0 .. 1 */
    double gflops;    /* 10^9 operations per second of one thread, or of the GPU; 0: they are not counted */
} jf_profile_part;
typedef struct jf_profile {
    jf_profile_part *parts;
    size_t count; /* 0: not asked for */
    double ms;    /* thread time of one step */
} jf_profile;

typedef struct jf_bench_result {
    size_t size; /* sizeof(jf_bench_result) */
    double train_samples_per_s, sample_samples_per_s, peak_memory_mib;
    int64_t batch, steps;
    size_t parameters;
    char device[96];                                /* "cpu (float, avx512, 2 threads)" */
    const char *train_precision, *sample_precision; /* of the products: "fp32", "tf32", "bf16" */
    jf_profile train_profile, sample_profile;
} jf_bench_result;
/* options may be NULL. JF_ERROR_DEVICE where a profile was asked for of a device that has none. The progress
 * callback is told the steps so far of each measurement; its own time is not measured. After JF_STOPPED *out
 * holds no measurement. */
jf_status jf_bench(jf_bench_result *out, jf_context *ctx, const jf_recipe *r,
                   const jf_bench_options *options);
void jf_bench_result_free(jf_bench_result *r);

/* ---- data: the data sets that are known by name ---- */
/* Which there are, whether they are here and where, licence and size: lines for people, yours to
 * jf_text_free(). */
jf_status jf_data_list(char **out, jf_context *ctx);
/* Rows of a set that draws its points (data.set of a recipe: "two_moons", "sectors", ...), as tables. */
typedef struct jf_export_options {
    size_t size; /* sizeof(jf_export_options) */
    size_t rows;
    uint64_t seed;
    const char *file;            /* .csv or .npy: x, then y; or */
    const char *x_file, *y_file; /* one of each */
} jf_export_options;
jf_status jf_data_export(jf_context *ctx, const char *set, const jf_export_options *options);
/* Samples of the exact posterior p(x | y) of such a set, `rows` for each of `count` rows of y (count, dim_y),
 * into `file`: x, then y. JF_ERROR_ARGUMENT where its posterior cannot be drawn, or is nothing at a y. */
jf_status jf_data_posterior(jf_context *ctx, const char *set, size_t count, size_t dim_y, const double *y,
                            const jf_export_options *options);
/* Compares the files of known sets in `folder`, or in the folders in it that are named like sets, with what
 * was published: one line per file, yours to jf_text_free(). *bad: how many are missing or wrong. */
jf_status jf_data_check(char **out, jf_context *ctx, const char *folder, size_t *bad);

typedef struct jf_fetch_options {
    size_t size;                /* sizeof(jf_fetch_options) */
    const char *folder;         /* the set gets a folder in it; NULL: the user's data folder */
    const char *const *mirrors; /* (mirror_count): URLs of folders to fetch from instead of the known ones */
    size_t mirror_count;
} jf_fetch_options;
/* Fetches the files of a known set that are missing or wrong; they take their place once they are
 * verified. One line per file, yours to jf_text_free(). The progress callback tells the file and its bytes;
 * after JF_STOPPED the next call goes on from there. options may be NULL. */
jf_status jf_data_fetch(char **out, jf_context *ctx, const char *name, const jf_fetch_options *options);

/* ---- tables: text (.csv, .tsv, .txt) or .npy; .csv or .npy where they are written ---- */
typedef struct jf_table {
    double *values; /* (rows, columns) */
    size_t rows, columns;
} jf_table;
jf_status jf_table_read(jf_table *out, jf_context *ctx,
                        const char *path); /* refuses text, and values that are missing or not finite */
/* Rows for a model, of its elements first .. first + count - 1 (x, then y): where the file and the model have
 * names of columns and all of these are among the file's, those columns, whatever others there are and in
 * which order; otherwise all columns as they are. Columns of one name keep their order. Refuses a file that
 * has some of the names only, or more columns of one name than the model, and the first row with a value that
 * is missing or not finite: each row has its answer. Other columns may hold anything. */
jf_status jf_table_read_for(jf_table *out, const jf_model *m, const char *path, size_t first, size_t count);
/* names: `columns` column names for .csv; may be NULL */
jf_status jf_table_write(jf_context *ctx, const jf_table *t, const char *const *names, const char *path);
/* The same of columns that hold labels of a model's classes, where is_class (columns) is set: a .csv file has
 * their names instead, as its training data had. */
jf_status jf_table_write_for(const jf_table *t, const jf_model *m, const char *const *names,
                             const unsigned char *is_class, const char *path);
void jf_table_free(jf_table *t);
/* A picture of samples: a panel for each different y (the first two x against each other, histograms of
 * x0, or the images). */
jf_status jf_draw_samples(const jf_model *m, size_t n, const double *x, const double *y, const char *path);
/* A corner plot of vectors: every column of x against every other, each alone on the diagonal with its median
 * and 5% and 95%; the first eight columns, in a colour for each of the first six different y. */
jf_status jf_draw_corner(const jf_model *m, size_t n, const double *x, const double *y, const char *path);
/* A picture of values in groups, such as the losses of several settings with several seeds each: a dot for
 * each value and a bar at the mean of each group, of which the first stands out. */
typedef struct jf_groups {
    size_t size; /* sizeof(jf_groups) */
    size_t count, each;
    const char *const *labels;       /* (count) */
    const double *values;            /* (count, each); NAN: none */
    const char *value_label, *title; /* title: may be NULL */
} jf_groups;
jf_status jf_draw_groups(jf_context *ctx, const jf_groups *groups, const char *path);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
