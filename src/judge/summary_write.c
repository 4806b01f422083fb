/* A summary as files have it, .csv and .json, and as a table for people. */
#include "base/number.h"
#include "io/csv.h"
#include "io/json.h"
#include "judge/judge.h"
#include "judge/summary.h"
#include <math.h>
#include <string.h>

#define SHOWN_Y 8 /* elements of y that the table names */

static const char *name_of(const model *m, int element, char *place, size_t size) {
    int dim_x = m->units.dim_x;
    if (m->units.names) return m->units.names[element];
    format_text(place, size, element < dim_x ? "x%d" : "y%d", element < dim_x ? element : element - dim_x);
    return place;
}

static void cell(text *t, const char *before, double value) {
    text_add(t, "%s", before);
    text_add_number(t, value);
}

/* ---- y: its numbers, or the class that it is ---- */

static int count_y(const summary *s, const model *m) {
    return units_planes(&m->units) ? 1 : s->dim_y;
}

static int of_table(const model *m) {
    const char *set = recipe_get(m->recipe, "data.set");
    return set && strcmp(set, "table") == 0;
}

static jf_status cell_of_y(const summary *s, const model *m, text *t, const char *before, int condition,
                           int i) {
    const double *y = s->y + condition * s->dim_y;
    double label = units_planes(&m->units) ? units_label_of(&m->units, y) : y[i];
    const char *word = m->units.classes ? units_word_of_label(&m->units, label) : NULL;
    if (!word || !of_table(m)) {
        cell(t, before, label);
        return JF_OK;
    }
    text_add(t, "%s", before);
    return csv_add_name(s->ctx, "summary", t, word);
}

/* "-0.61:-0.42 0.40:0.62" */
static void add_set(text *t, const hpd_set *set) {
    for (int i = 0; i < set->count; i++) {
        cell(t, i ? " " : "", set->parts[i].lo);
        cell(t, ":", set->parts[i].hi);
    }
}

/* ---- .csv: a row for each condition and column of x ---- */

static jf_status csv_head(const summary *s, const model *m, text *t) {
    char place[32];
    text_add(t, "condition");
    for (int i = 0; i < count_y(s, m); i++) {
        text_add(t, ",");
        JF_TRY(csv_add_name(s->ctx, "summary", t, name_of(m, s->dim_x + i, place, sizeof place)));
    }
    text_add(t, ",column,mean,deviation");
    for (int i = 0; i < s->quantiles; i++) text_add(t, ",q%g", 100 * s->quantile[i]);
    text_add(t, ",mode");
    for (int i = 0; i < s->masses; i++) text_add(t, ",hpd%g", 100 * s->mass[i]);
    text_add(t, ",log_p_mode");
    for (int i = 0; i < s->masses; i++) text_add(t, ",log_p_hpd%g", 100 * s->mass[i]);
    text_add(t, "\n");
    return JF_OK;
}

static jf_status write_csv(const summary *s, const model *m, text *t) {
    char place[32];
    JF_TRY(csv_head(s, m, t));
    for (int row = 0; row < s->conditions * s->dim_x; row++) {
        int k = row / s->dim_x;
        const column_summary *c = &s->column[row];
        text_add(t, "%d", k + 1);
        for (int i = 0; i < count_y(s, m); i++) JF_TRY(cell_of_y(s, m, t, ",", k, i));
        text_add(t, ",");
        JF_TRY(csv_add_name(s->ctx, "summary", t, name_of(m, row % s->dim_x, place, sizeof place)));
        cell(t, ",", c->mean);
        cell(t, ",", c->deviation);
        for (int i = 0; i < s->quantiles; i++) cell(t, ",", c->quantile[i]);
        cell(t, ",", c->mode);
        for (int i = 0; i < s->masses; i++) {
            text_add(t, ",");
            add_set(t, &c->hpd[i]);
        }
        cell(t, ",", s->condition[k].log_p_mode);
        for (int i = 0; i < s->masses; i++) cell(t, ",", s->condition[k].log_p[i]);
        text_add(t, "\n");
    }
    return JF_OK;
}

/* ---- .json ---- */

static void numbers(text *t, const char *name, int count, const double *values, size_t stride) {
    json_add_string(t, name);
    text_add(t, ": [");
    for (int i = 0; i < count; i++) {
        if (i) text_add(t, ", ");
        json_add_number(t, values[(size_t)i * stride]);
    }
    text_add(t, "]");
}

static void json_column(const summary *s, text *t, const column_summary *c, const char *name) {
    text_add(t, "{\"name\": ");
    json_add_string(t, name);
    text_add(t, ", \"mean\": ");
    json_add_number(t, c->mean);
    text_add(t, ", \"deviation\": ");
    json_add_number(t, c->deviation);
    text_add(t, ", \"mode\": ");
    json_add_number(t, c->mode);
    text_add(t, ", ");
    numbers(t, "quantiles", s->quantiles, c->quantile, 1);
    text_add(t, ", \"hpd\": [");
    for (int i = 0; i < s->masses; i++) {
        text_add(t, i ? ", [" : "[");
        for (int k = 0; k < c->hpd[i].count; k++) {
            text_add(t, k ? ", [" : "[");
            json_add_number(t, c->hpd[i].parts[k].lo);
            text_add(t, ", ");
            json_add_number(t, c->hpd[i].parts[k].hi);
            text_add(t, "]");
        }
        text_add(t, "]");
    }
    text_add(t, "]}");
}

