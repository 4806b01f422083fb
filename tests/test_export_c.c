/* Models exported as C: compiled as strictly as can be, loaded, and asked the same as the library. */
#include "export_fixture.h"

#include "base/file.h"
#include "export/export.h"
#include <dlfcn.h>
#include <stdio.h>

#define STRICT "cc -std=c99 -Wall -Wextra -Werror -pedantic -O1 -shared -fPIC"

typedef struct library {
    void *handle;
    size_t work_size;
    int (*sample)(uint64_t, uint64_t, const double *, double *, double *);
    int (*decode)(const double *, const double *, double *, double *, double *);
    int (*encode)(const double *, const double *, double *, double *, double *);
    int (*log_density)(const double *, const double *, double *, double *, double *);
} library;

/* The function "answers_NAME" of the library, whatever it takes. */
static void find_function(library *l, const char *name, void *to) {
    char full[64];
    snprintf(full, sizeof full, "answers_%s", name);
    void *found = dlsym(l->handle, full);
    if (!found) test_fail(__FILE__, __LINE__, "%s is missing", full);
    memcpy(to, &found, sizeof found);
}

static void compile(const char *options, const char *from, const char *to) {
    char command[1024];
    snprintf(command, sizeof command, STRICT " %s -o '%s' '%s' -lm", options, to, from);
    if (system(command) != 0) test_fail(__FILE__, __LINE__, "failed: %s", command);
}

/* Exports the model as "answers", and a function of the same file that tells the size of the scratch. */
static library library_open(const model *m) {
    const char *path = test_path("answers.c"), *with = test_path("with_work.c"),
               *object = test_path("answers.so");
    library l = {0};
    if (system("command -v cc > /dev/null") != 0) SKIP("there is no C compiler");
    CHECK_STATUS(jf_model_export(NULL, m, path, NULL), JF_OK);
    FILE *file = fopen(with, "w");
    CHECK(file);
    fprintf(file, "#include \"answers.c\"\nsize_t answers_work(void);\nsize_t answers_work(void) { return "
                  "ANSWERS_WORK; }\n");
    fclose(file);
    compile("", with, object);
    l.handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!l.handle) test_fail(__FILE__, __LINE__, "%s", dlerror());
    size_t (*work)(void);
    find_function(&l, "work", &work);
    find_function(&l, "sample", &l.sample);
    find_function(&l, "decode", &l.decode);
    find_function(&l, "encode", &l.encode);
    find_function(&l, "log_density", &l.log_density);
    l.work_size = work();
    return l;
}

/* Everything in double, with the same weights: what is left is the order of sums. */
static void check_answers(const export_rig *r, const library *l) {
    size_t dim_x = r->dim_x, dim_y = r->dim_y;
    double *x = new_numbers(dim_x), *y = new_numbers(dim_y), *work = draw_normal(l->work_size + 1, 1e3, 1);
    double behind = work[l->work_size];
    for (size_t i = 0; i < EXPORT_ROWS; i++) {
        const double *given = r->y + i * dim_y;
        double log_p, y_error;
        CHECK(l->sample(r->seed, i, given, x, work) == 0);
        CHECK_CLOSE(x, r->x + i * dim_x, dim_x, 1e-9);
        CHECK(l->decode(r->z + i * dim_x, given, x, y, work) == 0);
        CHECK_CLOSE(x, r->x + i * dim_x, dim_x, 1e-9);
        CHECK_CLOSE(y, r->y_back + i * dim_y, dim_y, 1e-9);
        CHECK(l->encode(r->x + i * dim_x, given, x, y, work) == 0);
        CHECK_CLOSE(x, r->z_out + i * dim_x, dim_x, 1e-9);
        CHECK_CLOSE(y, r->y_out + i * dim_y, dim_y, 1e-9);
        CHECK(l->log_density(r->x + i * dim_x, given, &log_p, &y_error, work) == 0);
        CHECK_NEAR(log_p, r->log_p[i], 1e-9 * (1 + fabs(r->log_p[i])));
        CHECK_NEAR(y_error, r->y_error[i], 1e-9 * (1 + r->y_error[i]));
    }
    CHECK(work[l->work_size] == behind); /* no more was written than is asked for */
    free(x);
    free(y);
    free(work);
}

static void check_case(const void *row) {
    export_rig *r = export_rig_open(row);
    library l = library_open(r->m);
    check_answers(r, &l);
    dlclose(l.handle);
    export_rig_close(r);
}

__attribute__((constructor)) static void register_cases(void) {
    static char names[32][96];
    for (int i = 0; export_cases[i].name; i++) {
        snprintf(names[i], sizeof names[i], "export_c__answers_as_the_library_for_%s", export_cases[i].name);
        test_register_row(names[i], __FILE__, check_case, &export_cases[i]);
    }
}

