/* Files. A file that we write exists either as it was before or whole: it is written under another name in
 * the same folder, flushed to disk, and renamed. */
#define _GNU_SOURCE /* dladdr */
#include "base/file.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static jf_status fail_errno(jf_context *ctx, const char *path, const char *what) {
    return jf_fail(ctx, JF_ERROR_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* ---- reading ---- */

/* The shell's names of what it passes on, such as a pipe for <(COMMAND): whoever types one means it. */
static int is_descriptor(const char *path) {
    return strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/proc/self/fd/", 14) == 0;
}

static jf_status check_kind(jf_context *ctx, const char *path, mode_t mode) {
    if (S_ISREG(mode) || (is_descriptor(path) && !S_ISDIR(mode))) return JF_OK;
    const char *kind = S_ISDIR(mode) ? "folder" : S_ISFIFO(mode) ? "pipe" : "device";
    return jf_fail(ctx, JF_ERROR_IO, "%s: is a %s; expected a file", path, kind);
}

/* O_NONBLOCK: opening a pipe that nobody writes to would never end. What is opened then blocks as usual. */
jf_status file_open(jf_context *ctx, int *fd, const char *path) {
    struct stat info;
    jf_status status;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) return fail_errno(ctx, path, "could not be opened");
    if (fstat(*fd, &info) != 0)
        status = fail_errno(ctx, path, "could not be examined");
    else
        status = check_kind(ctx, path, info.st_mode);
    if (status == JF_OK && fcntl(*fd, F_SETFL, 0) != 0) status = fail_errno(ctx, path, "could not be opened");
    if (status == JF_OK) return JF_OK;
    close(*fd);
    *fd = -1;
    return status;
}

static jf_status fail_too_large(jf_context *ctx, const char *path, size_t limit) {
    return jf_fail(ctx, JF_ERROR_FORMAT, "%s: too large; expected at most %zu bytes", path, limit);
}

/* Reads to the end. `expected` is only a first guess: a pipe has no size, and a file may grow under our
 * hands. */
static jf_status read_all(jf_context *ctx, char **out, size_t *size, const char *path, int fd,
                          size_t expected, size_t limit) {
    size_t capacity = expected + 1, length = 0; /* room for the terminator */
    char *bytes = malloc(capacity);
    if (!bytes) return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory for %zu bytes", path, capacity);
    for (;;) {
        if (length + 1 == capacity) {
            char *grown = capacity > SIZE_MAX / 2 ? NULL : realloc(bytes, capacity * 2);
            if (!grown) {
                free(bytes);
                return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory for %zu bytes", path, capacity);
            }
            bytes = grown;
            capacity *= 2;
        }
        ssize_t n = read(fd, bytes + length, capacity - 1 - length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            free(bytes);
            return fail_errno(ctx, path, "could not be read");
        }
        if (n == 0) break;
        length += (size_t)n;
        if (length > limit) {
            free(bytes);
            return fail_too_large(ctx, path, limit);
        }
    }
    bytes[length] = '\0';
    *out = bytes;
    *size = length;
    return JF_OK;
}

jf_status file_read(jf_context *ctx, char **out, size_t *size, const char *path, size_t limit) {
    *out = NULL;
    *size = 0;
    int fd;
    struct stat info;
    jf_status status = JF_OK;
    JF_TRY(file_open(ctx, &fd, path));
    if (fstat(fd, &info) != 0)
        status = fail_errno(ctx, path, "could not be examined");
    else if (S_ISREG(info.st_mode) && (uintmax_t)info.st_size > limit)
        status = fail_too_large(ctx, path, limit);
    /* one byte more than expected, so that the end of the file is seen without growing */
    size_t expected = status == JF_OK && S_ISREG(info.st_mode) ? (size_t)info.st_size + 1 : 4096;
    if (status == JF_OK) status = read_all(ctx, out, size, path, fd, expected, limit);
    close(fd);
    return status;
}

