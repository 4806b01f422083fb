/* What the tests of data sets share: opening one from recipe text, and drawing from it. */
#ifndef JF_TEST_DATA_FIXTURE_H
#define JF_TEST_DATA_FIXTURE_H

#include "data/dataset.h"
#include "test.h"

typedef struct data_fixture {
    jf_context *ctx;
    recipe *recipe;
    dataset *set;
} data_fixture;

/* `keys`: the lines of [data] */
static inline jf_status data_try_open(data_fixture *f, const char *keys) {
    char content[1024];
    snprintf(content, sizeof content, "[data]\n%s\n", keys);
    *f = (data_fixture){NULL, NULL, NULL};
    JF_TRY(jf_context_create(&f->ctx));
    JF_TRY(recipe_parse(f->ctx, &f->recipe, content, "test.recipe"));
    JF_TRY(dataset_declare(f->recipe, NULL));
    JF_TRY(recipe_check(f->recipe));
    return dataset_open(f->ctx, &f->set, f->recipe);
}

static inline void data_close(data_fixture *f) {
    dataset_free(f->set);
    recipe_free(f->recipe);
    jf_context_free(f->ctx);
}

static inline data_fixture data_open(const char *keys) {
    data_fixture f;
    jf_status status = data_try_open(&f, keys);
    if (status != JF_OK) test_fail(__FILE__, __LINE__, "%s: %s", keys, jf_context_error(f.ctx));
    return f;
}

static inline rng_key data_key(uint32_t epoch) {
    return (rng_key){.seed = 11, .purpose = RNG_TEST, .epoch = epoch};
}

/* One row of a file set, x and then y, as it is stored. */
static inline const double *data_row(const dataset *d, long row, double *xy) {
    rng stream = rng_stream(data_key(0), 0);
    double *scratch = calloc(d->scratch + 1, sizeof *scratch);
    CHECK(scratch);
    d->kind->fetch(d, row, &stream, scratch, xy, xy + d->dim_x);
    free(scratch);
    return xy;
}

/* n points of a class (-1: all), yours to free */
static inline double *data_points(const dataset *d, int n, int class_index) {
    double *xy = calloc((size_t)n * (size_t)dataset_dim(d), sizeof *xy);
    CHECK(xy);
    dataset_draw(d, data_key(0), 0, n, class_index, xy);
    return xy;
}

#endif
