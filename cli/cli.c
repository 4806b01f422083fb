#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- failures ---- */

/* Bytes of a character that does something instead of being shown: a control character, or one that turns the
 * direction of what follows; 0: it is shown. */
static int hidden(const char *chars) {
    static const char *const others[] = {"\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC",
                                         "\xE2\x80\xAD", "\xE2\x80\xAE", "\xE2\x81\xA6",
                                         "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9"};
    const unsigned char *c = (const unsigned char *)chars;
    if (c[0] < ' ' || c[0] == 127) return c[0] != 0;
    if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) return 2;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(chars, others[i], 3) == 0) return 3;
    return 0;
}

/* A failure is one line, whatever the names in it are made of. */
static void say(const char *before, const char *format, va_list rest, const char *after) {
    char message[2048];
    vsnprintf(message, sizeof message, format, rest);
    for (char *c = message; *c; c++) memset(c, '?', (size_t)hidden(c));
    fprintf(stderr, "jointflow: %s%s%s\n", before, message, after);
}

int cli_fail(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    say("", format, rest, "");
    va_end(rest);
    return CLI_FAILED;
}

/* Seconds that other ranks leave the first to tell what it knows, too, which ends all of them. */
#define LATER_RANKS 3

static void wait_for_first_rank(void) {
    struct timespec left = {.tv_sec = LATER_RANKS};
    while (nanosleep(&left, &left) != 0) continue;
}

int cli_fail_library(const call *c) {
    int first = jf_ranks_rank(c->ctx) == 0;
    if (!first && jf_ranks_have_failed(c->ctx)) return CLI_FAILED;
    if (!first) wait_for_first_rank();
    return cli_fail("%s", jf_context_error(c->ctx));
}

int cli_fail_memory(void) {
    return cli_fail("not enough memory");
}

int cli_fail_output(void) {
    return cli_fail("standard output: %s", errno ? strerror(errno) : "cannot be written");
}

int cli_misuse(const command *k, const char *format, ...) {
    char before[80], after[120];
    snprintf(before, sizeof before, "%s: ", k->name);
    snprintf(after, sizeof after, " (see: jointflow help %s)", k->name);
    va_list rest;
    va_start(rest, format);
    say(before, format, rest, after);
    va_end(rest);
    return CLI_MISUSE;
}

/* ---- the context ---- */

static const struct {
    const char *option, *words;
} option_names[] = {{"key", "--set "},
                    {"bounds", "--bounds "},
                    {"ordered", "--ordered"},
                    {"resume", "--resume"},
                    {"changed_data", "--changed-data"},
                    {"models", "--model"}};

jf_status cli_context_create(jf_context **out) {
    jf_status status = jf_context_create(out);
    for (size_t i = 0; status == JF_OK && i < sizeof option_names / sizeof *option_names; i++)
        status = jf_context_name_option(*out, option_names[i].option, option_names[i].words, "");
    if (status == JF_OK) return JF_OK;
    jf_context_free(*out);
    *out = NULL;
    return status;
}

/* ---- ranks ---- */

int cli_join_ranks(const call *c) {
    jf_ranks_options options = {.size = sizeof(jf_ranks_options),
                                .ranks = option_int(c->arguments, "ranks"),
                                .limit = option_real(c->arguments, "rank-limit")};
    if (jf_ranks_join(c->ctx, &options) != JF_OK) return cli_fail_library(c);
    if (cli_is_first_rank(c)) return CLI_OK;
    jf_context_set_log(c->ctx, NULL, NULL);
    return freopen("/dev/null", "w", stdout) ? CLI_OK : cli_fail_output();
}

int cli_is_first_rank(const call *c) {
    return jf_ranks_rank(c->ctx) == 0;
}

/* ---- models and recipes ---- */

const char *cli_device(const call *c) {
    return option_text(c->arguments, "device");
}

int cli_threads(const call *c) {
    return option_int(c->arguments, "threads");
}

jf_load_options cli_device_options(const call *c) {
    return (jf_load_options){
        .size = sizeof(jf_load_options), .device = cli_device(c), .threads = cli_threads(c)};
}

int cli_has_class_column(const jf_model *m) {
    jf_image_form form = {.size = sizeof(jf_image_form)};
    int classes = jf_model_classes(m);
    return classes > 1 && jf_model_dim_y(m) == classes && jf_model_image_form(&form, m) == JF_OK &&
           form.h == 0;
}

