/* The list of a model's parameters: names, shapes and initial values of views into one flat buffer.
 * Whoever adds a parameter gets its offset; nobody else needs to know where it lies. */
#ifndef JF_NET_PARAMS_H
#define JF_NET_PARAMS_H

#include "base/context.h"
#include <stdint.h>

typedef enum init_kind {
    INIT_CONSTANT,  /* all elements = gain */
    INIT_ORTHOGONAL /* (rows, columns): the shorter side orthonormal, times gain */
} init_kind;

#define PARAM_MAX_NAME 48 /* bytes, with its end */

typedef struct param {
    char name[PARAM_MAX_NAME];
    size_t offset, count;
    int rank;
    size_t shape[4];
    init_kind init;
    double gain;
    int groups;    /* INIT_ORTHOGONAL: so many blocks of columns, each orthogonal on its own */
    double lo, hi; /* bounds that the optimiser keeps; infinite: none */
} param;

/* Says whether a parameter is what is expected of it, such as what a file holds. */
typedef jf_status (*param_check)(const void *with, const param *p);

typedef struct param_list {
    jf_context *ctx;
    param_check check; /* NULL, or asked by params_add: nothing is made for a parameter that it refuses */
    const void *check_with;
    int only_names; /* names and shapes are all that is wanted: what is made for parameters is left out */
    param *items;
    int count, capacity;
    size_t total; /* numbers in all */
} param_list;

jf_status params_add(param_list *list, size_t *offset, const char *name, int rank, const size_t *shape,
                     init_kind init, double gain);
/* An orthogonal one whose columns (the last dimension) fall into groups. */
jf_status params_add_groups(param_list *list, size_t *offset, const char *name, int rank, const size_t *shape,
                            double gain, int groups);
/* The parameter that was added last stays within lo .. hi. */
void params_bound(param_list *list, double lo, double hi);
int param_is_bounded(const param *p);
size_t params_bounded(const param_list *list); /* numbers that have bounds */
void params_free(param_list *list);
/* values (total); parameter i draws from its own stream of the seed. */
jf_status params_initialise(const param_list *list, uint64_t seed, double *values);

#endif
