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
        if (k->host) { /* written there, it is the device's, too */
            const void *at = k->host(l->d, p);
            double last =
                k->real_size == 4 ? ((const float *)at)[count - 1] : ((const double *)at)[count - 1];
            CHECK(last == found[4][0]);
        }
        for (int j = 0; j < 5; j++) free(found[j]);
        free(x), free(y), free(zero);
        lab_clear(l);
    }
    real *none = NULL;
    CHECK_STATUS(k->alloc(l->d, &none, SIZE_MAX / 4), JF_ERROR_MEMORY);
    CHECK(none == NULL && jf_context_error(l->ctx)[0]);
    if (k->memory) {
        size_t left = SIZE_MAX, all = 0;
        k->memory(l->d, &left, &all);
        CHECK(left <= all && all >= (size_t)1 << 30);
    }
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

static void check_normal(const bench *b) {
    for (int i = 0; i < BATCHES; i++) compare(b, run_normal, &batches[i], "normal");
}

static void run_dropout(trial *t, const void *sizes) {
    const int *n = sizes;
    device *d = t->l->d;
    size_t count = (size_t)*n * 7;
    double *ones = new_numbers(count), step = 41, dropped = 0;
    for (size_t i = 0; i < count; i++) ones[i] = 1;
    scalar *steps;
    CHECK_STATUS(d->kind->alloc_scalars(d, &steps, 2), JF_OK);
    d->kind->put_scalars(d, scalar_at(steps, 1), &step, 1);
    dropout_mask mask = {{.seed = 9, .step = scalar_at(steps, 1)}, 77, 0.25, 0};
    dropout_mask elsewhere = mask, later = mask, rest = mask;
    rest.first = count / 3;
    elsewhere.place++;
    later.source.step = steps; /* another one, that is */
    real *x[4];
    const dropout_mask *by[4] = {&mask, &mask, &elsewhere, &later};
    for (int k = 0; k < 4; k++) {
        x[k] = lab_put(t->l, ones, count);
        d->kind->dropout(d, x[k], k == 1 ? count - 1 : count, by[k]);
        take(t, "dropout", OVERWRITES, x[k], count);
    }
    real *parts = lab_put(t->l, ones, count); /* a batch that is cut into two has the same mask */
    d->kind->dropout(d, parts, (size_t)rest.first, &mask);
    d->kind->dropout(d, real_at(d, parts, (size_t)rest.first), count - (size_t)rest.first, &rest);
    take(t, "dropout of two parts", OVERWRITES, parts, count);
    const double *a = t->outputs[0].values, *again = t->outputs[1].values;
    CHECK(memcmp(a, t->outputs[4].values, count * sizeof *a) == 0);
    CHECK(memcmp(a, again, (count - 1) * sizeof *a) == 0 && again[count - 1] == 1);
    for (size_t i = 0; i < count; i++) {
        CHECK(a[i] == 0 || fabs(a[i] - 4.0 / 3) < 1e-7);
        dropped += a[i] == 0;
    }
    CHECK_NEAR(dropped / (double)count, 0.25, 4 * sqrt(0.1875 / (double)count));
    for (int k = 2; k < 4 && count > 100; k++) CHECK(memcmp(a, t->outputs[k].values, count * sizeof *a) != 0);
    d->kind->release_scalars(d, steps);
    free(ones);
}

static void check_dropout(const bench *b) {
    for (int i = 0; i < BATCHES; i++) compare(b, run_dropout, &batches[i], "dropout");
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
    /* more entries than elements, as patches of a convolution are */
    int32_t often[16];
    size_t again_count = (size_t)z->n * 16;
    for (int i = 0; i < 16; i++) often[i] = (i * i) % z->dim;
    real *again = poison(t, again_count);
    k->gather(t->l->d, again, source, lab_map(t->l, often, 16), z->n, 16, z->dim);
    take(t, "gather of repeated elements", OVERWRITES, again, again_count);
    const double *found = t->outputs[t->count - 1].values;
    for (size_t i = 0; i < again_count; i++)
        CHECK(found[i] == values[i / 16 * (size_t)z->dim + (size_t)often[i % 16]]);
    free(values);
}

static void check_index_map(const bench *b) {
    static const int shapes[][2] = {{1, 2}, {2, 3}, {3, 7}, {7, 7}};
    for (int i = 0; i < BATCHES; i++)
        for (int j = 0; j < 4; j++)
            compare(b, run_maps, &(map_sizes){batches[i], shapes[j][0], shapes[j][1]}, "index maps");
}

/* ---- laws ---- */

typedef struct law_sizes {
    law_config law;
    int n, m, rows;
} law_sizes;

