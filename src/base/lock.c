/* The lock of a folder is the system's lock (flock) on a file in it that is held open, so that it cannot
 * outlive its holder. What the file says, a process and a host, is only for the sentence of those who are
 * refused.
 *
 * Invariant: who holds the lock holds it on the file that has the name now. The file is removed with the
 * lock, so one that was opened before may have lost its name by the time it is locked; it is opened again
 * then. */
#include "base/lock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HOST = 256, ATTEMPTS = 100 };

struct folder_lock {
    char *path;
    int fd;        /* -1: the file system has no locks */
    pid_t process; /* that took it: a forked child has the descriptor, too, and not the lock */
};

static jf_status fail_errno(jf_context *ctx, const char *path, const char *what) {
    return jf_fail(ctx, JF_ERROR_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* ---- who holds it ---- */

static void write_holder(int fd) {
    char host[MAX_HOST] = "", line[MAX_HOST + 32];
    if (gethostname(host, sizeof host - 1) != 0 || !*host) snprintf(host, sizeof host, "?");
    int length = format_text(line, sizeof line, "%ld %s\n", (long)getpid(), host);
    struct stat info;
    if (fstat(fd, &info) != 0 || info.st_nlink != 1)
        return; /* the content of another file, too, would change */
    /* without it the lock holds as well; the others are only told less */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, line, (size_t)length, 0) != length) return;
}

static jf_status fail_validation(jf_context *ctx, const char *folder, int fd) {
    char line[MAX_HOST + 32] = "", host[MAX_HOST] = "", who[MAX_HOST + 64] = "another process";
    long process = 0;
    ssize_t length = pread(fd, line, sizeof line - 1, 0);
    line[length > 0 ? length : 0] = '\0';
    if (sscanf(line, "%ld %255s", &process, host) == 2)
        snprintf(who, sizeof who, "process %ld on host %s", process, host);
    return jf_fail(ctx, JF_ERROR_IO,
                   "%s: %s is writing a run into this folder; wait until it has ended, or choose another "
                   "folder",
                   folder, who);
}

/* ---- taking it ---- */

/* What flock() says where it cannot lock at all: network and user-space file systems without it. */
static int has_no_locks(int error) {
    return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

static int try_lock(int fd) {
    int failed;
    do failed = flock(fd, LOCK_EX | LOCK_NB);
    while (failed && errno == EINTR);
    return failed ? errno : 0;
}

static int has_name(int fd, const char *path) {
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && lstat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* One attempt. JF_OK with fd -1 and *again = 0: there are no locks; with *again = 1: the file lost its name.
 * A link in its place is not followed: what it leads to would be written over. */
static jf_status open_locked(jf_context *ctx, folder_lock *l, const char *folder, int *again) {
    *again = 0;
    int fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0) return fail_errno(ctx, l->path, "could not be opened, which locks the folder");
    int error = try_lock(fd);
    jf_status status = JF_OK;
    if (error == EWOULDBLOCK) {
        status = fail_validation(ctx, folder, fd);
    } else if (has_no_locks(error)) {
        (void)unlink(l->path);
        jf_warn(ctx, "%s: this file system has no locks: make sure that nothing else trains into this folder",
                folder);
    } else if (error) {
        errno = error;
        status = fail_errno(ctx, l->path, "could not be locked");
    } else if (has_name(fd, l->path)) {
        write_holder(fd);
        l->fd = fd;
        return JF_OK;
    } else {
        *again = 1;
    }
    close(fd);
    return status;
}

jf_status folder_lock_take(jf_context *ctx, folder_lock **out, const char *folder) {
    folder_lock *l;
    *out = NULL;
    JF_TRY(MEM_NEW(ctx, &l, 1));
    l->fd = -1;
    l->process = getpid();
    jf_status status = file_join(ctx, &l->path, folder, FOLDER_LOCK_NAME);
    int again = 1;
    for (int i = 0; status == JF_OK && again && i < ATTEMPTS; i++)
        status = open_locked(ctx, l, folder, &again);
    if (status == JF_OK && again)
        status =
            jf_fail(ctx, JF_ERROR_IO, "%s: could not be locked: others remove it again and again", l->path);
    if (status == JF_OK) {
        *out = l;
        return JF_OK;
    }
    free(l->path);
    free(l);
    return status;
}

void folder_lock_release(folder_lock *l) {
    if (!l) return;
    if (l->fd >= 0) {
        if (getpid() == l->process && has_name(l->fd, l->path))
            (void)unlink(l->path); /* while it is still ours */
        close(l->fd);
    }
    free(l->path);
    free(l);
}
