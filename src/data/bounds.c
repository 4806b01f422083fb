#include "data/bounds.h"
#include "base/memory.h"
#include "base/number.h"
#include "io/rows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* "0" or, where nothing stands, `missing` */
static int read_bound(const char *words, double missing, double *out) {
    *out = missing;
    return !*words || (number_scan(words, out) == strlen(words) && isfinite(*out));
}

/* "LO:HI", either of which may be missing; `words` is written to. */
static int read_bounds(char *words, column_support *s) {
    char *colon = strchr(words, ':');
    if (!colon) return 0;
    *colon = '\0';
    return read_bound(words, -INFINITY, &s->lo) && read_bound(colon + 1, INFINITY, &s->hi);
}

static support_kind kind_between(double lo, double hi) {
    return isfinite(lo) && isfinite(hi) ? SUPPORT_INTERVAL : isfinite(lo) ? SUPPORT_ABOVE : SUPPORT_BELOW;
}

/* 0 where it is none. `words` is written to. */
static int read_support(char *words, column_support *s) {
    *s = (column_support){.kind = SUPPORT_LINE, .lo = -INFINITY, .hi = INFINITY};
    if (strcmp(words, "none") == 0) return 1;
    if (strcmp(words, "whole") == 0) {
        s->kind = SUPPORT_WHOLE;
        return 1;
    }
    if (strncmp(words, "whole:", 6) == 0) {
        s->kind = SUPPORT_WHOLE;
        return read_bounds(words + 6, s) && support_is_valid(s);
    }
    if (strncmp(words, "uniform:", 8) == 0) {
        s->kind = SUPPORT_UNIFORM;
        return read_bounds(words + 8, s) && support_is_valid(s);
    }
    if (strncmp(words, "cut:", 4) == 0) {
        s->kind = SUPPORT_CUT;
        return read_bounds(words + 4, s) && support_is_valid(s);
    }
    if (strncmp(words, "circle:", 7) == 0) {
        s->kind = SUPPORT_CIRCLE;
        int good = read_bounds(words + 7, s);
        s->cut = s->lo;
        return good && support_is_valid(s);
    }
    if (!read_bounds(words, s) || (!isfinite(s->lo) && !isfinite(s->hi))) return 0;
    s->kind = kind_between(s->lo, s->hi);
    return support_is_valid(s);
}

/* Elements that a name stands for: from .. to - 1; 0 where it stands for none. */
static int find_elements(const dataset *d, const char *name, int *from, int *to) {
    int is_y = name[0] == 'y', first = is_y ? d->dim_x : 0, count = is_y ? d->dim_y : d->dim_x;
    long long number = 0;
    for (int i = 0; i < dataset_dim(d); i++)
        if (dataset_name(d, i) && strcmp(dataset_name(d, i), name) == 0) {
            *from = i;
            *to = i + 1;
            return 1;
        }
    if (name[0] != 'x' && !is_y) return 0;
    *from = first;
    *to = first + count;
    if (!name[1]) return 1;
    if (!number_parse_int(name + 1, &number) || number < 0 || number >= count) return 0;
    *from = first + (int)number;
    *to = *from + 1;
    return 1;
}

static jf_status read_item(dataset *d, const recipe *r, const char *key, const char *item) {
    char *name, *equals;
    int from = 0, to = 0;
    column_support s;
    JF_TRY(mem_copy_text(d->ctx, &name, item));
    equals = strrchr(name, '=');
    if (equals) *equals = '\0';
    int known = equals && find_elements(d, name, &from, &to), good = known && read_support(equals + 1, &s);
    for (int i = from; good && i < to; i++) d->support[i] = s;
    free(name);
    if (good) return JF_OK;
    if (equals && !known)
        return recipe_fail(
            r, key, "found \"%s\", but no column has that name; expected one, x0, y0, ..., x or y", item);
    return recipe_fail(r, key,
                       "found \"%s\", expected NAME=LO:HI, NAME=LO:, NAME=:HI, NAME=uniform:LO:HI, "
                       "NAME=cut:LO:HI, NAME=circle:LO:HI, NAME=whole, "
                       "NAME=whole:LO:HI or NAME=none",
                       item);
}

jf_status bounds_parse(dataset *d, const recipe *r, const char *key) {
    const char *list = recipe_get(r, key);
    char *item = NULL;
    if (row_names_count(list) == 0) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &item, strlen(list) + 1));
    jf_status status = MEM_NEW(d->ctx, &d->support, (size_t)dataset_dim(d));
    while (status == JF_OK && row_names_next(&list, item)) status = read_item(d, r, key, item);
    free(item);
    return status;
}

/* ---- finding ---- */

enum { ENOUGH_ROWS = 300, ENOUGH_FOR_HINTS = 200, GAPS = 10 };
#define MOST_HOLE   20.0 /* mean distances between neighbours; exp(-20) by chance */
#define MOST_UNEVEN 0.1  /* of all values: as far the distribution may be from that of an even column */

