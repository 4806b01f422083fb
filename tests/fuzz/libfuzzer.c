/* The program that libFuzzer drives: all readers in one, so that it is linked and carried once.
 *
 *     jointflow-fuzz READER [OPTION OF libFuzzer ...] [FOLDER OF INPUTS ...]
 *     jointflow-fuzz --list                    the readers and the most bytes that an input of each has
 *     jointflow-fuzz --examples READER FOLDER  writes the inputs that this version makes itself */
#define _GNU_SOURCE /* nftw */
#include "base/memory.h"
#include "fuzz.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer starts processes of its own for some jobs: they find the reader here. */
#define CHOSEN "JOINTFLOW_FUZZ_READER"

static const fuzz_reader *chosen;
static char folder[512];

static _Noreturn void refuse(const char *what, const char *name) {
    fprintf(stderr, "jointflow-fuzz: %s: %s\n", name, what);
    exit(2);
}

static int remove_entry(const char *name, const struct stat *status, int kind, struct FTW *where) {
    (void)status, (void)kind, (void)where;
    return remove(name);
}

static void remove_folder(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_folder(void) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/jointflow-fuzz-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder)) refuse(strerror(errno), folder);
    atexit(remove_folder);
}

static _Noreturn void list_readers(void) {
    for (int i = 0; fuzz_readers[i]; i++)
        printf("%s %zu\n", fuzz_readers[i]->name, fuzz_readers[i]->most_bytes);
    exit(0);
}

static _Noreturn void write_examples(const fuzz_reader *reader, const char *to) {
    jf_context *ctx = NULL;
    if (jf_context_create(&ctx) != JF_OK) refuse("not enough memory", reader->name);
    for (int i = 0; i < reader->examples; i++) {
        text path = {0};
        text_add(&path, "%s/example-%d", to, i);
        if (text_check(ctx, &path) != JF_OK || reader->example(ctx, path.chars, i) != JF_OK)
            refuse(jf_context_error(ctx), reader->name);
        text_free(&path);
    }
    jf_context_free(ctx);
    exit(0);
}

static const fuzz_reader *find(const char *name) {
    const fuzz_reader *reader = fuzz_reader_find(name);
    if (!reader) refuse("no reader of this name; --list names them", name);
    return reader;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    char **words = *argv;
    if (getenv(CHOSEN)) {
        chosen = find(getenv(CHOSEN));
    } else {
        if (*argc < 2) refuse("expected a reader; --list names them", "nothing follows");
        if (strcmp(words[1], "--list") == 0) list_readers();
        if (strcmp(words[1], "--examples") == 0 && *argc == 4) write_examples(find(words[2]), words[3]);
        chosen = find(words[1]);
        setenv(CHOSEN, chosen->name, 1);
        memmove(words + 1, words + 2, (size_t)(*argc - 1) * sizeof *words); /* with the NULL behind them */
        (*argc)--;
    }
    make_folder();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    fuzz_run(chosen, folder, bytes, size);
    return 0;
}
