/* The report of a run: pictures, judge.json and one page that a person opens and understands. */
#include "base/file.h"
#include "base/number.h"
#include "base/shell.h"
#include "draw/html.h"
#include "inference/commands.h"
#include "inference/pictures.h"
#include "judge/judge.h"
#include "judge/judge_pictures.h"
#include "judge/posterior.h"
#include "model/use.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 2000 /* per panel */
#define SEED    11

enum { MOST_REPORTED = 32 }; /* numbers, at most, that the table of a report begins with */

typedef struct page {
    const model *m;
    const judgement *j;
    const char *folder;
    text html;
} page;

typedef jf_status (*painter)(const page *p, const char *path);

/* The path of a picture, yours to free; one of another model, or a link, is removed from it. */
static jf_status clear_place(const page *p, char **out, const char *name) {
    JF_TRY(file_join(p->m->ctx, out, p->folder, name));
    jf_status status = file_remove(p->m->ctx, *out);
    if (status != JF_OK) free(*out);
    return status;
}

/* Paints a picture into the folder and shows it on the page. Painters leave out what does not apply to the
 * model. */
static jf_status add_picture(page *p, const char *name, painter paint, const char *caption) {
    char *path;
    JF_TRY(clear_place(p, &path, name));
    jf_status status = paint(p, path); /* by all ranks, which share the passes through the model */
    if (status == JF_OK && context_writes(p->m->ctx) && file_exists(path))
        status = html_picture(p->m->ctx, &p->html, path, caption);
    free(path);
    return status;
}

static jf_status paint_history(const page *p, const char *path) {
    char *history;
    JF_TRY(file_join(p->m->ctx, &history, p->folder, "history.csv"));
    jf_status status = file_exists(history) ? picture_history(p->m->ctx, history, path) : JF_OK;
    free(history);
    return status;
}
static jf_status paint_maps(const page *p, const char *path) {
    if (p->m->units.image.h > 0) return JF_OK;
    return picture_maps(p->m, p->j, SEED, path);
}
static jf_status paint_latent_page(const page *p, const char *path) {
    return picture_latent(p->m, p->j, path);
}

/* Samples for every class, or for eight values across a continuous y, or just samples. */
static jf_status paint_samples(const page *p, const char *path) {
    const model_units *u = &p->m->units;
    int dim = p->m->flow->dim, panels = u->classes ? u->classes : u->dim_y == 1 ? 8 : 1;
    if (u->image.h > 0) return picture_images(p->m, p->j, SEED, path);
    if (u->dim_y > 1 && !units_planes(u)) return JF_OK;
    if (panels > 9) panels = 9;
    long n = (long)panels * SAMPLES;
    double *rows, *x = NULL, *y = NULL, *z = NULL, *colours = NULL;
    jf_status status;
    JF_TRY(MEM_NEW(p->m->ctx, &rows, (size_t)(n * dim)));
    JF_TRY_DONE(MEM_NEW(p->m->ctx, &x, (size_t)(n * u->dim_x)));
    JF_TRY_DONE(MEM_NEW(p->m->ctx, &y, (size_t)n * (size_t)u->dim_y + 1));
    JF_TRY_DONE(MEM_NEW(p->m->ctx, &z, (size_t)(n * u->dim_x)));
    JF_TRY_DONE(MEM_NEW(p->m->ctx, &colours, (size_t)n));
    for (long i = 0; u->dim_y && i < n; i++) {
        int k = (int)(i / SAMPLES);
        double place = 1.7 * (2.0 * (k + 0.5) / panels - 1); /* in deviations */
        double *at = y + i * u->dim_y;
        units_fill_y(u, u->classes ? u->label[k] : units_to_data(u, u->dim_x, place), at);
        memcpy(rows + i * dim + u->dim_x, at, sizeof(double) * (size_t)u->dim_y);
    }
    JF_TRY_DONE(model_sample(p->m, (latent_points){SEED, LATENT_SAMPLES, 0, 1}, DATA_UNITS, n, rows, z));
    for (long i = 0; i < n; i++) {
        memcpy(x + i * u->dim_x, rows + i * dim, sizeof(double) * (size_t)u->dim_x);
        colours[i] = z[i * u->dim_x];
    }
    JF_TRY_DONE(picture_samples(p->m, n, x, y, colours, NULL, path));
done:
    free(rows);
    free(x);
    free(y);
    free(z);
    free(colours);
    return status;
}

