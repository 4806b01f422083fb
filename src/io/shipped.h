/* What came with the program: recipes, trained models, and images to show them on. Each kind has a folder of
 * files that are known by their names, those in a folder of it as "folder/name". */
#ifndef JF_IO_SHIPPED_H
#define JF_IO_SHIPPED_H

#include "base/memory.h"

typedef struct shipped_kind {
    const char *what;     /* "recipe": for messages */
    const char *variable; /* of the environment, names a folder to look into first */
    const char *folder;   /* "recipes": below the working folder, the source tree and share/jointflow */
    const char *ending;   /* of the files: ".ini" */
} shipped_kind;
extern const shipped_kind shipped_recipes, shipped_models;

/* Where the one of this name is, yours to free; refused with the folders that were looked through. */
jf_status shipped_find(jf_context *ctx, char **out, const shipped_kind *kind, const char *name);
/* Whether the folder, a path without links, is one that is looked through, from whatever working folder. */
int shipped_is_folder(jf_context *ctx, const shipped_kind *kind, const char *folder);
/* A folder NAME among them, whatever it holds; *out is NULL where there is none. */
jf_status shipped_find_folder(jf_context *ctx, char **out, const shipped_kind *kind, const char *name);
/* The file number `index` of this kind in a folder, by name, yours to free; NULL past the last. */
jf_status shipped_file_at(jf_context *ctx, char **out, const shipped_kind *kind, const char *folder,
                          int index);
/* Adds a line for each, in the first folder that has any: name, tab, a summary: the first comment of a
 * recipe, the first paragraph of a model's card. */
void shipped_list(jf_context *ctx, text *out, const shipped_kind *kind);

#endif
