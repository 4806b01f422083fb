/* Tests of src/base/md5.c. */
#include "test.h"

#include "base/md5.h"

/* The test suite of RFC 1321, section A.5. */
static const struct {
    const char *message, *digest;
} published[] = {
    {"", "d41d8cd98f00b204e9800998ecf8427e"},
    {"a", "0cc175b9c0f1b6a831c399e269772661"},
    {"abc", "900150983cd24fb0d6963f7d28e17f72"},
    {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
    {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
    {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
    {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
     "57edf4a22be3c955ac49da2e2107b67a"},
};

TEST(md5__agrees_with_the_published_test_suite) {
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        char found[MD5_TEXT];
        md5_text(found, published[i].message, strlen(published[i].message));
        CHECK_TEXT(found, published[i].digest);
    }
}

/* Lengths at which the padding needs another block, or the message fills its last one. The digests are those
 * of md5sum over so many letters a. */
TEST(md5__agrees_at_the_edges_of_blocks) {
    static const struct {
        size_t length;
        const char *digest;
    } edges[] = {
        {55, "ef1772b6dff9a122358552954ad0df65"},  {56, "3b0c8ac703f828b04c6c197006d17218"},
        {57, "652b906d60af96844ebd21b674f35e93"},  {63, "b06521f39153d618550606be297466d5"},
        {64, "014842d480b571495a4a0363793f7367"},  {65, "c743a45e0d2e6a95cb859adae0248435"},
        {119, "8a7bd0732ed6a28ce75f6dabc90e1613"}, {120, "5f61c0ccad4cac44c75ff505e1f1e537"},
        {128, "e510683b3f5ffe4093d021808bc6ff70"}, {1000000, "7707d6ae4e027c70eea2a935c2296f21"},
    };
    char *letters = malloc(1000000);
    CHECK(letters != NULL);
    memset(letters, 'a', 1000000);
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        char found[MD5_TEXT];
        md5_text(found, letters, edges[i].length);
        CHECK_TEXT(found, edges[i].digest);
    }
    free(letters);
}
