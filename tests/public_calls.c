#include "public_calls.h"
#include "api_image_fixture.h"

public_call public_calls[256];
int public_call_count;
unsigned call_needed, call_optional;

enum { ROWS = 40 };

struct live {
    jf_context *ctx;
    jf_data *data;
    jf_recipe *recipe;
    jf_model *m, *by_rule;             /* of vectors, x of 2 and y of 1; the latter is judged quickly */
    jf_model *classes, *fine, *coarse; /* of images */
    jf_judgement *judgement;
    jf_summary *summary;
    jf_table table;
    jf_lines lines;
    jf_cascade *cascade;
    jf_cascade_result enlarged;
    jf_images images; /* one */
    jf_image_conditions conditions;
    double x[2 * ROWS], y[ROWS], z[2 * ROWS], out[2 * ROWS];
    double pixels[PIXELS], labels[2 * PIXELS], more[10 * PIXELS];
};

jf_context *live_context(live *f) {
    return f->ctx;
}
jf_model *live_model(live *f) {
    return f->m;
}

/* With a fixed condition, since judging a joint one takes seconds, however few the points. */
static const char tiny[] = "[data]\nset = crescents\n"
                           "[model]\ncondition = fixed\nblocks = 1\ndepth = 1\nwidth = 4\n"
                           "[train]\nbatch = 20\nbatches = 2\nprecondition = 0\nanneal = 0\nepochs = 1\n"
                           "ks_every = 0\n";

#define SIZED(type, ...) (&(type){.size = sizeof(type), __VA_ARGS__})

/* Models of images as they are loaded, with threads of their own. */
static jf_model *loaded(live *f, jf_model *(*make)(jf_context *ctx), const char *name, int threads) {
    jf_model *m = make(f->ctx);
    jf_model_free(m);
    CHECK_STATUS(jf_model_load(&m, f->ctx, test_path(name), SIZED(jf_load_options, .threads = threads)),
                 JF_OK);
    return m;
}

static void open_vectors(live *f, int threads) {
    for (int i = 0; i < ROWS; i++) {
        f->y[i] = i % 2;
        f->x[2 * i] = sin(i) + f->y[i];
        f->x[2 * i + 1] = cos(3 * i);
    }
    jf_array x = {f->x, JF_DOUBLE, ROWS, 2, 0, 0}, y = {f->y, JF_DOUBLE, ROWS, 1, 0, 0};
    CHECK_STATUS(jf_data_create(&f->data, f->ctx, &x, &y), JF_OK);
    CHECK_STATUS(jf_recipe_parse(&f->recipe, f->ctx, tiny, "tiny"), JF_OK);
    CHECK_STATUS(jf_train(&f->m, f->ctx, f->recipe, SIZED(jf_train_options, .threads = threads)), JF_OK);
    CHECK_STATUS(jf_model_load(&f->by_rule, f->ctx, JF_TESTS_DIR "/../models/rule-line.safetensors",
                               SIZED(jf_load_options, .threads = threads)),
                 JF_OK);
    CHECK_STATUS(jf_judge(&f->judgement, f->by_rule, SIZED(jf_judge_options, .points = 5)), JF_OK);
    CHECK_STATUS(jf_summarise(&f->summary, f->m, 1, ROWS, f->x, f->y, NULL), JF_OK);
    f->table = (jf_table){f->x, ROWS, 2};
}

static void open_images(live *f, int threads) {
    f->classes = loaded(f, class_model, "class", threads);
    f->fine = loaded(f, fine_model, "fine", threads);
    f->coarse = loaded(f, coarse_model, "coarse", threads);
    f->images = one_image(SIDE, SIDE, f->pixels);
    for (int i = 0; i < PIXELS; i++) f->labels[PIXELS + i] = 1;
    CHECK_STATUS(jf_lines_along_z(&f->lines, f->classes, 1, 3, 2, f->labels, NULL), JF_OK);
    CHECK_STATUS(jf_cascade_create(&f->cascade, (const jf_model *[]){f->coarse, f->fine}, 2), JF_OK);
    f->enlarged.size = sizeof f->enlarged;
    CHECK_STATUS(jf_cascade_enlarge(&f->enlarged, f->cascade, &f->images, NULL), JF_OK);
}