/* Tails at several scales: a mode of a few deviations is a third of a column of three modes, and falls off in
 * its own outer part alone. */
static const struct edge_part {
    int share;    /* the outer 1/share of the values */
    double least; /* of its length: an edge falls off where the mean distance from the inner end is less */
} edge_parts[] = {{3, 0.42}, {6, 0.40}, {12, 0.34}};
enum { EDGE_PARTS = sizeof edge_parts / sizeof *edge_parts };

void look_begin(column_look *look) {
    *look = (column_look){.lo = INFINITY, .hi = -INFINITY, .whole = 1};
}

void look_range(column_look *look, double value) {
    if (isnan(value)) return; /* missing */
    look->lo = fmin(look->lo, value);
    look->hi = fmax(look->hi, value);
    look->whole &= value == floor(value);
    look->rows++;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whether the density falls off in the outer part, which begins at values[0] and goes on by `step`. Between
 * the inner end and the outermost value, the others are uniform if the density is: their mean is 0.5 of the
 * length, with a standard error of 1 / sqrt(12 part). In an exponential tail it is about 1 / log(part), since
 * the outermost value is far out. */
static int falls_off(const double *values, long part, int step, double least) {
    double sum = 0, length = fabs(values[part * step] - values[0]);
    for (long i = 1; i < part; i++) sum += fabs(values[i * step] - values[0]);
    return !(length > 0) || sum < least * length * (double)(part - 1);
}

static int has_edges(const double *values, long count) {
    for (int k = 0; k < EDGE_PARTS; k++) {
        long part = count / edge_parts[k].share;
        if (falls_off(values + part, part, -1, edge_parts[k].least)) return 0;
        if (falls_off(values + count - 1 - part, part, 1, edge_parts[k].least)) return 0;
    }
    return 1;
}

/* Whether the distribution is about that of an even column, without holes: several modes are not. */
static int is_even(const double *values, long count) {
    double range = values[count - 1] - values[0], gap = range / (double)(count - 1);
    for (long i = 1; i < count; i++) {
        if (values[i] - values[i - 1] > MOST_HOLE * gap) return 0;
        if (fabs(values[i] - values[0] - gap * (double)i) > MOST_UNEVEN * range) return 0;
    }
    return range > 0;
}

void look_edges(column_look *look, double *values, long count) {
    if (look->rows < ENOUGH_ROWS || count < ENOUGH_ROWS) return;
    qsort(values, (size_t)count, sizeof *values, ascending);
    if (!is_even(values, count) || !has_edges(values, count)) return;
    long third = count / 3;
    double gaps = (double)third * (double)look->rows / (double)count;
    look->gap_lo = (values[third] - values[0]) / gaps;
    look->gap_hi = (values[count - 1] - values[count - 1 - third]) / gaps;
}

/* The number with the fewest digits in [from, to], which are close to each other. */
static double roundest(double from, double to, double range) {
    for (int digits = 0; digits < 12; digits++) {
        double unit = pow(10, ceil(log10(range)) - digits), number = unit * floor(to / unit + 1e-12);
        if (number >= from && number <= to) return number;
    }
    return from;
}

column_support look_interval(const column_look *look, int *found) {
    column_support s = {.kind = SUPPORT_CUT};
    double range = look->hi - look->lo;
    *found = !look->whole && range > 0 && look->gap_lo > 0 && look->gap_hi > 0;
    if (!*found) return (column_support){0};
    /* neighbours at an edge are about a gap apart, and the edge is k gaps or more beyond the last of them
     * with probability exp(-k). An interval that is a little too wide does no harm; one that is too narrow
     * refuses rows. */
    s.lo = roundest(look->lo - GAPS * look->gap_lo, look->lo, range);
    s.hi = 0 - roundest(-look->hi - GAPS * look->gap_hi, -look->hi, range);
    return s;
}

const char *look_hint(jf_context *ctx, const column_look *look, const char *name, char *out, size_t size) {
    char lo[NUMBER_SIZE], hi[NUMBER_SIZE], item[200], option[OPTION_WORDS];
    out[0] = '\0';
    number_shortest(lo, look->lo);
    number_shortest(hi, look->hi);
    if (look->rows < ENOUGH_FOR_HINTS || !(look->hi > look->lo)) return out;
    if (look->whole) {
        format_text(item, sizeof item, "%s=whole:%s:%s", name, lo, hi);
        format_text(out, size,
                    "%s: all values are whole numbers from %s to %s: %s makes samples such numbers, too",
                    name, lo, hi, option_words(ctx, OPTION_BOUNDS, item, option));
    } else if (look->lo >= 0 && look->lo < 1e-2 * look->hi) {
        format_text(item, sizeof item, "%s=0:", name);
        format_text(out, size, "%s: no value is below %.3g: %s keeps samples above 0", name, look->lo,
                    option_words(ctx, OPTION_BOUNDS, item, option));
    }
    return out;
}
