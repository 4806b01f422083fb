#include "base/file.h"
#include "figure/figure.h"
#include "io/shipped.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double figure_latent_limits[4] = {-3.5, 3.5, -3.5, 3.5};

jf_status figure_path(const figure_job *job, char **out, const char *name) {
    JF_TRY(file_join(job->ctx, out, job->options->folder, name));
    jf_status status = file_is_link(*out) ? file_remove(job->ctx, *out) : JF_OK;
    if (status != JF_OK) free(*out);
    return status;
}

jf_status figure_write(const figure_job *job, const char *name, const text *content) {
    char *path;
    JF_TRY(text_check(job->ctx, content));
    JF_TRY(figure_path(job, &path, name));
    jf_status status = file_replace(job->ctx, path, content->chars, content->length);
    free(path);
    return status;
}

static jf_load_options where_to(const figure_job *job) {
    return (jf_load_options){sizeof(jf_load_options), job->options->device, job->options->threads};
}

/* The model in a run folder, if it was trained to the end by just this recipe; NULL otherwise. */
static model *finished_model(const figure_job *job, const char *folder, const jf_recipe *r) {
    char *path = NULL, *now = NULL, *then = NULL;
    model *m = NULL;
    jf_load_options where = where_to(job);
    int usable = file_join(job->ctx, &path, folder, "model.safetensors") == JF_OK && file_exists(path) &&
                 jf_model_load(&m, job->ctx, folder, &where) == JF_OK &&
                 jf_recipe_text(&now, r, 0) == JF_OK && jf_recipe_text(&then, m->recipe, 0) == JF_OK &&
                 strcmp(now, then) == 0 && strncmp(m->trained, "finished", 8) == 0 &&
                 m->seed == job->options->seed;
    if (!usable) {
        model_free(m);
        m = NULL;
    }
    free(path);
    free(now);
    free(then);
    return m;
}

static int is_of_subject(const model *m, const figure_subject *s) {
    if (s->task) return m->units.image.h > 0 && recipe_is(m->recipe, "data.task", s->task);
    int right =
        s->rule ? recipe_is(m->recipe, "loss.rule", s->rule) : recipe_is(m->recipe, "data.set", s->set);
    return right && m->units.dim_x == 2 && m->units.dim_y == s->dim_y;
}

/* A model that the user chose: figures read parts of it that only the right ones have. */
static jf_status given_model(const figure_job *job, const char *path, const figure_subject *s, model **out) {
    jf_load_options where = where_to(job);
    JF_TRY(jf_model_load(out, job->ctx, path, &where));
    if (is_of_subject(*out, s)) return JF_OK;
    model_free(*out);
    *out = NULL;
    if (s->task)
        return jf_fail(job->ctx, JF_ERROR_ARGUMENT,
                       "%s: not a model for this figure, which shows images and the task \"%s\"", path,
                       s->task);
    return jf_fail(job->ctx, JF_ERROR_ARGUMENT, "%s: not a model for this figure, which shows %s \"%s\" %s",
                   path, s->rule ? "the rule" : "the data set", s->rule ? s->rule : s->set,
                   s->dim_y ? "with its condition" : "without a condition");
}

/* A model of the subject's name that is there: in the folder that was named, or among those that came with
 * the program. *out stays NULL where there is none. */
static jf_status ready_model(const figure_job *job, const figure_subject *s, model **out) {
    const jf_figure_options *o = job->options;
    char *path = NULL, file[128];
    jf_status status = JF_OK;
    if (!s->shipped || (o->fresh && !o->model_folder)) return JF_OK;
    snprintf(file, sizeof file, "%s.safetensors", s->shipped);
    if (o->model_folder)
        JF_TRY(file_join(job->ctx, &path, o->model_folder, file));
    else if (shipped_find(job->ctx, &path, &shipped_models, s->shipped) != JF_OK)
        return JF_OK;
    if (file_exists(path)) {
        jf_log(job->ctx, "%s: taken from %s", s->shipped, path);
        status = given_model(job, path, s, out);
    }
    free(path);
    return status;
}

