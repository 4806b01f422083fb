/* A training step waits for nothing: what is asked of a device between two reports neither returns a value to
 * the host nor transfers nor allocates, for every objective and every transform. */
#include "counting_device.h"
#include "train_fixture.h"
#include <stddef.h>

extern const device_kind device_ref;

/* The device counts: whoever adds an entry has to say of which kind it is. */
TEST(counting_device__counts_every_entry_of_the_table) {
    for (size_t at = offsetof(device_kind, open); at < sizeof(device_kind); at += sizeof(void (*)(void))) {
        void (*counted)(void), (*plain)(void);
        memcpy(&counted, (const char *)&counting_device + at, sizeof counted);
        memcpy(&plain, (const char *)&device_ref + at, sizeof plain);
        if (plain && (!counted || counted == plain))
            test_fail(__FILE__, __LINE__, "entry number %zu of the table is not counted",
                      (at - offsetof(device_kind, open)) / sizeof counted);
    }
}

/* ---- recipes ---- */

enum { BATCH = 10, BATCHES = 6 };

static void put_table(const char *path) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 0; i < BATCH * BATCHES; i++) fprintf(file, "%g,%g,%d\n", sin(i), cos(1.7 * i), i % 2);
    CHECK(fclose(file) == 0);
}

/* A run of an objective on data that the device holds, through all three phases. */
static run *open_objective(const objective_kind *k, const char *transforms, double interval) {
    char content[1024], data[400] = "";
    put_table(test_path("t.csv"));
    if (k->from_data)
        snprintf(data, sizeof data,
                 "[data]\nset = table\nfile = %s\nx = 2\ny = %d\ndiscrete = %s\nvalidation = 0\n",
                 test_path("t.csv"), k->has_condition, k->has_condition ? "yes" : "no");
    snprintf(content, sizeof content,
             "%s[loss]\nobjective = %s\n[model]\nblocks = 2\ndepth = 1\nwidth = 4\ntransforms = "
             "%s\n[train]\nbatch = %d\n"
             "batches = %d\nprecondition_batches = %d\nprecondition = 2\nanneal = 2\nepochs = 3\nclip = "
             "1\nnoise = 0.01\n"
             "decay = cosine\nwarmup = 3\nks_every = 2\n",
             data, k->name, transforms, BATCH, BATCHES, BATCHES);
    run *r = run_open_on(content, &counting_device, 1);
    r->interval = interval;
    return r;
}

static void mark_report(run *r, const jf_training *p) {
    (void)p;
    counting_mark(r->m->d, 'P');
}

/* How many pairs "SO", a batch and its step, stand before `end` with nothing in between. */
static int steps_before(const char *begin, const char *end) {
    int steps = 0;
    while (end - begin >= 2 && end[-2] == 'S' && end[-1] == 'O') {
        end -= 2;
        steps++;
    }
    return steps;
}

/* Where the last reading that follows a step begins, NULL: nowhere before `end`. */
static const char *last_reading(const char *begin, const char *end) {
    for (const char *at = end - 4; at >= begin; at--)
        if (strncmp(at, "SORR", 4) == 0) return at + 2;
    return NULL;
}

/* With reports at the ends of epochs alone: the steps of an epoch, the reading, what is measured of it, the
 * report. */
static void check_epochs(run *r, const char *what) {
    const char *trace = counting_trace(r->m->d), *begin = trace;
    int epochs = 0;
    for (const char *report; (report = strchr(begin, 'P')); begin = report + 1, epochs++) {
        const char *reading = last_reading(begin, report);
        if (!reading || steps_before(begin, reading) < BATCHES)
            test_fail(__FILE__, __LINE__, "%s, before report %d: \"%.*s\", expected \"...%s...SORR\"", what,
                      epochs + 1, (int)(report - begin), begin, "SOSO");
    }
    if (epochs < 3) test_fail(__FILE__, __LINE__, "%s: %d reports", what, epochs);
}

TEST(train__no_step_of_any_objective_returns_transfers_or_allocates) {
    for (int i = 0; objective_kinds[i]; i++) {
        run *r = open_objective(objective_kinds[i], "coupling", 1e9);
        r->watch = mark_report;
        CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
        check_epochs(r, objective_kinds[i]->name);
        run_close(r);
    }
}

TEST(train__no_step_through_any_transform_returns_transfers_or_allocates) {
    for (int i = 0; transform_kinds[i]; i++)
        for (int k = 0; objective_kinds[k]; k++) {
            char chain[64];
            snprintf(chain, sizeof chain, strcmp(transform_kinds[i]->name, "coupling") ? "%s coupling" : "%s",
                     transform_kinds[i]->name);
            run *r = open_objective(objective_kinds[k], chain, 1e9);
            r->watch = mark_report;
            CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
            check_epochs(r, chain);
            run_close(r);
        }
}

/* With a report after every batch nothing but the reading comes in between: two calls. The last batch of an
 * epoch is reported with what is measured after it. */
TEST(train__a_report_costs_one_reading) {
    for (int i = 0; objective_kinds[i]; i++) {
        run *r = open_objective(objective_kinds[i], "coupling", 0);
        r->watch = mark_report;
        CHECK_STATUS(run_train(r, NULL, 0), JF_OK);
        const char *trace = counting_trace(r->m->d);
        int alone = 0;
        for (const char *at = trace; (at = strstr(at, "PSORRP")); at++) alone++;
        CHECK(alone >= 3 * (BATCHES - 2));
        run_close(r);
    }
}

/* And the device is no other than the reference: the same run on both gives the same weights. */
TEST(train__on_a_device_that_holds_the_data_gives_the_bits_of_the_reference) {
    for (int i = 0; objective_kinds[i]; i++) {
        run *held = open_objective(objective_kinds[i], "coupling", 1e9), *plain;
        text content = {0};
        recipe_write(held->recipe, &content, 0);
        plain = run_open_on(content.chars, &device_ref, 1);
        CHECK_STATUS(run_train(held, NULL, 0), JF_OK);
        CHECK_STATUS(run_train(plain, NULL, 0), JF_OK);
        CHECK(same_weights(held->m, plain->m));
        text_free(&content);
        run_close(held);
        run_close(plain);
    }
}
