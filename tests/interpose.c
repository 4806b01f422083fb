#include "interpose.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

trouble trouble_wanted;

/* ---- files ---- */

static void count_change(void) {
    if (atomic_fetch_add(&trouble_wanted.changes, 1) + 1 == trouble_wanted.killed_at) kill(getpid(), SIGKILL);
}

int mkdirat(int folder, const char *path, mode_t mode) {
    count_change();
    return (int)syscall(SYS_mkdirat, folder, path, mode);
}
int mkdir(const char *path, mode_t mode) {
    return mkdirat(AT_FDCWD, path, mode);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    count_change();
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}
int rename(const char *from, const char *to) {
    if (trouble_wanted.renaming) trouble_wanted.renaming(from, to);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
int unlinkat(int folder, const char *path, int flags) {
    count_change();
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}
int unlink(const char *path) {
    return unlinkat(AT_FDCWD, path, 0);
}
int rmdir(const char *path) {
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}
int symlinkat(const char *target, int folder, const char *path) {
    count_change();
    return (int)syscall(SYS_symlinkat, target, folder, path);
}
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    count_change();
    if (trouble_wanted.no_links) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}
int link(const char *from, const char *to) {
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int fsync(int fd) {
    int result = (int)syscall(SYS_fsync, fd);
    if (trouble_wanted.synced) trouble_wanted.synced(fd);
    return result;
}
int flock(int fd, int operation) {
    if (trouble_wanted.no_locks) {
        errno = ENOLCK;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}

/* ---- memory ---- */

#if defined __GLIBC__ && !defined SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static int allocation_fails(void) {
    int fails = atomic_fetch_add(&trouble_wanted.allocated, 1) + 1 == trouble_wanted.no_memory_at;
    if (fails) errno = ENOMEM;
    return fails;
}

void *malloc(size_t size) {
    return allocation_fails() ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    return allocation_fails() ? NULL : __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
    return allocation_fails() ? NULL : __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return allocation_fails() ? NULL : __libc_memalign(alignment, size);
}
void skip_without_failing_allocations(void) {}
#else
void skip_without_failing_allocations(void) {
    SKIP("allocations cannot be made to fail here");
}
#endif
