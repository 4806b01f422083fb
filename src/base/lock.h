/* A folder that one process works in: the others are told which. */
#ifndef JF_BASE_LOCK_H
#define JF_BASE_LOCK_H

#include "base/context.h"

#define FOLDER_LOCK_NAME "run.lock" /* of the file that is locked */

typedef struct folder_lock folder_lock;
/* Of a folder that is there. JF_ERROR_IO where another call holds it, in this process or in another one; the
 * sentence names that. The lock ends with its holder, however that ends: one that was killed does not block.
 * On a file system that has no locks nothing is locked, and the log says so. */
jf_status folder_lock_take(jf_context *ctx, folder_lock **out, const char *folder);
void folder_lock_release(folder_lock *lock); /* may be NULL */

#endif
