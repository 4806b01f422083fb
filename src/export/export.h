/* Models as files for other programs: one format is one file here and one line in list.c. What is written
 * answers by itself, without this library, in the units of the data: (z, y) -> x, (x, y) -> z, and the
 * density of the whole map. */
#ifndef JF_EXPORT_EXPORT_H
#define JF_EXPORT_EXPORT_H

#include "export/source.h"

typedef struct export_format {
    const char *ending;  /* of file names */
    const char *summary; /* a few words */
    /* Writes `path`, and whatever else belongs to it, whose names are added to `written`, a line each. */
    jf_status (*write)(const export_source *s, const char *path, text *written);
} export_format;

extern const export_format *const export_formats[]; /* ends with NULL */

/* Writes a model in the format that the ending of `path` names. name: what its functions or its graph are
 * called, an identifier of C; NULL: after the file. */
jf_status export_model(const model *m, const char *path, const char *name, text *written);

#endif
