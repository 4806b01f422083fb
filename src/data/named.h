/* Files that recipes name. The recipe in a model file may be a stranger's and name any file of the reader's:
 * of those only regular files and folders of pictures are opened, and no message quotes what is in them. */
#ifndef JF_DATA_NAMED_H
#define JF_DATA_NAMED_H

#include "io/recipe.h"

/* Where the file or folder that a key names is, by file_find_data(); yours to free. A table or an array that
 * a model file names is looked at first: its head has to be that of one. */
jf_status named_find(const recipe *r, const char *key, char **out);
/* Paths from the root for the files of a table that are found from the current directory, so that a model
 * finds its data from any. */
jf_status named_make_absolute(recipe *r);
/* The status of opening the data of a recipe. Where a model file names them, a message that may quote them is
 * replaced. */
jf_status named_opened(const recipe *r, jf_status status);

#endif