/* What a reader should conclude, in sentences that follow from the numbers. */
static void verdict(page *p) {
    const judgement *j = p->j;
    char words[512];
    if (!j->has_data) {
        if (isfinite(j->by_rule.divergence)) {
            format_text(words, sizeof words,
                        "The samples differ from their exact target by %.4f ± %.4f nats (0 is perfect).",
                        j->by_rule.divergence, j->by_rule.error);
            html_paragraph(&p->html, words);
        }
        return;
    }
    for (int i = 0; i < JUDGE_ADVICE; i++) html_paragraph(&p->html, j->advice[i]);
    judge_warning(j, words, sizeof words);
    if (words[0]) html_paragraph(&p->html, words);
    judge_doubt(j, p->m, words, sizeof words);
    if (words[0]) html_paragraph(&p->html, words);
    if (isfinite(j->entropy)) {
        format_text(
            words, sizeof words,
            "The model misses %.4g nats of what can be known about x given y (exact entropy %.4f, model "
            "%.6g).",
            j->nll - j->entropy, j->entropy, j->nll);
        html_paragraph(&p->html, words);
    }
    if (j->image.enlarged_h) {
        format_text(
            words, sizeof words,
            "The model draws images of %d x %d, of which all densities and latent points are; other models "
            "make them %d x %d, and only samples are shown and judged in that size.",
            p->m->units.image.h, p->m->units.image.w, j->image.enlarged_h, j->image.enlarged_w);
        html_paragraph(&p->html, words);
    }
    if (!judge_keeps_y(p->m->flow)) {
        format_text(words, sizeof words,
                    "Densities assume that the map keeps y: it does so to %.1e on average (in units of y's "
                    "deviation)%s.",
                    j->y_error, j->y_error > 0.01 ? ", which is too loose to trust them" : "");
        html_paragraph(&p->html, words);
    }
    if (j->predictive_words) html_paragraph(&p->html, j->predictive_words);
    int bad = 0;
    for (int i = 0; i < j->latent.elements; i++) bad += j->latent.ks[i] > 3 * j->latent.chance_max;
    format_text(words, sizeof words,
                "Latent histograms: the worst of %d elements is %.4f away from N(0,1); a perfect model would "
                "show about "
                "%.4f over %ld points. %s",
                j->latent.elements, j->latent.max, j->latent.chance_max, j->latent.points,
                bad ? "Elements far beyond that are drawn in another colour below." : "None stands out.");
    html_paragraph(&p->html, words);
}

static jf_status paint_calibration(const page *p, const char *path) {
    return p->j->calibration.rows ? calibration_draw(p->m->ctx, &p->j->calibration, path) : JF_OK;
}

/* Of vectors that answer to a condition: all that can be said of x at the y of the first point. */
static jf_status one_posterior(page *p) {
    const model *m = p->m;
    char *path;
    text words = {0};
    if (m->units.image.h > 0 || !m->units.dim_y || !p->j->has_data || !p->j->clean) return JF_OK;
    JF_TRY(clear_place(p, &path, "posterior.png"));
    jf_status status = posterior_show(m, p->j->clean, SEED, path, &words);
    if (status == JF_ERROR_NUMERIC) { /* a model that has no density there has nothing to show either */
        status = JF_OK;
    } else if (status == JF_OK) {
        html_section(&p->html, "One posterior");
        html_preformatted(&p->html, words.chars);
        status =
            html_picture(m->ctx, &p->html, path,
                         "Samples at one y: median, 5% and 95% as lines; below, the intervals of highest "
                         "density that hold 50% (wide) and 90% (narrow).");
    }
    text_free(&words);
    free(path);
    return status;
}

/* The first of the numbers in a table of their own; then all. */
static void numbers(page *p) {
    html_section(&p->html, "Numbers");
    if (p->j->has_data) {
        html_row rows[MOST_REPORTED];
        char shown[MOST_REPORTED][JUDGE_MAX_NUMBER];
        int n = 0;
        for (int i = 0; i < METRIC_LISTS; i++)
            for (int k = 0; k < metric_lists[i].count && n < MOST_REPORTED; k++) {
                const metric *line = &metric_lists[i].metrics[k];
                double value = metric_of_judgement(&metric_lists[i], k, p->j);
                if (!(line->use & REPORTED) || !judge_shows(line, p->m, value)) continue;
                rows[n] =
                    (html_row){line->label, judge_number(shown[n], 12, line->format, value), line->about};
                n++;
            }
        html_table(&p->html, rows, n);
    }
    html_preformatted(&p->html, p->j->table.chars);
}

