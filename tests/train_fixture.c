#include "train_fixture.h"

const char tiny[] = "[data]\nset = crescents\n" TINY_MODEL
                    "[train]\nbatch = 50\nbatches = 4\nprecondition = 2\nprecondition_batches = 4\n"
                    "anneal = 3\nepochs = 4\nrate = 1e-2\nks_every = 0\ncheckpoint = 0\n";

const char *tiny_of(int all, char to[600]) {
    char names[256] = "";
    for (int i = 1; transform_kinds[i]; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", transform_kinds[i]->name);
    snprintf(to, 600, "%s[model]\ntransforms = %scoupling\n", tiny, all ? names : "");
    return to;
}

recipe *checked_recipe(jf_context *ctx, const char *content) {
    recipe *r = NULL;
    if (recipe_parse(ctx, &r, content, "test.recipe") != JF_OK || recipe_declare_all(r) != JF_OK ||
        recipe_check(r) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", content, jf_context_error(ctx));
    return r;
}

static void note(void *user, const char *line) {
    run *r = user;
    size_t length = strlen(r->log);
    snprintf(r->log + length, sizeof r->log - length, "%s\n", line);
}

/* A range of y that nothing is beyond: measuring that of the data takes its time. */
static void give_reach(model *m) {
    condition_range *reach;
    CHECK_STATUS(condition_range_alloc(m->ctx, &reach, m->units.dim_y), JF_OK);
    for (int i = 0; i < reach->dim; i++) {
        reach->lo[i] = -1e9;
        reach->hi[i] = 1e9;
    }
    reach->far = 1e9;
    m->units.condition_range = reach;
}

run *run_open_on(const char *content, const device_kind *kind, int threads) {
    run *r = calloc(1, sizeof *r);
    device *d;
    model_units units;
    CHECK(r != NULL);
    CHECK_STATUS(jf_context_create(&r->ctx), JF_OK);
    jf_context_set_log(r->ctx, note, r);
    r->recipe = checked_recipe(r->ctx, content);
    if (loss_kind(r->recipe)->from_data && dataset_open(r->ctx, &r->data, r->recipe) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    CHECK_STATUS(train_units(r->ctx, &units, r->data, r->recipe), JF_OK);
    CHECK_STATUS(device_open_kind(r->ctx, &d, kind, threads), JF_OK);
    if (model_create_on(r->ctx, &r->m, r->recipe, &units, d, &(model_origin){.seed = 5}) != JF_OK)
        test_fail(__FILE__, __LINE__, "%s", jf_context_error(r->ctx));
    units_free(&units);
    if (r->m->units.dim_y > 0 && r->m->units.classes == 0 && r->m->units.image.h == 0) give_reach(r->m);
    return r;
}

run *run_open(const char *content) {
    return run_open_on(content, device_kinds[0], 1);
}

void run_close(run *r) {
    model_free(r->m);
    dataset_free(r->data);
    recipe_free(r->recipe);
    jf_context_free(r->ctx);
    free(r);
}

static int on_progress(void *user, const jf_progress *p) {
    run *r = user;
    if (!p->training) return 0;
    r->last = *p->training;
    memcpy(r->terms, p->training->terms, sizeof r->terms);
    r->last.terms = r->terms;
    r->reports++;
    if (r->watch) r->watch(r, p->training);
    return r->stop;
}

jf_status run_train(run *r, const char *folder, int resume) {
    jf_train_options options = {.folder = folder, .resume = resume, .changed_data = r->changed_data};
    jf_context_set_progress(r->ctx, on_progress, r);
    r->stop = 0;
    return train_run(r->m, r->data, &options, r->interval);
}

double *weights_of(const model *m) {
    double *values = calloc(m->flow->params->total, sizeof *values);
    CHECK(values != NULL);
    m->d->kind->get(m->d, values, m->params, m->flow->params->total);
    return values;
}

int same_weights(const model *a, const model *b) {
    double *v = weights_of(a), *w = weights_of(b);
    int same = memcmp(v, w, a->flow->params->total * sizeof *v) == 0;
    free(v), free(w);
    return same;
}

/* history.csv without its last column, the seconds; yours to free */
char *history_of(jf_context *ctx, const char *folder) {
    char *path = NULL, *bytes = NULL;
    size_t size = 0, kept = 0;
    CHECK_STATUS(file_join(ctx, &path, folder, "history.csv"), JF_OK);
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, 1 << 20), JF_OK);
    for (char *line = bytes; *line;) {
        size_t length = strcspn(line, "\n"), short_length = length;
        while (short_length > 0 && line[short_length] != ',') short_length--;
        memmove(bytes + kept, line, short_length);
        kept += short_length;
        bytes[kept++] = '\n';
        line += length + (line[length] == '\n');
    }
    bytes[kept] = 0;
    free(path);
    return bytes;
}

void check_same_end(run *a, const char *folder_a, run *b, const char *folder_b) {
    char *history_a = history_of(a->ctx, folder_a), *history_b = history_of(b->ctx, folder_b);
    CHECK_TEXT(history_b, history_a);
    CHECK(same_weights(a->m, b->m));
    free(history_a), free(history_b);
}

void copy_file(jf_context *ctx, const char *from, const char *to) {
    char *bytes = NULL;
    size_t size = 0;
    CHECK_STATUS(file_read(ctx, &bytes, &size, from, 1 << 24), JF_OK);
    CHECK_STATUS(file_write(ctx, to, bytes, size), JF_OK);
    free(bytes);
}
