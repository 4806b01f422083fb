/* Public: tables in text (.csv, .tsv, .txt) and .npy files. */
#include "api/api.h"
#include "io/table_file.h"
#include "model/model_table.h"

jf_status jf_table_read(jf_table *out, jf_context *ctx, const char *path) {
    JF_GIVES(ctx, out, ctx, path);
    return table_read(ctx, out, path);
}

jf_status jf_table_read_for(jf_table *out, const jf_model *m, const char *path, size_t first, size_t count) {
    JF_GIVES(CONTEXT_OF(m), out, m, path);
    return model_table_read(m, out, path, first, count);
}

jf_status jf_table_write(jf_context *ctx, const jf_table *t, const char *const *names, const char *path) {
    JF_NEEDS(ctx, ctx, t, path);
    if (t->rows) JF_NEEDS(ctx, t->values);
    if (names) JF_NEEDS_EACH(ctx, names, t->columns);
    return table_write(ctx, t, names, path);
}

jf_status jf_table_write_for(const jf_table *t, const jf_model *m, const char *const *names,
                             const unsigned char *is_class, const char *path) {
    JF_NEEDS(CONTEXT_OF(m), t, m, is_class, path);
    if (t->rows) JF_NEEDS(m->ctx, t->values);
    if (names) JF_NEEDS_EACH(m->ctx, names, t->columns);
    return model_table_write(m, t, names, is_class, path);
}

void jf_table_free(jf_table *t) {
    if (t) table_free(t);
}