/* The density of the table that it was trained on, of models that have one in a file. */
static void add_density_of_data(const model *m, const char *folder, text *out) {
    const char *file = recipe_is(m->recipe, "data.set", "table") ? recipe_get(m->recipe, "data.file") : NULL;
    const char *of_y = file ? recipe_get(m->recipe, "data.y_file") : NULL;
    if (!file || file[0] != '/' || (of_y && *of_y && *of_y != '/')) return;
    if (!of_y && recipe_get(m->recipe, "data.columns") && !m->units.names &&
        *recipe_get(m->recipe, "data.columns"))
        return;
    text_add(out, "jointflow density ");
    shell_add_path(out, folder);
    text_add(out, " ");
    shell_add_word(out, file);
    if (of_y && *of_y) text_add(out, " -y ");
    if (of_y && *of_y) shell_add_word(out, of_y);
    text_add(out, " -o log_p.csv\n");
}

/* Commands that work on this model as they stand, wherever they are pasted. */
static jf_status how_to_use(const page *p, text *out) {
    char *folder = realpath(p->folder, NULL); /* commands work from anywhere */
    if (!folder) return jf_fail(p->m->ctx, JF_ERROR_IO, "%s: cannot be found", p->folder);
    jf_status status = commands_add_sample(p->m, "jointflow", folder, out);
    text_add(out, "\n");
    if (status == JF_OK) add_density_of_data(p->m, folder, out);
    text_add(out, "jointflow judge ");
    shell_add_path(out, folder);
    text_add(out, " --json");
    free(folder);
    return status;
}

static jf_status fill(page *p) {
    const model *m = p->m;
    text commands = {0}, recipe_text = {0};
    jf_status status;
    char title[160];
    format_text(title, sizeof title, "jointflow: %s", recipe_short_name(m->recipe));
    html_begin(&p->html, title);
    verdict(p);
    html_section(&p->html, "Samples");
    const char *what =
        m->units.image.h == 0
            ? "Samples of p(x|y), coloured by the first latent coordinate: equal colours are equal z."
        : p->j->sheet.count ? "Samples of each class, made larger by other models."
        : m->units.classes
            ? "Samples of each class."
            : "Held-out images, what the model is given of them, and samples of what they could be.";
    JF_TRY_DONE(add_picture(p, "samples.png", paint_samples, what));
    if (p->j->has_data) {
        JF_TRY_DONE(
            add_picture(p, "maps.png", paint_maps, "Data, their encoding in latent space, and samples."));
        JF_TRY_DONE(one_posterior(p));
        html_section(&p->html, "Latent space");
        JF_TRY_DONE(add_picture(p, "latent.png", paint_latent_page,
                                "Histogram of every latent element over fresh points, and the prior."));
    }
    if (p->j->calibration.rows) {
        html_section(&p->html, "Calibration");
        html_paragraph(&p->html, p->j->calibration_words);
        JF_TRY_DONE(add_picture(
            p, "calibration.png", paint_calibration,
            "How the truth ranks among samples of its condition, beside the band of a right model."));
    }
    html_section(&p->html, "Training");
    JF_TRY_DONE(add_picture(p, "training.png", paint_history,
                            "Loss terms by epoch, and what is watched beside them."));
    html_paragraph(&p->html, m->trained);
    numbers(p);
    html_section(&p->html, "How to use it");
    JF_TRY_DONE(how_to_use(p, &commands));
    JF_TRY_DONE(text_check(m->ctx, &commands));
    html_preformatted(&p->html, commands.chars);
    html_section(&p->html, "Recipe");
    recipe_write(m->recipe, &recipe_text, 0);
    JF_TRY_DONE(text_check(m->ctx, &recipe_text));
    html_preformatted(&p->html, recipe_text.chars);
    html_end(&p->html);
    JF_TRY_DONE(text_check(m->ctx, &p->html));
done:
    text_free(&commands);
    text_free(&recipe_text);
    return status;
}

static jf_status write_text(const page *p, const char *name, const char *chars, size_t length) {
    char *path;
    JF_TRY(file_join(p->m->ctx, &path, p->folder, name));
    jf_status status = file_replace(p->m->ctx, path, chars, length);
    free(path);
    return status;
}

jf_status report_write(const model *m, const judgement *j, const char *folder) {
    page p = {.m = m, .j = j, .folder = folder};
    jf_status status = file_make_folder(m->ctx, folder);
    if (status == JF_OK) status = fill(&p);
    if (status == JF_OK) status = write_text(&p, "report.html", p.html.chars, p.html.length);
    if (status == JF_OK) status = write_text(&p, "judge.json", j->json.chars, j->json.length);
    text_free(&p.html);
    return status;
}
