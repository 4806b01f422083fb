/* The contract of all devices: every entry of the table, on every device, against the reference in double
 * precision, over awkward sizes, thread counts and instruction sets. How a trial works: device_contract.h. */
#include "compute/compute.h"
#include "device_contract.h"
#include <stddef.h>

/* ---- memory ---- */

static void check_memory(const bench *b) {
    lab *l = b->tested;
    const device_kind *k = l->d->kind;
    for (int i = 0; i < BATCHES; i++) {
        size_t count = (size_t)batches[i];
        double *x = draw_normal(count, 1, 1), *y = draw_normal(count, 1, 2), *zero = new_numbers(count);
        real *p = lab_new(l, count), *q = lab_put(l, y, count);
        double *found[5] = {lab_get(l, p, count)};
        k->put(l->d, p, x, count);
        found[1] = lab_get(l, p, count);
        k->copy(l->d, q, p, count - 1); /* all but the last */
        found[2] = lab_get(l, q, count);
        k->fill(l->d, p, -2.5, count - 1);
        found[3] = lab_get(l, p, count);
        k->add(l->d, p, q, count);
        found[4] = lab_get(l, real_at(l->d, p, count - 1), 1);
        CHECK(memcmp(found[0], zero, count * sizeof *zero) == 0 &&
              memcmp(found[1], x, count * sizeof *x) == 0);
        for (size_t j = 0; j + 1 < count; j++) CHECK(found[2][j] == x[j] && found[3][j] == -2.5);
        CHECK(found[2][count - 1] == y[count - 1] && found[3][count - 1] == x[count - 1]);
        CHECK_NEAR(found[4][0], x[count - 1] + y[count - 1], 1e-6);
        for (int j = 0; j < 5; j++) free(found[j]);
        free(x), free(y), free(zero);
        lab_clear(l);
    }
    real *none = NULL;
    CHECK_STATUS(k->alloc(l->d, &none, SIZE_MAX / 4), JF_ERROR_MEMORY);
    CHECK(none == NULL && jf_context_error(l->ctx)[0]);
    char words[80] = "";
    k->describe(l->d, words, sizeof words);
    CHECK(words[0] && k->name[0] && k->summary[0] && (k->real_size == 4 || k->real_size == 8));
}

/* ---- random numbers and index maps ---- */

static void run_normal(trial *t, const void *sizes) {
    const int *n = sizes;
    const device *d = t->l->d;
    rng_key key = {.seed = 5, .purpose = RNG_TEST, .epoch = 3};
    real *whole = poison(t, (size_t)*n * 3), *parts = poison(t, (size_t)*n * 3);
    d->kind->normal(t->l->d, whole, *n, 3, key, 40);
    int cut = (*n + 1) / 3; /* where a batch ends makes no difference */
    if (cut) d->kind->normal(t->l->d, parts, cut, 3, key, 40);
    d->kind->normal(t->l->d, real_at(d, parts, (size_t)cut * 3), *n - cut, 3, key, 40 + (uint64_t)cut);
    take(t, "normal", OVERWRITES, whole, (size_t)*n * 3);
    take(t, "normal of two batches", OVERWRITES, parts, (size_t)*n * 3);
    const double *a = t->outputs[0].values, *p = t->outputs[1].values;
    CHECK(memcmp(a, p, sizeof(double) * (size_t)*n * 3) == 0);
    for (int s = 0; s < *n; s++) { /* and the numbers are those of the stream of each sample */
        rng r = rng_stream(key, 40 + (uint64_t)s);
        for (int i = 0; i < 3; i++) CHECK_NEAR(a[s * 3 + i], rng_normal(&r), 1e-6);
    }
}

typedef struct map_sizes {
    int n, count, dim;
} map_sizes;

