/* The recipes that came with the program: "NAME.ini" in one of a few folders. */
#ifndef JF_IO_SHIPPED_H
#define JF_IO_SHIPPED_H

#include "base/memory.h"

/* Where the one of this name is, yours to free; refused with the folders that were looked through. */
jf_status shipped_find(jf_context *ctx, char **out, const char *name);
/* Adds a line for each, in the first folder that has any: name, tab, its first comment. */
void shipped_list(jf_context *ctx, text *out);

#endif
