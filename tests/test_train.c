/* Runs that are stopped, killed or thrown back end as they would have, and batches hold what they should. */
#include "train_fixture.h"
#include <stddef.h>

/* ---- bounds ---- */

TEST(optimiser__keeps_parameters_within_their_bounds_and_leaves_the_others) {
    run *r = run_open(tiny);
    optimiser o;
    const param_list *list = &r->m->parameters;
    CHECK_STATUS(optimiser_create(&o, r->m), JF_OK);
    double *values = weights_of(r->m);
    for (size_t i = 0; i < list->total; i++) values[i] = i % 2 ? 50 : -50;
    r->m->d->kind->put(r->m->d, r->m->params, values, list->total);
    optimiser_keep_bounds(&o, r->m);
    double *found = weights_of(r->m);
    for (int i = 0; i < list->count; i++)
        for (size_t k = list->items[i].offset; k < list->items[i].offset + list->items[i].count; k++)
            CHECK(found[k] == fmin(fmax(values[k], list->items[i].lo), list->items[i].hi));
    CHECK(o.bounded == params_bounded(list) && o.bounded > 0 && o.bounded < list->total);
    free(values), free(found);
    optimiser_free(&o, r->m);
    run_close(r);
}

/* ---- resuming ---- */

/* The folder as a process leaves it that is killed in the first batch of the anneal phase: its checkpoint is
 * that of the last epoch of the phase before. */
static void copy_at_anneal(run *r, const jf_training *p) {
    if (r->done || strcmp(p->phase, "anneal") != 0) return;
    r->done = 1;
    CHECK_STATUS(file_make_folder(r->ctx, test_path("killed")), JF_OK);
    copy_file(r->ctx, test_path("whole/checkpoint.safetensors"), test_path("killed/checkpoint.safetensors"));
    copy_file(r->ctx, test_path("whole/history.csv"), test_path("killed/history.csv"));
}

static void check_killed(const char *content) {
    run *whole = run_open(content), *killed = run_open(content);
    whole->watch = copy_at_anneal;
    CHECK_STATUS(run_train(whole, test_path("whole"), 0), JF_OK);
    CHECK(whole->done);
    CHECK_STATUS(run_train(killed, test_path("killed"), 1), JF_OK);
    check_same_end(whole, test_path("whole"), killed, test_path("killed"));
    run_close(whole);
    run_close(killed);
}

TEST(train__decayed_and_averaged_weights_resume_to_the_same_end) {
    char content[700];
    snprintf(content, sizeof content, "%s[train]\nweight_decay = 0.1\naverage = 0.9\n", tiny);
    check_killed(content);
}

/* What is kept is the average, which lags behind the weights, so that other weights come out. */
TEST(train__averaging_and_decay_change_the_weights_that_are_kept) {
    static const char *const keys[] = {"", "[train]\nweight_decay = 1\n", "[train]\naverage = 0.9\n"};
    double *weights[3];
    size_t total = 0;
    for (int i = 0; i < 3; i++) {
        char content[700];
        snprintf(content, sizeof content, "%s%s", tiny, keys[i]);
        run *r = run_open(content);
        CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
        total = r->m->parameters.total;
        weights[i] = weights_of(r->m);
        run_close(r);
    }
    double differ[3] = {0};
    for (int i = 1; i < 3; i++)
        for (size_t k = 0; k < total; k++) differ[i] += fabs(weights[i][k] - weights[0][k]);
    CHECK(differ[1] > 1e-6 && differ[2] > 1e-6);
    for (int i = 0; i < 3; i++) free(weights[i]);
}

TEST(train__killed_between_two_phases_resumes_to_the_same_end) {
    char content[600];
    for (int all = 0; all < 2; all++) check_killed(tiny_of(all, content));
}

