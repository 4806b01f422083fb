/* Tests of src/base/digest.c. */
#include "test.h"

#include "base/digest.h"

/* FIPS 180-4 and its published examples, and what sha256sum says of so many letters a where the last block is
 * just full. */
TEST(sha256__agrees_with_published_digests_and_at_the_edges_of_blocks) {
    static const struct {
        const char *message; /* NULL: `letters` times a */
        size_t letters;
        const char *digest;
    } cases[] = {
        {"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 0, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {NULL, 55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {NULL, 56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {NULL, 63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
        {NULL, 64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {NULL, 65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
        {NULL, 119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {NULL, 120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
        {NULL, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    char *letters = malloc(1000000);
    CHECK(letters != NULL);
    memset(letters, 'a', 1000000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[SHA256_TEXT];
        const char *message = cases[i].message ? cases[i].message : letters;
        sha256_text(found, message, cases[i].message ? strlen(message) : cases[i].letters);
        CHECK_TEXT(found, cases[i].digest);
    }
    free(letters);
}