static jf_status map_open_file(jf_context *ctx, void **out, size_t *size, const char *path, int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0) return fail_errno(ctx, path, "could not be examined");
    if (!S_ISREG(info.st_mode))
        return jf_fail(ctx, JF_ERROR_IO,
                       "%s: not a regular file; expected one, which can be mapped into memory", path);
    if (info.st_size == 0) return JF_OK;
    void *base = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (base == MAP_FAILED) return fail_errno(ctx, path, "could not be mapped into memory");
    *out = base;
    *size = (size_t)info.st_size;
    return JF_OK;
}

jf_status file_map(jf_context *ctx, void **out, size_t *size, const char *path) {
    *out = NULL;
    *size = 0;
    int fd;
    JF_TRY(file_open(ctx, &fd, path));
    jf_status status = map_open_file(ctx, out, size, path, fd);
    close(fd); /* the mapping stays */
    return status;
}

void file_unmap(void *base, size_t size) {
    if (base) munmap(base, size);
}

/* ---- writing ---- */

static int write_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Devices and pipes cannot be replaced by renaming: they are written as they are. */
static jf_status write_in_place(jf_context *ctx, const char *path, const void *bytes, size_t size) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return fail_errno(ctx, path, "could not be opened for writing");
    jf_status status = JF_OK;
    if (write_all(fd, bytes, size) != 0) status = fail_errno(ctx, path, "could not be written");
    close(fd);
    return status;
}

/* A name of our own beside `path`: the process id and a count keep writers apart, O_EXCL proves it. The usual
 * permissions apply (umask), which mkstemp() would not give. */
static int open_temporary(text *name, const char *path) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        text_free(name);
        text_add(name, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        if (name->failed) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(name->chars, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

void file_sync_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

void file_sync(const char *path) {
    /* a pipe that nobody reads is not waited for */
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* A rename is safe from a power cut once the folder is on the disk. */
static void sync_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) + 1 : 0;
    text folder = {0};
    text_add_chars(&folder, length ? path : "./", length ? length : 2);
    if (!folder.failed) file_sync_folder(folder.chars);
    text_free(&folder);
}

static jf_status replace_file(jf_context *ctx, const char *path, const struct stat *before, const void *bytes,
                              size_t size) {
    text name = {0};
    int fd = open_temporary(&name, path);
    if (fd < 0) {
        jf_status status = fail_errno(ctx, path, "could not be created");
        text_free(&name);
        return status;
    }
    if (before) (void)fchmod(fd, before->st_mode & 07777); /* a replaced file keeps its permissions */
    int failed = write_all(fd, bytes, size) != 0 || fsync(fd) != 0;
    int error = errno;
    if (close(fd) != 0 && !failed) {
        failed = 1;
        error = errno;
    }
    if (!failed && rename(name.chars, path) != 0) {
        failed = 1;
        error = errno;
    }
    jf_status status = JF_OK;
    if (failed) {
        unlink(name.chars);
        errno = error;
        status = fail_errno(ctx, path, "could not be written");
    } else {
        sync_folder_of(path);
    }
    text_free(&name);
    return status;
}

jf_status file_write(jf_context *ctx, const char *path, const void *bytes, size_t size) {
    struct stat info;
    if (!context_writes(ctx)) return JF_OK;
    if (stat(path, &info) != 0) return replace_file(ctx, path, NULL, bytes, size);
    if (S_ISDIR(info.st_mode)) return jf_fail(ctx, JF_ERROR_IO, "%s: is a folder; expected a file", path);
    if (!S_ISREG(info.st_mode)) return write_in_place(ctx, path, bytes, size);
    char *real = realpath(path, NULL); /* the file behind a link is replaced, not the link */
    jf_status status = replace_file(ctx, real ? real : path, &info, bytes, size);
    free(real);
    return status;
}

jf_status file_replace(jf_context *ctx, const char *path, const void *bytes, size_t size) {
    struct stat info;
    if (!context_writes(ctx)) return JF_OK;
    if (lstat(path, &info) != 0 || S_ISLNK(info.st_mode)) return replace_file(ctx, path, NULL, bytes, size);
    if (S_ISREG(info.st_mode)) return replace_file(ctx, path, &info, bytes, size);
    return jf_fail(ctx, JF_ERROR_IO, "%s: is a %s; expected a file", path,
                   S_ISDIR(info.st_mode) ? "folder" : "device or a pipe");
}

jf_status file_append(jf_context *ctx, const char *path, const void *bytes, size_t size) {
    if (!context_writes(ctx)) return JF_OK;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0) return fail_errno(ctx, path, "cannot be appended to");
    jf_status status = JF_OK;
    if (write_all(fd, bytes, size) != 0) status = fail_errno(ctx, path, "cannot be appended to");
    if (close(fd) != 0 && status == JF_OK) status = fail_errno(ctx, path, "cannot be written");
    return status;
}

