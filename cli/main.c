/* The command line: the table of its commands, and what holds for all of them.
 *
 * Results go to standard output, a failure is one line on standard error, and the exit status is 0 (good), 1
 * (failed), 2 (misused) or 130 (stopped by a signal). */
#include "cli.h"
#include "help.h"
#include "nearest.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A new command is a file and a line in both lists. */
extern const command command_train, command_sweep, command_sample, command_encode, command_decode,
    command_density, command_superres, command_interpolate, command_judge, command_compare, command_report,
    command_explore, command_figure, command_pack, command_export, command_info, command_bench,
    command_recipe, command_data, command_help, command_version;

const command *const commands[] = {
    &command_train,    &command_sweep,
    &command_sample,   &command_encode,
    &command_decode,   &command_density,
    &command_superres, &command_interpolate,
    &command_judge,    &command_compare,
    &command_report,   &command_explore,
    &command_figure,   &command_pack,
    &command_export,   &command_info,
    &command_bench,    &command_recipe,
    &command_data,     &command_help,
    &command_version,  NULL,
};

/* With a standard stream closed, the next file that is opened would take its place and messages would end in
 * it. The other way round (a stream to read in place of one to write) every write fails, and that is noticed.
 */
static void keep_streams_apart(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

static const command *find_command(const char *name) {
    if (strcmp(name, "--version") == 0) name = "version";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    for (int i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    nearest near = nearest_begin(name);
    for (int i = 0; commands[i]; i++) nearest_try(&near, commands[i]->name);
    if (near.best)
        cli_fail("unknown command \"%s\"; did you mean \"%s\"?", name, near.best);
    else
        cli_fail("unknown command \"%s\" (jointflow help lists them)", name);
    return CLI_MISUSE;
}

/* What the library wants people to know, where the command has no better place for it. */
static void note(void *user, const char *line) {
    (void)user;
    int warning = strncmp(line, JF_WARNING, strlen(JF_WARNING)) == 0; /* which says so itself */
    fprintf(stderr, "jointflow: %s%s\n", warning ? "" : "note: ", line);
}

static int run_command(const command *k, int argc, char **argv) {
    arguments a;
    call c = {.command = k, .arguments = &a, .argc = argc, .argv = argv};
    int code = CLI_OK;
    if (!arguments_parse(&a, k->options, k->arguments, argc - 2, argv + 2)) {
        code = cli_misuse(k, "%s", a.error);
    } else if (a.help) {
        help_print_command(k);
    } else if (cli_context_create(&c.ctx) != JF_OK) {
        code = cli_fail_memory();
    } else {
        jf_context_set_log(c.ctx, note, NULL);
        code = k->run(&c);
        if (code != CLI_OK && code != CLI_STOPPED) jf_ranks_end(c.ctx, code); /* the others would wait */
        jf_context_free(c.ctx);
    }
    arguments_free(&a);
    return code;
}

int main(int argc, char **argv) {
    keep_streams_apart();
    signal(SIGPIPE,
           SIG_IGN); /* a closed pipe or a limit on file sizes is a failure like others, with its message */
    signal(SIGXFSZ, SIG_IGN);
    if (argc < 2) {
        help_print_commands();
        return CLI_MISUSE;
    }
    const command *k = find_command(argv[1]);
    if (!k) return unknown_command(argv[1]);
    int code = run_command(k, argc, argv);
    errno = 0;
    int unwritten = ferror(stdout);
    if ((fflush(stdout) != 0 || unwritten) && code == CLI_OK) code = cli_fail_output();
    return code;
}
