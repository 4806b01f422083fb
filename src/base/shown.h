/* Text from files that is shown to people, on terminals above all. */
#ifndef JF_BASE_SHOWN_H
#define JF_BASE_SHOWN_H

#include <stddef.h>

/* Bytes of the character there, if it does something instead of being shown: a control character (C0, DEL,
 * C1), or one that changes the direction of what follows; 0: it is shown. `chars` ends with a null. */
size_t shown_not(const char *chars);
/* Bytes of the first `size` before one that is no UTF-8 or not shown; `also`: characters that may stand there
 * all the same. */
size_t shown_prefix(const char *chars, size_t size, const char *also);
/* Question marks in the place of what is not shown; \n and \t become spaces. */
void shown_replace(char *chars);

#endif
