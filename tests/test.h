/* A small test harness: every test_*.c registers its tests; main.c runs them and counts.
 * Names promise something: TEST(coupling_affine__inverse_undoes_forward) { ... }
 * A failed check reports itself and ends its test. */
#ifndef JF_TEST_H
#define JF_TEST_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set under a sanitizer, where everything takes several times as long and more memory: tests of many sizes
 * then take fewer. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Whether all cases are asked for, of which a sample is tried otherwise. */
#define ALL_CASES (getenv("JOINTFLOW_TESTS_ALL") != NULL)

/* Ends a test that would tell a sanitizer no more than smaller ones do, but takes it minutes. */
#ifdef SANITIZED
#define SKIP_SANITIZED()                                                                                     \
    do {                                                                                                     \
        if (!ALL_CASES) SKIP("takes minutes under a sanitizer, which sees the same code in smaller tests");  \
    } while (0)
#else
#define SKIP_SANITIZED() ((void)0)
#endif

/* Whether the GPU is an emulated one (tests/emulated), which takes thousands of times as long as a real one:
 * tests of many sizes then take fewer, unless all are asked for. */
extern const int gpu_is_emulated __attribute__((weak));
#define EMULATED (&gpu_is_emulated != NULL && !getenv("EMULATED_ALL"))

typedef void (*test_fn)(void);
void test_register(const char *name, const char *file, test_fn fn);
/* A test of a table: the same function for each of its rows, under a name of its own that outlives the call.
 */
typedef void (*row_test_fn)(const void *row);
void test_register_row(const char *name, const char *file, row_test_fn fn, const void *row);
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *reason);
/* A fresh folder for this test, removed afterwards. */
const char *test_folder(void);
/* folder/name of the test's own folder; valid until the test ends. */
const char *test_path(const char *name);

#define TEST(name)                                                                                           \
    static void name(void);                                                                                  \
    __attribute__((constructor)) static void register_##name(void) {                                         \
        test_register(#name, __FILE__, name);                                                                \
    }                                                                                                        \
    static void name(void)

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) test_fail(__FILE__, __LINE__, "%s does not hold", #condition);                     \
    } while (0)
#define CHECK_NEAR(found, expected, tolerance)                                                               \
    do {                                                                                                     \
        double check_a = (found), check_b = (expected), check_t = (tolerance);                               \
        if (!(fabs(check_a - check_b) <= check_t))                                                           \
            test_fail(__FILE__, __LINE__, "%s is %.12g, expected %.12g within %.3g", #found, check_a,        \
                      check_b, check_t);                                                                     \
    } while (0)
#define CHECK_TEXT(found, expected)                                                                          \
    do {                                                                                                     \
        const char *check_a = (found), *check_b = (expected);                                                \
        if (!check_a || strcmp(check_a, check_b) != 0)                                                       \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", #found,                           \
                      check_a ? check_a : "(null)", check_b);                                                \
    } while (0)
/* The text contains a part: for error messages. */
#define CHECK_HAS(found, part)                                                                               \
    do {                                                                                                     \
        const char *check_a = (found), *check_b = (part);                                                    \
        if (!check_a || !strstr(check_a, check_b))                                                           \
            test_fail(__FILE__, __LINE__, "\"%s\" does not mention \"%s\"", check_a ? check_a : "(null)",    \
                      check_b);                                                                              \
    } while (0)
#define CHECK_STATUS(expression, expected)                                                                   \
    do {                                                                                                     \
        int check_a = (int)(expression), check_b = (int)(expected);                                          \
        if (check_a != check_b)                                                                              \
            test_fail(__FILE__, __LINE__, "%s returned %d, expected %d", #expression, check_a, check_b);     \
    } while (0)
#define SKIP(reason) test_skip(reason)

#endif
