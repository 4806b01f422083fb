/* Flat buffers of parameters as tensors of a file, and back. */
#include "base/finite.h"
#include "base/memory.h"
#include "model/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR_MAX_NAME = MODEL_MAX_PREFIX + PARAM_MAX_NAME };

static int is_double(const model *m) {
    return m->d->kind->real_size == sizeof(double);
}

jf_status model_tensors(const model *m, const char *prefix, const real *flat, tensor **tensors,
                        void **storage) {
    const param_list *list = &m->parameters;
    size_t total = list->total;
    double *values;
    void *stored = NULL;
    char *names = NULL;
    jf_status status;
    *tensors = NULL;
    *storage = NULL;
    JF_TRY(MEM_NEW(m->ctx, &values, total));
    JF_TRY_DONE(MEM_NEW(m->ctx, tensors, (size_t)list->count));
    JF_TRY_DONE(mem_alloc(m->ctx, &names, (size_t)list->count, TENSOR_MAX_NAME));
    m->d->kind->get(m->d, values, flat, total);
    JF_TRY_DONE(m->d->kind->status(m->d)); /* what a device that has failed gives is not worth writing */
    if (!is_double(m)) {
        float *narrow;
        JF_TRY_DONE(MEM_NEW(m->ctx, &narrow, total));
        for (size_t i = 0; i < total; i++) narrow[i] = (float)values[i];
        stored = narrow;
        free(values);
    } else {
        stored = values;
    }
    values = NULL;
    for (int i = 0; i < list->count; i++) {
        const param *p = &list->items[i];
        tensor *t = &(*tensors)[i];
        char *name = names + TENSOR_MAX_NAME * (size_t)i;
        snprintf(name, TENSOR_MAX_NAME, "%s%s", prefix, p->name);
        t->name = name;
        t->type = is_double(m) ? TENSOR_F64 : TENSOR_F32;
        t->rank = p->rank;
        memcpy(t->shape, p->shape, sizeof p->shape);
        t->data = (const char *)stored + p->offset * m->d->kind->real_size;
    }
    *storage = stored;
    return JF_OK;
done:
    free(values);
    free(*tensors);
    free(names);
    *tensors = NULL;
    return status;
}

void model_tensors_free(const model *m, tensor *tensors, void *storage) {
    if (tensors && m->parameters.count) free((char *)tensors[0].name);
    free(tensors);
    free(storage);
}

static int has_shape(const tensor *t, const param *p) {
    int same = t->rank == p->rank;
    for (int i = 0; same && i < p->rank; i++) same = t->shape[i] == p->shape[i];
    return same;
}

static void add_shape(text *to, const size_t *shape_of, int rank) {
    for (int i = 0; i < rank; i++) text_add(to, "%s%zu", i ? ", " : "", shape_of[i]);
}

static jf_status fail_shape(jf_context *ctx, const char *path, const tensor *t, const param *p) {
    text found = {0}, expected = {0};
    add_shape(&found, t->shape, t->rank);
    add_shape(&expected, p->shape, p->rank);
    jf_status status = jf_fail(ctx, JF_ERROR_SHAPE, "%s: tensor \"%s\" is (%s), expected (%s)", path, t->name,
                               found.chars ? found.chars : "", expected.chars ? expected.chars : "");
    text_free(&found);
    text_free(&expected);
    return status;
}

jf_status model_check_param(const void *with, const param *p) {
    const model_tensor_source *from = with;
    char name[TENSOR_MAX_NAME];
    snprintf(name, sizeof name, "%s%s", from->prefix, p->name);
    const tensor *t = tensors_find(from->file, name);
    if (!t) return jf_fail(from->ctx, JF_ERROR_FORMAT, "%s: tensor \"%s\" is missing", from->path, name);
    return has_shape(t, p) ? JF_OK : fail_shape(from->ctx, from->path, t, p);
}

/* What a device cannot hold, or nobody can: a model of such weights answers nothing. */
static jf_status check_numbers(const model *m, const char *path, const tensor *t, const double *values,
                               size_t count) {
    double most = is_double(m) ? DBL_MAX : FLT_MAX;
    size_t at = count_within(values, count, most);
    if (at == count) return JF_OK;
    return jf_fail(
        m->ctx, JF_ERROR_FORMAT,
        "%s: tensor \"%s\": number %zu is %g, expected finite ones of at most %.2g in size: train the model "
        "again, or take another copy",
        path, t->name, at + 1, values[at], most);
}

static jf_status read_numbers(const model *m, const tensor_file *file, const char *path, const char *prefix,
                              int checked, double *values) {
    const param_list *list = &m->parameters;
    for (int i = 0; i < list->count; i++) {
        const param *p = &list->items[i];
        char name[TENSOR_MAX_NAME];
        snprintf(name, sizeof name, "%s%s", prefix, p->name);
        const tensor *t = tensors_find(file, name);
        for (size_t k = 0; k < p->count; k++) values[p->offset + k] = tensor_value(t, k);
        if (checked) JF_TRY(check_numbers(m, path, t, values + p->offset, p->count));
    }
    return JF_OK;
}

static jf_status read_flat(const model *m, const tensor_file *file, const char *path, const char *prefix,
                           int checked, real *flat) {
    const param_list *list = &m->parameters;
    const model_tensor_source from = {m->ctx, file, path, prefix};
    double *values;
    for (int i = 0; i < list->count; i++) JF_TRY(model_check_param(&from, &list->items[i]));
    JF_TRY(MEM_NEW(m->ctx, &values, list->total));
    jf_status status = read_numbers(m, file, path, prefix, checked, values);
    if (status == JF_OK) m->d->kind->put(m->d, flat, values, list->total);
    free(values);
    return status;
}

jf_status model_read_tensors(const model *m, const tensor_file *file, const char *path, const char *prefix,
                             real *flat) {
    return read_flat(m, file, path, prefix, 0, flat);
}

jf_status model_read_weights(const model *m, const tensor_file *file, const char *path) {
    return read_flat(m, file, path, "", 1, m->params);
}
