/* Files are compared by device and inode: a link, another spelling of a path and a second name are the same
 * file. */
#include "outputs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files of a run folder that cannot be made again, or that are needed to go on. */
static const char *const run_files[] = {"model.safetensors", "checkpoint.safetensors",
                                        "checkpoint-previous.safetensors", "recipe.ini", "history.csv"};
enum { RUN_FILES = sizeof run_files / sizeof *run_files };

static int is_same_file(const struct stat *a, const char *path) {
    struct stat b;
    return stat(path, &b) == 0 && a->st_dev == b.st_dev && a->st_ino == b.st_ino;
}

static int is_link(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* A safetensors file whose first note is one of ours. */
static int is_model_or_checkpoint(const char *path) {
    static const char start[] = "{\"__metadata__\":{\"jointflow.";
    enum { LENGTH = 8, START = sizeof start - 1 }; /* bytes: the length of the header comes before it */
    char bytes[LENGTH + START];
    FILE *file = cli_open(path);
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file) fclose(file);
    return count == sizeof bytes && memcmp(bytes + LENGTH, start, START) == 0;
}

/* `input`: a file, @FILE, a run folder, or no path at all. */
static int check_against(const struct stat *there, const char *path, const char *input) {
    input += *input == '@';
    if (!cli_is_folder(input))
        return is_same_file(there, input)
                   ? cli_fail("-o %s: is %s, which this command reads; choose another name", path, input)
                   : CLI_OK;
    int code = CLI_OK;
    for (int i = 0; i < RUN_FILES && code == CLI_OK; i++) {
        char *file = cli_join("%s/%s", input, run_files[i]);
        if (!file) return cli_fail_memory();
        if (is_same_file(there, file))
            code = cli_fail("-o %s: is %s, a file of the run; choose another name", path, file);
        free(file);
    }
    return code;
}

/* Options that name files to write, which may be there from before. */
static int is_output(const char *option_name) {
    return strcmp(option_name, "output") == 0 || strcmp(option_name, "summary") == 0;
}

int output_check_file(const call *c, const char *path) {
    const arguments *a = c->arguments;
    struct stat there;
    int code = CLI_OK;
    if (!path || strcmp(path, "-") == 0 || stat(path, &there) != 0 || !S_ISREG(there.st_mode)) return CLI_OK;
    for (int i = 0; i < a->count && code == CLI_OK; i++) code = check_against(&there, path, a->values[i]);
    for (int i = 0; i < a->given_count && code == CLI_OK; i++)
        if (!is_output(a->given[i].option->name)) code = check_against(&there, path, a->given[i].text);
    if (code == CLI_OK && is_model_or_checkpoint(path))
        code =
            cli_fail("-o %s: is a model or a checkpoint, which is never replaced; choose another name", path);
    return code;
}

int output_check_default(const call *c, const char *path) {
    if (is_link(path)) return cli_fail("%s: is a link; name the file to write with -o", path);
    return output_check_file(c, path);
}

/* The path becomes that of the folder it lies in; 0: it was the outermost. */
static int step_out(char *path) {
    char *slash = strrchr(path, '/');
    if (strcmp(path, ".") == 0 || strcmp(path, "/") == 0) return 0;
    if (slash && slash != path)
        *slash = '\0';
    else
        strcpy(path, slash ? "/" : ".");
    return 1;
}

int output_check_folder(const char *folder) {
    struct stat there = {0};
    int code = CLI_OK;
    if (!*folder) return cli_fail("-o: the name of the folder is empty");
    char *path = cli_join("%s", folder);
    if (!path) return cli_fail_memory();
    while (stat(path, &there) != 0 && step_out(path)) continue;
    if (!S_ISDIR(there.st_mode))
        code = cli_fail("%s: is a file; expected a folder", path);
    else if (access(path, W_OK | X_OK) != 0)
        code = cli_fail("%s: may not be written to; choose another folder with -o", path);
    free(path);
    return code;
}

int output_make_folder(const char *folder) {
    char *path = cli_join("%s/", folder);
    int made = path != NULL;
    for (char *at = path ? path + 1 : NULL; at && *at && made; at++) {
        if (*at != '/') continue;
        *at = '\0';
        made = mkdir(path, 0777) == 0 || errno == EEXIST;
        *at = '/';
    }
    int code = made   ? CLI_OK
               : path ? cli_fail("%s: cannot be made: %s", folder, strerror(errno))
                      : cli_fail_memory();
    free(path);
    return code;
}

int output_replace_file(const char *path, const char *text) {
    char *part = cli_join("%s.%ld.part", path, (long)getpid());
    int fd = -1;
    if (part && (unlink(part) == 0 || errno == ENOENT))
        fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); /* does not follow a link */
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    int written = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0) written = 0;
    if (written && rename(part, path) != 0) written = 0;
    int error = errno;
    if (!written && fd >= 0) unlink(part);
    errno = error;
    int code = written ? CLI_OK
               : part  ? cli_fail("%s: cannot be written: %s", path, strerror(errno))
                       : cli_fail_memory();
    free(part);
    return code;
}

int output_check_below(const char *folder, const char *path) {
    int code = CLI_OK;
    char *part = cli_join("%s", path);
    for (char *end = part ? part + strlen(folder) : NULL; end && *end && code == CLI_OK;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char slash = *end;
        *end = '\0';
        if (is_link(part)) code = cli_fail("%s: is a link; expected a folder in %s", part, folder);
        *end = slash;
    }
    if (!part) code = cli_fail_memory();
    free(part);
    return code;
}

char *output_path_in(const char *folder, const char *name) {
    char *path = cli_join("%s/%s", folder, name);
    if (path && is_link(path)) unlink(path);
    return path;
}

static int check_in_run(const char *folder, const char *input, const char *what) {
    int code = CLI_OK;
    for (int i = 0; i < RUN_FILES && code == CLI_OK; i++) {
        char *file = cli_join("%s/%s", folder, run_files[i]);
        struct stat there;
        if (!file) return cli_fail_memory();
        if (stat(file, &there) == 0 && is_same_file(&there, input))
            code = cli_fail("%s: is the %s of this command, and the run would write its own %s there; choose "
                            "another folder with -o, or another name",
                            file, what, run_files[i]);
        free(file);
    }
    return code;
}

int output_check_run(const call *c, const jf_recipe *r, const char *folder) {
    static const char *const keys[] = {"data.file", "data.y_file", "data.images"};
    const char *recipe = argument(c->arguments, 0);
    int code = recipe ? check_in_run(folder, recipe, "recipe") : CLI_OK;
    for (int i = 0; i < 3 && code == CLI_OK; i++) {
        const char *data = jf_recipe_get(r, keys[i]);
        if (data) code = check_in_run(folder, data, keys[i]);
    }
    return code;
}
