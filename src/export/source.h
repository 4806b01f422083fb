/* A model as exports see it: its layers as plain structs, its parameters in host memory.
 *
 * Positions are those of a row (all of x, then all of y): elements never move through a flow, so that the
 * index maps of its layers are all there is to say about masks, squeezes and the order of images in memory.
 */
#ifndef JF_EXPORT_SOURCE_H
#define JF_EXPORT_SOURCE_H

#include "base/memory.h"
#include "model/model.h"

typedef struct export_layer {
    transform_form form;
    int of_y;           /* it transforms y by itself */
    int32_t *from, *to; /* of a coupling (k) and (m): source and target; of a shared law (rows, m) */
} export_layer;

typedef struct export_source {
    const model *m;
    jf_context *ctx;
    char *name;     /* an identifier of C */
    double *params; /* flat */
    int dim_x, dim_y, dim;
    int apart;   /* y has a flow of its own */
    int to_data; /* the layers run forward from latent points to data; otherwise from data to latent points */
    int layers;
    export_layer *layer; /* (layers) */
} export_source;

/* Letters, digits and _, whatever the locale: what identifiers are made of. */
int export_is_word(char c);

jf_status export_source_create(export_source **out, const model *m, const char *name);
void export_source_free(export_source *s);

/* The support of element i of a row: that of whole numbers is given as the room around them, with `whole`
 * set. */
column_support export_support(const export_source *s, int i, int *whole);
int export_has_supports(const export_source *s);
/* What is said about the model in words, line by line: its columns, classes, images, and how it was trained.
 */
void export_describe(const export_source *s, text *out);
/* JF_ERROR_UNSUPPORTED: a kind that the format does not know. */
jf_status export_refuse(const export_source *s, const char *format, const char *what, const char *name);

#endif
