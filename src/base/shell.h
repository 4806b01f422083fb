/* Commands that people paste into a shell. */
#ifndef JF_BASE_SHELL_H
#define JF_BASE_SHELL_H

#include "base/memory.h"

/* A word as a POSIX shell reads it back: quoted where it needs quotes. */
void shell_add_word(text *out, const char *word);
/* Adds a path, which must not be taken for an option: "-x" becomes ./-x. */
void shell_add_path(text *out, const char *path);

#endif
