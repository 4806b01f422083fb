/* What the writers of parts of an exported C file share. */
#ifndef JF_EXPORT_C_FILE_H
#define JF_EXPORT_C_FILE_H

#include "export/source.h"

/* The files of export/c/, as text: CMake writes the table. They are C with the names model_... and MODEL_...,
 * which the name of the export replaces. */
typedef struct c_part {
    const char *name, *text;
} c_part;
extern const c_part c_parts[]; /* ends with a NULL name */

typedef struct c_file {
    const export_source *s;
    text out;
} c_file;

/* With model_ and MODEL_, where they begin a word, replaced by the name of the export. */
void c_add_text(c_file *f, const char *part);
void c_add_part(c_file *f, const char *name); /* of export/c/ */
/* static const float NAME[count] = {...}; floats follow each other by c_add_numbers() between begin and end.
 */
typedef struct c_array {
    c_file *f;
    size_t count; /* so far */
} c_array;
c_array c_array_begin(c_file *f, const char *name);
void c_add_numbers(c_array *a, const double *values, size_t count);
void c_array_end(c_array *a);
void c_add_real(text *out, double value);  /* a double, with a point or an exponent */
void c_add_float(text *out, double value); /* a float, in as few digits as give the same one back */

/* A kind of networks: the parts that run them, and how one of them is written. */
typedef struct c_net_kind {
    const char *form;                               /* net_kind.name */
    const char *const *parts;                       /* ends with NULL */
    void (*constants)(c_file *f, const void *nets); /* that the parts need; NULL: none */
    int (*exists)(const void *nets, int k);         /* k: 0 for A, 1 for B */
    /* The numbers of one network in the order of their use, and the struct that goes with them. */
    void (*weights)(c_array *a, const void *nets, int k);
    void (*fields)(text *out, const void *nets, int k, const char *array);
    size_t (*scratch)(const void *nets, int k); /* numbers that a run needs */
} c_net_kind;
const c_net_kind *c_net_find(const char *form); /* NULL: none */

#endif
