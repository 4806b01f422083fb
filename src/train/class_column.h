/* Whether the y of a table without a recipe is a class. */
#ifndef JF_TRAIN_CLASS_COLUMN_H
#define JF_TRAIN_CLASS_COLUMN_H

#include "io/rows.h"

/* Words are classes; numbers are where they are whole, more than two and at most so many, each of them in so
 * many rows at least. */
enum { CLASS_COLUMN_MOST = 20, CLASS_COLUMN_ROWS = 5 };

typedef struct class_column {
    int values; /* different ones; counting ends after CLASS_COLUMN_MOST + 1 */
    long least; /* rows of the rarest of them */
    int whole;  /* all are whole numbers */
    int words;  /* they are names */
} class_column;

class_column class_column_look(const row_file *f, size_t column);
int class_column_is_class(const class_column *c);

#endif