/* Gradients of A and b: of a shared law sums that are added, otherwise one for each row. */
static real *gradient_of(trial *t, law_id law, size_t count) {
    return law_is_shared(law) ? begun(t, count) : poison(t, count);
}

static void run_laws(trial *t, const void *sizes) {
    const law_sizes *z = sizes;
    const device_kind *k = t->l->d->kind;
    device *d = t->l->d;
    law_id id = z->law.id;
    int scaled = law_shape_of(id)->has_scale;
    effect sums = law_is_shared(id) ? ADDS : OVERWRITES;
    size_t n = (size_t)z->n, rows = n * (size_t)z->rows, m = rows * (size_t)z->m,
           sets = law_is_shared(id) ? 1 : rows, na = sets * (size_t)law_outputs(&z->law, z->m),
           nb = sets * (size_t)law_shifts(&z->law, z->m);
    double *A = draw_normal(na, law_is_shared(id) ? 0.3 : 1, 31), *b = draw_normal(m, 1, 32),
           *u = draw_normal(m, 1, 33), *g = draw_normal(m, 1, 34);
    double *dl = draw_normal(n, 1, 35), s = as_float(1.2);
    law_batch c = {z->law,
                   z->n,
                   z->m,
                   lab_put(t->l, A, na),
                   nb ? lab_put(t->l, b, nb) : NULL,
                   scaled ? lab_put(t->l, &s, 1) : NULL,
                   z->rows};
    real *dlogdet = lab_put(t->l, dl, n), *logdet[2] = {begun(t, n), begun(t, n)}, *state[4], *grad[2];
    for (int i = 0; i < 4; i++) state[i] = lab_put(t->l, u, m);
    for (int i = 0; i < 2; i++) grad[i] = lab_put(t->l, g, m);
    real *dA[2], *db[2];
    for (int i = 0; i < 2; i++) dA[i] = gradient_of(t, id, na), db[i] = gradient_of(t, id, nb);
    real *ds = begun(t, 1);
    k->law_forward(d, &c, state[0], logdet[0]);
    k->law_inverse(d, &c, state[1], logdet[1]);
    k->law_backward(d, &c, state[2], grad[0], dlogdet, dA[0], db[0], ds);
    k->law_backward(d, &c, state[3], grad[1], dlogdet, dA[1], db[1], NULL);
    take(t, "law_forward v", OVERWRITES, state[0], m);
    take(t, "law_inverse u", OVERWRITES, state[1], m);
    take(t, "law_forward logdet", ADDS, logdet[0], n);
    take(t, "law_inverse logdet", ADDS, logdet[1], n);
    take(t, "law_backward du", OVERWRITES, grad[0], m);
    take(t, "law_backward dA", sums, dA[0], na);
    take(t, "law_backward db", sums, db[0], nb);
    take(t, "law_backward ds", ADDS, ds, 1);
    const real *same[3][2] = {{state[2], state[1]}, {state[3], state[1]}, {grad[1], grad[0]}};
    for (int i = 0; i < 3; i++) { /* backward undoes, and needs no ds */
        double *found = lab_get(t->l, same[i][0], m), *expected = lab_get(t->l, same[i][1], m);
        CHECK_CLOSE(found, expected, m, device_tolerance(d));
        free(found), free(expected);
    }
    free(A), free(b), free(u), free(g), free(dl);
}

