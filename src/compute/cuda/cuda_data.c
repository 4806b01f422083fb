/* A data set in the GPU's memory: bytes or floats as they are, and the tables that batches are made with. */
#include "base/memory.h"
#include "compute/cuda/cuda_resident.h"
#include <stdlib.h>

static jf_status hold(device *d, device_data *data, const void **out, const void *from, size_t count,
                      size_t size) {
    void *copy;
    *out = NULL;
    if (!from || count == 0) return JF_OK;
    JF_TRY(cuda_reserve(d, &copy, count, size, "values of the data"));
    data->owned[data->owned_count++] = copy;
    cuda_send(d->own, copy, from, count * size);
    *out = copy;
    return JF_OK;
}

/* Rows are read on the host, some at a time. */
static jf_status hold_reals(device *d, device_data *data, const resident_data *from) {
    size_t rows = (size_t)(from->rows + from->validation_rows), width = (size_t)from->width,
           piece = CUDA_TRANSFER / width + 1;
    double *scratch = NULL, *values = NULL;
    void *all = NULL;
    jf_status status;
    JF_TRY_DONE(cuda_reserve(d, &all, rows * width, sizeof(float), "values of the data"));
    data->owned[data->owned_count++] = all;
    data->view.reals = all;
    JF_TRY_DONE(MEM_NEW(d->ctx, &scratch, from->scratch + 1));
    JF_TRY_DONE(MEM_NEW(d->ctx, &values, piece * width));
    for (size_t at = 0; at < rows; at += piece) {
        size_t count = rows - at < piece ? rows - at : piece;
        for (size_t i = 0; i < count; i++)
            from->read(from->source, (long)(at + i), scratch, values + i * width);
        d->kind->put(d, (real *)((float *)all + at * width), values, count * width);
    }
done:
    free(scratch);
    free(values);
    return status;
}

static jf_status hold_classes(device *d, device_data *data, const resident_data *from) {
    size_t rows = (size_t)(from->rows + from->validation_rows), classes = (size_t)from->classes;
    resident_view *v = &data->view;
    uint8_t *of_rows;
    if (classes == 0) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &of_rows, rows));
    for (size_t i = 0; i < rows; i++) of_rows[i] = (uint8_t)from->row_class(from->source, (long)i);
    jf_status status = hold(d, data, (const void **)&v->row_class, of_rows, rows, 1);
    free(of_rows);
    JF_TRY(status);
    JF_TRY(hold(d, data, (const void **)&v->label, from->label, classes, sizeof(double)));
    JF_TRY(hold(d, data, (const void **)&v->class_start, from->class_start, classes + 1, sizeof(long)));
    return hold(d, data, (const void **)&v->class_rows, from->class_rows, (size_t)from->rows, sizeof(long));
}

static jf_status fill_in(device *d, device_data *data, const resident_data *from) {
    size_t dim = (size_t)(from->dim_x + from->dim_y), state = (size_t)(from->dim_x + from->model_y);
    size_t values = (size_t)(from->rows + from->validation_rows) * (size_t)from->width;
    resident_view *v = &data->view;
    *v = resident_view_of(from);
    JF_TRY(from->bytes ? hold(d, data, (const void **)&v->bytes, from->bytes, values, 1)
                       : hold_reals(d, data, from));
    JF_TRY(hold_classes(d, data, from));
    JF_TRY(hold(d, data, (const void **)&v->value, from->value, 256, sizeof(double)));
    JF_TRY(hold(d, data, (const void **)&v->mean, from->mean, dim, sizeof(double)));
    JF_TRY(hold(d, data, (const void **)&v->deviation, from->deviation, dim, sizeof(double)));
    return hold(d, data, (const void **)&v->order, from->order, state, sizeof(int32_t));
}

jf_status cuda_data_open(device *d, device_data **out, const resident_data *from) {
    device_data *data;
    *out = NULL;
    if (from->rows + from->validation_rows <= 0 || from->width <= 0) return JF_OK;
    JF_TRY(MEM_NEW(d->ctx, &data, 1));
    jf_status status = fill_in(d, data, from);
    if (status == JF_OK)
        *out = data;
    else
        cuda_data_close(d, data);
    return status;
}

void cuda_data_close(device *d, device_data *data) {
    cuda_device *own = cuda_use(d);
    for (int i = 0; i < data->owned_count; i++) cuda_note(own, cudaFree(data->owned[i]), "freeing the data");
    free(data);
}
