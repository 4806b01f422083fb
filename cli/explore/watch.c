#include "watch.h"
#include "answers.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DATA_ROWS = 1000, /* whose latent points make the histograms; of images fewer */
    IMAGE_ROWS = 32,
    SAMPLES = 500, /* of each condition; of images fewer */
    IMAGE_SAMPLES = 8,
    MOST_CONDITIONS = 4,
    MOST_HISTOGRAMS = 6,
    BINS = 40,
    MOST_TERMS = 16
};
static const double least_seconds = 0.5; /* between two looks at the model */
static const double share = 0.05;        /* of the time that looks may take from the training */

typedef struct epoch_row {
    char phase[16];
    int epoch;
    double values[MOST_TERMS]; /* of the terms */
    double held_out, ks_median, ks_max, seconds;
} epoch_row;

struct watch {
    char *title;
    pthread_mutex_t lock;
    /* Under the lock: */
    int term_count, row_count, row_room;
    char term_names[MOST_TERMS][24];
    epoch_row *rows;
    char phase[16];
    int epoch, epochs, batch, batches, ended;
    double loss, seconds, seconds_left;
    buffer look; /* JSON of samples and histograms, as they were last drawn */
    int looks;
    /* Of the training thread alone: */
    double next_look;
    int data_tried;
    size_t data_rows;
    double *x, *y; /* (data_rows, ..): rows of the data */
};

