/* Models exported as ONNX: run by ONNX Runtime, where it can be fetched, and asked the same as the library.
 */
#include "export_fixture.h"

#include "base/file.h"
#include <stdio.h>
#include <sys/wait.h>

/* FOLDER/NAME, yours to free */
static char *path_in(jf_context *ctx, const char *folder, const char *name) {
    char *path;
    CHECK_STATUS(file_join(ctx, &path, folder, name), JF_OK);
    return path;
}

static void write_table(const export_rig *r, const char *folder, const char *name, size_t width,
                        const double *values) {
    char *path = path_in(r->ctx, folder, name);
    FILE *file = width ? fopen(path, "w") : NULL;
    for (size_t i = 0; file && i < EXPORT_ROWS * width; i++)
        fprintf(file, "%.17g%c", values[i], i % width + 1 < width ? ',' : '\n');
    if (file) fclose(file);
    free(path);
}

/* The graphs of a model and what the library answers, as tests/export/compare.py wants them. */
static void write_case(const export_case *c, const char *folder) {
    export_rig *r = export_rig_open(c);
    char *graph = path_in(r->ctx, folder, "model.onnx"), *files;
    CHECK_STATUS(file_make_folder(r->ctx, folder), JF_OK);
    CHECK_STATUS(jf_model_export(&files, r->m, graph, NULL), JF_OK);
    CHECK_HAS(files, "model.onnx\n");
    CHECK_HAS(files, "model.density.onnx\n");
    write_table(r, folder, "z.csv", r->dim_x, r->z);
    write_table(r, folder, "y.csv", r->dim_y, r->y);
    write_table(r, folder, "x.csv", r->dim_x, r->x);
    write_table(r, folder, "y_back.csv", r->dim_y, r->y_back);
    write_table(r, folder, "z_out.csv", r->dim_x, r->z_out);
    write_table(r, folder, "y_out.csv", r->dim_y, r->y_out);
    write_table(r, folder, "log_p.csv", 1, r->log_p);
    write_table(r, folder, "y_error.csv", r->dim_y ? 1 : 0, r->y_error);
    free(graph);
    free(files);
    export_rig_close(r);
}

TEST(export_onnx__graphs_answer_as_the_library_for_every_kind_of_model) {
    char command[512];
    for (const export_case *c = export_cases; c->name; c++) write_case(c, test_path(c->name));
    snprintf(command, sizeof command, "'%s/export/onnx' '%s'/*", JF_TESTS_DIR, test_folder());
    int status = system(command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("ONNX Runtime could not be fetched: tests/export/onnx says why");
    CHECK(status == 0);
}
