/* Faults for a whole process: preloaded into a program, this makes one of its allocations or file operations
 * fail, or ends it at one of them.
 *
 *     LD_PRELOAD=libjointflow-faults.so FAULTS="allocation=17 report=/tmp/counts" jointflow ...
 *
 *     allocation=N   the Nth allocation gives NULL, once; whoever asks: the program, cairo, curl, the C
 *                    library; all but those that do not survive it themselves (`spared`)
 *     call=N         the Nth call that changes a file fails, once, as on a full disk
 *     kill=N         the process is killed where it would make its Nth call that changes a file
 *     stacks=FILE    writes a line per allocation there: a number for the way that led to it
 *     report=FILE    at its end it writes there how many allocations and calls there were, how many blocks
 *                    that the program itself asked for were never freed, and how many that libraries asked
 *                    for; FILE.who names the object that asked for what failed
 *
 * All is counted from the start of main on. What stdio keeps in its buffers is written when a file is
 * flushed or closed, so those calls count in place of the system calls behind them. */
#undef _FORTIFY_SOURCE /* functions of the C library are defined here, which it makes inline */
#define _GNU_SOURCE    /* RTLD_NEXT, dl_iterate_phdr */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Those of the C library, under the names that nobody replaces. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

/* Fontconfig 2.14 dereferences what it could not allocate while it reads its configuration, which is XML. Of
 * a glyph that FreeType 2.12 had no memory for, cairo 1.16 says nothing: it is not drawn, or the process
 * crashes. */
static const char *const spared[] = {"/libfontconfig.", "/libexpat.", "/libfreetype."};
enum { SPARED = sizeof spared / sizeof *spared };

typedef struct range {
    uintptr_t begin, end;
} range;

enum { SLOTS = 1 << 20 }; /* of the table of living blocks; a full one would count too few leaks */

typedef struct slot {
    uintptr_t block; /* 0: never used, 1: freed */
    int own;         /* the program itself asked for it */
} slot;

static struct {
    pthread_mutex_t lock;
    int counting, over;                         /* main has begun, has returned */
    long fail_allocation, fail_call, kill_call; /* 0: none */
    long allocations, calls;
    char report[512];
    int stacks;                               /* descriptor; -1: not asked for */
    range program, c_library, spared[SPARED]; /* where their code lies */
    slot living[SLOTS];
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER, .stacks = -1};

/* ---- living blocks ---- */

static slot *find_slot(uintptr_t block, int to_add) {
    size_t i = (block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 44;
    for (size_t step = 0; step < SLOTS; step++, i = (i + 1) % SLOTS) {
        slot *s = &faults.living[i];
        if (s->block == block || (to_add && s->block <= 1)) return s;
        if (s->block == 0) return NULL;
    }
    return NULL;
}

static int is_in(const range *r, const void *address) {
    return (uintptr_t)address >= r->begin && (uintptr_t)address < r->end;
}

static void remember(void *block, const void *caller) {
    slot *s = block ? find_slot((uintptr_t)block, 1) : NULL;
    if (s) *s = (slot){(uintptr_t)block, is_in(&faults.program, caller)};
}

static void forget(void *block) {
    slot *s = block ? find_slot((uintptr_t)block, 0) : NULL;
    if (s) s->block = 1;
}

/* ---- allocations ---- */

enum { MOST_FRAMES = 40 };

static _Thread_local int inside; /* our own work, which neither counts nor waits for the lock */

static void write_stack(void) {
    void *frames[MOST_FRAMES];
    uint32_t sum = 2166136261u;
    inside = 1;
    int count = backtrace(frames, MOST_FRAMES);
    for (int i = 0; i < count; i++) sum = (sum ^ (uint32_t)(uintptr_t)frames[i]) * 16777619u;
    dprintf(faults.stacks, "%u\n", sum);
    inside = 0;
}

static void write_who(const void *caller) {
    Dl_info object;
    char path[sizeof faults.report + 8];
    if (!*faults.report || !dladdr(caller, &object)) return;
    inside = 1;
    snprintf(path, sizeof path, "%s.who", faults.report);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0) {
        dprintf(fd, "%s\n", object.dli_fname);
        close(fd);
    }
    inside = 0;
}

/* Also where they ask through the C library, as for a copy of a string. */
static int is_spared(const void *caller) {
    enum { FEW = 8 };
    void *frames[FEW];
    int count = 1;
    frames[0] = (void *)(uintptr_t)caller;
    if (is_in(&faults.c_library, caller)) {
        inside = 1;
        count = backtrace(frames, FEW);
        inside = 0;
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < SPARED; k++)
            if (is_in(&faults.spared[k], frames[i])) return 1;
    return 0;
}

