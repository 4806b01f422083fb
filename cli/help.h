/* Help from the tables: for people at a terminal, and as a manual page. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli.h"

void help_print_commands(void);
void help_print_command(const command *k);
void manual_print(void); /* jointflow(1), as troff */

/* Usage of an option: "-o FILE" or "--seed N". */
void option_usage(const option *o, char *out, size_t size);
/* What an option's line ends with: " (default 1000)" or nothing. */
void option_default(const option *o, char *out, size_t size);

#endif
