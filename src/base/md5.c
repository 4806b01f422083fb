/* MD5 as RFC 1321 describes it: the message, padded to whole blocks of 64 bytes, is mixed into four words,
 * one block after the other. Words are little-endian, whatever the machine is. */
#include "base/md5.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, WORDS = 16, ROUND = 16, STEPS = 64 };

/* sines[i] = floor(2^32 |sin(i + 1)|) */
static const uint32_t sines[STEPS] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

/* One line per round: how far each of four steps in turn rotates, and which word of the block step i takes,
 * (factor i + offset) mod 16. */
static const struct {
    uint8_t rotate[4], factor, offset;
} rounds[STEPS / ROUND] = {
    {{7, 12, 17, 22}, 1, 0}, {{5, 9, 14, 20}, 5, 1}, {{4, 11, 16, 23}, 3, 5}, {{6, 10, 15, 21}, 7, 0}};

static uint32_t mix(int round, uint32_t x, uint32_t y, uint32_t z) {
    return round == 0   ? (x & y) | (~x & z)
           : round == 1 ? (x & z) | (y & ~z)
           : round == 2 ? x ^ y ^ z
                        : y ^ (x | ~z);
}

static uint32_t rotate_left(uint32_t value, int bits) {
    return value << bits | value >> (32 - bits);
}

static void add_block(uint32_t state[4], const uint8_t *block) {
    uint32_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8 |
                   (uint32_t)block[4 * i + 2] << 16 | (uint32_t)block[4 * i + 3] << 24;
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (int round = 0; round < STEPS / ROUND; round++) {
        for (int i = 0; i < ROUND; i++) {
            uint32_t word = words[(rounds[round].factor * i + rounds[round].offset) % WORDS];
            uint32_t sum = a + mix(round, b, c, d) + word + sines[ROUND * round + i];
            uint32_t next = b + rotate_left(sum, rounds[round].rotate[i % 4]);
            a = d, d = c, c = b, b = next;
        }
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

/* What the message lacks to whole blocks: one bit, zeros, and its length in bits. */
static size_t pad(uint8_t tail[2 * BLOCK], const uint8_t *rest, size_t rest_size, size_t size) {
    size_t padded = rest_size + 1 + 8 <= BLOCK ? BLOCK : 2 * BLOCK;
    uint64_t bits = (uint64_t)size * 8;
    memset(tail, 0, 2 * BLOCK);
    if (rest_size) memcpy(tail, rest, rest_size);
    tail[rest_size] = 0x80;
    for (int i = 0; i < 8; i++) tail[padded - 8 + (size_t)i] = (uint8_t)(bits >> 8 * i);
    return padded;
}

void md5_text(char out[MD5_TEXT], const void *bytes, size_t size) {
    static const char digits[] = "0123456789abcdef";
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t tail[2 * BLOCK];
    const uint8_t *message = bytes;
    size_t whole = size - size % BLOCK;
    for (size_t at = 0; at < whole; at += BLOCK) add_block(state, message + at);
    size_t padded = pad(tail, whole < size ? message + whole : NULL, size - whole, size);
    for (size_t at = 0; at < padded; at += BLOCK) add_block(state, tail + at);
    for (int i = 0; i < MD5_TEXT - 1; i++)
        out[i] = digits[state[i / 8] >> (8 * (i % 8 / 2) + (i % 2 ? 0 : 4)) & 15];
    out[MD5_TEXT - 1] = '\0';
}
