/* Fuzzing: every reader of bytes from elsewhere is given any bytes at all.
 *
 * A reader is one file in this folder, one line in readers.c and a folder of inputs, corpus/NAME. It has to
 * refuse what is wrong with a sentence, and whatever it takes has to be usable; the sanitizers see the rest.
 * The same inputs are run twice: by libFuzzer, which goes on from them (libfuzzer.c, make fuzz), and as they
 * are by the unit tests (tests/test_fuzz.c). */
#ifndef JF_TESTS_FUZZ_H
#define JF_TESTS_FUZZ_H

#include "base/context.h"

#include <stdint.h>

/* Bytes to read, and where they lie as a file. */
typedef struct fuzz_input {
    const uint8_t *bytes;
    size_t size;
    const char *path;
    const char *folder; /* to write to, if need be */
    int fd;             /* of the file */
} fuzz_input;

typedef struct fuzz_reader {
    const char *name;  /* also that of its corpus */
    const char *file;  /* what an input is called while it is read */
    size_t most_bytes; /* of an input */
    /* Reads the input as a user's file would be, and looks at all that it gave. */
    jf_status (*read)(jf_context *ctx, const fuzz_input *in);
    /* Optional: inputs that this version of the program writes itself and has to take, `examples` of them. */
    jf_status (*example)(jf_context *ctx, const char *path, int index);
    int examples;
} fuzz_reader;

extern const fuzz_reader *const fuzz_readers[];        /* ends with NULL */
const fuzz_reader *fuzz_reader_find(const char *name); /* NULL: none */

/* Runs one input in `folder`, which is the caller's and always the same one. A promise that was broken ends
 * the process; otherwise the status of the reader. */
jf_status fuzz_run(const fuzz_reader *reader, const char *folder, const uint8_t *bytes, size_t size);

/* ---- for readers ---- */

/* Ends the process, as a crash would: libFuzzer then keeps the input. */
#define FUZZ_EXPECT(condition)                                                                               \
    do {                                                                                                     \
        if (!(condition)) fuzz_broken(__FILE__, __LINE__, #condition);                                       \
    } while (0)
_Noreturn void fuzz_broken(const char *file, int line, const char *condition);

/* Other bytes in the place of the input, for a reader that reads twice. */
void fuzz_put(const fuzz_input *in, const uint8_t *bytes, size_t size);
void fuzz_expect_finite(const double *values, size_t count);
/* Reads every byte, so that a sanitizer sees those that are not there. */
void fuzz_touch(const void *bytes, size_t size);
/* A picture that a reader took, of at most so many pixels a side: looked at and freed. */
struct pixels;
void fuzz_take_picture(struct pixels *p, int most_side);
/* The input as a text that ends with 0; yours to free. */
char *fuzz_text(const fuzz_input *in);
/* An untrained model of a recipe, in a context of its own, which goes with it. */
struct jf_model *fuzz_model_of(const char *recipe_text);
void fuzz_model_free(struct jf_model *m);
/* The same input with the checksum that `message`, the refusal of its own, says it should have; NULL where it
 * says no such thing. Otherwise nothing behind a checksum would ever be read. Yours to free. */
uint8_t *fuzz_mended(const fuzz_input *in, const char *message);

#endif