/* ---- removing, renaming and duplicating ---- */

jf_status file_remove(jf_context *ctx, const char *path) {
    if (!context_writes(ctx) || unlink(path) == 0 || errno == ENOENT) return JF_OK;
    return fail_errno(ctx, path, "could not be removed");
}

jf_status file_rename(jf_context *ctx, const char *from, const char *to) {
    if (!context_writes(ctx)) return JF_OK;
    if (rename(from, to) != 0)
        return jf_fail(ctx, JF_ERROR_IO, "%s: could not be renamed to %s: %s", from, to, strerror(errno));
    sync_folder_of(to);
    return JF_OK;
}

/* errno tells what went wrong. */
static int copy_bytes(int from, int to) {
    enum { PIECE = 1 << 16 };
    char bytes[PIECE];
    for (;;) {
        ssize_t n = read(from, bytes, PIECE);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) return fsync(to);
        if (n < 0 || write_all(to, bytes, (size_t)n) != 0) return -1;
    }
}

static int copy_to(int from_folder, const char *from, int to_folder, const char *to) {
    int in = openat(from_folder, from, O_RDONLY | O_NONBLOCK | O_CLOEXEC), out = -1, failed = 1;
    if (in >= 0) out = openat(to_folder, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out >= 0) failed = copy_bytes(in, out) != 0;
    int error = errno;
    if (out >= 0 && close(out) != 0 && !failed) {
        failed = 1;
        error = errno;
    }
    if (in >= 0) close(in);
    if (failed && out >= 0) (void)unlinkat(to_folder, to, 0);
    errno = error;
    return failed ? -1 : 0;
}

int file_duplicate_at(int from_folder, const char *from, int to_folder, const char *to) {
    text name = {0};
    text_add(&name, "%s.%ld-0.tmp", to, (long)getpid());
    if (name.failed) {
        text_free(&name);
        return ENOMEM;
    }
    (void)unlinkat(to_folder, name.chars, 0);
    /* file systems without second names for a file say so in different ways */
    int failed = linkat(from_folder, from, to_folder, name.chars, 0) != 0 &&
                 copy_to(from_folder, from, to_folder, name.chars) != 0;
    if (!failed && renameat(to_folder, name.chars, to_folder, to) != 0) failed = 1;
    int error = failed ? errno : 0;
    /* where both are names of one file already, renameat() leaves the third */
    (void)unlinkat(to_folder, name.chars, 0);
    text_free(&name);
    return error;
}

jf_status file_duplicate(jf_context *ctx, const char *from, const char *to) {
    if (!context_writes(ctx)) return JF_OK;
    int error = file_duplicate_at(AT_FDCWD, from, AT_FDCWD, to);
    if (error == ENOMEM) return jf_fail(ctx, JF_ERROR_MEMORY, "%s: not enough memory to duplicate it", from);
    if (error)
        return jf_fail(ctx, JF_ERROR_IO, "%s: could not be duplicated as %s: %s", from, to, strerror(error));
    sync_folder_of(to);
    return JF_OK;
}

/* ---- names and folders ---- */

jf_status file_join(jf_context *ctx, char **out, const char *folder, const char *name) {
    *out = NULL;
    size_t length = strlen(folder);
    const char *slash = length == 0 || folder[length - 1] == '/' ? "" : "/";
    text joined = {0};
    text_add(&joined, "%s%s%s", folder, slash, name);
    jf_status status = text_check(ctx, &joined);
    if (status == JF_OK)
        *out = joined.chars;
    else
        text_free(&joined);
    return status;
}

int file_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

