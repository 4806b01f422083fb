/* The contract of devices that hold data and make batches of them, and of those that lend threads. */
#include "device_contract.h"
#include <stdatomic.h>

typedef double num;
#include "compute/batch_formulas.h"

/* ---- data ---- */

enum { H = 3, W = 4, CHANNELS = 2, PIXELS = H * W * CHANNELS, ROWS = 29, VALIDATION_ROWS = 7, CLASSES = 3 };

/* A data set in arrays, as an offer to a device and as the formulas see it. */
typedef struct held_set {
    uint8_t bytes[(ROWS + VALIDATION_ROWS) * 2 * PIXELS], row_class[ROWS + VALIDATION_ROWS];
    double reals[(ROWS + VALIDATION_ROWS) * 2 * PIXELS], mean[2 * PIXELS], deviation[2 * PIXELS],
        label[CLASSES];
    long class_rows[ROWS], class_start[CLASSES + 1];
    int32_t order[2 * PIXELS];
    resident_data offer;
    resident_view view;
} held_set;

static void read_row(const void *source, long row, double *scratch, double *values) {
    const held_set *s = source;
    if (s->offer.scratch) scratch[s->offer.scratch - 1] = 1; /* it is there */
    memcpy(values, s->reals + row * s->offer.width, (size_t)s->offer.width * sizeof *values);
}

static int class_of(const void *source, long row) {
    return ((const held_set *)source)->row_class[row];
}

typedef struct set_form {
    resident_task task;
    int by_bytes, classes, model_y, ordered, planes;
} set_form;

static held_set *set_create(const set_form *f) {
    held_set *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    int dim = 2 * PIXELS, width = f->task == RESIDENT_WHOLE ? dim : PIXELS, at = 0;
    double *draws = draw_normal(sizeof s->reals / sizeof *s->reals + 2 * PIXELS, 1, 81);
    memcpy(s->reals, draws, sizeof s->reals);
    for (size_t i = 0; i < sizeof s->bytes; i++) s->bytes[i] = (uint8_t)(i * 37 + i / 11);
    for (int i = 0; i < dim; i++) {
        s->mean[i] = draws[sizeof s->reals / sizeof *s->reals + (size_t)i];
        s->deviation[i] = 0.5 + 0.125 * (i % 5);
        s->order[i] = (i * 5 + 3) % dim; /* 5 and 48 have no common divisor */
    }
    for (int i = 0; i < ROWS + VALIDATION_ROWS; i++) s->row_class[i] = (uint8_t)(i * i % CLASSES);
    for (int k = 0; k < CLASSES; k++) {
        s->label[k] = 10 * k - 3;
        s->class_start[k] = at;
        for (int i = 0; i < ROWS; i++)
            if (s->row_class[i] == k) s->class_rows[at++] = i;
    }
    s->class_start[CLASSES] = at;
    s->offer = (resident_data){
        .rows = ROWS, .validation_rows = VALIDATION_ROWS, .dim_x = PIXELS, .dim_y = PIXELS, .width = width};
    s->offer.bytes = f->by_bytes ? s->bytes : NULL;
    for (int b = 0; b < 256; b++) s->offer.value[b] = as_float(sqrt(b) / 7);
    s->offer.read = read_row;
    s->offer.scratch = 5;
    s->offer.task = f->task;
    s->offer.noise = 0.25;
    s->offer.spread = (pixel_spread){0.01, 4.5};
    s->offer.h = H, s->offer.w = W, s->offer.channels = CHANNELS, s->offer.hole_h = 2, s->offer.hole_w = 1;
    s->offer.classes = f->classes ? CLASSES : 0;
    s->offer.label = s->label;
    s->offer.planes = f->planes;
    s->offer.row_class = class_of;
    s->offer.class_rows = s->class_rows;
    s->offer.class_start = s->class_start;
    s->offer.mean = s->mean;
    s->offer.deviation = s->deviation;
    s->offer.model_y = f->model_y;
    s->offer.order = f->ordered ? s->order : NULL;
    s->offer.source = s;
    s->view = (resident_view){ROWS,
                              VALIDATION_ROWS,
                              PIXELS,
                              f->model_y,
                              width,
                              s->offer.bytes,
                              s->reals,
                              s->offer.value,
                              f->task,
                              0.25,
                              H,
                              W,
                              CHANNELS,
                              2,
                              1,
                              s->offer.classes,
                              f->planes,
                              s->label,
                              s->row_class,
                              s->class_rows,
                              s->class_start,
                              s->mean,
                              s->deviation,
                              s->offer.order,
                              s->offer.spread};
    free(draws);
    return s;
}

static void compare_batch(const bench *b, const device_data *data, const held_set *s,
                          const batch_request *q) {
    device *d = b->tested->d;
    int dim = PIXELS + s->offer.model_y;
    size_t count = (size_t)(q->n * dim);
    real *state = lab_fill(b->tested, NAN, count + 1);
    double *expected = new_numbers(count);
    d->kind->data_batch(d, data, q, state);
    for (int i = 0; i < q->n; i++) {
        batch_sample sample = batch_sample_of(&s->view, q, i);
        for (int k = 0; k < dim; k++) expected[i * dim + k] = batch_element(&s->view, q, &sample, i, k);
    }
    double *found = lab_get(b->tested, state, count + 1);
    CHECK_CLOSE(found, expected, count, device_tolerance(d));
    CHECK(isnan(found[count]));
    free(found), free(expected);
    lab_clear(b->tested);
}

