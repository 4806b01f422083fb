#include "data/split.h"
#include "base/memory.h"
#include "base/permutation.h"
#include <stdlib.h>

/* Which rows are held out is the same for every run, so that runs can be compared. */
#define SPLIT_SEED 20220112

enum { WORD = 64, BLOCK_WORDS = 8, BLOCK = WORD * BLOCK_WORDS }; /* rows of a word, and of a block */

static size_t blocks_of(size_t rows) {
    return (rows + BLOCK - 1) / BLOCK;
}

jf_status split_begin(jf_context *ctx, row_split *out, size_t rows) {
    *out = (row_split){.rows = rows};
    size_t blocks = blocks_of(rows);
    *out = (row_split){.rows = rows};
    JF_TRY(MEM_NEW(ctx, &out->bits, blocks * BLOCK_WORDS + 1));
    jf_status status = MEM_NEW(ctx, &out->before, blocks + 1);
    if (status != JF_OK) split_free(out);
    return status;
}

void split_hold(row_split *s, size_t row) {
    s->bits[row / WORD] |= UINT64_C(1) << (row % WORD);
}

int split_holds(const row_split *s, size_t row) {
    return s->bits && (s->bits[row / WORD] >> (row % WORD) & 1);
}

void split_count(row_split *s) {
    size_t blocks = blocks_of(s->rows);
    for (size_t block = 0; block < blocks; block++) {
        size_t count = 0;
        for (size_t word = 0; word < BLOCK_WORDS; word++)
            count += (size_t)__builtin_popcountll(s->bits[block * BLOCK_WORDS + word]);
        s->before[block + 1] = s->before[block] + count;
    }
    s->validation_rows = s->before[blocks];
}

jf_status split_create(jf_context *ctx, row_split *out, size_t rows, size_t validation_rows) {
    JF_TRY(split_begin(ctx, out, rows));
    if (rows == 0 || validation_rows == 0) return JF_OK;
    /* held out are those whose shuffled place is among the first */
    permutation places = permutation_create((rng_key){SPLIT_SEED, RNG_SHUFFLE, 0}, 0, rows);
    for (size_t row = 0; row < rows; row++)
        if (permutation_at(&places, row) < validation_rows) split_hold(out, row);
    split_count(out);
    return JF_OK;
}

void split_free(row_split *s) {
    free(s->bits);
    free(s->before);
    *s = (row_split){0};
}

/* Rows of the wanted part before a block. */
static size_t part_before(const row_split *s, int validation, size_t block) {
    size_t rows = block * BLOCK < s->rows ? block * BLOCK : s->rows;
    return validation ? s->before[block] : rows - s->before[block];
}

size_t split_file_row(const row_split *s, size_t row) {
    size_t trained = s->rows - s->validation_rows, low = 0, high = blocks_of(s->rows);
    if (s->validation_rows == 0) return row;
    int validation = row >= trained;
    size_t place = validation ? row - trained : row; /* among the rows of its part */
    while (high - low > 1) {                         /* the last block that begins at or before it */
        size_t middle = (low + high) / 2;
        if (part_before(s, validation, middle) <= place)
            low = middle;
        else
            high = middle;
    }
    place -= part_before(s, validation, low);
    for (size_t word = low * BLOCK_WORDS;; word++) {
        uint64_t bits = validation ? s->bits[word] : ~s->bits[word];
        size_t count = (size_t)__builtin_popcountll(bits);
        if (place >= count) {
            place -= count;
            continue;
        }
        for (; place > 0; place--) bits &= bits - 1; /* takes the lowest bits away */
        return word * WORD + (size_t)__builtin_ctzll(bits);
    }
}
