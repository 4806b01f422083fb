/* What y is for a class, as a formula: the data make rows with it, and so do devices that hold the data. */
#ifndef JF_TYPES_LABEL_FORMULAS_H
#define JF_TYPES_LABEL_FORMULAS_H

#include "base/formula.h"
#include <math.h>

/* Element `element` of y for a label. planes = 0: the label itself in all elements. Otherwise the label is
 * the number of a class, and elements are channels of pixels, or of a vector, one for each of the classes 0,
 * 1, ... : 1 in that of the label, 0 in the others; between and beyond two classes y goes on straight through
 * both. Either way y = sum of k times plane k gives the label back. */
FORMULA double label_element(double label, int planes, int element) {
    if (planes < 2) return label;
    int below = (int)floor(label), own = element % planes;
    if (below < 0) below = 0;
    if (below > planes - 2) below = planes - 2;
    double share = label - below;
    return own == below ? 1 - share : own == below + 1 ? share : 0;
}

#endif
