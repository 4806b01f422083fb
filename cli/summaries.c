#include "summaries.h"
#include "outputs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct shares {
    double values[MOST];
    size_t count; /* 0: not given */
} shares;

/* "0.5,0.9"; the library knows which are allowed */
static int read_shares(const call *c, const char *name, shares *out) {
    const char *text = option_text(c->arguments, name), *at = text;
    for (*out = (shares){.count = 0}; at && out->count < MOST; at++) {
        char *end;
        double value = strtod(at, &end);
        if (end == at || (*end && *end != ',')) break;
        out->values[out->count++] = value;
        if (!*end) return CLI_OK;
        at = end;
    }
    if (!text) return CLI_OK;
    return cli_misuse(c->command, "--%s: found \"%s\", expected 1 to %d numbers separated by commas", name,
                      text, MOST);
}

int summary_check(const call *c) {
    static const char *const others[] = {"temperature", "denoise", "standardised"};
    const arguments *a = c->arguments;
    const char *path = option_text(a, "summary");
    shares s;
    if (!path) {
        const char *lone = option_given(a, "masses")      ? "masses"
                           : option_given(a, "quantiles") ? "quantiles"
                                                          : NULL;
        return lone ? cli_misuse(c->command, "--%s is for --summary, which was not given", lone) : CLI_OK;
    }
    for (int i = 0; i < 3; i++)
        if (option_given(a, others[i]))
            return cli_misuse(c->command,
                              "--summary is of samples of p(x | y) in the data's units, which --%s changes",
                              others[i]);
    if (strcmp(path, "-") != 0 && !cli_ends_with(path, ".csv") && !cli_ends_with(path, ".json"))
        return cli_misuse(c->command,
                          "--summary: found \"%s\", expected a name that ends in .csv or .json, or -", path);
    const char *output = option_text(a, "output");
    if (output && strcmp(output, path) == 0)
        return cli_misuse(c->command, "--summary and -o: both are \"%s\"", path);
    int code = output_check_file(c, path);
    if (code == CLI_OK) code = read_shares(c, "masses", &s);
    if (code == CLI_OK) code = read_shares(c, "quantiles", &s);
    return code;
}

int summary_give(const call *c, const jf_model *m, size_t conditions, size_t each, const double *x,
                 const double *y) {
    const char *path = option_text(c->arguments, "summary");
    shares masses, quantiles;
    jf_summary *s = NULL;
    int code = read_shares(c, "masses", &masses);
    if (code == CLI_OK) code = read_shares(c, "quantiles", &quantiles);
    if (code != CLI_OK) return code;
    jf_summary_options options = {.size = sizeof(jf_summary_options),
                                  .mass_count = masses.count,
                                  .masses = masses.count ? masses.values : NULL,
                                  .quantile_count = quantiles.count,
                                  .quantiles = quantiles.count ? quantiles.values : NULL};
    if (jf_summarise(&s, m, conditions, each, x, y, &options) != JF_OK) return cli_fail_library(c);
    if (strcmp(path, "-") == 0)
        code = printf("%s", jf_summary_text(s)) < 0 || fflush(stdout) != 0 ? cli_fail_output() : CLI_OK;
    else
        code =
            output_replace_file(path, cli_ends_with(path, ".json") ? jf_summary_json(s) : jf_summary_csv(s));
    jf_summary_free(s);
    return code;
}
