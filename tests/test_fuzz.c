/* The corpora of tests/fuzz, and the files that this version writes itself, through the readers that are
 * fuzzed. No search for new inputs: that is what make fuzz does. */
#include "test.h"

#include "base/file.h"
#include "fuzz/fuzz.h"

#include <dirent.h>

enum { FEWEST_INPUTS = 4, MOST_READERS = 64, MOST_INPUT_BYTES = 1 << 20 };

static const char corpora[] = JF_TESTS_DIR "/fuzz/corpus";

static const char *corpus_of(const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%s", corpora, name);
    return path;
}

/* Runs one file; returns what the reader said of it. */
static jf_status run_file(const fuzz_reader *reader, jf_context *ctx, const char *path) {
    char *bytes = NULL;
    size_t size;
    CHECK_STATUS(file_read(ctx, &bytes, &size, path, MOST_INPUT_BYTES), JF_OK);
    printf("%s\n", path); /* shown where the reader ends the process */
    fflush(stdout);
    jf_status status = fuzz_run(reader, test_folder(), (const uint8_t *)bytes, size);
    free(bytes);
    return status;
}

/* Returns how many inputs a corpus has; runs them where there is a reader. */
static int run_corpus(const fuzz_reader *reader, const char *name, int *taken) {
    char folder[512], path[1024];
    jf_context *ctx = NULL;
    int count = 0;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    DIR *entries = opendir(corpus_of(name, folder, sizeof folder));
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (reader && run_file(reader, ctx, path) == JF_OK) (*taken)++;
        count++;
    }
    if (entries) closedir(entries);
    jf_context_free(ctx);
    return count;
}

/* A corpus that is refused as a whole would show nothing of what lies behind, unless this version writes
 * inputs itself. */
static void check_corpus(const void *row) {
    const fuzz_reader *reader = row;
    int taken = 0, count = run_corpus(reader, reader->name, &taken);
    if (taken == 0 && !reader->examples)
        test_fail(__FILE__, __LINE__, "%s/%s: none of %d inputs is taken, expected some", corpora,
                  reader->name, count);
}

static void check_examples(const void *row) {
    const fuzz_reader *reader = row;
    jf_context *ctx = NULL;
    CHECK_STATUS(jf_context_create(&ctx), JF_OK);
    for (int i = 0; i < reader->examples; i++) {
        const char *path = test_path("example");
        CHECK_STATUS(reader->example(ctx, path, i), JF_OK);
        CHECK_STATUS(run_file(reader, ctx, path), JF_OK);
    }
    jf_context_free(ctx);
}

__attribute__((constructor)) static void register_readers(void) {
    static char names[2 * MOST_READERS][96];
    int used = 0;
    for (int i = 0; fuzz_readers[i] && i < MOST_READERS; i++) {
        const fuzz_reader *reader = fuzz_readers[i];
        snprintf(names[used], sizeof *names, "fuzz__%s_keeps_its_promises_for_every_input_of_its_corpus",
                 reader->name);
        test_register_row(names[used++], __FILE__, check_corpus, reader);
        if (!reader->examples) continue;
        snprintf(names[used], sizeof *names, "fuzz__%s_takes_what_this_version_writes", reader->name);
        test_register_row(names[used++], __FILE__, check_examples, reader);
    }
}

TEST(fuzz__every_reader_has_a_corpus_and_every_corpus_a_reader) {
    for (int i = 0; fuzz_readers[i]; i++) {
        int count = run_corpus(NULL, fuzz_readers[i]->name, NULL);
        if (count < FEWEST_INPUTS)
            test_fail(__FILE__, __LINE__, "%s/%s: %d inputs, expected at least %d", corpora,
                      fuzz_readers[i]->name, count, FEWEST_INPUTS);
    }
    DIR *entries = opendir(corpora);
    CHECK(entries != NULL);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.' && !fuzz_reader_find(entry->d_name))
            test_fail(__FILE__, __LINE__, "%s/%s: no reader of this name in tests/fuzz/readers.c", corpora,
                      entry->d_name);
    closedir(entries);
}