TEST(export_c__refuses_what_is_outside_of_a_support_or_not_finite) {
    const export_case bounded = {
        "", "[data]\nset = crescents\n[model]\nblocks = 1\ndepth = 1\nwidth = 4\n", {2, 1, {0}}, "i-w"};
    export_rig *r = export_rig_open(&bounded);
    library l = library_open(r->m);
    double x[2] = {0.5, 1}, y = 3, out[2], log_p, *work = new_numbers(l.work_size);
    CHECK(l.encode(x, &y, out, NULL, work) == 0 && l.log_density(x, &y, &log_p, NULL, work) == 0);
    x[0] = 3.01; /* of -2 to 3 */
    CHECK(l.encode(x, &y, out, NULL, work) == 1 && l.log_density(x, &y, &log_p, NULL, work) == 1);
    CHECK(l.decode(x, &y, out, NULL, work) == 0); /* a latent point has no bounds */
    x[0] = 0.5, x[1] = NAN;
    CHECK(l.encode(x, &y, out, NULL, work) == 1 && l.decode(x, &y, out, NULL, work) == 1);
    x[1] = 1, y = 3.5; /* no whole number */
    CHECK(l.encode(x, &y, out, NULL, work) == 1 && l.decode(x, &y, out, NULL, work) == 1);
    CHECK(l.sample(1, 0, &y, out, work) == 1);
    free(work);
    dlclose(l.handle);
    export_rig_close(r);
}

TEST(export_c__names_of_columns_cannot_leave_their_comment) {
    static const char *const names[] = {"**//\nint x = *;/*",
                                        "?"
                                        "?/",
                                        "/*/ \\"};
    export_rig *r = export_rig_open(&export_cases[0]);
    CHECK_STATUS(MEM_NEW(r->ctx, &r->m->units.names, 4), JF_OK);
    for (int i = 0; i < 3; i++) CHECK_STATUS(mem_copy_text(r->ctx, &r->m->units.names[i], names[i]), JF_OK);
    library l = library_open(r->m);
    check_answers(r, &l);
    dlclose(l.handle);
    export_rig_close(r);
}

TEST(export_c__in_float_is_as_exact_as_float) {
    const export_case *c = export_cases;
    while (strcmp(c->name, "a_table") != 0) c++;
    export_rig *r = export_rig_open(c);
    int (*log_density)(const float *, const float *, float *, float *, float *);
    library l = {0};
    CHECK_STATUS(jf_model_export(NULL, r->m, test_path("answers.c"), NULL), JF_OK);
    compile("-DANSWERS_REAL=float", test_path("answers.c"), test_path("answers.so"));
    l.handle = dlopen(test_path("answers.so"), RTLD_NOW | RTLD_LOCAL);
    CHECK(l.handle);
    find_function(&l, "log_density", &log_density);
    float x[6], y[4], log_p, work[4096];
    for (size_t i = 0; i < EXPORT_ROWS; i++) {
        for (size_t k = 0; k < 6; k++) x[k] = (float)r->x[i * 6 + k];
        for (size_t k = 0; k < 4; k++) y[k] = (float)r->y[i * 4 + k];
        CHECK(log_density(x, y, &log_p, NULL, work) == 0);
        CHECK_NEAR(log_p, r->log_p[i], 1e-3 * (1 + fabs(r->log_p[i])));
    }
    dlclose(l.handle);
    export_rig_close(r);
}

/* Whether the recipe of a case names it, or has it by default. */
static int is_tried(const char *key, const char *word, const char *usual) {
    char line[64];
    int found = strcmp(word, usual) == 0;
    snprintf(line, sizeof line, "%s = ", key);
    for (const export_case *c = export_cases; c->name && !found; c++) {
        const char *at = strstr(c->recipe, line), *end = at ? strchr(at, '\n') : NULL;
        const char *place = at ? strstr(at, word) : NULL;
        found = place && place < end;
    }
    return found;
}

TEST(export__every_law_network_transform_and_condition_is_tried) {
    static const char *const conditions[] = {"joint", "fixed", "flow"};
    for (int i = 0; i < law_count; i++)
        if (!law_is_shared((law_id)i) && !is_tried("law", law_name((law_id)i), "affine"))
            test_fail(__FILE__, __LINE__, "no case has law = %s", law_name((law_id)i));
    for (int i = 0; net_kinds[i]; i++)
        if (!is_tried("net", net_kinds[i]->name, "dense"))
            test_fail(__FILE__, __LINE__, "no case has net = %s", net_kinds[i]->name);
    for (int i = 0; transform_kinds[i]; i++)
        if (!is_tried("transforms", transform_kinds[i]->name, "coupling"))
            test_fail(__FILE__, __LINE__, "no case has %s", transform_kinds[i]->name);
    for (int i = 0; i < 3; i++) CHECK(is_tried("condition", conditions[i], "joint"));
}

TEST(export__names_the_kind_that_a_format_cannot_hold) {
    export_rig *r = export_rig_open(&export_cases[0]);
    coupling_layer *c = (coupling_layer *)r->m->flow->chain[0].kind->describe(&r->m->flow->chain[0]).coupling;
    const char *form = c->form;
    c->form = "octopus";
    for (int i = 0; export_formats[i]; i++) {
        char name[64];
        snprintf(name, sizeof name, "model%s", export_formats[i]->ending);
        CHECK_STATUS(jf_model_export(NULL, r->m, test_path(name), NULL), JF_ERROR_UNSUPPORTED);
        CHECK_HAS(jf_context_error(r->ctx), "\"octopus\"");
        CHECK(!file_exists(test_path(name)));
    }
    c->form = form;
    export_rig_close(r);
}
