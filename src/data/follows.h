/* Whether one column of numbers is a function of another, of whatever shape, as far as rows show. */
#ifndef JF_DATA_FOLLOWS_H
#define JF_DATA_FOLLOWS_H

/* A source's values in ascending order, each with the row that it is of. */
typedef struct follows_source {
    double value;
    long row;
} follows_source;

enum { FOLLOWS_LEAST_ROWS = 100 };

/* Fills in `sorted` (rows) from `values` (rows). */
void follows_sort(const double *values, long rows, follows_source *sorted);

typedef struct follows_target {
    const double *values;
    double most;      /* so far off a prediction may be */
    long most_missed; /* rows whose prediction may be further off; -1: it hardly varies, and follows from
                         nothing */
} follows_target;

/* scratch (rows): room. */
follows_target follows_measure(const double *values, long rows, double *scratch);

/* Whether the target is a function of the source; *missed: rows that are none of it.
 *
 * Rows that are neighbours by the source have to predict the row between them, by a straight line or a cubic
 * polynomial, to within a thousandth of the target's median deviation; equal values of the source have to
 * have equal targets. A few rows in a hundred may miss that, at jumps and where rows are far apart. */
int follows(const follows_source *sorted, const follows_target *target, long rows, long *missed);

#endif
