/* The formulas of all laws over `num`, and their table. Included once by each device after `typedef ...
 * num;`. */
#include "compute/law/affine.h"
#include "compute/law/shear.h"

typedef struct law_functions {
    int (*outputs)(int m);
    num (*forward)(int m, const num *A, const num *b, num s, num *u_to_v);
    num (*inverse)(int m, const num *A, const num *b, num s, num *v_to_u);
    void (*backward)(int m, const num *A, const num *b, num s, num *v, num *dv, num dl, num *dA, num *db,
                     num *ds);
    void (*inverse_backward)(int m, const num *A, const num *b, num s, num *u, num *du, num dl, num *dA,
                             num *db, num *ds);
} law_functions;

static const law_functions law_formulas[] = {
#define X(name, doc)                                                                                         \
    {name##_outputs, name##_forward, name##_inverse, name##_backward, name##_inverse_backward},
    LAW_LIST(X)
#undef X
};
