/* Files: whole reads with a size limit, atomic writes (temporary file, fsync, rename), folders, data look-up.
 */
#ifndef JF_BASE_FILE_H
#define JF_BASE_FILE_H

#include "base/context.h"
#include <stdint.h>

/* For reading. Refuses all but regular files, and never waits for the other end of a pipe; names of
 * descriptors, such as /dev/stdin and /dev/fd/3, may be anything but a folder. */
jf_status file_open(jf_context *ctx, int *fd, const char *path);
jf_status file_read(jf_context *ctx, char **out, size_t *size, const char *path,
                    size_t limit); /* NUL-terminated */
/* A regular file as memory that is read when it is touched; NULL and 0 where it is empty. What another
 * process writes into it meanwhile is seen, and reading beyond the end of one that shrinks ends this process.
 */
jf_status file_map(jf_context *ctx, void **out, size_t *size, const char *path);
void file_unmap(void *base, size_t size);
/* Both write a whole file, atomically. file_write() is for a path that the user gave: it replaces the file
 * behind a link, and writes to a device. file_replace() is for a name that this program gives a file in a
 * folder, which may hold anything: it replaces a link and changes nothing behind it. */
typedef jf_status file_writer(jf_context *ctx, const char *path, const void *bytes, size_t size);
file_writer file_write, file_replace;
file_writer file_append; /* to a file of this program's own, made where there is none; follows no link */
jf_status file_remove(jf_context *ctx, const char *path); /* a file or a link; none is fine */
/* Atomic, and safe from a power cut where the file system can do that. */
jf_status file_rename(jf_context *ctx, const char *from, const char *to);
/* `to`, replaced if it is there, becomes a second name of the file `from`, or its copy where the file system
 * has no second names; atomic. */
jf_status file_duplicate(jf_context *ctx, const char *from, const char *to);
/* Duplicates a name of one open folder as a name of another; returns 0 or an errno. */
int file_duplicate_at(int from_folder, const char *from, int to_folder, const char *to);
void file_sync(const char *path); /* what was appended to it is on the disk then, where that can be done */
void file_sync_folder(const char *folder); /* what was made, renamed and removed in it is on the disk then */
/* `**out` = the concatenation folder/name, yours to free. */
jf_status file_join(jf_context *ctx, char **out, const char *folder, const char *name);
jf_status file_make_folder(jf_context *ctx, const char *path); /* with parents; fails if not writable */
/* The program or shared library that this code is a part of; NULL where the system does not tell. */
jf_status file_of_code(jf_context *ctx, char **out);
/* Refuses a path of this program's own, below a folder that the user gave, where a link would lead it
 * elsewhere. */
jf_status file_check_below(jf_context *ctx, const char *folder, const char *path);
int file_exists(const char *path);
int file_is_folder(const char *path);
int file_is_link(const char *path);
int file_is_regular(const char *path);
int file_is_same(const char *path, const char *other); /* both are there, and one file */
const char *file_extension(const char *path);          /* ".csv", "" where there is none */
/* The user's own folder of data: $XDG_DATA_HOME/jointflow, or ~/.local/share/jointflow; NULL where there is
 * no HOME. */
jf_status file_user_data(jf_context *ctx, char **out);
/* Looks for a data file: as given, in $JOINTFLOW_DATA, in the user's own folder. The message of a failure
 * lists the places. */
jf_status file_find_data(jf_context *ctx, char **out, const char *name);

#endif
