#include "words.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *library, *here;
    int at_start; /* only there */
} words[] = {
    {"set ", "--set ", 1},
    {"(changed_data)", "(--changed-data)", 0},
    {"(resume)", "(--resume)", 0},
    {"(models)", "(--model)", 0},
    {"(bounds ", "(--bounds ", 0},
    {": bounds ", ": --bounds ", 0},
    {"(ordered: ", "(--ordered: ", 0},
};

const char *words_for_users(const char *line, char out[WORDS_SIZE]) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].library);
        const char *found = words[i].at_start ? line : strstr(line, words[i].library);
        if (!found || strncmp(found, words[i].library, length) != 0) continue;
        snprintf(out, WORDS_SIZE, "%.*s%s%s", (int)(found - line), line, words[i].here, found + length);
        return out;
    }
    return line;
}