int file_is_link(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

int file_is_same(const char *path, const char *other) {
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int file_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int file_is_regular(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

const char *file_extension(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : ""; /* ".hidden" has none */
}

/* One folder of a chain; one that is there already is fine. */
static jf_status make_one_folder(jf_context *ctx, const char *path) {
    if (mkdir(path, 0777) == 0) return JF_OK;
    int error = errno; /* looking at the path may change it */
    if (file_is_folder(path)) return JF_OK;
    if (error == EEXIST) return jf_fail(ctx, JF_ERROR_IO, "%s: is a file; expected a folder", path);
    errno = error;
    return fail_errno(ctx, path, "folder could not be made");
}

jf_status file_make_folder(jf_context *ctx, const char *path) {
    if (!*path) return jf_fail(ctx, JF_ERROR_ARGUMENT, "the name of a folder to make is empty");
    if (!context_writes(ctx)) return JF_OK;
    char *part = NULL;
    JF_TRY(mem_copy_text(ctx, &part, path));
    jf_status status = JF_OK;
    for (char *slash = strchr(part + 1, '/'); slash && status == JF_OK; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one_folder(ctx, part);
        *slash = '/';
    }
    if (status == JF_OK) status = make_one_folder(ctx, part);
    if (status == JF_OK && access(part, W_OK | X_OK) != 0)
        status = fail_errno(ctx, part, "folder cannot be written to");
    free(part);
    return status;
}

jf_status file_check_below(jf_context *ctx, const char *folder, const char *path) {
    char *part;
    jf_status status = JF_OK;
    JF_TRY(mem_copy_text(ctx, &part, path));
    for (char *end = part + strlen(folder); status == JF_OK && *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char slash = *end;
        *end = '\0';
        if (file_is_link(part))
            status = jf_fail(ctx, JF_ERROR_IO, "%s: is a link; expected a folder in %s", part, folder);
        *end = slash;
    }
    free(part);
    return status;
}

/* ---- data files ---- */

/* Adds one place to look: sets *out and ends the search if the file is there. */
static jf_status look_in(jf_context *ctx, char **out, text *places, const char *folder, const char *name) {
    char *path = NULL;
    JF_TRY(file_join(ctx, &path, folder, name));
    if (file_exists(path)) {
        *out = path;
        return JF_OK;
    }
    text_add(places, "%s%s", places->length ? ", " : "", path);
    free(path);
    return JF_OK;
}

jf_status file_user_data(jf_context *ctx, char **out) {
    const char *shared = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    *out = NULL;
    if (shared && *shared) return file_join(ctx, out, shared, "jointflow");
    return home && *home ? file_join(ctx, out, home, ".local/share/jointflow") : JF_OK;
}

jf_status file_find_data(jf_context *ctx, char **out, const char *name) {
    *out = NULL;
    if (!*name) return jf_fail(ctx, JF_ERROR_ARGUMENT, "the name of a data file is empty");
    const char *own = getenv("JOINTFLOW_DATA");
    text places = {0};
    char *folder;
    JF_TRY(file_user_data(ctx, &folder));

    jf_status status = look_in(ctx, out, &places, "", name);
    if (name[0] != '/') {
        if (status == JF_OK && !*out && own && *own) status = look_in(ctx, out, &places, own, name);
        if (status == JF_OK && !*out && folder) status = look_in(ctx, out, &places, folder, name);
    }
    if (status == JF_OK && !*out)
        status = jf_fail(ctx, JF_ERROR_IO, "%s: not found; looked for %s", name,
                         places.failed ? name : places.chars);
    text_free(&places);
    free(folder);
    return status;
}

/* Of a program the system knows the name by which it was called, which a shell may have looked up. */
jf_status file_of_code(jf_context *ctx, char **out) {
    char path[PATH_MAX];
    Dl_info found;
    const char *name =
        dladdr((void *)(uintptr_t)file_of_code, &found) && found.dli_fname && strchr(found.dli_fname, '/')
            ? found.dli_fname
            : "/proc/self/exe";
    *out = NULL;
    return realpath(name, path) ? mem_copy_text(ctx, out, path) : JF_OK;
}
