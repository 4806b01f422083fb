#include "base/shown.h"
#include "base/utf8.h"
#include <string.h>

size_t shown_not(const char *chars) {
    const unsigned char *c = (const unsigned char *)chars;
    if (c[0] < ' ' || c[0] == 127) return c[0] != 0;
    if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) return 2;
    if (c[0] != 0xE2 || (c[1] != 0x80 && c[1] != 0x81)) return 0;
    int turns = c[1] == 0x80 ? c[2] >= 0xAA && c[2] <= 0xAE /* U+202A .. E */
                             : c[2] >= 0xA6 && c[2] <= 0xA9 /* U+2066 .. 9 */;
    return turns ? 3 : 0;
}

size_t shown_prefix(const char *chars, size_t size, const char *also) {
    size_t good = utf8_prefix(chars, size);
    for (size_t i = 0; i < good; i++)
        if (shown_not(chars + i) && !strchr(also, chars[i])) return i;
    return good;
}

void shown_replace(char *chars) {
    for (char *c = chars; *c; c++)
        if (shown_not(c)) {
            int is_space = *c == '\n' || *c == '\t';
            memset(c, is_space ? ' ' : '?', shown_not(c));
        }
}
