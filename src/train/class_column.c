#include "train/class_column.h"
#include <math.h>

class_column class_column_look(const row_file *f, size_t column) {
    class_column c = {.whole = 1, .words = row_file_words(f, column) > 0};
    double value[CLASS_COLUMN_MOST];
    long rows[CLASS_COLUMN_MOST] = {0};
    for (size_t row = 0; row < row_file_rows(f); row++) {
        double v = row_file_value(f, row, column);
        int k = 0;
        if (isnan(v)) continue; /* missing */
        c.whole &= isfinite(v) && v == floor(v);
        while (k < c.values && value[k] != v) k++;
        if (k == CLASS_COLUMN_MOST) {
            c.values++;
            return c;
        }
        if (k == c.values) value[c.values++] = v;
        rows[k]++;
    }
    for (int k = 0; k < c.values; k++)
        if (k == 0 || rows[k] < c.least) c.least = rows[k];
    return c;
}

int class_column_is_class(const class_column *c) {
    return c->words ||
           (c->whole && c->values > 2 && c->values <= CLASS_COLUMN_MOST && c->least >= CLASS_COLUMN_ROWS);
}
