/* Options and arguments of a command, read by table.
 *
 * Invariant: once arguments_parse() has succeeded every number has been checked against its table, so the
 * getters cannot fail. All texts are borrowed from argv and from the tables. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef enum option_type {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_LIST,  /* texts: may be given several times; of all others the last one counts */
    OPTION_WHOLE, /* a whole number, not negative */
    OPTION_REAL   /* a number */
} option_type;

typedef struct option {
    const char *name; /* --name */
    char letter;      /* -n; 0: none */
    option_type type;
    const char *value;    /* what the value is called; NULL: a flag */
    const char *fallback; /* the default, as people would write it; NULL: none */
    uint64_t lo, hi;      /* of numbers, inclusive */
    const char *help;     /* one line */
} option;                 /* a table ends with {0} */

/* Options that several commands share. */
#define OPTION_SEED                                                                                          \
    { "seed", 0, OPTION_WHOLE, "N", "0", 0, UINT64_MAX, "seed of all random numbers" }
#define OPTION_THREADS                                                                                       \
    { "threads", 0, OPTION_WHOLE, "N", "0", 0, 1024, "threads; 0: all processors" }
#define OPTION_DEVICE                                                                                        \
    {                                                                                                        \
        "device", 0, OPTION_TEXT, "NAME", NULL, 0, 0,                                                        \
            "what to compute on: auto, or one that jointflow version lists, of which the first is the "      \
            "default"                                                                                        \
    }
#define OPTION_PRECISION(further)                                                                            \
    {                                                                                                        \
        "precision", 0, OPTION_TEXT, "NAME", NULL, 0, 0,                                                     \
            "what products are computed in while training, train.precision of the recipe: auto, fp32, tf32 " \
            "or bf16" further                                                                                \
    }
#define OPTION_RANKS                                                                                         \
    {"ranks",                                                                                                \
     0,                                                                                                      \
     OPTION_WHOLE,                                                                                           \
     "N",                                                                                                    \
     "0",                                                                                                    \
     0,                                                                                                      \
     1000000,                                                                                                \
     "refuse to run unless a launcher (mpirun -n N, srun -n N) has started N processes; 0: any number"},     \
    {                                                                                                        \
        "rank-limit", 0, OPTION_REAL, "SECONDS", "20", 1, 86400,                                             \
            "of several processes: without a sign of life for so long one is lost, and all end"              \
    }
#define OPTION_POINTS                                                                                        \
    {                                                                                                        \
        "points", 0, OPTION_WHOLE, "N", "0", 0, 10000000,                                                    \
            "points to judge on: fresh ones, or, of a file, rows drawn at random; 0: 50000, of rules "       \
            "1000000"                                                                                        \
    }
#define OPTION_TEMPERATURE                                                                                   \
    {                                                                                                        \
        "temperature", 0, OPTION_REAL, "T", "1", 0, 100,                                                     \
            "multiply latent points by T: below 1 samples keep to the middle, above 1 they spread"           \
    }
#define OPTION_STANDARDISED                                                                                  \
    {                                                                                                        \
        "standardised", 0, OPTION_FLAG, NULL, NULL, 0, 0,                                                    \
            "all values are in the model's units (mean 0, deviation 1) instead of the data's"                \
    }
#define OPTION_DENOISE                                                                                       \
    {                                                                                                        \
        "denoise", 0, OPTION_FLAG, NULL, NULL, 0, 0,                                                         \
            "take the noise of training off the samples: x + sigma^2 grad log p(x|y), what is expected of "  \
            "each without it"                                                                                \
    }
#define OPTION_FULL_RANGE                                                                                    \
    {                                                                                                        \
        "full-range", 0, OPTION_FLAG, NULL, NULL, 0, 0,                                                      \
            "pictures of images: black and white are the least and the greatest value instead of 0 and 1"    \
    }
#define OPTION_OUTPUT_TABLE                                                                                  \
    {                                                                                                        \
        "output", 'o', OPTION_TEXT, "FILE", NULL, 0, 0,                                                      \
            "a .csv or .npy file; by default CSV to standard output"                                         \
    }
#define OPTION_CONDITIONS                                                                                    \
    {                                                                                                        \
        "y", 'y', OPTION_TEXT, "FILE", NULL, 0, 0,                                                           \
            "the conditions, from a table of their own: as many rows as DATA, or one for all"                \
    }
#define OPTION_SET                                                                                           \
    {                                                                                                        \
        "set", 0, OPTION_LIST, "KEY=VALUE", NULL, 0, 0,                                                      \
            "a value of the recipe, such as train.rate=1e-4; may be repeated"                                \
    }

typedef struct given_option {
    const option *option;
    const char *text; /* "" of a flag */
} given_option;

typedef struct arguments {
    const option *options; /* the table */
    given_option *given;   /* (given_count), in the order of the command line */
    int given_count;
    const char **values; /* (count): the arguments that are no options */
    int count;
    int help; /* --help or -h was among them: nothing else has been checked */
    char error[512];
} arguments;

/* Reads argv (argc); `names` are those of the arguments, "MODEL [DATA]": brackets make one optional, and a
 * last "[MORE...]" takes any number. Returns 1, or 0 with the reason in out->error. To be freed in both
 * cases. */
int arguments_parse(arguments *out, const option *options, const char *names, int argc, char **argv);
void arguments_free(arguments *a);

const char *argument(const arguments *a, int index);       /* NULL past the last */
int option_is_known(const arguments *a, const char *name); /* whether the command has it */
int option_given(const arguments *a, const char *name);
const char *option_text(const arguments *a, const char *name);            /* or the default, or NULL */
const char *option_item(const arguments *a, const char *name, int index); /* of a list; NULL past the last */
uint64_t option_whole(const arguments *a, const char *name);
int option_int(const arguments *a, const char *name); /* for options whose range is that of an int */
double option_real(const arguments *a, const char *name);

/* The whole of `text` as a finite number. Returns 0 where it is not one. */
int number_read(const char *text, double *out);

#endif