static void run_maps(trial *t, const void *sizes) {
    const map_sizes *z = sizes;
    const device_kind *k = t->l->d->kind;
    int32_t map[16], rest[16];
    for (int i = 0; i < z->dim; i++) *(i < z->count ? &map[i] : &rest[i - z->count]) = (i * 5 + 2) % z->dim;
    size_t part_count = (size_t)z->n * (size_t)z->count, whole_count = (size_t)z->n * (size_t)z->dim;
    double *values = draw_normal(whole_count, 1, 3);
    real *source = lab_put(t->l, values, whole_count), *part = poison(t, part_count);
    int32_t *moved = lab_map(t->l, map, (size_t)z->count),
            *others = lab_map(t->l, rest, (size_t)(z->dim - z->count));
    k->gather(t->l->d, part, source, moved, z->n, z->count, z->dim);
    take(t, "gather", OVERWRITES, part, part_count);
    for (size_t i = 0; i < part_count; i++)
        CHECK(t->outputs[0].values[i] ==
              values[i / (size_t)z->count * (size_t)z->dim + (size_t)map[i % (size_t)z->count]]);
    real *whole = poison(t, whole_count), *sum = begun(t, whole_count), *back = poison(t, part_count);
    k->scatter(t->l->d, whole, part, moved, z->n, z->count, z->dim);
    k->scatter_add(t->l->d, sum, part, moved, z->n, z->count, z->dim);
    k->gather(t->l->d, back, whole, moved, z->n, z->count, z->dim);
    take(t, "scatter", OVERWRITES, back, part_count);
    CHECK(memcmp(t->outputs[0].values, t->outputs[1].values, part_count * sizeof(double)) == 0);
    take(t, "scatter_add", ADDS, sum, whole_count);
    if (z->dim > z->count) {
        size_t rest_count = (size_t)z->n * (size_t)(z->dim - z->count);
        real *untouched = lab_new(t->l, rest_count);
        k->gather(t->l->d, untouched, whole, others, z->n, z->dim - z->count, z->dim);
        take(t, "elements that scatter leaves", KEEPS, untouched, rest_count);
    }
    free(values);
}

static void check_normal_and_maps(const bench *b) {
    static const int shapes[][2] = {{1, 2}, {2, 3}, {3, 7}, {7, 7}};
    for (int i = 0; i < BATCHES; i++) {
        compare(b, run_normal, &batches[i], "normal");
        for (int j = 0; j < 4; j++)
            compare(b, run_maps, &(map_sizes){batches[i], shapes[j][0], shapes[j][1]}, "index maps");
    }
}

/* ---- coupling laws ---- */

typedef struct law_sizes {
    law_config law;
    int n, m;
} law_sizes;

static void run_laws(trial *t, const void *sizes) {
    const law_sizes *z = sizes;
    const device_kind *k = t->l->d->kind;
    device *d = t->l->d;
    size_t n = (size_t)z->n, m = n * (size_t)z->m, na = n * (size_t)law_outputs(&z->law, z->m),
           nb = n * (size_t)law_shifts(&z->law, z->m);
    int scaled = law_shape_of(z->law.id)->has_scale;
    double *A = draw_normal(na, 1, 31), *b = draw_normal(m, 1, 32), *u = draw_normal(m, 1, 33),
           *g = draw_normal(m, 1, 34);
    double *dl = draw_normal(n, 1, 35), s = as_float(1.2);
    law_batch c = {z->law,
                   z->n,
                   z->m,
                   lab_put(t->l, A, na),
                   nb ? lab_put(t->l, b, nb) : NULL,
                   scaled ? lab_put(t->l, &s, 1) : NULL};
    real *dlogdet = lab_put(t->l, dl, n), *logdet[2] = {begun(t, n), begun(t, n)}, *state[5], *grad[3];
    for (int i = 0; i < 5; i++) state[i] = lab_put(t->l, u, m);
    for (int i = 0; i < 3; i++) grad[i] = lab_put(t->l, g, m);
    real *dA[3] = {poison(t, na), poison(t, na), poison(t, na)},
         *db[3] = {poison(t, nb), poison(t, nb), poison(t, nb)};
    real *ds[2] = {begun(t, 1), begun(t, 1)};
    k->law_forward(d, &c, state[0], logdet[0]);
    k->law_inverse(d, &c, state[1], logdet[1]);
    k->law_backward(d, &c, state[2], grad[0], dlogdet, dA[0], db[0], ds[0]);
    k->law_inverse_backward(d, &c, state[3], grad[1], dlogdet, dA[1], db[1], ds[1]);
    k->law_backward(d, &c, state[4], grad[2], dlogdet, dA[2], db[2], NULL);
    take(t, "law_forward v", OVERWRITES, state[0], m);
    take(t, "law_inverse u", OVERWRITES, state[1], m);
    take(t, "law_forward logdet", ADDS, logdet[0], n);
    take(t, "law_inverse logdet", ADDS, logdet[1], n);
    take(t, "law_backward du", OVERWRITES, grad[0], m);
    take(t, "law_backward dA", OVERWRITES, dA[0], na);
    take(t, "law_backward db", OVERWRITES, db[0], nb);
    take(t, "law_backward ds", ADDS, ds[0], 1);
    take(t, "law_inverse_backward dv", OVERWRITES, grad[1], m);
    take(t, "law_inverse_backward dA", OVERWRITES, dA[1], na);
    take(t, "law_inverse_backward db", OVERWRITES, db[1], nb);
    take(t, "law_inverse_backward ds", ADDS, ds[1], 1);
    const real *same[4][2] = {
        {state[2], state[1]}, {state[3], state[0]}, {state[4], state[1]}, {grad[2], grad[0]}};
    for (int i = 0; i < 4; i++) { /* backward undoes, and needs no ds */
        double *found = lab_get(t->l, same[i][0], m), *expected = lab_get(t->l, same[i][1], m);
        CHECK_CLOSE(found, expected, m, device_tolerance(d));
        free(found), free(expected);
    }
    free(A), free(b), free(u), free(g), free(dl);
}

