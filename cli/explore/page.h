/* The files of web/, which are compiled into the program (cmake/embed.cmake writes their table). */
#ifndef EXPLORE_PAGE_H
#define EXPLORE_PAGE_H

#include <stddef.h>

typedef struct page_file {
    const char *name; /* "style.css" */
    const unsigned char *bytes;
    size_t size;
} page_file;
extern const page_file page_files[]; /* ends with {0} */

#endif
