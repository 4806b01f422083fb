/* What the library says, in the words of the command line: it speaks of keys and of fields of its options,
 * which here are options of a command. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#define WORDS_SIZE 4096
const char *words_for_users(const char *line, char out[WORDS_SIZE]); /* `out`, or the line as it is */

#endif
