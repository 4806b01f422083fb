/* The list of data sets: a new kind is a file in sets/ that defines `dataset_NAME`, and one line here. */
#include "data/dataset.h"

#define DATASET_LIST(X)                                                                                      \
    X(crescents)                                                                                             \
    X(sectors)                                                                                               \
    X(mixed)                                                                                                 \
    X(ring)                                                                                                  \
    X(two_moons)                                                                                             \
    X(gaussian_mixture)                                                                                      \
    X(slcp)                                                                                                  \
    X(gaussian_linear)                                                                                       \
    X(linear_uniform)                                                                                        \
    X(inverse_kinematics)                                                                                    \
    X(oscillator)                                                                                            \
    X(table)                                                                                                 \
    X(images)

#define X(name) extern const dataset_kind dataset_##name;
DATASET_LIST(X)
#undef X

const dataset_kind *const dataset_kinds[] = {
#define X(name) &dataset_##name,
    DATASET_LIST(X)
#undef X
        NULL};

/* " crescents sectors ..." */
#define X(name) " " #name
static const char names_after_spaces[] = DATASET_LIST(X);
#undef X

const recipe_key dataset_common_keys[] = {
    {"data", "set", KEY_CHOICE, NULL, 0, 0, &names_after_spaces[1], "Which data set to learn from."}, {0}};