live *live_open(int threads) {
    static live *f; /* goes with the process of the test */
    f = calloc(1, sizeof *f);
    f->ctx = new_context();
    open_vectors(f, threads);
    open_images(f, threads);
    return f;
}

/* ---- the calls ---- */

static void add_call(const char *name, int (*run)(live *f, int hide), int may_fail) {
    public_calls[public_call_count++] = (public_call){name, run, may_fail};
}

static void note(unsigned *bits, int i) {
    *bits |= 1u << i;
}

#define CALL_(name, may_fail)                                                                                \
    static int call_##name(live *f, int hide);                                                               \
    __attribute__((constructor)) static void add_##name(void) {                                              \
        add_call(#name, call_##name, may_fail);                                                              \
    }                                                                                                        \
    static int call_##name(live *f __attribute__((unused)), int hide __attribute__((unused)))
#define CALL(name)          CALL_(name, 0)
#define CALL_MAY_FAIL(name) CALL_(name, 1)
/* Argument i: one that is needed; one that may be NULL; the same, but the default would take too long. */
#define A(i, ...) (note(&call_needed, (i)), hide == (i) ? NULL : (__VA_ARGS__))
#define O(i, ...) (note(&call_optional, (i)), hide == (i) ? NULL : (__VA_ARGS__))
#define U(i, ...) (note(&call_optional, (i)), (__VA_ARGS__))
#define GIVES(ok) return (ok) ? CALL_GAVE : CALL_GAVE_WRONG
#define TEXT_OF(expression)                                                                                  \
    const char *given = (expression);                                                                        \
    GIVES(given && (hide < 0 || !*given))
#define FREES(expression)                                                                                    \
    (expression);                                                                                            \
    return CALL_GAVE

/* the library, texts, contexts */
CALL(jf_version) {
    TEXT_OF(jf_version());
}
CALL(jf_version_check) {
    GIVES(jf_version_check(JF_VERSION_MAJOR, JF_VERSION_MINOR, JF_VERSION_PATCH));
}
CALL(jf_status_name) {
    TEXT_OF(jf_status_name(JF_OK));
}
CALL(jf_status_text) {
    TEXT_OF(jf_status_text(JF_OK));
}
CALL(jf_text_free) {
    FREES(jf_text_free(O(0, strdup("text"))));
}
CALL(jf_context_create) {
    jf_context *made = NULL;
    return jf_context_create(A(0, &made));
}
CALL(jf_context_free) {
    FREES(jf_context_free(O(0, f->ctx)));
}
static void on_log(void *user, const char *line) {
    (void)user, (void)line;
}
static int on_progress(void *user, const jf_progress *p) {
    return user != NULL && p == NULL;
}
CALL(jf_context_set_log) {
    FREES(jf_context_set_log(O(0, f->ctx), O(1, on_log), NULL));
}
CALL(jf_context_set_progress) {
    FREES(jf_context_set_progress(O(0, f->ctx), O(1, on_progress), NULL));
}
CALL(jf_context_name_option) {
    return jf_context_name_option(A(0, f->ctx), A(1, "resume"), A(2, "resume"), A(3, ""));
}
CALL(jf_option_name) {
    TEXT_OF(jf_option_name(0));
}
CALL(jf_context_error) {
    TEXT_OF(jf_context_error(A(0, f->ctx)));
}

/* ranks */
CALL(jf_ranks_join) {
    return jf_ranks_join(A(0, f->ctx), O(1, SIZED(jf_ranks_options, .ranks = 0)));
}
CALL(jf_ranks_rank) {
    GIVES(jf_ranks_rank(A(0, f->ctx)) == 0);
}
CALL(jf_ranks_size) {
    GIVES(jf_ranks_size(A(0, f->ctx)) == 1);
}
CALL(jf_ranks_have_failed) {
    GIVES(jf_ranks_have_failed(A(0, f->ctx)) == 0);
}
CALL(jf_ranks_set_apart) {
    return jf_ranks_set_apart(A(0, f->ctx), 1);
}
CALL_MAY_FAIL(jf_ranks_take) { /* there are none */
    return jf_ranks_take(A(0, f->ctx), A(1, &(uint64_t){0}));
}
CALL(jf_ranks_sum) {
    return jf_ranks_sum(A(0, f->ctx), A(1, f->out), 1);
}
CALL(jf_ranks_same) {
    return jf_ranks_same(A(0, f->ctx), A(1, "what"), A(2, "mine"));
}
CALL(jf_ranks_end) {
    FREES(jf_ranks_end(O(0, f->ctx), 3));
}