static void write_json(const summary *s, const model *m, text *t) {
    char place[32];
    text_add(t, "{\"samples\": %d, \"exact\": %s, ", s->each, s->exact ? "true" : "false");
    numbers(t, "masses", s->masses, s->mass, 1);
    text_add(t, ", ");
    numbers(t, "probabilities", s->quantiles, s->quantile, 1);
    text_add(t, ", \"conditions\": [");
    for (int k = 0; k < s->conditions; k++) {
        const condition_summary *c = &s->condition[k];
        const column_summary *columns = &s->column[k * s->dim_x];
        text_add(t, k ? ", {" : "{");
        numbers(t, "y", s->dim_y, s->y + k * s->dim_y, 1);
        text_add(t, ", ");
        numbers(t, "mode", s->dim_x, &columns->mode, sizeof *columns / sizeof(double));
        text_add(t, ", \"mode_refined\": %s, \"log_p_mode\": ", c->refined ? "true" : "false");
        json_add_number(t, c->log_p_mode);
        text_add(t, ", ");
        numbers(t, "log_p_hpd", s->masses, c->log_p, 1);
        text_add(t, ", \"columns\": [");
        for (int i = 0; i < s->dim_x; i++) {
            if (i) text_add(t, ", ");
            json_column(s, t, &columns[i], name_of(m, i, place, sizeof place));
        }
        text_add(t, "]}");
    }
    text_add(t, "]}");
}

/* ---- for people ---- */

static void pad(text *t, size_t from, size_t width) {
    for (size_t done = t->length - from; done < width; done++) text_add(t, " ");
}

/* At least `least` digits, and as many as resolve 1e-4 of the column's deviation. */
static const char *resolved(char out[NUMBER_SIZE], double value, double deviation, int least) {
    double needed = ceil(log10(fabs(value) / deviation)) + 4;
    if (!(deviation > 0) || needed > 15)
        number_shortest(out, value);
    else
        format_text(out, NUMBER_SIZE, "%.*g", needed > least ? (int)needed : least, value);
    return out;
}

static jf_status table_condition(const summary *s, const model *m, text *t, int k) {
    const condition_summary *c = &s->condition[k];
    char place[32];
    text_add(t, "condition %d", k + 1);
    for (int i = 0; i < count_y(s, m) && i < SHOWN_Y; i++) {
        text_add(t, "%s %s", i ? "," : ":", name_of(m, s->dim_x + i, place, sizeof place));
        JF_TRY(cell_of_y(s, m, t, " = ", k, i));
    }
    text_add(t, "%s\n%-14s %10s %10s %10s %10s", count_y(s, m) > SHOWN_Y ? ", ..." : "", "", "mean",
             "deviation", "median", "mode");
    for (int i = 0; i < s->masses; i++) text_add(t, "   %g%% HPD%-16s", 100 * s->mass[i], "");
    text_add(t, "\n");
    for (int i = 0; i < s->dim_x; i++) {
        const column_summary *column = &s->column[k * s->dim_x + i];
        char v[4][NUMBER_SIZE];
        double deviation = column->deviation;
        text_add(t, "%-14.14s %10s %10s %10s %10s", name_of(m, i, place, sizeof place),
                 resolved(v[0], column->mean, deviation, 5), resolved(v[1], deviation, deviation, 4),
                 resolved(v[2], column->median, deviation, 5), resolved(v[3], column->mode, deviation, 5));
        for (int q = 0; q < s->masses; q++) {
            size_t from = t->length;
            const hpd_set *set = &column->hpd[q];
            for (int j = 0; j < set->count; j++)
                text_add(t, "%s%s:%s", j ? " " : "   ", resolved(v[0], set->parts[j].lo, deviation, 4),
                         resolved(v[1], set->parts[j].hi, deviation, 4));
            pad(t, from, 26);
        }
        text_add(t, "\n");
    }
    text_add(t, "log p(x|y) at the mode%s %.4f", c->refined ? "" : ", the likeliest sample,", c->log_p_mode);
    for (int i = 0; i < s->masses; i++)
        text_add(t, "; the smallest region that holds %g%% is where it is above %.4f", 100 * s->mass[i],
                 c->log_p[i]);
    text_add(t, "\n");
    return JF_OK;
}

jf_status summary_write(summary *s, const model *m) {
    JF_TRY(write_csv(s, m, &s->csv));
    write_json(s, m, &s->json);
    for (int k = 0; k < s->conditions; k++) {
        if (k) text_add(&s->table, "\n");
        JF_TRY(table_condition(s, m, &s->table, k));
    }
    JF_TRY(text_check(s->ctx, &s->csv));
    JF_TRY(text_check(s->ctx, &s->json));
    return text_check(s->ctx, &s->table);
}