void check_resident(const bench *b) {
    static const set_form forms[] = {
        {RESIDENT_WHOLE, 0, 0, PIXELS, 0, 0},      {RESIDENT_WHOLE, 1, 1, PIXELS, 1, 0},
        {RESIDENT_WHOLE, 0, 1, 0, 0, 0},           {RESIDENT_NOISE, 1, 0, PIXELS, 1, 0},
        {RESIDENT_NOISE, 0, 0, PIXELS, 0, 0},      {RESIDENT_HOLE, 1, 0, PIXELS, 1, 0},
        {RESIDENT_HOLE, 0, 0, PIXELS, 0, 0},       {RESIDENT_LEVELS, 1, 1, PIXELS, 1, 0},
        {RESIDENT_WHOLE, 1, 1, PIXELS, 1, CLASSES}};
    static const double mixes[][3] = {{1, 0, 0}, {1, 0.25, 0}, {0.5, 0, 0}, {0.25, 0.125, 0.5}, {1, 0, 2}};
    device *d = b->tested->d;
    if (!d->kind->data_open) return;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        held_set *s = set_create(&forms[f]);
        device_data *data = NULL;
        CHECK_STATUS(d->kind->data_open(d, &data, &s->offer), JF_OK);
        for (size_t i = 0; data && i < sizeof mixes / sizeof *mixes; i++)
            for (int way = 0; way < 3; way++) {
                batch_request q = {.n = 3 + 2 * (int)i,
                                   .validation = way == 1,
                                   .class_index = way == 2 && forms[f].classes ? 1 : -1,
                                   .first = 17 * (uint64_t)i, /* beyond the rows: they come again */
                                   .order = {5, RNG_TEST, (uint32_t)i},
                                   .row = {6, RNG_ROW, 1},
                                   .share = mixes[i][0],
                                   .alpha = mixes[i][1],
                                   .y_noise = mixes[i][2],
                                   .noise = {7, RNG_NOISE, 2},
                                   .noise_first = 1000};
                compare_batch(b, data, s, &q);
            }
        if (data) d->kind->data_close(d, data);
        free(s);
    }
}

/* ---- threads ---- */

typedef struct job {
    atomic_int runs[200];
} job;

static void run_task(void *arg, int task, int worker) {
    (void)worker;
    atomic_fetch_add(&((job *)arg)->runs[task], 1);
}

void check_background(const bench *b) {
    device *d = b->tested->d;
    static const int sizes[] = {1, 2, 63, 200};
    if (!d->kind->background) return;
    double *x = draw_normal(20000, 1, 91);
    real *busy = lab_put(b->tested, x, 20000);
    d->kind->background_wait(d); /* nothing was started */
    for (int i = 0; i < 4; i++) {
        job j = {0};
        d->kind->background(d, sizes[i], run_task, &j);
        for (int k = 0; k < i; k++) d->kind->fill(d, busy, k, 20000);
        d->kind->background_wait(d);
        for (int k = 0; k < 200; k++) CHECK(j.runs[k] == (k < sizes[i]));
    }
    free(x);
    lab_clear(b->tested);
}

/* ---- recordings ---- */

typedef struct recorded_work {
    device *d;
    real *sum, *term;
    scalar *total;
} recorded_work;

/* sum += term, total += the sum of all, with a product in between */
static void work_to_record(void *arg) {
    const recorded_work *w = arg;
    const device_kind *k = w->d->kind;
    k->add(w->d, w->sum, w->term, 100);
    k->sum_into(w->d, w->total, w->sum, 100, 0.5);
}

/* Recording does nothing; every replay does all of it, with what the buffers hold then. */
void check_recording(const bench *b) {
    device *d = b->tested->d;
    const device_kind *k = d->kind;
    device_recording *r = NULL;
    if (!k->record) return;
    recorded_work w = {d, lab_fill(b->tested, 1, 100), lab_fill(b->tested, 2, 100), NULL};
    CHECK_STATUS(k->alloc_scalars(d, &w.total, 1), JF_OK);
    CHECK_STATUS(k->record(d, &r, work_to_record, &w), JF_OK);
    CHECK(r != NULL);
    double total = -1, expected = 0, sum = 1;
    k->get_scalars(d, &total, w.total, 1);
    CHECK(total == 0);
    for (int i = 0; i < 3; i++) {
        k->replay(d, r);
        expected += 50 * (sum += 2);
    }
    k->fill(d, w.sum, -7, 100); /* after them, and before the next */
    k->replay(d, r);
    expected += 50 * (-7 + 2);
    k->get_scalars(d, &total, w.total, 1);
    CHECK_NEAR(total, expected, 1e-9);
    k->recording_free(d, r);
    k->release_scalars(d, w.total);
    CHECK_STATUS(k->status(d), JF_OK);
    lab_clear(b->tested);
}
