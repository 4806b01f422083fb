/* Functions of the C library, replaced in the test program: they do what they always do until a test asks for
 * trouble. Each test is a process of its own, so nothing has to be undone. */
#ifndef JF_TESTS_INTERPOSE_H
#define JF_TESTS_INTERPOSE_H

#include <stdatomic.h>

typedef struct trouble {
    int no_locks;        /* flock() says that the file system has none */
    int no_links;        /* link() and linkat() likewise */
    atomic_long changes; /* calls so far that change a folder: mkdir, rename, link, symlink, unlink, rmdir */
    long killed_at;      /* the process is killed in place of this one of them; 0: never */
    atomic_long allocated; /* calls so far of malloc, calloc, realloc and aligned_alloc */
    long no_memory_at;     /* this one of them fails; 0: none */
    void (*renaming)(const char *from, const char *to); /* is called before each rename(); NULL: nothing is */
    void (*synced)(int fd);                             /* after each fsync(), likewise */
} trouble;
extern trouble trouble_wanted;

/* Skips the test where allocations cannot be made to fail: sanitizers have an allocator of their own. */
void skip_without_failing_allocations(void);

#endif
