#include "train/history.h"
#include "base/file.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

#define X(id, name, role, about) "," name
static const char history_header[] =
    "phase,epoch,step" LOSS_TERMS(X) ",validation,rate,ks_median,ks_max,drift,seconds\n";
#undef X

static jf_status history_start(jf_context *ctx, const char *path) {
    return file_replace(ctx, path, history_header, sizeof history_header - 1);
}

/* The bytes of the header and of up to `rows` whole lines after it; *found: how many there are. */
static size_t whole_lines(const char *bytes, long rows, long *found) {
    size_t end = 0;
    *found = -1; /* the header is not a row */
    for (const char *newline; *found < rows && (newline = strchr(bytes + end, '\n')); ++*found)
        end = (size_t)(newline - bytes) + 1;
    return end;
}

static jf_status cut_back(jf_context *ctx, const char *path, long *rows) {
    char *bytes;
    size_t size;
    long found;
    JF_TRY(file_read(ctx, &bytes, &size, path, (size_t)1 << 28));
    size_t end = whole_lines(bytes, *rows, &found);
    if (found < *rows)
        jf_warn(ctx, "%s: has %ld of the %ld epochs so far; the others are missing from now on", path,
                found < 0 ? 0 : found, *rows);
    jf_status status = found < 0 ? history_start(ctx, path) : file_replace(ctx, path, bytes, end);
    *rows = found < 0 ? 0 : found;
    free(bytes);
    return status;
}

jf_status history_begin(jf_context *ctx, const char *path, long *rows) {
    if (*rows > 0 && file_exists(path)) return cut_back(ctx, path, rows);
    if (*rows > 0) jf_warn(ctx, "%s: is missing and begun again, without the %ld epochs so far", path, *rows);
    *rows = 0;
    return history_start(ctx, path);
}

static void add_number(text *t, double value) {
    text_add(t, ",");
    if (value == value) text_add_number(t, value);
}

jf_status history_add(jf_context *ctx, const char *path, const history_row *row) {
    text line = {0};
    text_add(&line, "%s,%d,%ld", row->phase, row->epoch, row->step);
    for (int i = 0; i < TERM_COUNT; i++) add_number(&line, row->terms.value[i]);
    const double numbers[] = {row->validation, row->rate,  row->ks_median,
                              row->ks_max,     row->drift, row->seconds};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) add_number(&line, numbers[i]);
    text_add(&line, "\n");
    jf_status status = text_check(ctx, &line);
    if (status == JF_OK) status = file_append(ctx, path, line.chars, line.length);
    text_free(&line);
    return status;
}
