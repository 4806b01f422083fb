/* A data set: pairs (x, y) in the data's own units. One file in sets/ per kind, one line in list.c.
 *
 * Generated sets draw any number of fresh points; file sets hold a fixed number of rows. Both answer through
 * the same functions, so that training and judging do not care. */
#ifndef JF_DATA_DATASET_H
#define JF_DATA_DATASET_H

#include "base/random.h"
#include "io/recipe.h"
#include "types/image_size.h"
#include "types/limits.h"
#include "types/resident.h"
#include "types/support.h"

/* The epoch of RNG_DATA on which the standardisation of generated sets is measured: not one of training. */
#define DATASET_MEASURE_EPOCH UINT32_MAX
/* Of what a set adds at random to the rows that are measured or held out. */
#define DATASET_FIXED_SEED 0x6d656173757265u

typedef struct dataset dataset;
struct task;

/* Data to test on that are not those of the recipe. */
typedef struct test_file {
    const char *path;               /* as the recipe would name it */
    memory_rows *rows;              /* or rows in memory in its place; NULL: none */
    const char *labels;             /* where they have a file of their own; NULL: none */
    const char *const *class_names; /* (classes) of the model, in the order of its labels */
    int classes;
} test_file;

typedef struct dataset_kind {
    const char *name, *summary;
    const recipe_key *keys;          /* keys of [data] that only this kind reads; may be NULL */
    jf_status (*declare)(recipe *r); /* declares further keys, each under its own condition; may be NULL */
    /* Reads its keys, fills in the public fields of `d` and d->own. */
    jf_status (*open)(dataset *d, const recipe *r);
    void (*close)(dataset *d); /* frees d->own, also after a failed open; may be NULL */
    /* Generated sets: one fresh point of class `class_index` (0 where there are no classes). x and y are
     * apart; y may be left alone where there are classes. NULL: a file set. */
    void (*draw)(const dataset *d, rng *stream, int class_index, double *x, double *y);
    /* File sets: row 0 .. rows - 1 of those to train on, and from `rows` on those held out. The stream is for
     * sets that add something random to a row; y may be left alone where there are classes. `scratch`:
     * d->scratch numbers. Several threads fetch at once. NULL: a generated set. */
    void (*fetch)(const dataset *d, long row, rng *stream, double *scratch, double *x, double *y);
    /* File sets with classes: the class of a row. */
    int (*row_class)(const dataset *d, long row);
    /* Optional, for file sets: a row as people find it, "row 17 of data.csv"; from `rows` on those held out.
     */
    void (*row_words)(const dataset *d, long row, char *out, size_t size);
    /* File sets: adds what was read of the files to a checksum (io/checksum.h), all that a row can depend on.
     */
    uint64_t (*add_to_checksum)(const dataset *d, uint64_t sum);
    /* Optional: a look at the data before they are trained on. Refuses what training would fail on, warns of
     * what would spoil it, and says what to do. */
    jf_status (*examine)(const dataset *d);
    /* Optional, for file sets: refuses files that have changed since they were opened. A value that cannot be
     * read is NAN. */
    jf_status (*check)(const dataset *d);
    /* Optional, for file sets: how a device can hold its rows in less than their numbers, and what is random
     * about them: bytes, values and task of `out`, or its width and read(). 0: a device cannot make them.
     * Default: rows as numbers. */
    int (*resident)(const dataset *d, resident_data *out);
    /* Optional: has the recipe name the file, and all of its rows; default: there is no other than the
     * recipe's. */
    jf_status (*name_test)(recipe *r, const test_file *file);
    /* Exact H(x | y) in nats, in the data's units, of one class (0 where there are no classes). NAN: unknown.
     * NULL: always unknown. */
    double (*entropy)(const dataset *d, int class_index);
    /* Optional, for generated sets: one sample of the exact posterior p(x | y), or of what the file says of
     * it. 0 where y is so far off that none was found. */
    int (*posterior)(const dataset *d, rng *stream, const double *y, double *x);
} dataset_kind;

struct dataset {
    jf_context *ctx;
    const dataset_kind *kind;
    int dim_x, dim_y;
    image_size image;        /* image.h > 0: x and y are images; dim_x and dim_y follow from it */
    int is_test;             /* opened by dataset_open_test: to judge on, not to train on */
    const struct task *task; /* then: how (x, y) are made of images, see tasks/task.h; owned by the kind */
    size_t bytes;            /* that the kind holds, about */
    size_t scratch;          /* numbers that `fetch` needs beside x and y */
    int classes;             /* > 0: y is one of so many labels; 0: y is continuous or absent */
    int planes; /* of y, one for each class (types/label_formulas.h); 0: all elements of y are the label */
    double label[MAX_CLASSES];           /* of each class, ascending where y has planes */
    const char *class_name[MAX_CLASSES]; /* may be NULL */
    long rows;                           /* file sets: number of rows; 0: generated */
    long validation_rows;                /* file sets: further rows, held out from training */
    long outside; /* data to test on: rows left out, whose x is outside of its support */
    /* (dim_x + dim_y), each of which may be NULL; or NULL. Of the kind. */
    const char *const *names;
    int keeps_names; /* they are columns' names that the user knows: models keep them for what they write */
    /* (dim_x + dim_y), where each element can be, or NULL: anywhere. To be freed with the set. */
    column_support *support;
    int spreads_y; /* constants of y get random numbers in their place, as those of x do: the flow transforms
                      y */
    /* (dim_x + dim_y) standardisation of what the supports' maps make of the data, to be freed with the set;
     * measured element by element where open leaves it NULL */
    double *mean, *deviation;
    void *own;
    const char *plane_names[3]; /* what dataset_set_plane makes `names` of */
    /* The rest is filled in by dataset_open. */
    long *class_rows; /* file sets with classes: (rows), the rows of class 0, then those of class 1, ... */
    long class_start[MAX_CLASSES + 1]; /* where each class begins in class_rows */
    double class_code[MAX_CLASSES]; /* what label_element() takes for each class: its label, with planes its
                                       number */
};