/* Whether this one is to fail; takes the lock, which the caller gives back. */
static int begin_allocation(const void *caller) {
    if (inside) return 0;
    pthread_mutex_lock(&faults.lock);
    if (!faults.counting || faults.over) return 0;
    if (is_spared(caller)) return 0;
    if (faults.stacks >= 0) write_stack();
    if (++faults.allocations != faults.fail_allocation) return 0;
    write_who(caller);
    return 1;
}

static void *end_allocation(void *block, const void *caller) {
    if (inside) return block;
    if (faults.counting) remember(block, caller);
    pthread_mutex_unlock(&faults.lock);
    if (!block) errno = ENOMEM;
    return block;
}

#define CALLER __builtin_return_address(0)

EXPORT void *malloc(size_t size) {
    return end_allocation(begin_allocation(CALLER) ? NULL : __libc_malloc(size), CALLER);
}

EXPORT void *calloc(size_t count, size_t size) {
    return end_allocation(begin_allocation(CALLER) ? NULL : __libc_calloc(count, size), CALLER);
}

EXPORT void *realloc(void *block, size_t size) {
    if (begin_allocation(CALLER)) return end_allocation(NULL, CALLER);
    forget(block);
    void *moved = __libc_realloc(block, size);
    if (!moved && size > 0) remember(block, CALLER);
    return end_allocation(moved, CALLER);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return end_allocation(begin_allocation(CALLER) ? NULL : __libc_memalign(alignment, size), CALLER);
}

EXPORT void *memalign(size_t alignment, size_t size) {
    return end_allocation(begin_allocation(CALLER) ? NULL : __libc_memalign(alignment, size), CALLER);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    void *block = end_allocation(begin_allocation(CALLER) ? NULL : __libc_memalign(alignment, size), CALLER);
    if (block) *out = block;
    return block ? 0 : ENOMEM;
}

EXPORT void free(void *block) {
    if (inside) {
        __libc_free(block);
        return;
    }
    int error = errno;
    pthread_mutex_lock(&faults.lock);
    forget(block);
    __libc_free(block);
    pthread_mutex_unlock(&faults.lock);
    errno = error;
}

/* ---- calls that change files ---- */

/* Whether this one is to fail. Standard streams do not count: they are no files of ours. */
static int next_call(int fd) {
    if (inside || !faults.counting || (fd >= 0 && fd <= 2)) return 0;
    pthread_mutex_lock(&faults.lock);
    long call = ++faults.calls;
    pthread_mutex_unlock(&faults.lock);
    if (call == faults.kill_call) raise(SIGKILL);
    if (call != faults.fail_call) return 0;
    errno = ENOSPC;
    return 1;
}

/* REAL(int, fsync, (int)) declares `real`, the function that this one stands before. */
#define REAL(type, name, parameters)                                                                         \
    static type(*real) parameters;                                                                           \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name)

static int open_in(int folder, const char *path, int flags, mode_t mode) {
    REAL(int, openat, (int, const char *, int, ...));
    if (flags & (O_CREAT | O_TRUNC) && next_call(-1)) return -1;
    return real(folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_in(AT_FDCWD, path, flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return open_in(folder, path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode) {
    REAL(FILE *, fopen, (const char *, const char *));
    if (*mode != 'r' && next_call(-1)) return NULL;
    return real(path, mode);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t size) {
    REAL(ssize_t, write, (int, const void *, size_t));
    return next_call(fd) ? -1 : real(fd, bytes, size);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    REAL(ssize_t, pwrite, (int, const void *, size_t, off_t));
    return next_call(fd) ? -1 : real(fd, bytes, size, offset);
}

EXPORT int fsync(int fd) {
    REAL(int, fsync, (int));
    return next_call(fd) ? -1 : real(fd);
}

EXPORT int ftruncate(int fd, off_t size) {
    REAL(int, ftruncate, (int, off_t));
    return next_call(fd) ? -1 : real(fd, size);
}

EXPORT int rename(const char *from, const char *to) {
    REAL(int, rename, (const char *, const char *));
    return next_call(-1) ? -1 : real(from, to);
}

EXPORT int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    REAL(int, renameat, (int, const char *, int, const char *));
    return next_call(-1) ? -1 : real(from_folder, from, to_folder, to);
}

EXPORT int unlink(const char *path) {
    REAL(int, unlink, (const char *));
    return next_call(-1) ? -1 : real(path);
}

EXPORT int unlinkat(int folder, const char *path, int flags) {
    REAL(int, unlinkat, (int, const char *, int));
    return next_call(-1) ? -1 : real(folder, path, flags);
}

EXPORT int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, (const char *, mode_t));
    return next_call(-1) ? -1 : real(path, mode);
}