/* data in memory */
CALL(jf_data_create) {
    jf_data *made = NULL;
    jf_array x = {f->x, JF_DOUBLE, ROWS, 2, 0, 0}, y = {f->y, JF_DOUBLE, ROWS, 1, 0, 0};
    return jf_data_create(A(0, &made), A(1, f->ctx), A(2, &x), O(3, &y));
}
static int fill(void *user, size_t first, size_t count, double *x, double *y) {
    for (size_t i = 0; i < count; i++) x[i] = y[i] = (double)(first + i);
    return user != NULL;
}
CALL(jf_data_fill) {
    jf_data *made = NULL;
    return jf_data_fill(A(0, &made), A(1, f->ctx), 5, 1, 1, A(5, fill), NULL);
}
CALL(jf_data_set_classes) {
    return jf_data_set_classes(A(0, f->data), A(1, ((const char *[]){"a", "b"})), 0);
}
CALL(jf_data_set_names) {
    return jf_data_set_names(A(0, f->data), O(1, ((const char *[]){"a", "b", "c"})));
}
CALL(jf_data_set_y_shape) {
    return jf_data_set_y_shape(A(0, f->data), A(1, (size_t[]){1}), 1);
}
static void on_release(void *user) {
    (void)user;
}
CALL(jf_data_on_release) {
    FREES(jf_data_on_release(O(0, f->data), O(1, on_release), NULL));
}
CALL(jf_data_free) {
    FREES(jf_data_free(O(0, f->data)));
}

/* recipes */
CALL(jf_recipe_load) {
    jf_recipe *made = NULL;
    return jf_recipe_load(A(0, &made), A(1, f->ctx), A(2, "crescents"));
}
CALL(jf_recipe_parse) {
    jf_recipe *made = NULL;
    return jf_recipe_parse(A(0, &made), A(1, f->ctx), A(2, "[data]\nset = crescents\n"), A(3, "name"));
}
CALL(jf_recipe_for_table) {
    jf_recipe *made = NULL;
    return jf_recipe_for_table(A(0, &made), A(1, f->ctx), A(2, SIZED(jf_table_request, .data = f->data)));
}
CALL(jf_recipe_set) {
    return jf_recipe_set(A(0, f->recipe), A(1, "train.rate"), A(2, "0.1"));
}
CALL(jf_recipe_get) {
    const char *given = jf_recipe_get(A(0, f->recipe), A(1, "train.rate"));
    GIVES(!given == (hide >= 0));
}
CALL(jf_recipe_set_data) {
    return jf_recipe_set_data(A(0, f->recipe), A(1, f->data));
}
CALL(jf_recipe_text) {
    char *made = NULL;
    return jf_recipe_text(A(0, &made), A(1, f->recipe), 1);
}
CALL(jf_recipe_free) {
    FREES(jf_recipe_free(O(0, f->recipe)));
}
CALL(jf_recipe_list) {
    char *made = NULL;
    return jf_recipe_list(A(0, &made), A(1, f->ctx));
}

/* devices */
CALL(jf_device_name) {
    TEXT_OF(jf_device_name(0));
}
CALL(jf_device_summary) {
    TEXT_OF(jf_device_summary(0));
}
CALL(jf_device_is_missing) {
    GIVES(jf_device_is_missing(0, O(1, (char[80]){0}), 80) == 0);
}

