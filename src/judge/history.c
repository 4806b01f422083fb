/* The training curves of a run, from its history.csv. */
#include "base/file.h"
#include "base/number.h"
#include "draw/draw.h"
#include "judge/pictures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column {
    EPOCH = 1,
    STEP,
    LOSS,
    TERM_Z,
    TERM_Y,
    TERM_LOGDET,
    Y_ERROR,
    VALIDATION,
    RATE,
    KS_MEDIAN,
    KS_MAX,
    COLUMNS
};
#define MAX_PHASES 8

typedef struct history {
    long rows;
    double *values[COLUMNS]; /* each (rows); NAN where a field is empty */
    double *number;          /* (rows) 1, 2, ...: epochs of the whole run */
    int phase_count;
    char phase_names[MAX_PHASES][32];
    curve_phase phases[MAX_PHASES];
} history;

static void free_history(history *h) {
    for (int c = 0; c < COLUMNS; c++) free(h->values[c]);
    free(h->number);
}

static void read_row(history *h, char *line) {
    char *field = line, name[32];
    size_t length = strcspn(field, ",");
    memset(name, 0, sizeof name);
    memcpy(name, field, length < sizeof name - 1 ? length : sizeof name - 1);
    if ((h->phase_count == 0 || strcmp(name, h->phase_names[h->phase_count - 1]) != 0) &&
        h->phase_count < MAX_PHASES) {
        memcpy(h->phase_names[h->phase_count], name, sizeof name);
        h->phases[h->phase_count] = (curve_phase){h->phase_names[h->phase_count], (double)h->rows + 1};
        h->phase_count++;
    }
    for (int c = 1; c < COLUMNS; c++) {
        field += strcspn(field, ",");
        if (*field == ',') field++;
        double value;
        h->values[c][h->rows] = number_scan(field, &value) ? value : NAN;
    }
    h->number[h->rows] = (double)h->rows + 1;
    h->rows++;
}

static jf_status read_history(jf_context *ctx, history *h, const char *path) {
    char *bytes;
    size_t size;
    long lines = 0;
    jf_status status;
    *h = (history){0};
    JF_TRY(file_read(ctx, &bytes, &size, path, (size_t)1 << 28));
    for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
    for (int c = 1; c < COLUMNS; c++) JF_TRY_DONE(MEM_NEW(ctx, &h->values[c], (size_t)lines + 1));
    JF_TRY_DONE(MEM_NEW(ctx, &h->number, (size_t)lines + 1));
    char *line = strchr(bytes, '\n'); /* past the header */
    while (line && line[1]) {
        char *start = line + 1;
        line = strchr(start, '\n');
        if (line) *line = 0;
        if (*start) read_row(h, start);
    }
done:
    free(bytes);
    if (status != JF_OK) free_history(h);
    return status;
}

jf_status picture_history(jf_context *ctx, const char *path, const char *picture) {
    history h;
    figure *fig = NULL;
    jf_status status;
    JF_TRY(read_history(ctx, &h, path));
    curve terms[] = {{"loss", h.rows, h.number, h.values[LOSS]},
                     {"z", h.rows, h.number, h.values[TERM_Z]},
                     {"y", h.rows, h.number, h.values[TERM_Y]},
                     {"logdet", h.rows, h.number, h.values[TERM_LOGDET]},
                     {"held-out loss", h.rows, h.number, h.values[VALIDATION]}};
    long measured = 0; /* the latent fit is measured every few epochs: join those points */
    for (long i = 0; i < h.rows; i++)
        if (!isnan(h.values[KS_MAX][i])) {
            h.values[EPOCH][measured] = h.number[i];
            h.values[KS_MAX][measured++] = h.values[KS_MAX][i];
        }
    curve errors[] = {{"mean |F_Y' - y|", h.rows, h.number, h.values[Y_ERROR]},
                      {"learning rate", h.rows, h.number, h.values[RATE]},
                      {"latent KS, worst", measured, h.values[EPOCH], h.values[KS_MAX]}};
    JF_TRY_DONE(figure_create(ctx, &fig, 1, 2, 520, 340, NULL));
    panel_title(figure_panel(fig, 0, 0), "loss terms");
    int validated = 0;
    for (long i = 0; i < h.rows; i++) validated |= !isnan(h.values[VALIDATION][i]);
    panel_curves(figure_panel(fig, 0, 0), validated ? 5 : 4, terms, h.phase_count, h.phases, "epoch", "nats",
                 AXES_SYMLOG_Y);
    panel_title(figure_panel(fig, 0, 1), "errors and learning rate");
    panel_curves(figure_panel(fig, 0, 1), 3, errors, h.phase_count, h.phases, "epoch", NULL, AXES_LOG_Y);
    JF_TRY_DONE(figure_save(fig, picture));
done:
    figure_free(fig);
    free_history(&h);
    return status;
}