/* One weight becomes NaN after batch 3 of epoch 2, once; before that the run may be stopped. */
static void poison(run *r, const jf_training *p) {
    const double bad = NAN;
    if (r->done || strcmp(p->phase, "train") != 0 || p->epoch != 2) return;
    if (p->batch == 3) {
        r->m->d->kind->put(r->m->d, r->m->params, &bad, 1);
        r->done = 1;
    }
}

static void poison_or_stop(run *r, const jf_training *p) {
    if (strcmp(p->phase, "train") == 0 && p->epoch == 2 && p->batch == 2) r->stop = 1;
    poison(r, p);
}

TEST(train__rollback_after_resuming_goes_back_to_the_start_of_the_epoch) {
    run *whole = run_open(tiny), *stopped = run_open(tiny), *resumed = run_open(tiny);
    whole->watch = resumed->watch = poison;
    stopped->watch = poison_or_stop;
    CHECK_STATUS(run_train(whole, test_path("whole"), 0), JF_OK);
    CHECK_STATUS(run_train(stopped, test_path("stopped"), 0), JF_STOPPED);
    CHECK(stopped->last.epoch == 2 && stopped->last.batch == 2 && !stopped->done);
    CHECK_STATUS(run_train(resumed, test_path("stopped"), 1), JF_OK);
    CHECK(whole->done && resumed->done);
    CHECK_NEAR(whole->last.rate, 0.5e-2, 1e-12); /* there was a rollback */
    check_same_end(whole, test_path("whole"), resumed, test_path("stopped"));
    run_close(whole);
    run_close(stopped);
    run_close(resumed);
}

/* Writes a checkpoint again with one number of its state changed, and as one of this version, unless that is
 * NULL, with this checksum, unless that is NULL. */
static void change_checkpoint(jf_context *ctx, const char *path, size_t field, double value,
                              const char *version, const char *sum_key) {
    static const char *const keys[] = {
        "jointflow.checkpoint", "recipe", "seed", "device", "precision", "data"};
    enum { NOTES = sizeof keys / sizeof *keys };
    tensor_file *file = NULL;
    tensor_note notes[NOTES];
    double state[64];
    CHECK_STATUS(tensors_read(ctx, &file, path), JF_OK);
    size_t count = tensors_count(file);
    tensor *tensors = calloc(count, sizeof *tensors);
    CHECK(tensors != NULL);
    for (size_t i = 0; i < count; i++) {
        tensors[i] = *tensors_at(file, i);
        if (strcmp(tensors[i].name, "state") != 0) continue;
        CHECK(tensor_elements(&tensors[i]) <= 64 && field < tensor_elements(&tensors[i]));
        memcpy(state, tensors[i].data, tensor_elements(&tensors[i]) * sizeof *state);
        state[field] = value;
        tensors[i].data = state;
    }
    for (int i = 0; i < NOTES; i++) notes[i] = (tensor_note){keys[i], tensors_note(file, keys[i])};
    if (version) notes[0].value = version;
    CHECK_STATUS(sum_key
                     ? tensors_write_summed(ctx, path, tensors, count, notes, NOTES, sum_key, file_replace)
                     : tensors_write(ctx, path, tensors, count, notes, NOTES),
                 JF_OK);
    free(tensors);
    tensors_free(file);
}

TEST(checkpoint__with_a_state_that_no_run_has_is_refused_and_named) {
    static const struct {
        size_t field;
        double value;
        const char *message;
    } cases[] = {
        {0, 99, "phase is 99"}, {0, -1, "phase is -1"}, {1, NAN, "epoch is"}, {2, -3, "batch is -3"}};
    const char *path = test_path("run/checkpoint.safetensors");
    run *r = run_open(tiny);
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_OK);
    remove(test_path("run/checkpoint-previous.safetensors"));
    for (int i = 0; i < 4; i++) {
        copy_file(r->ctx, path, test_path("good"));
        change_checkpoint(r->ctx, path, cases[i].field, cases[i].value, NULL, TENSORS_FILE_SUM);
        CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(r->ctx), "checkpoint.safetensors: tensor \"state\"");
        CHECK_HAS(jf_context_error(r->ctx), cases[i].message);
        copy_file(r->ctx, test_path("good"), path);
    }
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK);
    run_close(r);
}