extern const dataset_kind *const dataset_kinds[]; /* ends with NULL */
extern const recipe_key dataset_common_keys[];    /* data.set */
/* For kinds: x is the plane (x0, x1), y one number of this name, or absent where it is NULL. */
void dataset_set_plane(dataset *d, const char *y_name);

/* Declares data.set, under the condition `only_if` of recipe_declare(), and the keys of all kinds (each
 * kind's only under data.set = its name). */
jf_status dataset_declare(recipe *r, const char *only_if);
jf_status dataset_open(jf_context *ctx, dataset **out, const recipe *r);
/* The rows of another file, made as the recipe says. Where it has held-out rows of its own they are meant,
 * otherwise all. */
jf_status dataset_name_test(recipe **out, const recipe *r, const test_file *file); /* the recipe of it */
jf_status dataset_open_test(jf_context *ctx, dataset **out, const recipe *r, const test_file *file);
/* Refuses files that have changed since they were opened. */
jf_status dataset_check(const dataset *d);
void dataset_free(dataset *d);
int dataset_dim(const dataset *d);                       /* dim_x + dim_y */
const char *dataset_name(const dataset *d, int element); /* NULL where it has none */

/* Which data these are, for people and for comparing: "900 rows and 100 held out, checksum 0123456789abcdef".
 * Of the values as they lie in memory, so nothing is read for it: files that hold the same values in another
 * way are the same. Empty where points are drawn: what they are follows from the recipe. */
#define DATASET_MAX_IDENTITY 96
void dataset_identity(const dataset *d, char out[DATASET_MAX_IDENTITY]);

/* Samples of a set: those that a key names, shuffled or drawn, or those held out. */
typedef struct row_sequence {
    rng_key key;
    int class_index; /* -1: all */
    int validation;  /* those held out, in a fixed random order (validation_row); key and class do not matter
                      */
} row_sequence;
/* Fills xy (n, dim_x + dim_y) with the samples first .. first+n-1; scratch: d->scratch numbers, of each
 * caller its own. It cannot fail, so training makes its rows with it. The two functions below do the same and
 * allocate the scratch. */
void dataset_rows(const dataset *d, const row_sequence *q, uint64_t first, int n, double *scratch,
                  double *xy);
/* Fills xy (n, dim_x + dim_y), x first, in the data's units, with the samples first .. first+n-1 of the
 * sequence that `key` names; `class_index`: one class only, or -1 for all. A sample depends on (key, its
 * number, class_index), not on how the sequence is cut into calls.
 * - Generated sets: sample i is drawn from stream (key, i); with -1 the classes are equally likely.
 * - File sets: each run of `rows` samples (of as many as the class has rows) holds every row once, shuffled
 *   by the key and anew for every run. */
jf_status dataset_draw(const dataset *d, rng_key key, uint64_t first, int n, int class_index, double *xy);
/* The same of the held-out samples first .. first+n-1; beyond the last row they start again. What a set adds
 * at random to a row is the same at every call. */
jf_status dataset_validation(const dataset *d, uint64_t first, int n, double *xy);
/* What a device needs to hold the set; 0 where it cannot, as with sets that draw their points. `d` must stay
 * while it is read. The model's part (model_y, order) is left to the caller. */
int dataset_resident(const dataset *d, resident_data *out);
/* Which row sample `sample` of the sequence is, from `rows` on those held out; -1 of a generated set. */
long dataset_row_at(const dataset *d, const row_sequence *q, uint64_t sample);
/* A row as people find it; file sets. */
void dataset_row_words(const dataset *d, long row, char *out, size_t size);
jf_status dataset_examine(const dataset *d); /* before training, see `examine` above */
/* For kinds: room for mean (0) and deviation (1), to be filled in. */
jf_status dataset_set_units(dataset *d);
/* Element `element` is this constant in all rows to train on: it is replaced by random numbers that are N(0,
 * 1) on the line, so that a flow has something to transform, or where the flow only reads it (y, without
 * spreads_y) by 0. */
jf_status dataset_make_constant(dataset *d, int element, double value);
int dataset_is_constant(const dataset *d, int element);
/* To the model's units, in place: the map of each element's support, then mean and deviation. */
void dataset_standardise(const dataset *d, int n, double *xy);
void dataset_unstandardise(const dataset *d, int n, double *xy); /* back */
/* Sum of log deviation over x: nats in the data's units = nats in the model's units + this, where there are
 * no supports. */
double dataset_log_volume(const dataset *d);
/* H(x | y) of one class, or with class_index -1 over all (equally likely); NAN where unknown. */
double dataset_entropy(const dataset *d, int class_index);

#endif
