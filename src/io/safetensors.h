/* Safetensors: named arrays and notes in one file, which the libraries of other languages read, too. */
#ifndef JF_IO_SAFETENSORS_H
#define JF_IO_SAFETENSORS_H

#include "base/file.h"

#define TENSOR_MAX_RANK 8

typedef enum tensor_type {
    TENSOR_F32,
    TENSOR_F64,
    TENSOR_I32,
    TENSOR_I64,
    TENSOR_F16,
    TENSOR_TYPES
} tensor_type;

typedef struct tensor {
    const char *name;
    tensor_type type;
    int rank;
    size_t shape[TENSOR_MAX_RANK];
    const void *data; /* C order */
} tensor;

/* A pair of texts kept in the file ("__metadata__"). */
typedef struct tensor_note {
    const char *key, *value;
} tensor_note;

size_t tensor_type_size(tensor_type type);      /* bytes of one element */
const char *tensor_type_name(tensor_type type); /* "F32": as files have it */
size_t tensor_elements(const tensor *t);        /* product of the extents; 1 for rank 0 */
double tensor_value(const tensor *t, size_t i); /* element i, in C order */

/* Atomic; the tensors lie in the file in the order given. Names and notes that are not UTF-8 are refused: a
 * file cannot hold them as they are. */
jf_status tensors_write(jf_context *ctx, const char *path, const tensor *tensors, size_t count,
                        const tensor_note *notes, size_t note_count);

/* The same with a checksum, as a note of this key, and with the writer that fits the path. */
#define TENSORS_CONTENT_SUM "checksum" /* of the values of the notes, in this order, and of the tensors */
#define TENSORS_FILE_SUM    "file_checksum" /* of every byte of the file but its own 16 digits */
jf_status tensors_write_summed(jf_context *ctx, const char *path, const tensor *tensors, size_t count,
                               const tensor_note *notes, size_t note_count, const char *sum_key,
                               file_writer *write);

typedef struct tensor_file tensor_file;
/* Everything that the file claims is checked before it is believed. The data of each tensor are aligned to 64
 * bytes. */
jf_status tensors_read(jf_context *ctx, tensor_file **out, const char *path);
void tensors_free(tensor_file *file);
size_t tensors_count(const tensor_file *file);
const tensor *tensors_at(const tensor_file *file,
                         size_t index); /* in the order in which the data lie; NULL beyond */
const tensor *tensors_find(const tensor_file *file, const char *name); /* NULL: none of that name */
const char *tensors_note(const tensor_file *file, const char *key);    /* NULL: none of that key */
/* Compares a file with its checksum; a difference is told as damage, and so is the lack of one. `keys` are
 * the notes that the checksum of the content covers, in their order. */
jf_status tensors_check_content(jf_context *ctx, const tensor_file *file, const char *path,
                                const char *const *keys, size_t key_count);
jf_status tensors_check_file(jf_context *ctx, const tensor_file *file, const char *path);

#endif