TEST(checkpoint__of_another_version_is_refused) {
    static const struct {
        const char *version, *message;
    } cases[] = {
        {"3",
         "a checkpoint of version 3, expected 4: an earlier jointflow wrote it; train again with this version"},
        {"5", "a checkpoint of version 5, expected 4: a later jointflow wrote it"},
        {"0", "not a jointflow checkpoint"},
        {"one", "not a jointflow checkpoint"}};
    const char *path = test_path("run/checkpoint.safetensors");
    run *r = run_open(tiny);
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_OK);
    remove(test_path("run/checkpoint-previous.safetensors"));
    copy_file(r->ctx, path, test_path("good"));
    for (int i = 0; i < 4; i++) {
        change_checkpoint(r->ctx, path, 0, 0, cases[i].version, TENSORS_FILE_SUM);
        CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_FORMAT);
        CHECK_HAS(jf_context_error(r->ctx), cases[i].message);
    }
    copy_file(r->ctx, test_path("good"), path);
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK);
    run_close(r);
}

static void write_bytes(const char *path, const char *bytes, size_t size) {
    remove(path);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Whatever it hits: header, notes, weights, state. */
TEST(checkpoint__no_flipped_bit_goes_unseen) {
    const char *path = test_path("run/checkpoint.safetensors");
    char *bytes = NULL;
    size_t size = 0, tried = 0;
    run *r = run_open(tiny);
    rng random = rng_stream((rng_key){.seed = 6, .purpose = RNG_TEST}, 0);
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_OK);
    remove(test_path("run/checkpoint-previous.safetensors"));
    CHECK_STATUS(file_read(r->ctx, &bytes, &size, path, 1 << 24), JF_OK);
    for (size_t at = 0; at < size; at += 1 + rng_below(&random, 12), tried++) {
        char flip = (char)(1 << rng_below(&random, 8));
        bytes[at] ^= flip;
        write_bytes(path, bytes, size);
        if (run_train(r, test_path("run"), 1) == JF_OK)
            test_fail(__FILE__, __LINE__, "bit 0x%02x of byte %zu flipped: resumed", (unsigned char)flip, at);
        CHECK_HAS(jf_context_error(r->ctx), "checkpoint.safetensors: ");
        bytes[at] ^= flip;
    }
    CHECK(tried > 500);
    write_bytes(path, bytes, size);
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_OK);
    free(bytes);
    run_close(r);
}

TEST(checkpoint__without_its_checksum_is_refused_and_of_an_earlier_version_told_as_that) {
    const char *path = test_path("run/checkpoint.safetensors");
    run *r = run_open(tiny);
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_OK);
    remove(test_path("run/checkpoint-previous.safetensors"));
    change_checkpoint(r->ctx, path, 0, 0, NULL, NULL);
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(r->ctx), "damaged: its checksum (\"file_checksum\") is missing");
    change_checkpoint(r->ctx, path, 0, 0, "1", NULL);
    CHECK_STATUS(run_train(r, test_path("run"), 1), JF_ERROR_FORMAT);
    CHECK_HAS(jf_context_error(r->ctx),
              "a checkpoint of version 1, expected 4: an earlier jointflow wrote it");
    run_close(r);
}

/* Another order of these numbers is another version. */
TEST(checkpoint__state_holds_the_sums_of_the_terms_in_the_order_of_their_list) {
    CHECK(sizeof(train_state) == (21 + TERM_COUNT) * sizeof(double));
    CHECK(offsetof(train_state, sums) == 13 * sizeof(double));
    CHECK(TERM_TOTAL == 0 && TERM_Z == 1 && TERM_Y == 2 && TERM_LOGDET == 3 && TERM_Y_ERROR == 4);
}

/* ---- terms ---- */

