/* What the tests of exports share: a table of models, together of every law, network, transform, condition
 * and support that there is, with weights far from their start; and what the library answers for rows of
 * each. */
#ifndef JF_TESTS_EXPORT_FIXTURE_H
#define JF_TESTS_EXPORT_FIXTURE_H

#include "flow_fixture.h"
#include "jointflow/jointflow.h"
#include "model/model.h"

typedef struct export_case {
    const char *name; /* part of the test's */
    const char *recipe;
    rig_shape sizes;
    const char *bounds; /* a letter for each element: see export_fixture.c; NULL: all are the line */
} export_case;
extern const export_case export_cases[]; /* ends with a NULL name */

enum { EXPORT_ROWS = 4 };

/* Rows and their answers, in the data's units: (EXPORT_ROWS, dim_x) or (EXPORT_ROWS, dim_y) each. */
typedef struct export_rig {
    jf_context *ctx;
    model *m; /* on the reference device */
    size_t dim_x, dim_y;
    uint64_t seed;                           /* of z, which are the first points of it */
    double *y, *z, *x, *y_back;              /* samples */
    double *z_out, *y_out, *log_p, *y_error; /* of x given y */
} export_rig;

export_rig *export_rig_open(const export_case *c);
void export_rig_close(export_rig *r);

#endif
