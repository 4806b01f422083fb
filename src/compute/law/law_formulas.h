/* The formulas of all laws over `num`, and their table. Included once by each device after `typedef ...
 * num;`; a compiler that needs another word before each function defines LAW_FN first. */
#ifndef LAW_FN
#define LAW_FN static inline
#endif
#include "compute/law/additive.h"
#include "compute/law/affine.h"
#include "compute/law/linear.h"
#include "compute/law/scale.h"
#include "compute/law/shear.h"
#include "compute/law/spline.h"

/* On m elements: A (outputs(c, m)), b (m) where the law has a shift. */
typedef struct law_functions {
    const law_shape *shape;
    int each;   /* every element by itself */
    int shared; /* one A and b for all samples; backward adds to dA and db */
    int (*outputs)(const law_config *c, int m);
    num (*forward)(const law_config *c, int m, const num *A, const num *b, num s, num *u_to_v);
    num (*inverse)(const law_config *c, int m, const num *A, const num *b, num s, num *v_to_u);
    void (*backward)(const law_config *c, int m, const num *A, const num *b, num s, num *v, num *dv, num dl,
                     num *dA, num *db, num *ds);
} law_functions;

/* The loops over the elements of a law that takes them one by one. */
#define LAW_LOOP(name, direction)                                                                            \
    static num name##_all_##direction(const law_config *c, int m, const num *A, const num *b, num s,         \
                                      num *u) {                                                              \
        int each = name##_outputs(c, 1);                                                                     \
        num logdet = 0;                                                                                      \
        for (int i = 0; i < m; i++)                                                                          \
            logdet += name##_##direction(c, A + i * each, name##_shape.has_shift ? b[i] : 0, s, &u[i]);      \
        return logdet;                                                                                       \
    }
#define LAW_LOOP_BACK(name)                                                                                  \
    static void name##_all_backward(const law_config *c, int m, const num *A, const num *b, num s, num *v,   \
                                    num *dv, num dl, num *dA, num *db, num *ds) {                            \
        int each = name##_outputs(c, 1);                                                                     \
        num none = 0;                                                                                        \
        for (int i = 0; i < m; i++)                                                                          \
            name##_backward(c, A + i * each, name##_shape.has_shift ? b[i] : 0, s, &v[i], &dv[i], dl,        \
                            dA + i * each, name##_shape.has_shift ? &db[i] : &none, ds);                     \
    }
#define LAW_EACH(name)                                                                                       \
    LAW_LOOP(name, forward)                                                                                  \
    LAW_LOOP(name, inverse)                                                                                  \
    LAW_LOOP_BACK(name)
#define LAW_ALL(name)
#define SHARED_EACH(name) LAW_EACH(name)
#define SHARED_ALL(name)
#define X(name, form) form(name)
LAW_LIST(X)
#undef X
#undef LAW_EACH
#undef LAW_ALL
#undef SHARED_EACH
#undef SHARED_ALL

static const law_functions law_formulas[] = {
#define EACH(name, shared)                                                                                   \
    {&name##_shape, 1, shared, name##_outputs, name##_all_forward, name##_all_inverse, name##_all_backward},
#define ALL(name, shared)                                                                                    \
    {&name##_shape, 0, shared, name##_outputs, name##_forward, name##_inverse, name##_backward},
#define LAW_EACH(name)    EACH(name, 0)
#define LAW_ALL(name)     ALL(name, 0)
#define SHARED_EACH(name) EACH(name, 1)
#define SHARED_ALL(name)  ALL(name, 1)
#define X(name, form)     form(name)
    LAW_LIST(X)
#undef X
#undef LAW_EACH
#undef LAW_ALL
#undef SHARED_EACH
#undef SHARED_ALL
#undef EACH
#undef ALL
};