static void check_sum(run *r, const jf_training *p) {
    double sum = 0;
    for (int i = 0; i < TERM_COUNT; i++)
        if (loss_term_info[i].role == TERM_IS_PART) sum += p->terms[i].value;
    CHECK_NEAR(sum, p->terms[TERM_TOTAL].value, 1e-9 * (1 + fabs(sum)));
    r->done++;
}

TEST(train__the_loss_is_the_sum_of_its_parts_and_history_names_every_term) {
    run *r = run_open(tiny);
    r->watch = check_sum;
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_OK);
    CHECK(r->done == 9 * 4); /* epochs of four batches */
    char *history = history_of(r->ctx, test_path("run"));
    text row = {0};
    CHECK_HAS(history, "phase,epoch,step,loss,z,y,logdet,y_error,validation,rate,ks_median,ks_max,drift\n");

    text_add(&row, "\ntrain,4,36,");
    for (int i = 0; i < 5; i++) {
        text_add_number(&row, r->last.terms[i].value); /* the whole last epoch */
        text_add(&row, ",");
    }
    CHECK_HAS(history, row.chars);
    text_free(&row);
    free(history);
    run_close(r);
}

/* ---- objectives ---- */

static void note_first_epoch(run *r, const jf_training *p) {
    for (int i = 0; p->epoch_ended && p->epoch == 1 && i < TERM_COUNT; i++) r->first[i] = p->terms[i].value;
}

/* Of those with a condition also that it comes back: its error falls. */
TEST(train__every_objective_of_the_list_learns) {
    for (int i = 0; objective_kinds[i]; i++) {
        const objective_kind *k = objective_kinds[i];
        char content[400], data[64] = "";
        if (k->from_data)
            snprintf(data, sizeof data, "[data]\nset = %s\n", k->has_condition ? "crescents" : "ring");
        snprintf(content, sizeof content,
                 "%s[loss]\nobjective = %s\n[model]\nblocks = 2\ndepth = 2\nwidth = 8\n[train]\nbatch = 100\n"
                 "batches = 20\nprecondition_batches = 20\nprecondition = %d\nanneal = 0\nepochs = 12\n"
                 "rate = 5e-3\nks_every = 0\n",
                 data, k->name, k->from_data ? 0 : 12);
        run *r = run_open(content);
        r->watch = note_first_epoch;
        CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
        double first = r->first[TERM_TOTAL], last = r->last.terms[TERM_TOTAL].value,
               y_error = r->last.terms[TERM_Y_ERROR].value;
        if (!(isfinite(first) && last < first - 0.1))
            test_fail(__FILE__, __LINE__, "%s: the loss is %g after one epoch and %g at the end", k->name,
                      first, last);
        if (k->has_condition && !(y_error < 0.1 && y_error < 0.5 * r->first[TERM_Y_ERROR]))
            test_fail(__FILE__, __LINE__, "%s: y comes back with an error of %g", k->name, y_error);
        run_close(r);
    }
}

/* ---- which weights are taken ---- */

static void stop_in_anneal(run *r, const jf_training *p) {
    if (strcmp(p->phase, "anneal") == 0 && p->epoch == 3) r->stop = 1;
}

/* Early in the phase the data are nearly N(0, 1) and their loss is smaller: that says nothing about the
 * model. */
TEST(train__stopped_in_the_anneal_phase_leaves_the_latest_weights) {
    run *r = run_open(tiny);
    tensor_file *file = NULL;
    r->watch = stop_in_anneal;
    CHECK_STATUS(run_train(r, test_path("run"), 0), JF_STOPPED);
    CHECK_STATUS(tensors_read(r->ctx, &file, test_path("run/checkpoint.safetensors")), JF_OK);
    const param *p = &r->m->flow->params->items[1];
    const tensor *t = tensors_find(file, p->name), *best;
    char name[64];
    snprintf(name, sizeof name, "best.%s", p->name);
    best = tensors_find(file, name);
    double *weights = weights_of(r->m);
    CHECK(t && best && memcmp(t->data, best->data, p->count * sizeof(float)) != 0);
    for (size_t i = 0; i < p->count; i++) CHECK(weights[p->offset + i] == ((const float *)t->data)[i]);
    free(weights);
    tensors_free(file);
    run_close(r);
}

