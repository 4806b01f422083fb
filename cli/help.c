/* jointflow help: the commands, and each of them, as their tables describe them. */
#include "help.h"
#include "nearest.h"
#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, OPTION_COLUMN = 26 };

/* ---- laying out ---- */

/* Prints words, with line breaks before `WIDTH`; the cursor is at `column`, further lines begin at `indent`.
 */
static void print_wrapped(const char *text, int column, int indent) {
    int first = 1;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > WIDTH) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
        first = 0;
    }
    putchar('\n');
}

static void print_paragraphs(const char *text) {
    while (*text) {
        char paragraph[2048];
        int length = (int)strcspn(text, "\n");
        snprintf(paragraph, sizeof paragraph, "%.*s", length, text);
        putchar('\n');
        print_wrapped(paragraph, 0, 0);
        text += length + (text[length] == '\n');
    }
}

/* ---- options ---- */

void option_usage(const option *o, char *out, size_t size) {
    const char *space = o->value ? " " : "", *value = o->value ? o->value : "";
    if (o->letter)
        snprintf(out, size, "-%c%s%s", o->letter, space, value);
    else
        snprintf(out, size, "--%s%s%s", o->name, space, value);
}

void option_default(const option *o, char *out, size_t size) {
    snprintf(out, size, "%s%s%s", o->fallback ? " (default " : "", o->fallback ? o->fallback : "",
             o->fallback ? ")" : "");
}

static void print_option(const option *o) {
    char left[80], ending[80], help[512];
    const char *space = o->value ? " " : "", *value = o->value ? o->value : "";
    if (o->letter)
        snprintf(left, sizeof left, "  -%c, --%s%s%s", o->letter, o->name, space, value);
    else
        snprintf(left, sizeof left, "      --%s%s%s", o->name, space, value);
    option_default(o, ending, sizeof ending);
    snprintf(help, sizeof help, "%s%s", o->help, ending);
    printf("%-*s", OPTION_COLUMN - 1, left);
    if (strlen(left) >= OPTION_COLUMN) printf("\n%*s", OPTION_COLUMN - 1, "");
    putchar(' ');
    print_wrapped(help, OPTION_COLUMN, OPTION_COLUMN);
}

/* Words that belong together ("[-o FILE]") are kept on one line by joining them with a byte that is no space.
 */
static void print_usage(const command *k) {
    enum { TIED = '\001' };
    char line[1024], usage[80];
    int used =
        snprintf(line, sizeof line, "jointflow %s%s%s", k->name, *k->arguments ? " " : "", k->arguments);
    for (const option *o = k->options; o->name; o++) {
        option_usage(o, usage, sizeof usage);
        used += snprintf(line + used, sizeof line - (size_t)used, " [%s%s]", usage,
                         o->type == OPTION_LIST ? " ..." : "");
    }
    char *bracket = line;
    for (int depth = 0; *bracket; bracket++) {
        depth += (*bracket == '[') - (*bracket == ']');
        if (*bracket == ' ' && depth) *bracket = TIED;
    }
    int indent = printf("Usage: ");
    int column = indent;
    for (char *word = line; *word;) {
        int length = (int)strcspn(word, " ");
        if (column > indent && column + 1 + length > WIDTH) {
            printf("\n%*s", indent + 4, "");
            column = indent + 4;
        } else if (column > indent) {
            putchar(' ');
            column++;
        }
        for (int i = 0; i < length; i++) putchar(word[i] == TIED ? ' ' : word[i]);
        column += length;
        word += length + (word[length] == ' ');
    }
    putchar('\n');
}

/* ---- the two pages ---- */

void help_print_commands(void) {
    printf("jointflow learns p(x | y), the whole distribution of answers to an ill-posed problem.\n\n");
    printf("Usage: jointflow COMMAND [ARGUMENT ...]\n\n");
    for (int i = 0; commands[i]; i++) printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
    printf("\n"
           "jointflow help COMMAND tells more. A first model:\n"
           "\n"
           "  jointflow train crescents\n");
}

void help_print_command(const command *k) {
    print_usage(k);
    print_paragraphs(k->about);
    printf("\nOptions:\n");
    for (const option *o = k->options; o->name; o++) print_option(o);
    print_option(&(option){.name = "help", .letter = 'h', .help = "this text"});
    printf("\nExamples:\n");
    for (const example *e = k->examples; e->line; e++) printf("  # %s\n  %s\n", e->what, e->line);
}

/* ---- the command ---- */

static int help(const call *c) {
    const char *name = argument(c->arguments, 0);
    if (option_given(c->arguments, "man")) {
        if (name) return cli_misuse(c->command, "--man is the manual of all commands; found \"%s\"", name);
        manual_print();
        return CLI_OK;
    }
    if (!name) {
        help_print_commands();
        return CLI_OK;
    }
    nearest near = nearest_begin(name);
    for (int i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            help_print_command(commands[i]);
            return CLI_OK;
        }
        nearest_try(&near, commands[i]->name);
    }
    if (near.best)
        return cli_misuse(c->command, "unknown command \"%s\"; did you mean \"%s\"?", name, near.best);
    return cli_misuse(c->command, "unknown command \"%s\"", name);
}

const command command_help = {
    .name = "help",
    .summary = "list the commands, or tell about one",
    .arguments = "[COMMAND]",
    .about = "Without COMMAND lists all commands; with it prints what jointflow COMMAND --help prints.",
    .options =
        (const option[]){{"man", 0, OPTION_FLAG, NULL, NULL, 0, 0, "print the manual page jointflow(1)"},
                         {0}},
    .examples = (const example[]){{"All about training", "jointflow help train"},
                                  {"Read the manual", "jointflow help --man | man -l -"},
                                  {0}},
    .run = help,
};
