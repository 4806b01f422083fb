/* The entries of an open folder, by name. No function follows a link: it acts on the link itself, and what
 * the link leads to stays as it is. A folder that is renamed or replaced by a link while it is open stays the
 * one that is worked in. */
#ifndef JF_BASE_ENTRIES_H
#define JF_BASE_ENTRIES_H

#include "base/context.h"
#include <sys/stat.h>

typedef struct entries {
    jf_context *ctx;
    char *path; /* for messages */
    int fd;
} entries;

jf_status entries_open(jf_context *ctx, entries *out,
                       const char *path); /* as the user gave it: follows links */
jf_status entries_open_in(const entries *e, entries *out, const char *name); /* a folder in it */
void entries_close(entries *e);                                              /* may be all 0 */

mode_t entry_type(const entries *e, const char *name); /* S_IFREG, S_IFDIR, S_IFLNK, ...; 0: there is none */
jf_status entry_rename(const entries *e, const char *from, const char *to);
/* Removes a file or a link; none is fine, and a folder stays. */
jf_status entry_remove(const entries *e, const char *name);
jf_status entry_make_folder(const entries *e, const char *name);   /* one that is there is fine */
jf_status entry_remove_folder(const entries *e, const char *name); /* one that is not empty stays */
/* A file gets a second name in another folder, or a copy where the file system has no second names; atomic.
 */
jf_status entry_duplicate(const entries *from, const entries *to, const char *name);
/* Reads and makes links. `**out` is yours to free. */
jf_status entry_read_link(const entries *e, const char *name, char **out);
jf_status entry_make_link(const entries *e, const char *name, const char *target);

/* Fails with the sentence "FOLDER/NAME: WHAT: what errno says". */
jf_status entry_fail(const entries *e, const char *name, const char *what);

#endif
