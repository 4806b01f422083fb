/* Tables: whole numbers that belong to a model as its parameters do, but are drawn when it is made and never
 * learned, such as a permutation. They travel in the model file under their names. */
#ifndef JF_FLOW_FLOW_TABLES_H
#define JF_FLOW_FLOW_TABLES_H

#include "base/context.h"
#include <stdint.h>

typedef struct flow_table {
    char name[48];
    size_t count;
    int32_t *values; /* (count) */
} flow_table;

typedef struct table_list {
    jf_context *ctx;
    flow_table *items;
    int count, capacity;
} table_list;

/* Adds a copy of the values. */
jf_status tables_add(table_list *list, const char *name, size_t count, const int32_t *values);
const flow_table *tables_get(const table_list *list,
                             const char *name); /* NULL: none of that name, or no list */
void tables_clear(table_list *list);

#endif