watch *watch_create(const char *title) {
    watch *w = calloc(1, sizeof *w);
    if (w) w->title = strdup(title);
    if (!w || !w->title) {
        free(w);
        return NULL;
    }
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

void watch_free(watch *w) {
    if (!w) return;
    pthread_mutex_destroy(&w->lock);
    buffer_free(&w->look);
    free(w->title);
    free(w->rows);
    free(w->x);
    free(w->y);
    free(w);
}

static double now_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- looking at the model, by the thread that trains it ---- */

typedef struct looked {
    const jf_model *m;
    jf_image_form form;
    size_t dim_x, dim_y;
    int classes;
} looked;

static void find_data(watch *w, const looked *k) {
    int most = k->form.h > 0 ? IMAGE_ROWS : DATA_ROWS;
    if (w->data_tried) return;
    w->data_tried = 1;
    w->x = calloc((size_t)most * k->dim_x, sizeof *w->x);
    w->y = calloc((size_t)most * (k->dim_y + 1), sizeof *w->y);
    if (!w->x || !w->y || jf_data_rows(k->m, (size_t)most, -1, 1, &w->data_rows, w->x, w->y) != JF_OK)
        w->data_rows = 0;
}

/* Of the first elements of z, or of all elements of images together, from -4 to 4. */
static void add_histograms(watch *w, const looked *k, buffer *out) {
    size_t n = w->data_rows;
    int pooled = k->form.h > 0, count = pooled                       ? 1
                                        : k->dim_x < MOST_HISTOGRAMS ? (int)k->dim_x
                                                                     : MOST_HISTOGRAMS;
    double *z = calloc(n * k->dim_x + 1, sizeof *z);
    buffer_add(out, ",\"histograms\":[");
    if (z && n > 0 && jf_encode(k->m, (int)n, w->x, w->y, z, NULL, NULL) == JF_OK)
        for (int h = 0; h < count; h++) {
            double bins[BINS] = {0};
            for (size_t i = 0; i < n * k->dim_x; i++) {
                int bin = (int)floor((z[i] + 4) / 8 * BINS);
                if ((pooled || (int)(i % k->dim_x) == h) && bin >= 0 && bin < BINS) bins[bin]++;
            }
            if (h > 0) buffer_add(out, ",");
            buffer_add_numbers(out, bins, BINS);
        }
    buffer_add(out, "]");
    free(z);
}

/* Conditions to show: all classes, or y of the first rows of the data, or the one nothing of a model without.
 */
static int choose_conditions(const watch *w, const looked *k, const double **of_data) {
    *of_data = NULL;
    if (k->classes > 0) return k->classes < MOST_CONDITIONS ? k->classes : MOST_CONDITIONS;
    if (k->dim_y == 0) return 1;
    *of_data = w->y;
    return w->data_rows < MOST_CONDITIONS ? (int)w->data_rows : MOST_CONDITIONS;
}

static void add_rows(const looked *k, int n, const double *x, const double *y, buffer *out) {
    jf_images images;
    if (k->form.h == 0) {
        buffer_add(out, ",\"x\":");
        buffer_add_numbers(out, x, (size_t)n * k->dim_x);
    } else if (jf_restore(&images, k->m, n, x, y) == JF_OK) {
        buffer_add(out, ",");
        answers_add_images(out, "images", &images);
        jf_images_free(&images);
    }
}

static void add_samples(const watch *w, const looked *k, buffer *out) {
    const double *of_data;
    int conditions = choose_conditions(w, k, &of_data), n = k->form.h > 0 ? IMAGE_SAMPLES : SAMPLES;
    double *x = calloc((size_t)n * k->dim_x, sizeof *x), *y = calloc((size_t)n * k->dim_y + 1, sizeof *y);
    buffer_add(out, ",\"samples\":[");
    for (int c = 0, shown = 0; x && y && c < conditions; c++) {
        for (size_t i = 0; i < (size_t)n * k->dim_y; i++)
            y[i] = of_data ? of_data[(size_t)c * k->dim_y + i % k->dim_y] : 0;
        for (int i = 0; !of_data && k->dim_y > 0 && i < n; i++)
            jf_model_y_of_label(k->m, jf_model_label(k->m, c), y + (size_t)i * k->dim_y);
        if (jf_sample(k->m, n, y, x, NULL, NULL, NULL) != JF_OK)
            continue; /* early weights may lead anywhere */
        buffer_add(out, "%s{\"class\":", shown++ ? "," : "");
        buffer_add_text(out, k->classes > 0 ? jf_model_class_name(k->m, c) : "");
        buffer_add(out, ",\"n\":%d,\"y\":", n);
        buffer_add_numbers(out, y, k->form.h > 0 ? (k->dim_y > 0 && k->classes > 0) : k->dim_y);
        add_rows(k, n, x, y, out);
        buffer_add(out, "}");
    }
    buffer_add(out, "]");
    free(x);
    free(y);
}

static void look_at(watch *w, const jf_model *m) {
    double begin = now_seconds();
    if (begin < w->next_look) return;
    looked k = {.m = m,
                .form.size = sizeof(jf_image_form),
                .dim_x = (size_t)jf_model_dim_x(m),
                .dim_y = (size_t)jf_model_dim_y(m),
                .classes = jf_model_classes(m)};
    buffer made = {0};
    if (jf_model_image_form(&k.form, m) != JF_OK) return;
    find_data(w, &k);
    buffer_add(&made, "{\"dim_x\":%zu", k.dim_x);
    add_histograms(w, &k, &made);
    add_samples(w, &k, &made);
    buffer_add(&made, "}");
    pthread_mutex_lock(&w->lock);
    if (!made.failed) {
        buffer old = w->look;
        w->look = made;
        made = old;
        w->looks++;
    }
    pthread_mutex_unlock(&w->lock);
    buffer_free(&made);
    double took = now_seconds() - begin;
    w->next_look = begin + fmax(least_seconds, took / share);
}

/* ---- progress ---- */

static void add_epoch(watch *w, const jf_training *now) {
    if (w->row_count == w->row_room) {
        int room = 2 * w->row_room + 64;
        epoch_row *more = realloc(w->rows, (size_t)room * sizeof *more);
        if (!more) return;
        w->rows = more;
        w->row_room = room;
    }
    epoch_row *row = &w->rows[w->row_count++];
    *row = (epoch_row){.epoch = (int)now->epoch,
                       .held_out = now->held_out,
                       .ks_median = now->ks_median,
                       .ks_max = now->ks_max,
                       .seconds = now->seconds};
    snprintf(row->phase, sizeof row->phase, "%s", now->phase);
    for (int i = 0; i < w->term_count; i++) row->values[i] = now->terms[i].value;
}

void watch_take(watch *w, const jf_training *now) {
    pthread_mutex_lock(&w->lock);
    w->term_count = now->term_count < MOST_TERMS ? (int)now->term_count : MOST_TERMS;
    for (int i = 0; i < w->term_count; i++)
        snprintf(w->term_names[i], sizeof w->term_names[i], "%s", now->terms[i].name);
    snprintf(w->phase, sizeof w->phase, "%s", now->phase);
    w->epoch = (int)now->epoch;
    w->epochs = (int)now->epochs;
    w->batch = (int)now->batch;
    w->batches = (int)now->batches;
    w->loss = now->term_count > 0 ? now->terms[0].value : NAN;
    w->seconds = now->seconds;
    w->seconds_left = now->seconds_left;
    if (now->epoch_ended) add_epoch(w, now);
    pthread_mutex_unlock(&w->lock);
    if (now->epoch_ended && now->model) look_at(w, now->model);
}

void watch_end(watch *w) {
    pthread_mutex_lock(&w->lock);
    w->ended = 1;
    pthread_mutex_unlock(&w->lock);
}

static void write_row(const watch *w, const epoch_row *row, buffer *out) {
    buffer_add(out, "{\"phase\":");
    buffer_add_text(out, row->phase);
    buffer_add(out, ",\"epoch\":%d,\"terms\":", row->epoch);
    buffer_add_numbers(out, row->values, (size_t)w->term_count);
    buffer_add(out, ",\"held_out\":");
    buffer_add_number(out, row->held_out);
    buffer_add(out, ",\"ks\":");
    buffer_add_numbers(out, (double[]){row->ks_median, row->ks_max}, 2);
    buffer_add(out, "}");
}

void watch_write(watch *w, buffer *out) {
    pthread_mutex_lock(&w->lock);
    buffer_add(out, "{\"title\":");
    buffer_add_text(out, w->title);
    buffer_add(out, ",\"ended\":%s,\"phase\":\"%s\",\"epoch\":%d,\"epochs\":%d,\"batch\":%d,\"batches\":%d",
               w->ended ? "true" : "false", w->phase, w->epoch, w->epochs, w->batch, w->batches);
    buffer_add(out, ",\"progress\":");
    buffer_add_numbers(out, (double[]){w->loss, w->seconds, w->seconds_left}, 3);
    buffer_add(out, ",\"term_names\":[");
    for (int i = 0; i < w->term_count; i++) {
        if (i > 0) buffer_add(out, ",");
        buffer_add_text(out, w->term_names[i]);
    }
    buffer_add(out, "],\"history\":[");
    for (int i = 0; i < w->row_count; i++) {
        if (i > 0) buffer_add(out, ",");
        write_row(w, &w->rows[i], out);
    }
    buffer_add(out, "],\"looks\":%d,\"look\":%s}\n", w->looks, w->look.length ? w->look.chars : "null");
    pthread_mutex_unlock(&w->lock);
}
