#include "base/entries.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

jf_status entry_fail(const entries *e, const char *name, const char *what) {
    int error = errno;
    char *path;
    JF_TRY(file_join(e->ctx, &path, e->path, name));
    jf_status status = jf_fail(e->ctx, JF_ERROR_IO, "%s: %s: %s", path, what, strerror(error));
    free(path);
    return status;
}

/* ---- opening and closing ---- */

jf_status entries_open(jf_context *ctx, entries *out, const char *path) {
    *out = (entries){.ctx = ctx, .fd = -1};
    JF_TRY(mem_copy_text(ctx, &out->path, path));
    out->fd = open(path, FOLDER);
    if (out->fd >= 0) return JF_OK;
    jf_status status = jf_fail(ctx, JF_ERROR_IO, "%s: folder could not be read: %s", path, strerror(errno));
    entries_close(out);
    return status;
}

jf_status entries_open_in(const entries *e, entries *out, const char *name) {
    *out = (entries){.ctx = e->ctx, .fd = -1};
    JF_TRY(file_join(e->ctx, &out->path, e->path, name));
    out->fd = openat(e->fd, name, FOLDER | O_NOFOLLOW);
    if (out->fd >= 0) return JF_OK;
    jf_status status = entry_fail(e, name, "folder could not be read");
    entries_close(out);
    return status;
}

void entries_close(entries *e) {
    if (e->path && e->fd >= 0) close(e->fd);
    free(e->path);
    *e = (entries){.fd = -1};
}

/* ---- one entry ---- */

mode_t entry_type(const entries *e, const char *name) {
    struct stat info;
    return fstatat(e->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? info.st_mode & S_IFMT : 0;
}

jf_status entry_rename(const entries *e, const char *from, const char *to) {
    if (renameat(e->fd, from, e->fd, to) != 0) return entry_fail(e, from, "could not be renamed");
    (void)fsync(e->fd);
    return JF_OK;
}

jf_status entry_remove(const entries *e, const char *name) {
    if (unlinkat(e->fd, name, 0) == 0 || errno == ENOENT || errno == EISDIR) return JF_OK;
    return entry_fail(e, name, "could not be removed");
}

jf_status entry_make_folder(const entries *e, const char *name) {
    if (mkdirat(e->fd, name, 0777) == 0) return JF_OK;
    int error = errno; /* looking at the entry may change it */
    if (entry_type(e, name) == S_IFDIR) return JF_OK;
    errno = error;
    return entry_fail(e, name, "folder could not be made");
}

jf_status entry_remove_folder(const entries *e, const char *name) {
    if (unlinkat(e->fd, name, AT_REMOVEDIR) == 0 || errno == ENOTEMPTY || errno == EEXIST) return JF_OK;
    return entry_fail(e, name, "could not be removed");
}

jf_status entry_duplicate(const entries *from, const entries *to, const char *name) {
    errno = file_duplicate_at(from->fd, name, to->fd, name);
    return errno ? entry_fail(to, name, "could not be made as a duplicate") : JF_OK;
}

jf_status entry_read_link(const entries *e, const char *name, char **out) {
    char target[PATH_MAX];
    *out = NULL;
    ssize_t length = readlinkat(e->fd, name, target, sizeof target - 1);
    if (length < 0) return entry_fail(e, name, "link could not be read");
    target[length] = '\0';
    return mem_copy_text(e->ctx, out, target);
}

jf_status entry_make_link(const entries *e, const char *name, const char *target) {
    return symlinkat(target, e->fd, name) == 0 ? JF_OK : entry_fail(e, name, "link could not be made");
}
