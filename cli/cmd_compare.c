/* jointflow compare: whether two samples have the same distribution. */
#include "cli.h"
#include <limits.h>
#include <stdio.h>

static void print_table(const jf_comparison *r) {
    printf("  %-20s %10s %10s %10s\n", "", "A and B", "same", "95% below");
    for (size_t i = 0; i < r->count; i++) {
        const jf_two_sample *m = &r->measures[i];
        printf("  %-20s %10.4f %10.4f %10.4f   %s\n", m->label, m->value, m->same, m->limit, m->about);
    }
    size_t beyond = 0;
    for (size_t i = 0; i < r->count; i++) beyond += r->measures[i].value > r->measures[i].limit;
    printf("  %zu rows of each; ", r->rows);
    if (beyond)
        printf("%zu of %zu measures are above what two samples of the same distribution show.\n", beyond,
               r->count);
    else
        printf("nothing here tells them apart.\n");
}

static void print_json(const jf_comparison *r) {
    printf("{\"rows\": %zu", r->rows);
    for (size_t i = 0; i < r->count; i++) {
        const jf_two_sample *m = &r->measures[i];
        char value[CLI_NUMBER], same[CLI_NUMBER], limit[CLI_NUMBER];
        cli_number(value, m->value, 17);
        cli_number(same, m->same, 17);
        cli_number(limit, m->limit, 17);
        printf(", \"%s\": {\"value\": %s, \"same\": %s, \"limit\": %s}", m->name, value, same, limit);
    }
    printf("}\n");
}

static int compare(const call *c) {
    const arguments *a = c->arguments;
    jf_compare_options options = {.size = sizeof(jf_compare_options),
                                  .rows = option_whole(a, "rows"),
                                  .columns = option_int(a, "columns"),
                                  .seed = option_whole(a, "seed"),
                                  .threads = option_int(a, "threads")};
    jf_table tables[2] = {{0}, {0}};
    jf_comparison result = {.size = sizeof(jf_comparison)};
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK; i++)
        if (jf_table_read(&tables[i], c->ctx, argument(a, i)) != JF_OK) code = cli_fail_library(c);
    if (code == CLI_OK && jf_compare(&result, c->ctx, &tables[0], &tables[1], &options) != JF_OK)
        code = cli_fail_library(c);
    if (code == CLI_OK) (option_given(a, "json") ? print_json : print_table)(&result);
    for (int i = 0; i < 2; i++) jf_table_free(&tables[i]);
    return code;
}

static const option options[] = {
    {"json", 0, OPTION_FLAG, NULL, NULL, 0, 0, "one JSON object instead of a table"},
    {"rows", 'n', OPTION_WHOLE, "N", "10000", 20, 1000000,
     "rows of each table, at most; taken at random where there are more"},
    {"columns", 0, OPTION_WHOLE, "N", "0", 0, INT_MAX, "compare the first N columns; 0: all"},
    OPTION_SEED,
    OPTION_THREADS,
    {0},
};

static const example examples[] = {
    {"Samples of a model beside those of a reference",
     "jointflow sample RUN -y 0.3,0.1 -n 10000 -o model.csv && jointflow compare reference.csv model.csv "
     "--columns 2"},
    {"One number for a script", "jointflow compare a.npy b.npy --json | jq .c2st.value"},
    {0},
};

const command command_compare = {
    .name = "compare",
    .summary = "whether two samples have the same distribution",
    .arguments = "A B",
    .about =
        "Compares the rows of two tables, .csv, .tsv, .txt or .npy files with the same columns. A is the "
        "reference: "
        "columns "
        "are measured in its deviations.\n"
        "Beside each value stands what it is for two samples of one distribution and of as many rows (the "
        "same rows, dealt out at random), and what those stay below in 95 of 100 cases.\n"
        "C2ST is the accuracy of a classifier, as simulation-based inference defines it: a network of two "
        "hidden layers of 10 ReLU units per column, trained by Adam, cross-validated in five folds. 0.5: it "
        "cannot tell the two apart; 1: always. MMD is the maximum mean discrepancy of a Gaussian kernel, as "
        "wide as the median distance between rows. The sliced Wasserstein distance is the mean over 200 "
        "directions of the area between the distribution functions along them.",
    .options = options,
    .examples = examples,
    .run = compare,
};
