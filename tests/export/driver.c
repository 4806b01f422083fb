/* A program around an exported model, "answers.c": rows of numbers from standard input, their answers to
 * standard output.
 *     driver sample SEED   y     -> x
 *     driver encode        x, y  -> z, y'
 *     driver density       x, y  -> log p(x | y)
 * A first line that is no number is passed over. */
#include "answers.c"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16384 };

/* The numbers of a line; -1 at the end. */
static int read_row(answers_real *row) {
    static char line[MOST * 16];
    if (!fgets(line, sizeof line, stdin)) return -1;
    int count = 0;
    for (char *at = line, *end; count < MOST; at = end + 1) {
        double value = strtod(at, &end);
        if (end == at) break;
        row[count++] = (answers_real)value;
        if (*end != ',') break;
    }
    return count;
}

static void print_row(const answers_real *row, int count) {
    for (int i = 0; i < count; i++) printf("%s%.17g", i ? "," : "", (double)row[i]);
    printf("\n");
}

int main(int argc, char **argv) {
    static answers_real row[MOST], out[ANSWERS_DIM_X + ANSWERS_DIM_Y], work[ANSWERS_WORK];
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, number = 0;
    int mode = argc > 1 ? argv[1][0] : 's', failed = 0, count;
    int wanted = mode == 's' ? ANSWERS_DIM_Y : ANSWERS_DIM_X + ANSWERS_DIM_Y;
    while (!failed && (count = read_row(row)) >= 0) {
        if (count != wanted) continue;
        if (mode == 's') failed = answers_sample(seed, number++, row, out, work);
        if (mode == 'e') failed = answers_encode(row, row + ANSWERS_DIM_X, out, out + ANSWERS_DIM_X, work);
        if (mode == 'd') failed = answers_log_density(row, row + ANSWERS_DIM_X, out, NULL, work);
        if (!failed) print_row(out, mode == 's' ? ANSWERS_DIM_X : mode == 'e' ? wanted : 1);
    }
    return failed;
}
