/* What -o must not replace: the files that a command reads, models and checkpoints. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "cli.h"

/* All return an exit status, before any work is done. */

/* A file to write, NULL or "-" for standard output: refused where something is there that is one of the
 * command's own inputs, by this name or another, or a file of the run that it reads, or any model or
 * checkpoint. */
int output_check_file(const call *c, const char *path);
/* The same of a file that the user has not named: a link in its place is refused, too. */
int output_check_default(const call *c, const char *path);
/* A folder to write into, which need not be there yet: refused where it cannot be made, since a file is in
 * its way or what it would lie in may not be written to. */
int output_check_folder(const char *folder);
/* Makes it, and those that it lies in. */
int output_make_folder(const char *folder);
/* Writes a file of text, under another name first, so that it is whole or not there. */
int output_replace_file(const char *path, const char *text);
/* The path of a folder of this program's own, below one that the user gave: refused where a link would lead
 * it elsewhere. */
int output_check_below(const char *folder, const char *path);
/* FOLDER/NAME, yours to free, for a file of this program's own: a link that has the name is removed. NULL: no
 * memory. */
char *output_path_in(const char *folder, const char *name);
/* A run folder to begin a run in: refused where the recipe or its data would be written over. */
int output_check_run(const call *c, const jf_recipe *r, const char *folder);

#endif