/* models */
CALL(jf_model_load) {
    jf_model *made = NULL;
    return jf_model_load(A(0, &made), A(1, f->ctx), A(2, test_path("class")),
                         O(3, SIZED(jf_load_options, .threads = 2)));
}
CALL(jf_model_save) {
    return jf_model_save(A(0, f->m), A(1, test_path("m.safetensors")));
}
CALL(jf_model_save_half) {
    return jf_model_save_half(A(0, f->m), A(1, test_path("h.safetensors")));
}
CALL(jf_model_list) {
    char *made = NULL;
    return jf_model_list(A(0, &made), A(1, f->ctx));
}
CALL(jf_model_find) {
    char *made = NULL;
    return jf_model_find(A(0, &made), A(1, f->ctx), A(2, test_path("class")), 0);
}
CALL_MAY_FAIL(jf_model_set_data) {
    return jf_model_set_data(A(0, f->m), O(1, f->data));
} /* it has others */
CALL(jf_model_free) {
    FREES(jf_model_free(O(0, f->m)));
}
CALL(jf_model_then) {
    TEXT_OF(jf_model_then(A(0, f->m)));
}
CALL(jf_model_dim_x) {
    GIVES(jf_model_dim_x(A(0, f->m)) == (hide < 0 ? 2 : 0));
}
CALL(jf_model_dim_y) {
    GIVES(jf_model_dim_y(A(0, f->m)) == (hide < 0 ? 1 : 0));
}
CALL(jf_model_y_shape) {
    GIVES(jf_model_y_shape(A(0, f->m), A(1, (size_t[3]){0})) == (hide < 0 ? 1 : 0));
}
CALL(jf_model_classes) {
    GIVES(jf_model_classes(A(0, f->classes)) == (hide < 0 ? 2 : 0));
}
CALL(jf_model_label) {
    GIVES(!isnan(jf_model_label(A(0, f->classes), 0)) == (hide < 0));
}
CALL(jf_model_y_of_label) {
    return jf_model_y_of_label(A(0, f->classes), 1, A(2, f->labels));
}
CALL(jf_model_label_of_y) {
    GIVES(!isnan(jf_model_label_of_y(A(0, f->classes), A(1, f->labels))) == (hide < 0));
}

CALL(jf_model_class_name) {
    TEXT_OF(jf_model_class_name(A(0, f->classes), 0));
}
CALL(jf_model_column_name) {
    TEXT_OF(jf_model_column_name(A(0, f->m), 0));
}
CALL(jf_model_info) {
    char *made = NULL;
    return jf_model_info(A(0, &made), A(1, f->m));
}
CALL(jf_model_example) {
    char *made = NULL;
    return jf_model_example(A(0, &made), A(1, f->m), A(2, "jointflow"), A(3, "m"));
}
CALL(jf_model_objective) {
    TEXT_OF(jf_model_objective(A(0, f->m)));
}
CALL(jf_model_data_set) {
    TEXT_OF(jf_model_data_set(A(0, f->m)));
}
CALL(jf_model_y_range) {
    return jf_model_y_range(A(0, f->m), 0, A(2, &f->out[0]), A(3, &f->out[1]));
}
CALL(jf_y_beyond) {
    char *made = NULL;
    return jf_y_beyond(A(0, &made), A(1, f->m), A(2, f->y));
}
CALL(jf_y_error) {
    return jf_y_error(A(0, f->m), ROWS, A(2, f->y), A(3, f->y), A(4, f->out));
}
CALL(jf_data_rows) {
    size_t found = 0;
    return jf_data_rows(A(0, f->m), 5, -1, 1, A(4, &found), O(5, f->z), O(6, f->out));
}
CALL(jf_model_export) {
    char *made = NULL;
    return jf_model_export(O(0, &made), A(1, f->m), A(2, test_path("m.c")), O(3, "name"));
}

