/* The manual page jointflow(1) as troff, from the tables of the commands and the sections below. */
#include "help.h"
#include <stdio.h>
#include <string.h>

typedef struct manual_item {
    const char *term, *text; /* term NULL: a paragraph */
} manual_item;

typedef struct manual_section {
    const char *title;
    const manual_item *items; /* ends with {0} */
} manual_section;

static const manual_section closing_sections[] = {
    {"RECIPES",
     (const manual_item[]){
         {NULL,
          "A recipe is a text file with sections and keys that says what to learn and how: [data], [model], "
          "[loss] and [train]. jointflow recipe lists those that came with the program, jointflow recipe "
          "--docs explains every key, and --set changes single ones. Wrong keys and values are refused with "
          "file and line."},
         {0}}},
    {"CONDITIONS",
     (const manual_item[]){
         {NULL, "The option -y takes values in the units of the data:"},
         {"0,1", "a list of values."},
         {"0:6.28:0.785", "a range, FROM:TO:STEP, with TO where a step meets it."},
         {"circle,grid", "names of classes, for models that have them."},
         {"0.1,0.2;0.3,0.4", "vectors, for conditions of several dimensions, separated by semicolons."},
         {"@FILE", "the rows of a .csv, .tsv, .txt or .npy file; where the condition is an image, a .png or "
                   ".jpg file or "
                   "the images of a "
                   ".npy file."},
         {NULL, "It may be repeated."},
         {0}}},
    {"FILES",
     (const manual_item[]){
         {"RUN/model.safetensors", "the model, with everything needed to use it."},
         {"RUN/checkpoint.safetensors", "the state of the run, from which --resume continues exactly."},
         {"RUN/checkpoint-previous.safetensors", "the one before it, from which --resume continues where the "
                                                 "other is damaged; the end is the same."},
         {"RUN/old-run/",
          "the run that --force replaces, whole, until the new one has finished; a run folder like any "
          "other. Further ones are old-run-2 and so on."},
         {"RUN/run.lock", "the process that writes into the folder; removed when it ends."},
         {"RUN/recipe.ini", "the recipe with all its values."},
         {"RUN/history.csv", "a line per epoch: the loss, its terms, the latent histograms."},
         {"RUN/report.html", "pictures and numbers of the judged model."},
         {NULL,
          "Tables are .csv files, with or without a header, or two-dimensional .npy files; one row is "
          "one sample. A header is a first line of names, in quotes where they could be taken for numbers."},
         {NULL,
          "What -o names is replaced if it is there, unless it is something that the command reads, a model "
          "or a checkpoint."},
         {0}}},
    {"ENVIRONMENT",
     (const manual_item[]){
         {"JOINTFLOW_DATA",
          "folder in which the data files of recipes are looked for, after the working folder."},
         {"XDG_DATA_HOME",
          "the folder jointflow in it is where data sets are fetched to and data files are looked "
          "for last; by default ~/.local/share."},
         {"JOINTFLOW_RECIPES", "folder in which recipes are looked for by name, before all others."},
         {"JOINTFLOW_MODELS", "the same for models."},
         {"JOINTFLOW_ISA",
          "instruction set that the cpu device is to use: baseline, avx2 or avx512; by default "
          "the best that the machine has."},
         {0}}},
    {"EXIT STATUS", (const manual_item[]){{"0", "success."},
                                          {"1", "a failure; one line on standard error tells which."},
                                          {"2", "the command line was not understood."},
                                          {"130", "stopped by a signal; what was learned so far is saved."},
                                          {0}}},
    {0},
};

/* Text with what troff would take for itself escaped; \& hides a dot or quote that begins a line. */
static void put_text(const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\'')
            fputs("\\(aq", stdout);
        else if (*text == '`' || *text == '^' || *text == '~')
            printf("\\(%s", *text == '`' ? "ga" : *text == '^' ? "ha" : "ti");
        else
            putchar(*text);
    }
}

static void put_font(char font, const char *text) {
    printf("\\f%c", font);
    put_text(text);
    fputs("\\fR", stdout);
}

static void put_paragraphs(const char *text) {
    while (*text) {
        char paragraph[2048];
        int length = (int)strcspn(text, "\n");
        snprintf(paragraph, sizeof paragraph, "%.*s", length, text);
        puts(".PP");
        put_text(paragraph);
        putchar('\n');
        text += length + (text[length] == '\n');
    }
}

static void put_option(const option *o) {
    char name[80], ending[80];
    puts(".TP");
    if (o->letter) {
        snprintf(name, sizeof name, "-%c", o->letter);
        put_font('B', name);
        fputs(", ", stdout);
    }
    snprintf(name, sizeof name, "--%s", o->name);
    put_font('B', name);
    if (o->value) {
        putchar(' ');
        put_font('I', o->value);
    }
    putchar('\n');
    option_default(o, ending, sizeof ending);
    put_text(o->help);
    put_text(ending);
    putchar('\n');
}

static void put_synopsis(const command *k, int with_options) {
    char usage[80];
    fputs("\\fBjointflow ", stdout);
    put_text(k->name);
    fputs("\\fR", stdout);
    if (*k->arguments) {
        putchar(' ');
        put_font('I', k->arguments);
    }
    if (!with_options && k->options->name) fputs(" [\\fIoption\\fR ...]", stdout);
    for (const option *o = k->options; with_options && o->name; o++) {
        option_usage(o, usage, sizeof usage);
        fputs(" [", stdout);
        put_text(usage);
        fputs(o->type == OPTION_LIST ? " ...]" : "]", stdout);
    }
    putchar('\n');
}

static void put_command(const command *k) {
    printf(".SS %s\n", k->name);
    put_synopsis(k, 1);
    put_paragraphs(k->about);
    for (const option *o = k->options; o->name; o++) put_option(o);
    for (const example *e = k->examples; e->line; e++) {
        puts(".PP");
        put_text(e->what);
        puts(":\n.PP\n.RS 4\n.nf");
        put_font('B', e->line);
        puts("\n.fi\n.RE");
    }
}

static void put_section(const manual_section *s) {
    printf(".SH %s\n", s->title);
    for (const manual_item *item = s->items; item->text; item++) {
        if (item->term) {
            puts(".TP");
            put_font('B', item->term);
            putchar('\n');
        } else {
            puts(".PP");
        }
        put_text(item->text);
        putchar('\n');
    }
}

void manual_print(void) {
    printf(".TH JOINTFLOW 1 \"\" \"jointflow %s\" \"User Commands\"\n", jf_version());
    puts(".SH NAME\njointflow \\- learn and sample the distribution of answers to an ill\\-posed problem");
    puts(".SH SYNOPSIS");
    for (int i = 0; commands[i]; i++) {
        if (i) puts(".br");
        put_synopsis(commands[i], 0);
    }
    puts(".SH DESCRIPTION");
    put_text("jointflow learns the whole distribution p(x | y) of the answers x that a condition y leaves "
             "open. The model is one bijection of the joint vector, F: (x, y) -> (z, y'), with z normally "
             "distributed and y' = y. An answer is drawn by taking a fresh z with the y asked for through "
             "the inverse of F.");
    puts("\n.SH COMMANDS");
    for (int i = 0; commands[i]; i++) put_command(commands[i]);
    for (const manual_section *s = closing_sections; s->title; s++) put_section(s);
}