/* A table of two columns whose row `odd` is beyond what a float holds. */
static void write_table(const char *path, int rows, int odd) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < rows; i++)
        fprintf(file, "%g,%g\n", i == odd ? 1e100 : sin(i), i == odd ? 1e100 : cos(1.7 * i));
    CHECK(fclose(file) == 0);
}

static int has_huge(const dataset *d) {
    double xy[2];
    for (long i = 0; i < d->validation_rows; i++) {
        dataset_validation(d, (uint64_t)i, 1, xy);
        if (xy[0] == 1e100) return 1;
    }
    return 0;
}

TEST(train__held_out_loss_that_is_no_number_is_never_the_best) {
    char content[512];
    run *r = NULL;
    const char *path = test_path("t.csv");
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 0\n[loss]\nobjective = plain\n" TINY_MODEL
             "[train]\nbatch = 20\nprecondition = 0\nanneal = 0\nepochs = 9\npatience = 2\nks_every = 0\n",
             path);
    for (int odd = 0; odd < 60 && !r; odd++) { /* until the odd row is one of those held out */
        write_table(path, 60, odd);
        r = run_open(content);
        if (has_huge(r->data)) continue;
        run_close(r);
        r = NULL;
    }
    CHECK(r != NULL);
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    CHECK(r->last.epoch == 2); /* neither of them improved */
    run_close(r);
}

/* ---- batches ---- */

/* A table of two classes in turn; x0 is the number of the row. */
static run *open_two_classes(int rows, int batch, const char *train) {
    const char *path = test_path("t.csv");
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < rows; i++) fprintf(file, "%d,%g,%d\n", i, sin(i), i % 2);
    CHECK(fclose(file) == 0);
    char content[512];
    snprintf(content, sizeof content,
             "[data]\nset = table\nfile = %s\nx = 2\ny = 1\ndiscrete = yes\n" TINY_MODEL
             "[train]\nbatch = %d\n%s",
             path, batch, train);
    return run_open(content);
}

TEST(batches__of_a_file_hold_one_class_each_and_the_classes_alternate) {
    enum { ROWS = 400, N = 10, BATCHES = 36 }; /* 0.9 of the rows, whole batches */
    run *r = open_two_classes(ROWS, N, "");
    const phase *last = &phases[phase_count - 1];
    int batches = phase_batches(last, r->m, r->data), seen[ROWS] = {0}, classes[BATCHES], turns = 0;
    CHECK(batches >= BATCHES - 2 && batches <= BATCHES);
    for (int b = 0; b < batches; b++) {
        double rows[N * 3], scratch[N * 3];
        batch_request q = batch_of(r->m, r->data, &(batch_key){last, 1, 7, b}, N);
        batch_rows(r->m, r->data, &q, 0, N, scratch, rows);
        units_unstandardise(&r->m->units, N, rows);
        classes[b] = (int)lround(rows[2]);
        for (int i = 0; i < N; i++) {
            CHECK((int)lround(rows[3 * i + 2]) == classes[b]);
            CHECK(seen[(int)lround(rows[3 * i])]++ == 0); /* no row twice in an epoch */
        }
        turns += b > 0 && classes[b] != classes[b - 1];
    }
    CHECK(turns >= batches - 3); /* they take turns but for a class that has a batch more */
    run_close(r);
}

