/* What the commands have in common. The command line sees the public header of the library and nothing else
 * of it. */
#ifndef CLI_H
#define CLI_H

#include "jointflow/jointflow.h"
#include "options.h"
#include <stdio.h>

/* Exit statuses. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_MISUSE = 2, CLI_STOPPED = 130 };

typedef struct call call;

typedef struct example {
    const char *what, *line; /* a sentence, and the command that does it */
} example;

typedef struct command {
    const char *name, *summary;
    const char *arguments;   /* "MODEL DATA", optional ones in brackets */
    const char *about;       /* paragraphs, separated by a line break */
    const option *options;   /* ends with {0} */
    const example *examples; /* ends with {0} */
    int (*run)(const call *c);
} command;

extern const command *const commands[]; /* ends with NULL */

/* One run of a command. */
struct call {
    jf_context *ctx;
    const command *command;
    const arguments *arguments;
    int argc; /* the whole command line */
    char **argv;
};

/* Each says one line on standard error and returns the exit status. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_library(const call *c); /* what the context says */
int cli_fail_memory(void);
int cli_fail_output(void); /* standard output could not be written; errno tells why */
int cli_misuse(const command *k, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of commands that several processes share, with OPTION_RANKS: joins those that a launcher has started. Rank
 * 0 alone says and writes something. */
int cli_join_ranks(const call *c);
int cli_is_first_rank(const call *c);

/* Both return an exit status; *out is only there after CLI_OK. */
/* y of vectors has an element for each class, which tables have one column of. */
int cli_has_class_column(const jf_model *m);
int cli_load_model(const call *c, jf_model **out, const char *path); /* with --device and --threads */
/* Prints `label` and a command that draws samples, which works as it stands from any directory; `name`: of
 * the model. */
int cli_say_example(const call *c, const jf_model *m, const char *label, const char *name);
int cli_load_recipe(const call *c, jf_recipe **out, const char *path); /* with --set */
int cli_apply_settings(const call *c, jf_recipe *r);                   /* --set and --precision */
jf_load_options cli_device_options(const call *c);                     /* both, for loading a model */
const char *cli_device(const call *c);                                 /* --device */
int cli_threads(const call *c);                                        /* --threads */

/* A context whose messages name the options of the command line. */
jf_status cli_context_create(jf_context **out);

/* Lines of a name, a tab and what it is, in two columns. */
void cli_print_list(const char *lines);
/* The fewest digits that read back as the same number, at most `most` (17 are always enough). Returns the
 * length. */
enum { CLI_NUMBER = 32 };
int cli_number(char out[CLI_NUMBER], double value, int most);
char *cli_join(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* yours to free(); NULL: no memory */
int cli_is_folder(const char *path);
int cli_is_file(const char *path);
FILE *cli_open(const char *path); /* to read a regular file; NULL: there is none, and no pipe is waited for */
int cli_ends_with(const char *text, const char *end);
int cli_is_table(const char *path); /* by its ending: .csv, .tsv, .txt or .npy */

#endif