static void check_laws(const bench *b) {
    char what[64];
    for (int law = 0; law < law_count; law++)
        for (int i = 0; i < BATCHES; i++)
            for (int m = 1; m <= 5; m++) {
                law_sizes z = {{.id = (law_id)law}, batches[i], m};
                snprintf(what, sizeof what, "law %s n %d m %d", law_name(z.law.id), z.n, m);
                compare(b, run_laws, &z, what);
            }
}

/* ---- loss terms ---- */

typedef struct term_sizes {
    int n;
    layout layout;
    distance_kind kind;
} term_sizes;

/* The x (or y) elements of a state, side by side. */
static void take_elements(trial *t, const char *name, effect e, const real *state, const term_sizes *z,
                          int of_x) {
    int32_t map[32];
    int count = 0, dim = z->layout.pixels * z->layout.channels;
    for (int i = 0; i < dim; i++)
        if ((i % z->layout.channels < z->layout.x_channels) == of_x) map[count++] = i;
    if (!count) return;
    real *part = lab_new(t->l, (size_t)(z->n * count));
    t->l->d->kind->gather(t->l->d, part, state, lab_map(t->l, map, (size_t)count), z->n, count, dim);
    take(t, name, e, part, (size_t)(z->n * count));
}

static void run_terms(trial *t, const void *sizes) {
    const term_sizes *z = sizes;
    const device_kind *k = t->l->d->kind;
    size_t n = (size_t)z->n, whole = n * (size_t)(z->layout.pixels * z->layout.channels);
    double *x = draw_normal(whole, 1, 41), *y = draw_normal(whole, 1, 42);
    for (size_t i = 0; i < whole; i += 3) y[i] = x[i]; /* at the kink of |.| the slope is 0 */
    const real *state = lab_put(t->l, x, whole), *target = lab_put(t->l, y, whole);
    real *term[4], *dstate[2] = {poison(t, whole), poison(t, whole)};
    for (int i = 0; i < 4; i++) term[i] = poison(t, n);
    k->prior_term(t->l->d, term[0], dstate[0], state, z->n, z->layout, 0.7);
    k->prior_term(t->l->d, term[1], NULL, state, z->n, z->layout, 0.7);
    k->distance_term(t->l->d, term[2], dstate[1], state, target, z->n, z->layout, z->kind, 3, 0.7);
    k->distance_term(t->l->d, term[3], NULL, state, target, z->n, z->layout, z->kind, 3, 0.7);
    take(t, "prior_term", OVERWRITES, term[0], n);
    take(t, "prior_term without gradient", OVERWRITES, term[1], n);
    take(t, "distance_term", OVERWRITES, term[2], n);
    take(t, "distance_term without gradient", OVERWRITES, term[3], n);
    take_elements(t, "prior_term dx", OVERWRITES, dstate[0], z, 1);
    take_elements(t, "prior_term dy", KEEPS, dstate[0], z, 0);
    take_elements(t, "distance_term dx", KEEPS, dstate[1], z, 1);
    take_elements(t, "distance_term dy", OVERWRITES, dstate[1], z, 0);
    free(x), free(y);
}