EXPORT int mkdirat(int folder, const char *path, mode_t mode) {
    REAL(int, mkdirat, (int, const char *, mode_t));
    return next_call(-1) ? -1 : real(folder, path, mode);
}

EXPORT int link(const char *from, const char *to) {
    REAL(int, link, (const char *, const char *));
    return next_call(-1) ? -1 : real(from, to);
}

EXPORT int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    REAL(int, linkat, (int, const char *, int, const char *, int));
    return next_call(-1) ? -1 : real(from_folder, from, to_folder, to, flags);
}

EXPORT int fputs(const char *chars, FILE *file) {
    REAL(int, fputs, (const char *, FILE *));
    return next_call(fileno(file)) ? EOF : real(chars, file);
}

EXPORT size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
    REAL(size_t, fwrite, (const void *, size_t, size_t, FILE *));
    return next_call(fileno(file)) ? 0 : real(bytes, size, count, file);
}

/* One that fails has closed the file all the same. */
EXPORT int fclose(FILE *file) {
    REAL(int, fclose, (FILE *));
    int writes = fcntl(fileno(file), F_GETFL) & (O_WRONLY | O_RDWR);
    int fails = writes && next_call(fileno(file)), result = real(file);
    if (fails) errno = ENOSPC;
    return fails ? EOF : result;
}

/* ---- beginning and end ---- */

static range code_of(const struct dl_phdr_info *object) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) return (range){begin, begin + part->p_memsz};
    }
    return (range){0, 0};
}

/* The first object is the program. */
static int look_at_object(struct dl_phdr_info *object, size_t size, void *user) {
    (void)size, (void)user;
    if (!faults.program.end) faults.program = code_of(object);
    if (strstr(object->dlpi_name, "/libc.so")) faults.c_library = code_of(object);
    for (int i = 0; i < SPARED; i++)
        if (strstr(object->dlpi_name, spared[i])) faults.spared[i] = code_of(object);
    return 0;
}

static long number_of(const char *options, const char *name) {
    const char *at = strstr(options, name);
    return at ? strtol(at + strlen(name), NULL, 10) : 0;
}

static void text_of(const char *options, const char *name, char *out, size_t size) {
    const char *at = strstr(options, name);
    if (at) at += strlen(name);
    snprintf(out, size, "%.*s", at ? (int)strcspn(at, " ") : 0, at ? at : "");
}

__attribute__((constructor)) static void begin(void) {
    const char *options = getenv("FAULTS");
    char stacks[512];
    void *first;
    if (!options) return;
    faults.fail_allocation = number_of(options, "allocation=");
    faults.fail_call = number_of(options, "call=");
    faults.kill_call = number_of(options, "kill=");
    text_of(options, "report=", faults.report, sizeof faults.report);
    text_of(options, "stacks=", stacks, sizeof stacks);
    if (*stacks) faults.stacks = open(stacks, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    backtrace(&first, 1); /* it loads what it needs when it is first called */
    dl_iterate_phdr(look_at_object, NULL);
    unsetenv("LD_PRELOAD"); /* of this process alone */
}

/* Counting lasts as long as main: what libraries that are part of the program do before and after it is their
 * own matter (CUDA's runtime allocates in its constructors, and does not survive it if that fails). */
typedef int (*main_fn)(int, char **, char **);
static main_fn program_main;

static int counted_main(int count, char **words, char **environment) {
    faults.counting = getenv("FAULTS") != NULL;
    int status = program_main(count, words, environment);
    faults.over = 1;
    return status;
}

EXPORT int __libc_start_main(main_fn start, int count, char **words, void (*init)(void), void (*fini)(void),
                             void (*rtld_fini)(void), void *stack) {
    int (*start_main)(main_fn, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    *(void **)&start_main = dlsym(RTLD_NEXT, "__libc_start_main");
    program_main = start;
    return start_main(counted_main, count, words, init, fini, rtld_fini, stack);
}

__attribute__((destructor)) static void end(void) {
    faults.counting = 0;
    if (!*faults.report) return;
    long own = 0, others = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (faults.living[i].block > 1) faults.living[i].own ? own++ : others++;
    int fd = open(faults.report, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return;
    dprintf(fd, "%ld %ld %ld %ld\n", faults.allocations, faults.calls, own, others);
    close(fd);
}
