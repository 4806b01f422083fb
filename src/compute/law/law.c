/* Names and shapes of the laws, from their list. */
#include "compute/law/law.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double num;
#include "compute/law/law_formulas.h"

law_config law_with_defaults(law_id law) {
    law_config c = {.id = law};
    const recipe_key *key = law_shape_of(law)->keys;
    for (int i = 0; key && key->name && i < LAW_MAX_HYPER; i++, key++) c.hyper[i] = atof(key->fallback);
    return c;
}

const char *law_name(law_id law) {
    static const char *const names[] = {
#define X(name, form) #name,
        LAW_LIST(X)
#undef X
    };
    return names[law];
}

int law_find(const char *name) {
    for (int i = 0; i < law_count; i++)
        if (strcmp(law_name((law_id)i), name) == 0) return i;
    return -1;
}

const law_shape *law_shape_of(law_id law) {
    return law_formulas[law].shape;
}

int law_outputs(const law_config *law, int m) {
    return law_formulas[law->id].outputs(law, m);
}

int law_shifts(const law_config *law, int m) {
    return law_formulas[law->id].shape->has_shift ? m : 0;
}

int law_outputs_per_element(const law_config *law) {
    return law_formulas[law->id].each ? law_outputs(law, 1) : -1;
}

int law_is_shared(law_id law) {
    return law_formulas[law].shared;
}