static jf_status train_model(const figure_job *job, const figure_subject *subject, model **out) {
    jf_recipe *r = NULL;
    char *folder = NULL;
    jf_status status;
    JF_TRY_DONE(jf_recipe_load(&r, job->ctx, subject->recipe));
    JF_TRY_DONE(file_join(job->ctx, &folder, job->options->folder, subject->recipe));
    *out = finished_model(job, folder, r);
    if (*out) {
        jf_log(job->ctx, "%s: taken from %s", subject->recipe, folder);
    } else {
        JF_TRY_DONE(file_check_below(job->ctx, job->options->folder, folder));
        jf_log(job->ctx, "%s: training", subject->recipe);
        jf_train_options train = {.size = sizeof train,
                                  .folder = folder,
                                  .seed = job->options->seed,
                                  .device = job->options->device,
                                  .threads = job->options->threads};
        status = jf_train(out, job->ctx, r, &train);
    }
done:
    if (status == JF_STOPPED) {
        model_free(*out);
        *out = NULL;
    }
    free(folder);
    jf_recipe_free(r);
    return status;
}

jf_status figure_model(const figure_job *job, int index, const figure_subject *subject, model **out) {
    const jf_figure_options *o = job->options;
    *out = NULL;
    if ((size_t)index < o->model_count) return given_model(job, o->models[index], subject, out);
    JF_TRY(ready_model(job, subject, out));
    if (*out) return JF_OK;
    if (job->may_train) return train_model(job, subject, out);
    char words[OPTION_WORDS];
    return jf_fail(job->ctx, JF_ERROR_IO,
                   "no model \"%s\" %s%s: train the recipe %s and pack it under that name, or name one (%s)",
                   subject->shipped, o->model_folder ? "in " : "came with the program",
                   o->model_folder ? o->model_folder : "", subject->recipe,
                   option_words(job->ctx, OPTION_MODELS, "", words));
}

jf_status figure_samples(const model *m, long n, double y, uint64_t seed, double *x, double *z,
                         double *y_back) {
    int dim = m->flow->dim;
    double *rows;
    JF_TRY(MEM_NEW(m->ctx, &rows, (size_t)(n * dim)));
    for (long i = 0; m->units.dim_y && i < n; i++)
        rows[i * dim + 2] = (y - m->units.mean[2]) / m->units.deviation[2];
    jf_status status = model_sample(m, (latent_points){seed, LATENT_SAMPLES, 0, 1}, MODEL_UNITS, n, rows, z);
    for (long i = 0; y_back && status == JF_OK && i < n; i++) y_back[i] = rows[i * dim + 2];
    if (status == JF_OK) units_unstandardise(&m->units, (int)n, rows);
    for (long i = 0; status == JF_OK && i < n; i++) memcpy(x + 2 * i, rows + i * dim, 2 * sizeof *x);
    free(rows);
    return status;
}

jf_status figure_data(const model *m, long n, int class_index, double *x, double *z) {
    dataset *data = NULL;
    double *drawn = NULL, *rows = NULL;
    int dim = m->flow->dim;
    jf_status status;
    JF_TRY_DONE(dataset_open(m->ctx, &data, m->recipe));
    int data_dim = dataset_dim(data);
    JF_TRY_DONE(MEM_NEW(m->ctx, &drawn, (size_t)(n * data_dim)));
    JF_TRY_DONE(MEM_NEW(m->ctx, &rows, (size_t)(n * dim)));
    JF_TRY_DONE(dataset_draw(data, (rng_key){3, RNG_JUDGE, RNG_USE_FIGURE}, 0, (int)n, class_index, drawn));
    for (long i = 0; i < n; i++) {
        memcpy(x + 2 * i, drawn + i * data_dim, 2 * sizeof(double));
        memcpy(rows + i * dim, drawn + i * data_dim, (size_t)dim * sizeof(double));
    }
    units_standardise(&m->units, (int)n, rows);
    JF_TRY_DONE(model_forward(m, n, rows, NULL));
    for (long i = 0; i < n; i++) memcpy(z + 2 * i, rows + i * dim, 2 * sizeof(double));
done:
    dataset_free(data);
    free(drawn);
    free(rows);
    return status;
}

void figure_scatter(panel *p, const char *title, long n, const double *points, const double limits[4],
                    const char *x_name, const char *y_name, const double *values, colour ink) {
    panel_title(p, title);
    panel_axes(p, limits[0], limits[1], limits[2], limits[3], x_name, y_name, AXES_EQUAL);
    panel_scatter(p, n, points, points + 1, 2,
                  &(scatter_style){.ink = ink, .values = values, .low = -2, .high = 2});
}