static void check_terms(const bench *b) {
    static const layout layouts[] = {{1, 2, 2}, {1, 3, 2}, {1, 7, 4}, {4, 3, 1}, {6, 4, 2}};
    for (int i = 0; i < BATCHES; i++)
        for (int j = 0; j < 5; j++)
            compare(b, run_terms, &(term_sizes){batches[i], layouts[j], j % 2 ? DISTANCE_L1 : DISTANCE_L2},
                    "loss terms");
}

/* ---- optimiser ---- */

/* Every second number into -0.5 .. 0.25, the others from 0 upwards. */
static double lower_bound(size_t i) {
    return i % 2 ? 0 : -0.5;
}
static double upper_bound(size_t i) {
    return i % 2 ? INFINITY : 0.25;
}
static void clamp_all_but_the_last(lab *l, real *p, size_t count) {
    int32_t *map = calloc(count, sizeof *map);
    double *lo = new_numbers(count), *hi = new_numbers(count);
    size_t bounded = count - 1;
    for (size_t i = 0; i < bounded; i++) { /* from the end, so that place and number differ */
        map[i] = (int32_t)(bounded - 1 - i);
        lo[i] = lower_bound((size_t)map[i]);
        hi[i] = upper_bound((size_t)map[i]);
    }
    if (bounded > 0)
        l->d->kind->clamp(l->d, p, lab_map(l, map, bounded), lab_put(l, lo, bounded), lab_put(l, hi, bounded),
                          bounded);
    free(map), free(lo), free(hi);
}

static void run_optimiser(trial *t, const void *sizes) {
    size_t count = *(const size_t *)sizes;
    const device_kind *k = t->l->d->kind;
    double *x[2] = {draw_normal(count, 1e-3, 51), draw_normal(count, 1, 52)};
    real *p = lab_put(t->l, x[0], count), *g = lab_put(t->l, x[1], count), *m = lab_new(t->l, count);
    real *v = lab_new(t->l, count), *bounded = lab_put(t->l, x[1], count);
    for (long step = 1; step <= 3; step++)
        k->adam(t->l->d, p, g, m, v, count,
                &(adam_step){1e-3, 0.9, 0.999, 1e-8, 0.5 + 0.25 * (double)step, step});
    clamp_all_but_the_last(t->l, bounded, count);
    double squares = k->sum_squares(t->l->d, g, count), mean = squares / (double)count;
    take(t, "adam p", OVERWRITES, p, count);
    take(t, "adam m", OVERWRITES, m, count);
    take(t, "adam v", OVERWRITES, v, count);
    take(t, "clamp", OVERWRITES, bounded, count);
    take(t, "sum_squares", OVERWRITES, lab_put(t->l, &mean, 1), 1);
    for (size_t i = 0; i + 1 < count; i++)
        CHECK(t->outputs[3].values[i] == fmin(fmax(x[1][i], lower_bound(i)), upper_bound(i)));
    CHECK(t->outputs[3].values[count - 1] == x[1][count - 1]);
    free(x[0]), free(x[1]);
}

static void check_optimiser(const bench *b) {
    static const size_t counts[] = {1, 2, 7, 8, 9, 31, 64, 1000, 16383, 16384, 16385, 50001};
    char what[64];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(what, sizeof what, "optimiser of %zu numbers", counts[i]);
        compare(b, run_optimiser, &counts[i], what);
    }
}

