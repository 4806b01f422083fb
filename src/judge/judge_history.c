/* The training curves of a run, from its history.csv. */
#include "judge/judge_history.h"
#include "base/file.h"
#include "base/number.h"
#include "draw/draw.h"
#include "judge/judge_pictures.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void history_free(history *h) {
    for (int c = 0; c < HISTORY_COLUMNS; c++) free(h->values[c]);
    free(h->number);
}

static const char *column_name(int c) {
    static const char *const others[] = {"validation", "rate", "ks_max", "seconds"};
    return c < TERM_COUNT ? loss_term_info[c].name : others[c - TERM_COUNT];
}

/* Which field of a row each column is, by the header; -1: none, as in a file from before there was such a
 * term. */
static void find_columns(char *header, int field_of[HISTORY_COLUMNS]) {
    for (int c = 0; c < HISTORY_COLUMNS; c++) field_of[c] = -1;
    for (int f = 0; *header; f++) {
        size_t length = strcspn(header, ",\n");
        for (int c = 0; c < HISTORY_COLUMNS; c++)
            if (strlen(column_name(c)) == length && memcmp(column_name(c), header, length) == 0)
                field_of[c] = f;
        header += length;
        if (*header != ',') return;
        header++;
    }
}

static double number_in_field(const char *line, int field) {
    double value;
    if (field < 0) return NAN;
    for (; field > 0; field--) {
        line += strcspn(line, ",");
        if (*line++ != ',') return NAN;
    }
    return number_scan(line, &value) ? value : NAN;
}

static void read_row(history *h, const int field_of[HISTORY_COLUMNS], const char *line) {
    char name[32] = "";
    size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyz"); /* reports and cards show it */
    memcpy(name, line, length < sizeof name - 1 ? length : sizeof name - 1);
    if ((h->phase_count == 0 || strcmp(name, h->phase_names[h->phase_count - 1]) != 0) &&
        h->phase_count < HISTORY_MAX_PHASES) {
        memcpy(h->phase_names[h->phase_count], name, sizeof name);
        h->phases[h->phase_count] = (curve_phase){h->phase_names[h->phase_count], (double)h->rows + 1};
        h->phase_count++;
    }
    for (int c = 0; c < HISTORY_COLUMNS; c++) h->values[c][h->rows] = number_in_field(line, field_of[c]);
    h->number[h->rows] = (double)h->rows + 1;
    h->rows++;
}

jf_status history_read(jf_context *ctx, history *h, const char *path) {
    char *bytes;
    size_t size;
    long lines = 0;
    int field_of[HISTORY_COLUMNS];
    jf_status status;
    *h = (history){0};
    JF_TRY(file_read(ctx, &bytes, &size, path, (size_t)1 << 28));
    for (size_t i = 0; i < size; i++) lines += bytes[i] == '\n';
    for (int c = 0; c < HISTORY_COLUMNS; c++) JF_TRY_DONE(MEM_NEW(ctx, &h->values[c], (size_t)lines + 1));
    JF_TRY_DONE(MEM_NEW(ctx, &h->number, (size_t)lines + 1));
    find_columns(bytes, field_of);
    char *line = strchr(bytes, '\n');
    while (line && line[1]) {
        char *start = line + 1;
        line = strchr(start, '\n');
        if (line) *line = 0;
        if (*start) read_row(h, field_of, start);
    }
done:
    free(bytes);
    if (status != JF_OK) history_free(h);
    return status;
}

/* The latent fit is measured every few epochs: those points are joined. x: (rows). */
static curve measured_fit(history *h, double *x) {
    long count = 0;
    for (long i = 0; i < h->rows; i++)
        if (!isnan(h->values[HISTORY_KS_MAX][i])) {
            x[count] = h->number[i];
            h->values[HISTORY_KS_MAX][count++] = h->values[HISTORY_KS_MAX][i];
        }
    return (curve){"latent KS, worst", count, x, h->values[HISTORY_KS_MAX]};
}

static int is_measured(const history *h, int column) {
    for (long i = 0; i < h->rows; i++)
        if (!isnan(h->values[column][i])) return 1;
    return 0;
}

jf_status picture_history(jf_context *ctx, const char *path, const char *picture) {
    history h;
    figure *fig = NULL;
    double *x = NULL;
    curve terms[TERM_COUNT + 1], watched[TERM_COUNT + 2];
    int term_count = 0, watched_count = 0;
    jf_status status;
    JF_TRY(history_read(ctx, &h, path));
    JF_TRY_DONE(MEM_NEW(ctx, &x, (size_t)h.rows + 1));
    for (int i = 0; i < TERM_COUNT; i++) {
        const term_info *info = &loss_term_info[i];
        if (info->role == TERM_IS_WATCHED)
            watched[watched_count++] = (curve){info->about, h.rows, h.number, h.values[i]};
        else
            terms[term_count++] = (curve){info->name, h.rows, h.number, h.values[i]};
    }
    if (is_measured(&h, HISTORY_VALIDATION))
        terms[term_count++] = (curve){"held-out loss", h.rows, h.number, h.values[HISTORY_VALIDATION]};
    watched[watched_count++] = (curve){"learning rate", h.rows, h.number, h.values[HISTORY_RATE]};
    watched[watched_count++] = measured_fit(&h, x);
    JF_TRY_DONE(figure_create(ctx, &fig, 1, 2, 520, 340, NULL));
    panel_title(figure_panel(fig, 0, 0), "loss terms");
    panel_curves(figure_panel(fig, 0, 0), term_count, terms, h.phase_count, h.phases, "epoch", "nats",
                 AXES_SYMLOG_Y);
    panel_title(figure_panel(fig, 0, 1), "errors and learning rate");
    panel_curves(figure_panel(fig, 0, 1), watched_count, watched, h.phase_count, h.phases, "epoch", NULL,
                 AXES_LOG_Y);
    JF_TRY_DONE(figure_save(fig, picture));
done:
    figure_free(fig);
    free(x);
    history_free(&h);
    return status;
}