static void check_law(const bench *b) {
    char what[64];
    for (int law = 0; law < law_count; law++)
        for (int i = 0; i < BATCHES; i++)
            for (int m = 1; m <= 5; m++) {
                if (EMULATED && (law + i + m) % 3) continue; /* of each law still all batches and all m */
                law_sizes z = {law_with_defaults((law_id)law), batches[i], m, (i + m) % 3 ? 1 : 7};
                snprintf(what, sizeof what, "law %s n %d rows %d m %d", law_name(z.law.id), z.n, z.rows, m);
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

static void check_loss_term(const bench *b) {
    static const layout layouts[] = {{1, 2, 2}, {1, 3, 2}, {1, 7, 4}, {4, 3, 1}, {6, 4, 2}};
    for (int i = 0; i < BATCHES; i++)
        for (int j = 0; j < 5; j++)
            compare(b, run_terms, &(term_sizes){batches[i], layouts[j], j % 2 ? DISTANCE_L1 : DISTANCE_L2},
                    "loss terms");
}

/* ---- the table ---- */

typedef void (*check_fn)(const bench *b);
enum { REQUIRED, OPTIONAL };

/* Every entry of the table, and the check that runs it. */
static const struct entry {
    const char *name, *check_name;
    size_t at;
    int kind;
    check_fn check;
} entries[] = {
#define ENTRY(name, kind, check)                                                                             \
    { #name, #check, offsetof(device_kind, name), kind, check_##check }
    ENTRY(open, REQUIRED, memory),
    ENTRY(close, REQUIRED, memory),
    ENTRY(status, REQUIRED, memory),
    ENTRY(describe, REQUIRED, memory),
    ENTRY(memory, OPTIONAL, memory),
    ENTRY(missing, OPTIONAL, memory),
    ENTRY(alloc, REQUIRED, memory),
    ENTRY(release, REQUIRED, memory),
    ENTRY(alloc_map, REQUIRED, index_map),
    ENTRY(release_map, REQUIRED, index_map),
    ENTRY(put, REQUIRED, memory),
    ENTRY(get, REQUIRED, memory),
    ENTRY(copy, REQUIRED, memory),
    ENTRY(fill, REQUIRED, memory),
    ENTRY(add, REQUIRED, memory),
    ENTRY(host, OPTIONAL, memory),
    ENTRY(alloc_scalars, REQUIRED, scalars),
    ENTRY(release_scalars, REQUIRED, scalars),
    ENTRY(put_scalars, REQUIRED, scalars),
    ENTRY(get_scalars, REQUIRED, scalars),
    ENTRY(sum_into, REQUIRED, scalars),
    ENTRY(largest_difference_into, REQUIRED, scalars),
    ENTRY(normal, REQUIRED, normal),
    ENTRY(dropout, REQUIRED, dropout),
    ENTRY(gather, REQUIRED, index_map),
    ENTRY(scatter, REQUIRED, index_map),
    ENTRY(scatter_add, REQUIRED, index_map),
    ENTRY(dense_forward, REQUIRED, dense_layer),
    ENTRY(dense_backward, REQUIRED, dense_layer),
    ENTRY(conv_forward, REQUIRED, convolution),
    ENTRY(conv_backward, REQUIRED, convolution),
    ENTRY(norm_forward, REQUIRED, norm),
    ENTRY(norm_backward, REQUIRED, norm),
    ENTRY(law_forward, REQUIRED, law),
    ENTRY(law_inverse, REQUIRED, law),
    ENTRY(law_backward, REQUIRED, law),
    ENTRY(prior_term, REQUIRED, loss_term),
    ENTRY(distance_term, REQUIRED, loss_term),
    ENTRY(rule_term, REQUIRED, rules),
    ENTRY(adam, REQUIRED, optimiser),
    ENTRY(clamp, REQUIRED, optimiser),
    ENTRY(plan_open, OPTIONAL, dense_coupling),
    ENTRY(plan_close, OPTIONAL, dense_coupling),
    ENTRY(plan_saved, OPTIONAL, image_coupling),
    ENTRY(plan_scratch, OPTIONAL, dense_coupling),
    ENTRY(plan_run, OPTIONAL, image_coupling),
    ENTRY(data_open, OPTIONAL, resident),
    ENTRY(data_close, OPTIONAL, resident),
    ENTRY(data_batch, OPTIONAL, resident),
    ENTRY(record, OPTIONAL, recording),
    ENTRY(replay, OPTIONAL, recording),
    ENTRY(recording_free, OPTIONAL, recording),
    ENTRY(background, OPTIONAL, background),
    ENTRY(background_wait, OPTIONAL, background),
    ENTRY(group_id, OPTIONAL, group),
    ENTRY(group_open, OPTIONAL, group),
    ENTRY(group_close, OPTIONAL, group),
    ENTRY(group_sum, OPTIONAL, group),
    ENTRY(group_sum_scalars, OPTIONAL, group),
    ENTRY(group_done, OPTIONAL, group),
    ENTRY(profile_start, OPTIONAL, profile),
    ENTRY(profile_read, OPTIONAL, profile),
#undef ENTRY
};
enum { ENTRIES = sizeof entries / sizeof *entries };

typedef void (*any_fn)(void);

TEST(device__every_entry_has_a_check_and_no_required_one_is_missing) {
    size_t first = offsetof(device_kind, open);
    CHECK(first == offsetof(device_kind, training) + sizeof(precision)); /* functions follow the names */
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

/* ---- every check on every device ---- */

/* cpu runs as each instruction set in turn; what it takes by itself is one of them. */
static const char *const instruction_sets[] = {"baseline", "avx2", "avx512"};
enum { SETS = sizeof instruction_sets / sizeof *instruction_sets };

/* One test: a check on a device. */
typedef struct contract {
    char name[128];
    const struct entry *entry; /* the first with this check */
    const device_kind *kind;
    const char *isa; /* NULL: not asked for */
} contract;

/* Skips the test where this machine lacks the instruction set. */
static void choose_instruction_set(const char *isa) {
    jf_context *ctx = NULL;
    device *probe = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    setenv("JOINTFLOW_ISA", isa, 1); /* of this process, which ends with the test */
    if (device_open(ctx, &probe, "cpu", 1) != JF_OK) {
        CHECK_HAS(jf_context_error(ctx), isa);
        SKIP("this machine lacks the instruction set");
    }
    char words[80];
    probe->kind->describe(probe, words, sizeof words);
    CHECK_HAS(words, isa);
    device_close(probe);
    jf_context_free(ctx);
}

static void keep_contract(const void *row) {
    const contract *c = row;
    if (c->isa) choose_instruction_set(c->isa);
    skip_missing_device(c->kind);
    lab *ref = lab_open("ref", 1), *tested = lab_open(c->kind->name, 3);
    c->entry->check(&(bench){ref, tested, device_tolerance(tested->d)});
    lab_close(tested);
    lab_close(ref);
}

static void keep_bits(const void *row) {
    static const int threads[] = {3, 16, 2};
#ifdef SANITIZED
    const size_t some = 1;
#else
    const size_t some = EMULATED ? 1 : 2;
#endif
    const contract *c = row;
    skip_missing_device(c->kind);
    lab *one = lab_open(c->kind->name, 1);
    for (size_t i = 0; i < (ALL_CASES ? sizeof threads / sizeof *threads : some); i++) {
        lab *tested = lab_open(c->kind->name, threads[i]);
        c->entry->check(&(bench){one, tested, 0});
        lab_close(tested);
    }
    lab_close(one);
}

static void register_contract(contract *c, const struct entry *e, const device_kind *kind, const char *isa) {
    *c = (contract){.entry = e, .kind = kind, .isa = isa};
    snprintf(c->name, sizeof c->name, "device_%s%s%s__%s_keeps_the_contract", kind->name, isa ? "_" : "",
             isa ? isa : "", e->check_name);
    test_register_row(c->name, __FILE__, keep_contract, c);
}

static void register_bits(contract *c, const struct entry *e, const device_kind *kind) {
    *c = (contract){.entry = e, .kind = kind};
    snprintf(c->name, sizeof c->name, "device_%s__%s_has_the_same_bits_for_any_number_of_threads", kind->name,
             e->check_name);
    test_register_row(c->name, __FILE__, keep_bits, c);
}

static int is_first_of_its_check(int i) {
    for (int k = 0; k < i; k++)
        if (entries[k].check == entries[i].check) return 0;
    return 1;
}

/* A device that joins the list is tested by being in it. */
__attribute__((constructor)) static void register_contracts(void) {
    static contract contracts[512];
    contract *next = contracts, *end = contracts + sizeof contracts / sizeof *contracts;
    for (int i = 0; i < ENTRIES; i++) {
        if (!is_first_of_its_check(i)) continue;
        for (int k = 0; device_kinds[k]; k++) {
            int sets = strcmp(device_kinds[k]->name, "cpu") == 0 ? SETS : 1;
            if (next + sets + 1 > end) abort();
            for (int s = 0; s < sets; s++)
                register_contract(next++, &entries[i], device_kinds[k],
                                  sets > 1 ? instruction_sets[s] : NULL);
            register_bits(next++, &entries[i], device_kinds[k]);
        }
    }
}

/* ---- refusals ---- */

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

TEST(device_cpu__every_instruction_set_it_offers_is_tested) {
    jf_context *ctx = NULL;
    device *d = NULL;
    char offered[256];
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    setenv("JOINTFLOW_ISA", "none", 1);
    CHECK_STATUS(device_open(ctx, &d, "cpu", 1), JF_ERROR_DEVICE); /* "... this machine can run: A B" */
    snprintf(offered, sizeof offered, "%s", strrchr(jf_context_error(ctx), ':') + 1);
    CHECK_HAS(offered, instruction_sets[0]);
    for (char *rest = NULL, *isa = strtok_r(offered, " ", &rest); isa; isa = strtok_r(NULL, " ", &rest)) {
        int tested = 0;
        for (int i = 0; i < SETS; i++) tested += strcmp(isa, instruction_sets[i]) == 0;
        if (!tested) test_fail(__FILE__, __LINE__, "\"%s\" is not in the list of this file", isa);
    }
    jf_context_free(ctx);
}

TEST(device__without_a_name_is_the_first_of_the_list) {
    jf_context *ctx = NULL;
    device *d = NULL;
    char words[DEVICE_MAX_WORDS];
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    CHECK_STATUS(device_open(ctx, &d, NULL, 1), JF_OK);
    CHECK(d->kind == device_kinds[0]);
    device_describe(d, words);
    CHECK(strncmp(words, d->kind->name, strlen(d->kind->name)) == 0);
    CHECK_HAS(words, "1 thread)");
    device_close(d);
    jf_context_free(ctx);
}