TEST(batches__may_be_of_all_classes_mixed) {
    enum { ROWS = 400, N = 40, BATCHES = 9 };
    run *r = open_two_classes(ROWS, N, "classes = mixed\n");
    const phase *last = &phases[phase_count - 1];
    int seen[ROWS] = {0};
    CHECK(phase_batches(last, r->m, r->data) == BATCHES);
    for (int b = 0; b < BATCHES; b++) {
        double rows[N * 3], scratch[N * 3];
        int second = 0;
        batch_request q = batch_of(r->m, r->data, &(batch_key){last, 1, 7, b}, N);
        CHECK(q.class_index == -1);
        batch_rows(r->m, r->data, &q, 0, N, scratch, rows);
        units_unstandardise(&r->m->units, N, rows);
        for (int i = 0; i < N; i++) {
            second += (int)lround(rows[3 * i + 2]);
            CHECK(seen[(int)lround(rows[3 * i])]++ == 0); /* no row twice in an epoch */
        }
        CHECK(second > N / 10 && second < N - N / 10);
    }
    run_close(r);
}

/* A class that has less than a batch of rows is no obstacle then. */
TEST(train__mixed_batches_need_no_whole_batch_of_each_class) {
    run *r = open_two_classes(40, 30, "epochs = 1\nprecondition = 0\nanneal = 0\nks_every = 0\n");
    CHECK_STATUS(run_train(r, NULL, 0), JF_ERROR_RECIPE);
    run_close(r);
    r = open_two_classes(40, 30, "epochs = 1\nprecondition = 0\nanneal = 0\nks_every = 0\nclasses = mixed\n");
    CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
    run_close(r);
}

/* ---- recipes ---- */

static jf_status try_recipe(jf_context *ctx, const char *content, const char *set_to) {
    recipe *r = NULL;
    CHECK_STATUS(recipe_parse(ctx, &r, content, "test.recipe"), JF_OK);
    CHECK_STATUS(recipe_declare_all(r), JF_OK);
    if (set_to) CHECK_STATUS(recipe_set(r, "loss.objective", set_to), JF_OK);
    jf_status status = recipe_check(r);
    recipe_free(r);
    return status;
}

/* A model file holds the recipe as text: what is accepted with --set has to be accepted when it is read
 * back. */
TEST(recipe__data_belong_to_the_objectives_that_learn_from_them) {
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    const char *with_data = "[data]\nset = crescents\n", *without = "[loss]\nobjective = rule\n";
    CHECK_STATUS(try_recipe(ctx, with_data, NULL), JF_OK);
    CHECK_STATUS(try_recipe(ctx, with_data, "plain"), JF_OK);
    CHECK_STATUS(try_recipe(ctx, with_data, "rule"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "data.set: applies only where loss.objective = ");
    CHECK_STATUS(try_recipe(ctx, without, NULL), JF_OK);
    CHECK_STATUS(try_recipe(ctx, without, "plain"), JF_ERROR_RECIPE);
    CHECK_HAS(jf_context_error(ctx), "data.set: missing");
    CHECK_STATUS(try_recipe(ctx, "[data]\nset = ring\nradius = 2\n[loss]\nobjective = rule\n", "plain"),
                 JF_OK);
    jf_context_free(ctx);
}

/* The paper's models live on images scaled by 1 - alpha: users never see that. */
TEST(train__noise_shrinks_the_data_and_the_units_undo_it) {
    jf_context *ctx;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    double deviation[2][3];
    for (int i = 0; i < 2; i++) {
        recipe *r = checked_recipe(ctx, i ? "[data]\nset = crescents\n[train]\nnoise = 0.2\n"
                                          : "[data]\nset = crescents\n");
        dataset *data;
        model_units units;
        CHECK_STATUS(dataset_open(ctx, &data, r), JF_OK);
        CHECK_STATUS(train_units(ctx, &units, data, r), JF_OK);
        memcpy(deviation[i], units.deviation, sizeof deviation[i]);
        units_free(&units);
        dataset_free(data);
        recipe_free(r);
    }
    for (int k = 0; k < 3; k++) CHECK_NEAR(deviation[1][k] * 0.8, deviation[0][k], 1e-12);
    jf_context_free(ctx);
}