/* training and use */
CALL(jf_train) {
    jf_model *made = NULL;
    return jf_train(A(0, &made), A(1, f->ctx), A(2, f->recipe),
                    O(3, SIZED(jf_train_options, .folder = test_path("run"), .threads = 2)));
}
CALL(jf_sample) {
    return jf_sample(A(0, f->m), ROWS, A(2, f->y), A(3, f->out), O(4, (double[ROWS]){0}), O(5, f->z),
                     O(6, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_encode) {
    return jf_encode(A(0, f->m), ROWS, A(2, f->x), A(3, f->y), A(4, f->z), O(5, f->out),
                     O(6, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_decode) {
    return jf_decode(A(0, f->m), ROWS, A(2, f->x), A(3, f->y), A(4, f->out), O(5, f->z),
                     O(6, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_denoise) {
    return jf_denoise(A(0, f->classes), 1, A(2, f->more), A(3, f->labels), A(4, f->more + PIXELS),
                      O(5, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_density) {
    return jf_density(A(0, f->m), ROWS, A(2, f->x), A(3, f->y), A(4, f->out),
                      O(5, SIZED(jf_density_summary, .mean = 0)), O(6, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_summarise) {
    jf_summary *made = NULL;
    return jf_summarise(A(0, &made), A(1, f->m), 1, ROWS, A(4, f->x), A(5, f->y),
                        O(6, SIZED(jf_summary_options, .mass_count = 0)));
}
CALL(jf_summary_csv) {
    TEXT_OF(jf_summary_csv(A(0, f->summary)));
}
CALL(jf_summary_json) {
    TEXT_OF(jf_summary_json(A(0, f->summary)));
}
CALL(jf_summary_text) {
    TEXT_OF(jf_summary_text(A(0, f->summary)));
}
CALL(jf_summary_free) {
    FREES(jf_summary_free(O(0, f->summary)));
}

/* images */
CALL(jf_model_image_form) {
    return jf_model_image_form(A(0, SIZED(jf_image_form, .h = 0)), A(1, f->classes));
}
CALL(jf_images_read) {
    return jf_images_read(A(0, &(jf_images){0}), A(1, f->ctx), A(2, test_path("stack.npy")));
}
CALL(jf_images_read_masked) {
    return jf_images_read_masked(A(0, &(jf_images){0}), A(1, f->ctx), A(2, test_path("stack.npy")));
}
CALL(jf_images_write) {
    return jf_images_write(A(0, f->ctx), A(1, &f->images), 0, A(3, test_path("w.npy")));
}
CALL(jf_images_free) {
    FREES(jf_images_free(O(0, &f->enlarged.input)));
}
CALL(jf_restore) {
    return jf_restore(A(0, &(jf_images){0}), A(1, f->classes), 1, A(3, f->more), A(4, f->labels));
}
CALL(jf_image_answers) {
    return jf_image_answers(A(0, f->classes), A(1, &f->images), A(2, f->labels), A(3, f->more));
}
CALL(jf_degrade) {
    return jf_degrade(A(0, &(jf_images){0}), A(1, f->fine), A(2, &f->images), 1);
}
CALL(jf_data_image) {
    return jf_data_image(A(0, &(jf_images){0}), A(1, f->classes), 0, 1);
}
CALL(jf_image_conditions_create) {
    return jf_image_conditions_create(A(0, SIZED(jf_image_conditions, .y = NULL)), A(1, f->fine),
                                      A(2, &f->images), 1, 1);
}
CALL(jf_image_conditions_free) {
    FREES(jf_image_conditions_free(O(0, &f->conditions)));
}
CALL(jf_cascade_create) {
    jf_cascade *made = NULL;
    return jf_cascade_create(A(0, &made), A(1, ((const jf_model *[]){f->coarse, f->fine})), 2);
}
CALL(jf_cascade_load) {
    jf_cascade *made = NULL;
    return jf_cascade_load(A(0, &made), A(1, f->ctx), O(2, "none"), O(3, f->classes),
                           O(4, SIZED(jf_load_options, .threads = 1)));
}
CALL(jf_cascade_model) {
    GIVES(jf_cascade_model(A(0, f->cascade), 0) == (hide < 0 ? f->coarse : NULL));
}
CALL(jf_cascade_free) {
    FREES(jf_cascade_free(O(0, f->cascade)));
}
CALL(jf_cascade_enlarge) {
    return jf_cascade_enlarge(A(0, SIZED(jf_cascade_result, .steps = 0)), A(1, f->cascade), A(2, &f->images),
                              O(3, SIZED(jf_cascade_options, .seed = 1)));
}
CALL(jf_cascade_write) {
    return jf_cascade_write(A(0, f->cascade), A(1, &f->enlarged), O(2, "title"), 0, A(4, test_path("c.png")));
}
CALL(jf_cascade_result_free) {
    FREES(jf_cascade_result_free(O(0, &f->enlarged)));
}
CALL(jf_cascade_score) {
    return jf_cascade_score(A(0, SIZED(jf_cascade_scores, .count = 0)), A(1, f->cascade),
                            O(2, SIZED(jf_cascade_test, .most = 2)),
                            O(3, SIZED(jf_cascade_options, .seed = 1)));
}
CALL(jf_cascade_scores_free) {
    FREES(jf_cascade_scores_free(O(0, SIZED(jf_cascade_scores, .count = 0))));
}

/* lines and pictures */
CALL(jf_lines_along_z) {
    return jf_lines_along_z(A(0, &(jf_lines){0}), A(1, f->m), 1, 3, 2, A(5, f->y),
                            O(6, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_lines_along_y) {
    return jf_lines_along_y(A(0, &(jf_lines){0}), A(1, f->m), 1, 3, A(4, f->y), A(5, f->y + 1),
                            O(6, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_lines_through) {
    return jf_lines_through(A(0, &(jf_lines){0}), A(1, f->m), 1, 3, A(4, f->y),
                            O(5, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_lines_between) {
    return jf_lines_between(A(0, &(jf_lines){0}), A(1, f->m), 1, 3, 1, A(5, f->x), A(6, f->y),
                            O(7, SIZED(jf_use_options, .seed = 1)));
}
CALL(jf_lines_draw) {
    return jf_lines_draw(A(0, f->classes), A(1, &f->lines), O(2, "title"), 0, A(4, test_path("l.png")));
}
CALL(jf_lines_draw_images) {
    jf_images drawn = {f->more, f->lines.rows * f->lines.steps, SIDE, SIDE, 1};
    return jf_lines_draw_images(A(0, f->classes), A(1, &f->lines), A(2, &drawn), O(3, "title"), 0,
                                A(5, test_path("l.png")));
}
CALL(jf_lines_free) {
    FREES(jf_lines_free(O(0, &f->lines)));
}
CALL(jf_grid_draw) {
    jf_grid_cell cell = {f->pixels, SIDE, SIDE, 1, 0};
    return jf_grid_draw(A(0, f->ctx), A(1, SIZED(jf_grid, .rows = 1, .columns = 1, .cells = &cell)),
                        A(2, test_path("g.png")));
}
CALL(jf_draw_image_samples) {
    return jf_draw_image_samples(A(0, f->classes), 1, A(2, f->more), A(3, f->labels), 0,
                                 A(5, test_path("i.png")));
}
CALL(jf_draw_images_of) {
    return jf_draw_images_of(A(0, f->classes), A(1, &f->images), A(2, f->labels), 0,
                             A(4, test_path("o.png")));
}
CALL(jf_draw_samples) {
    return jf_draw_samples(A(0, f->m), ROWS, A(2, f->x), A(3, f->y), A(4, test_path("s.png")));
}
CALL(jf_draw_corner) {
    return jf_draw_corner(A(0, f->m), ROWS, A(2, f->x), A(3, f->y), A(4, test_path("c.png")));
}
CALL(jf_draw_groups) {
    const jf_groups *groups = SIZED(jf_groups, .count = 2, .each = 3, .labels = (const char *[]){"a", "b"},
                                    .values = f->x, .value_label = "loss");
    return jf_draw_groups(A(0, f->ctx), A(1, groups), A(2, test_path("d.png")));
}

/* judging and comparing */
CALL(jf_judge) {
    jf_judgement *made = NULL;
    return jf_judge(A(0, &made), A(1, hide < 0 ? f->m : f->by_rule),
                    U(2, SIZED(jf_judge_options, .points = 5)));
}
CALL(jf_judgement_json) {
    TEXT_OF(jf_judgement_json(A(0, f->judgement)));
}
CALL(jf_judgement_text) {
    TEXT_OF(jf_judgement_text(A(0, f->judgement)));
}
CALL(jf_judgement_free) {
    FREES(jf_judgement_free(O(0, f->judgement)));
}
CALL(jf_pack) {
    char *made = NULL;
    return jf_pack(O(0, &made), A(1, f->by_rule), A(2, test_path("pack.safetensors")),
                   U(3, SIZED(jf_pack_options, .points = 5)));
}
CALL(jf_report) {
    return jf_report(A(0, f->by_rule), A(1, f->judgement), A(2, test_path("report")));
}
CALL(jf_compare) {
    return jf_compare(A(0, SIZED(jf_comparison, .count = 0)), A(1, f->ctx), A(2, &f->table), A(3, &f->table),
                      O(4, SIZED(jf_compare_options, .rows = 20)));
}
CALL(jf_figure_name) {
    TEXT_OF(jf_figure_name(0));
}
CALL(jf_figure_summary) {
    TEXT_OF(jf_figure_summary(0));
}
CALL_MAY_FAIL(jf_figure) { /* its models are not there */
    return jf_figure(
        A(0, f->ctx), A(1, "3"),
        O(2, SIZED(jf_figure_options, .folder = test_path("figure"), .model_folder = test_path("none"))));
}
CALL(jf_bench) {
    return jf_bench(A(0, SIZED(jf_bench_result, .batch = 0)), A(1, f->ctx), A(2, f->recipe),
                    U(3, SIZED(jf_bench_options, .seconds = 0.01, .threads = 2)));
}
CALL(jf_bench_result_free) {
    FREES(jf_bench_result_free(O(0, SIZED(jf_bench_result, .batch = 0))));
}

/* known sets and tables */
CALL(jf_data_list) {
    char *made = NULL;
    return jf_data_list(A(0, &made), A(1, f->ctx));
}
CALL(jf_data_export) {
    return jf_data_export(A(0, f->ctx), A(1, "crescents"),
                          A(2, SIZED(jf_export_options, .rows = 3, .file = test_path("e.csv"))));
}
CALL(jf_data_posterior) {
    return jf_data_posterior(A(0, f->ctx), A(1, "two_moons"), 1, 2, A(4, (double[]){0.1, 0.1}),
                             A(5, SIZED(jf_export_options, .rows = 3, .file = test_path("p.csv"))));
}
CALL_MAY_FAIL(jf_data_check) { /* there are none */
    char *made = NULL;
    return jf_data_check(A(0, &made), A(1, f->ctx), A(2, test_folder()), A(3, &(size_t){0}));
}
CALL_MAY_FAIL(jf_data_fetch) { /* there is no such mirror */
    char *made = NULL;
    const char *mirrors[] = {"file:///nowhere/at/all/"};
    return jf_data_fetch(
        A(0, &made), A(1, f->ctx), A(2, "mnist"),
        U(3, SIZED(jf_fetch_options, .folder = test_folder(), .mirrors = mirrors, .mirror_count = 1)));
}
CALL(jf_table_read) {
    jf_status status = jf_table_write(f->ctx, &f->table, NULL, test_path("t.csv"));
    return status == JF_OK ? jf_table_read(A(0, &(jf_table){0}), A(1, f->ctx), A(2, test_path("t.csv")))
                           : status;
}
CALL(jf_table_read_for) {
    jf_status status = jf_table_write(f->ctx, &f->table, NULL, test_path("t.csv"));
    return status == JF_OK
               ? jf_table_read_for(A(0, &(jf_table){0}), A(1, f->m), A(2, test_path("t.csv")), 0, 2)
               : status;
}
CALL(jf_table_write_for) {
    return jf_table_write_for(A(0, &f->table), A(1, f->m), O(2, ((const char *[]){"a", "b"})),
                              A(3, ((const unsigned char[]){0, 0})), A(4, test_path("w.csv")));
}
CALL(jf_table_write) {
    return jf_table_write(A(0, f->ctx), A(1, &f->table), O(2, ((const char *[]){"a", "b"})),
                          A(3, test_path("w.csv")));
}
CALL(jf_table_free) {
    FREES(jf_table_free(O(0, &(jf_table){0})));
}