int cli_load_model(const call *c, jf_model **out, const char *path) {
    jf_load_options device = cli_device_options(c);
    return jf_model_load(out, c->ctx, path, &device) == JF_OK ? CLI_OK : cli_fail_library(c);
}

/* The program as it was called, or where it is; so the model. */
int cli_say_example(const call *c, const jf_model *m, const char *label, const char *name) {
    char *program = strchr(c->argv[0], '/') ? realpath(c->argv[0], NULL) : NULL;
    char *model = realpath(name, NULL), *told = NULL;
    jf_status status = jf_model_example(&told, m, program ? program : c->argv[0], model ? model : name);
    if (status == JF_OK) printf("%s%s\n", label, told);
    jf_text_free(told);
    free(program);
    free(model);
    return status == JF_OK ? CLI_OK : cli_fail_library(c);
}

/* --set KEY=VALUE */
static int set_value(const call *c, jf_recipe *r, const char *item) {
    const char *equals = strchr(item, '=');
    if (!equals || equals == item)
        return cli_misuse(c->command, "--set: found \"%s\", expected section.key=value", item);
    char *key = cli_join("%.*s", (int)(equals - item), item);
    if (!key) return cli_fail_memory();
    jf_status status = jf_recipe_set(r, key, equals + 1);
    free(key);
    return status == JF_OK ? CLI_OK : cli_fail_library(c);
}

/* --precision NAME, of the commands that have it */
static int set_precision(const call *c, jf_recipe *r) {
    if (!option_is_known(c->arguments, "precision") || !option_given(c->arguments, "precision"))
        return CLI_OK;
    const char *name = option_text(c->arguments, "precision");
    return jf_recipe_set(r, "train.precision", name) == JF_OK ? CLI_OK : cli_fail_library(c);
}

int cli_apply_settings(const call *c, jf_recipe *r) {
    const char *item;
    int code = CLI_OK;
    for (int i = 0; code == CLI_OK && (item = option_item(c->arguments, "set", i)) != NULL; i++)
        code = set_value(c, r, item);
    return code == CLI_OK ? set_precision(c, r) : code;
}

int cli_load_recipe(const call *c, jf_recipe **out, const char *path) {
    jf_recipe *r;
    if (jf_recipe_load(&r, c->ctx, path) != JF_OK) return cli_fail_library(c);
    int code = cli_apply_settings(c, r);
    if (code == CLI_OK)
        *out = r;
    else
        jf_recipe_free(r);
    return code;
}

/* ---- texts and paths ---- */

void cli_print_list(const char *lines) {
    while (*lines) {
        size_t name = strcspn(lines, "\t\n"), length = strcspn(lines, "\n");
        size_t summary = lines[name] == '\t' ? name + 1 : name;
        printf("%-22.*s %.*s\n", (int)name, lines, (int)(length - summary), lines + summary);
        lines += length + (lines[length] == '\n');
    }
}

char *cli_join(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    int length = vsnprintf(NULL, 0, format, rest);
    va_end(rest);
    char *out = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!out) return NULL;
    va_start(rest, format);
    vsnprintf(out, (size_t)length + 1, format, rest);
    va_end(rest);
    return out;
}

int cli_number(char out[CLI_NUMBER], double value, int most) {
    int length = 0;
    for (int digits = most < 15 ? most : 15; digits <= most; digits++) {
        length = snprintf(out, CLI_NUMBER, "%.*g", digits, value);
        if (strtod(out, NULL) == value) break;
    }
    return length;
}

int cli_is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

int cli_is_file(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

int cli_is_table(const char *path) {
    static const char *const endings[] = {".csv", ".tsv", ".txt", ".npy"};
    for (int i = 0; i < 4; i++)
        if (cli_ends_with(path, endings[i])) return 1;
    return 0;
}

FILE *cli_open(const char *path) {
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    FILE *file = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? fdopen(fd, "r") : NULL;
    if (fd >= 0 && !file) close(fd);
    return file;
}

int cli_ends_with(const char *text, const char *end) {
    size_t a = strlen(text), b = strlen(end);
    return a > b && strcmp(text + a - b, end) == 0;
}
