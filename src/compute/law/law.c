/* Names and sizes of the laws, from their list. */
#include "compute/law/law.h"
#include <math.h>
#include <string.h>

typedef double num;
#include "compute/law/formulas.h"

const char *law_name(law_id law) {
    static const char *const names[] = {
#define X(name, doc) #name,
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

int law_outputs(law_id law, int m) {
    return law_formulas[law].outputs(m);
}