/* ---- the table ---- */

typedef void (*check_fn)(const bench *b);
enum { REQUIRED, OPTIONAL };

static const struct entry {
    const char *name;
    size_t at;
    int kind;
    check_fn check;
} entries[] = {
#define ENTRY(name, kind, check)                                                                             \
    { #name, offsetof(device_kind, name), kind, check }
    ENTRY(open, REQUIRED, check_memory),
    ENTRY(close, REQUIRED, check_memory),
    ENTRY(status, REQUIRED, check_memory),
    ENTRY(describe, REQUIRED, check_memory),
    ENTRY(alloc, REQUIRED, check_memory),
    ENTRY(release, REQUIRED, check_memory),
    ENTRY(alloc_map, REQUIRED, check_normal_and_maps),
    ENTRY(release_map, REQUIRED, check_normal_and_maps),
    ENTRY(put, REQUIRED, check_memory),
    ENTRY(get, REQUIRED, check_memory),
    ENTRY(copy, REQUIRED, check_memory),
    ENTRY(fill, REQUIRED, check_memory),
    ENTRY(add, REQUIRED, check_memory),
    ENTRY(normal, REQUIRED, check_normal_and_maps),
    ENTRY(gather, REQUIRED, check_normal_and_maps),
    ENTRY(scatter, REQUIRED, check_normal_and_maps),
    ENTRY(scatter_add, REQUIRED, check_normal_and_maps),
    ENTRY(dense_forward, REQUIRED, check_dense_layer),
    ENTRY(dense_backward, REQUIRED, check_dense_layer),
    ENTRY(conv_forward, REQUIRED, check_convolution),
    ENTRY(conv_backward, REQUIRED, check_convolution),
    ENTRY(norm_forward, REQUIRED, check_norm),
    ENTRY(norm_backward, REQUIRED, check_norm),
    ENTRY(law_forward, REQUIRED, check_laws),
    ENTRY(law_inverse, REQUIRED, check_laws),
    ENTRY(law_backward, REQUIRED, check_laws),
    ENTRY(law_inverse_backward, REQUIRED, check_laws),
    ENTRY(prior_term, REQUIRED, check_terms),
    ENTRY(distance_term, REQUIRED, check_terms),
    ENTRY(sum_squares, REQUIRED, check_optimiser),
    ENTRY(adam, REQUIRED, check_optimiser),
    ENTRY(clamp, REQUIRED, check_optimiser),
    ENTRY(plan_open, OPTIONAL, check_dense_coupling),
    ENTRY(plan_close, OPTIONAL, check_dense_coupling),
    ENTRY(plan_kept, OPTIONAL, check_image_coupling),
    ENTRY(plan_scratch, OPTIONAL, check_dense_coupling),
    ENTRY(plan_run, OPTIONAL, check_image_coupling),
    ENTRY(profile_start, OPTIONAL, check_profile),
    ENTRY(profile_read, OPTIONAL, check_profile),
#undef ENTRY
};
enum { ENTRIES = sizeof entries / sizeof *entries };

typedef void (*any_fn)(void);

TEST(device__every_entry_is_known_here_and_no_required_one_is_missing) {
    size_t first = offsetof(device_kind, open);
    CHECK(first == offsetof(device_kind, real_size) + sizeof(size_t)); /* functions follow the names */
    for (size_t at = first; at < sizeof(device_kind); at += sizeof(any_fn)) {
        const struct entry *e = NULL;
        for (int i = 0; i < ENTRIES; i++)
            if (entries[i].at == at) e = &entries[i];
        if (!e)
            test_fail(__FILE__, __LINE__,
                      "entry number %zu of device_kind has no check in the list of this file",
                      (at - first) / sizeof(any_fn));
        for (int i = 0; device_kinds[i]; i++) {
            any_fn fn;
            memcpy(&fn, (const char *)device_kinds[i] + at, sizeof fn);
            if (!fn && e->kind == REQUIRED)
                test_fail(__FILE__, __LINE__, "device %s lacks %s", device_kinds[i]->name, e->name);
        }
    }
}

/* Every device against the reference. */
static void on_all_devices(check_fn check) {
    lab *ref = lab_open("ref", 1);
    for (int i = 0; device_kinds[i]; i++) {
        lab *tested = lab_open(device_kinds[i]->name, 3);
        check(&(bench){ref, tested, device_tolerance(tested->d)});
        lab_close(tested);
    }
    lab_close(ref);
}

TEST(device__memory_holds_what_was_put_there) {
    on_all_devices(check_memory);
}
TEST(device__normal_numbers_and_index_maps_agree_with_the_reference) {
    on_all_devices(check_normal_and_maps);
}
TEST(device__dense_layers_agree_with_the_reference) {
    on_all_devices(check_dense_layer);
}
TEST(device__couplings_of_dense_networks_agree_with_the_formulas) {
    on_all_devices(check_dense_coupling);
}
TEST(device__couplings_of_image_networks_agree_with_the_reference) {
    on_all_devices(check_image_coupling);
}
TEST(device__laws_agree_with_the_reference) {
    on_all_devices(check_laws);
}
TEST(device__loss_terms_agree_with_the_reference) {
    on_all_devices(check_terms);
}
TEST(device__optimiser_agrees_with_the_reference) {
    on_all_devices(check_optimiser);
}

TEST(device__results_have_the_same_bits_for_any_number_of_threads) {
    for (int i = 0; device_kinds[i]; i++) {
        lab *one = lab_open(device_kinds[i]->name, 1);
        for (int threads = 2; threads <= 5; threads += threads == 3 ? 2 : 1) {
            bench b = {one, lab_open(device_kinds[i]->name, threads), 0};
            check_dense_coupling(&b);
            check_image_coupling(&b);
            check_laws(&b);
            check_optimiser(&b);
            lab_close(b.tested);
        }
        lab_close(one);
    }
}

/* ---- instruction sets and refusals ---- */

static void under_instruction_set(const char *isa) {
    jf_context *ctx = NULL;
    device *probe = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    setenv("JOINTFLOW_ISA", isa, 1);
    if (device_open(ctx, &probe, "cpu", 1) != JF_OK) {
        CHECK_HAS(jf_context_error(ctx), isa);
        SKIP("this machine lacks the instruction set");
    }
    char words[80];
    probe->kind->describe(probe, words, sizeof words);
    CHECK_HAS(words, isa);
    device_close(probe);
    jf_context_free(ctx);
    bench b = {lab_open("ref", 1), lab_open("cpu", 2), 1e-5};
    check_fn done = NULL;
    for (int i = 0; i < ENTRIES; i++) {
        if (entries[i].check == done) continue; /* neighbours share a check */
        done = entries[i].check;
        done(&b);
    }
    lab_close(b.ref);
    lab_close(b.tested);
    unsetenv("JOINTFLOW_ISA");
}

TEST(device_cpu__keeps_the_contract_without_vector_extensions) {
    under_instruction_set("baseline");
}
TEST(device_cpu__keeps_the_contract_with_avx2) {
    under_instruction_set("avx2");
}
TEST(device_cpu__keeps_the_contract_with_avx512) {
    under_instruction_set("avx512");
}

TEST(device__unknown_names_are_refused_with_those_there_are) {
    jf_context *ctx = NULL;
    device *d = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(device_open(ctx, &d, "gpu9", 1), JF_ERROR_DEVICE);
    CHECK(d == NULL);
    CHECK_HAS(jf_context_error(ctx), "\"gpu9\"");
    for (int i = 0; device_kinds[i]; i++) CHECK_HAS(jf_context_error(ctx), device_kinds[i]->name);
    setenv("JOINTFLOW_ISA", "avx9", 1);
    CHECK_STATUS(device_open(ctx, &d, "cpu", 1), JF_ERROR_DEVICE);
    CHECK(d == NULL);
    CHECK_HAS(jf_context_error(ctx), "JOINTFLOW_ISA=avx9");
    CHECK_HAS(jf_context_error(ctx), " baseline");
    unsetenv("JOINTFLOW_ISA");
    jf_context_free(ctx);
}
