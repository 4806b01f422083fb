#include "flow/flow_tables.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

jf_status tables_add(table_list *list, const char *name, size_t count, const int32_t *values) {
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 16;
        flow_table *grown = realloc(list->items, (size_t)capacity * sizeof *grown);
        if (!grown) return jf_fail(list->ctx, JF_ERROR_MEMORY, "no memory for the list of tables");
        list->items = grown;
        list->capacity = capacity;
    }
    flow_table *t = &list->items[list->count];
    *t = (flow_table){.count = count};
    snprintf(t->name, sizeof t->name, "%s", name);
    JF_TRY(MEM_NEW(list->ctx, &t->values, count + 1)); /* never of size 0 */
    memcpy(t->values, values, count * sizeof *values);
    list->count++;
    return JF_OK;
}

const flow_table *tables_get(const table_list *list, const char *name) {
    for (int i = 0; list && i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    return NULL;
}

void tables_clear(table_list *list) {
    for (int i = 0; i < list->count; i++) free(list->items[i].values);
    free(list->items);
    list->items = NULL;
    list->count = list->capacity = 0;
}
